/**
 * Stands in for the package `tr46` (UTS #46) within `whatwg-url`: its table takes each process 3 MB, and no name of a host is read
 * there. The driver reads the address of a database by it, whose hosts it takes out before; `node-fetch` takes Node's own `URL`.
 */
export const PROCESSING_OPTIONS = { NONTRANSITIONAL: 1 }

/** Names of letters, digits and hyphens, for which there is nothing to map. @returns null for all others, which are refused then */
export function toASCII(name) {
  return /^[a-z\d.-]+$/i.test(name) && !/xn--/i.test(name) ? name.toLowerCase() : null
}
