/** Ends of names that no public resolver may answer for, or that only local networks use (RFC 6761, 8375, 9476; ICANN). */
const LOCAL_ENDS: ReadonlySet<string> = new Set([
  'alt',
  'arpa',
  'corp',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
  'svc',
  'test',
])

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/
const TOP_LABEL = /^(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/

/**
 * Whether a host name, as `URL` prints it and without a final dot, can be a name of the public DNS (T1): at least two labels,
 * no local ending. IP addresses are not names.
 */
export function isPublicName(name: string): boolean {
  const labels = name.split('.')
  const top = labels.at(-1) ?? ''
  return (
    labels.length > 1 &&
    name.length <= 253 &&
    labels.every((label) => LABEL.test(label)) &&
    TOP_LABEL.test(top) &&
    !LOCAL_ENDS.has(top)
  )
}
