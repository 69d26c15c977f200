import { domainToASCII } from 'node:url'

/**
 * What `whatwg-url` asks of the package `tr46` (UTS #46), done by the platform: that package's table takes each process 3 MB, and no
 * address of a database needs it.
 */
export const PROCESSING_OPTIONS = { NONTRANSITIONAL: 1 }

/** @returns null for what is no name */
export function toASCII(name) {
  return domainToASCII(name) || null
}
