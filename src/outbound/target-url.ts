import { BlockList, isIPv4, isIPv6 } from 'node:net'
import type { TargetUrls } from '../ports/ports.ts'

/** The rules for addresses that the service may call. */
export interface TargetRules {
  /** The service's own origin, which is never called (T11). */
  baseUrl: string
  production: boolean
  /** Development only: also allows `http:`, and receivers on this machine and in private networks. */
  allowPrivate: boolean
  /** Ports that may be called in production. */
  ports: readonly number[]
}

const LONGEST = 2048

/** Characters that the URL parser would drop or change: blanks, controls, invisible and direction marks, `\` (T6). */
const SILENT = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\\]/u

/** Requires exactly `scheme://host`: to the parser `https:host` and `https:////host` are the same, but not to a reader. */
const WHOLE = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i

/** Makes the check of an address before it is stored, and again before every attempt, since settings may have changed. */
export function createTargetUrls(rules: TargetRules): TargetUrls {
  const own = new URL(rules.baseUrl)
  return {
    read(text) {
      const url = parse(text)
      if (typeof url === 'string') return { problem: url }
      const host = hostOf(url)
      if (isOwn(rules, own, url, host)) return { problem: 'must not point to this service' }
      const problem = schemeProblem(rules, url) ?? hostProblem(rules, host)
      return problem === undefined ? { href: url.href, host } : { problem: `${problem}${hint(rules)}` }
    },
  }
}

/** Returns the host name without the final dot of absolute names, so that one host does not count as two. */
function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, '')
}

/** Returns the address if the host is an IP literal; the URL parser has already normalised its spelling. */
export function literalOf(host: string): string | undefined {
  if (host.startsWith('[')) return host.slice(1, -1)
  return isIPv4(host) ? host : undefined
}

/** Returns the port to connect to. */
function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

const NOT_ABSOLUTE = 'must be an absolute URL, such as https://example.com/hook'

/** Names a character that cannot be seen, instead of repeating it. */
function silentName(character: string): string {
  if (character === ' ') return 'a blank'
  if (character === '\\') return 'a backslash'
  return `the invisible character U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
}

/** Parses only a URL that cannot be misread; the caller keeps only the parsed form. @returns the problem, if there is one */
function parse(text: string): URL | string {
  if (text.length > LONGEST) return `must not exceed ${LONGEST} characters`
  const authority = WHOLE.exec(text)?.[1]
  if (authority === undefined) return NOT_ABSOLUTE
  const [silent] = SILENT.exec(text) ?? []
  if (silent !== undefined) return `must not contain ${silentName(silent)}`
  if (!URL.canParse(text)) return NOT_ABSOLUTE
  if (authority.includes('@')) return 'must not contain a user name or password'
  if (authority.includes('%')) return 'must not contain an escaped host name'
  if (text.includes('#')) return 'must not contain a fragment'
  const url = new URL(text)
  return url.href.length > LONGEST ? `must not exceed ${LONGEST} characters` : url
}

function schemeProblem({ allowPrivate, production, ports }: TargetRules, url: URL): string | undefined {
  const plain = allowPrivate && url.protocol === 'http:'
  if (url.protocol !== 'https:' && !plain) return 'must be an https: URL'
  const port = portOf(url)
  if (port === 0) return 'must not use port 0'
  if (!production || ports.includes(port)) return undefined
  return `must use port ${ports.join(' or ')}`
}

function hostProblem({ allowPrivate, production }: TargetRules, host: string): string | undefined {
  if (allowPrivate) return undefined
  const literal = literalOf(host)
  if (literal === undefined) return isPublicName(host) ? undefined : 'must name a host of the public internet'
  if (production) return 'must name a host, not an IP address'
  return isPublicAddress(literal) ? undefined : 'must not be a private or reserved address'
}

/** A hint for developers who try the service out, and first call a receiver of their own. */
function hint({ production, allowPrivate }: TargetRules): string {
  return production || allowPrivate
    ? ''
    : '; for development CALLBACK_ALLOW_PRIVATE=1 allows http: and private receivers'
}

/** Checks whether a URL points to this service. In development a receiver may share our host name, on another port. */
function isOwn({ allowPrivate }: TargetRules, own: URL, url: URL, host: string): boolean {
  const name = hostOf(own)
  const sameHost = host === name || (isLoopback(host) && isLoopback(name))
  return sameHost && (portOf(url) === portOf(own) || !(allowPrivate || isLoopback(name)))
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

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
 * Checks whether a host name, as `URL` prints it and without a final dot, can be a name of the public DNS (T1): at least two
 * labels, no local ending. IP addresses are not names.
 */
function isPublicName(name: string): boolean {
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

/** Networks that the IANA IPv4 special-purpose registry keeps off the public internet, multicast and reserved space. */
const V4_REFUSED: readonly [network: string, bits: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // A public address, but within Azure it is the host's own wire server.
  ['168.63.129.16', 32],
]

/** Inside 2000::/3: protocol assignments with Teredo and ORCHID, documentation, and 6to4, which hides IPv4 addresses (T5). */
const V6_REFUSED: readonly [network: string, bits: number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const refused = new BlockList()
for (const [network, bits] of V4_REFUSED) refused.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of V6_REFUSED) refused.addSubnet(network, bits, 'ipv6')

/** The only IPv6 space handed out for the public internet: mapped, compatible, NAT64 and local forms all lie outside. */
const global = new BlockList()
global.addSubnet('2000::', 3, 'ipv6')

/**
 * Checks whether an IP address, in the form Node prints, belongs to the public internet (T1, T5). Everything that is not clearly
 * public is refused: names, zone ids, IPv4 inside IPv6.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !refused.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return global.check(address, 'ipv6') && !refused.check(address, 'ipv6')
}
