import type { BundledPasskey, SignedPasskey } from '../domain/bundle.ts'
import { parseUnambiguous } from '../domain/parse-json.ts'
import { fromBase64Url, sameBytes, toBase64Url } from './base64.ts'
import { canonicalize } from './canonical.ts'
import type { Ed25519 } from './ed25519-web.ts'

/** A passkey's public key. Numbers are big-endian: of ES256 the 64 bytes of x and y, of EdDSA the point, of RS256 the modulus. */
export interface PlainKey {
  algorithm: -7 | -8 | -257
  bytes: Uint8Array
}

/** COSE (RFC 9053, CTAP2's order of members) up to the first number, by algorithm; RS256 has the length of the modulus next. */
const HEADS = {
  [-7]: 'a5010203262001215820',
  [-8]: 'a4010103272006215820',
  [-257]: 'a401030339010020',
} as const
const Y_HEAD = '225820'
/** The exponent 65537, the only one that is accepted. */
const RSA_TAIL = '2143010001'

/** Writes the one spelling of the key that `readKey` accepts. */
export function writeKey({ algorithm, bytes }: PlainKey): string {
  const hex = toHex(bytes)
  const rest = {
    [-7]: () => `${hex.slice(0, 64)}${Y_HEAD}${hex.slice(64)}`,
    [-8]: () => hex,
    [-257]: () => `59${bytes.length.toString(16).padStart(4, '0')}${hex}${RSA_TAIL}`,
  }
  return toBase64Url(fromHex(`${HEADS[algorithm]}${rest[algorithm]()}`))
}

/** Reads a key; undefined for every other spelling, so that each byte of it counts. */
function readKey(cose: string): PlainKey | undefined {
  const hex = attempt(() => toHex(fromBase64Url(cose))) ?? ''
  const found = ([-7, -8, -257] as const).find((one) => hex.startsWith(HEADS[one]))
  if (found === undefined) return undefined
  const rest = hex.slice(HEADS[found].length)
  const numbers = {
    [-7]: () => `${rest.slice(0, 64)}${rest.slice(64 + Y_HEAD.length)}`,
    [-8]: () => rest,
    [-257]: () => rest.slice(6, -RSA_TAIL.length),
  }
  const key: PlainKey = { algorithm: found, bytes: fromHex(numbers[found]()) }
  const { length } = key.bytes
  const sized = { [-7]: length === 64, [-8]: length === 32, [-257]: length >= 256 }
  return sized[found] && writeKey(key) === cose ? key : undefined
}

/** What an assertion must be about. */
export interface AssertedFacts {
  /** SHA-256 of what the person consented to. */
  challenge: Uint8Array
  /** The service's BASE_URL, as the intent states it. */
  origin: string
}

/** The client data as browsers usually write them (WebAuthn L3 §5.8.1.1). */
export function usualClientData({ challenge, origin }: AssertedFacts): string {
  const [asked, from] = [toBase64Url(challenge), origin].map(canonicalize)
  return `{"type":"webauthn.get","challenge":${asked},"origin":${from},"crossOrigin":false}`
}

/** Leaves out client data that every verifier can write itself. */
export function abridged({ client_data, ...rest }: SignedPasskey, facts: AssertedFacts): BundledPasskey {
  return client_data === usualClientData(facts) ? rest : { client_data, ...rest }
}

/** The checks of an assertion, in order (WebAuthn L3 §7.2). */
export const ASSERTION_CHECKS = ['challenge', 'origin', 'rp_id', 'presence', 'assertion'] as const
export type AssertionCheck = (typeof ASSERTION_CHECKS)[number]

/**
 * Checks an assertion without the service. That the key is the approver's is not in it: only the enrolment says so.
 * @returns the first check that failed; undefined when all hold
 */
export async function failedCheck(
  passkey: Omit<SignedPasskey, 'batch'>,
  facts: AssertedFacts,
  ed25519: Ed25519,
): Promise<AssertionCheck | undefined> {
  const clientData = new TextEncoder().encode(passkey.client_data)
  // A member named twice could be read in two ways; the service refuses such client data as well.
  const said = Object(parseUnambiguous(passkey.client_data))
  if (said.type !== 'webauthn.get' || said.challenge !== toBase64Url(facts.challenge)) return 'challenge'
  const framed = (said.crossOrigin ?? false) !== false || said.topOrigin !== undefined
  if (said.origin !== facts.origin || framed) return 'origin'
  const host = attempt(() => new URL(facts.origin).hostname) ?? ''
  const data = attempt(() => fromBase64Url(passkey.authenticator_data)) ?? new Uint8Array()
  const isParty = sameBytes(data.subarray(0, 32), await sha256(new TextEncoder().encode(host)))
  if (host === '' || data.length < 37 || !isParty) return 'rp_id'
  if (((data[32] ?? 0) & 0x05) !== 0x05) return 'presence'
  const key = readKey(passkey.key)
  const signature = attempt(() => fromBase64Url(passkey.signature))
  if (key === undefined || signature === undefined) return 'assertion'
  const message = new Uint8Array([...data, ...(await sha256(clientData))])
  return (await isSigned(key, message, signature, ed25519)) ? undefined : 'assertion'
}

async function isSigned(
  { algorithm, bytes }: PlainKey,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
  ed25519: Ed25519,
): Promise<boolean> {
  if (algorithm === -8) return ed25519(bytes, message, signature)
  const { subtle } = crypto
  try {
    if (algorithm === -7) {
      const raw = rawSignature(signature)
      if (raw === undefined) return false
      const curve = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
      const key = await subtle.importKey('raw', new Uint8Array([4, ...bytes]), curve, false, ['verify'])
      return await subtle.verify(curve, key, raw, message)
    }
    const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
    const jwk = { kty: 'RSA', n: toBase64Url(bytes), e: 'AQAB' }
    const key = await subtle.importKey('jwk', jwk, rsa, false, ['verify'])
    return await subtle.verify(rsa, key, new Uint8Array(signature), message)
  } catch {
    // The platform refuses points that are not on the curve.
    return false
  }
}

/** Reads r and s of an ES256 signature: strict DER (X.690 §10.1), since WebCrypto takes only the plain numbers. */
function rawSignature(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const raw = new Uint8Array(64)
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined
  let at = 2
  for (const end of [32, 64]) {
    const length = der[at + 1] ?? 0
    const number = der.subarray(at + 2, at + 2 + length)
    const [first = 0x80, second = 0] = number
    const padded = first === 0 && length > 1
    if (der[at] !== 0x02 || number.length !== length || first >= 0x80 || (padded && second < 0x80))
      return undefined
    const plain = padded ? number.subarray(1) : number
    if (plain.length > 32) return undefined
    raw.set(plain, end - plain.length)
    at += 2 + length
  }
  return at === der.length ? raw : undefined
}

/** SHA-256 by WebCrypto. */
export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)))
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
