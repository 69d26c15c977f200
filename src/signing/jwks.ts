import type { RestoreTimes } from '../domain/restore.ts'
import { fromBase64Url, toBase64Url } from './base64.ts'
import { canonicalize } from './canonical.ts'
import { publicKeyProblem } from './ed25519-web.ts'
import {
  type KeyPurpose,
  keyWindow,
  type PublicKeyRecord,
  seconds,
  type VerificationKey,
} from './key-record.ts'

/** One published key: RFC 8037 members plus validity in Unix seconds. */
interface Jwk {
  kty: 'OKP'
  crv: 'Ed25519'
  /** Base64url of the raw 32 bytes. */
  x: string
  use: 'sig'
  alg: 'EdDSA'
  kid: string
  purpose: KeyPurpose
  nbf: number
  exp?: number
  revoked_at?: number
}

/** RFC 7517 key set. */
export interface Jwks {
  keys: Jwk[]
  /** In Unix seconds, oldest first. Other readers ignore it, as RFC 7517 section 5 asks. */
  restores?: { copied_at: number; restored_at: number }[]
}

/** The key set cannot be trusted; the message names the key and the fault. */
export class JwksError extends Error {
  override readonly name = 'JwksError'
}

/** Returns the RFC 7638 section 3 text whose SHA-256, in base64url, is the key id. */
export function thumbprintText(publicKey: Uint8Array): string {
  return canonicalize({ crv: 'Ed25519', kty: 'OKP', x: toBase64Url(publicKey) })
}

/** Builds the public key set, only of keys that sign receipts: a verifier that pins it must accept nothing else as one. */
export function toJwks(keys: readonly PublicKeyRecord[], restores: readonly RestoreTimes[] = []): Jwks {
  const published = keys.filter(({ purpose }) => purpose !== 'session' && purpose !== 'log').map(toJwk)
  if (restores.length === 0) return { keys: published }
  const times = restores.map(({ copied_at, restored_at }) => ({
    copied_at: seconds(copied_at),
    restored_at: seconds(restored_at),
  }))
  return { keys: published, restores: times }
}

function toJwk(key: PublicKeyRecord): Jwk {
  const x = toBase64Url(key.publicKey)
  const named = { kid: key.kid, purpose: key.purpose, ...keyWindow(key) }
  return { kty: 'OKP', crv: 'Ed25519', x, use: 'sig', alg: 'EdDSA', ...named }
}

/**
 * Reads a published or pinned key set; the caller still compares each kid with the SHA-256 of `thumbprintText`
 * (`parseJwks` does). Keys for purposes other than receipts are skipped, as RFC 7517 section 5 asks.
 * @throws JwksError for a malformed, weak, private or repeated key.
 */
export function readJwks(json: unknown): VerificationKey[] {
  const { keys: list, restores: past = [] } = isRecord(json) ? json : {}
  if (!Array.isArray(list)) throw new JwksError('a key set is an object with an array "keys"')
  if (!Array.isArray(past)) throw new JwksError('"restores" is not an array')
  const restores = past.map(readRestore)
  const keys = list.flatMap((entry: unknown, index) => readJwk(entry, `keys[${index}]`))
  if (new Set(keys.map((key) => key.kid)).size !== keys.length)
    throw new JwksError('the key set repeats a kid')
  return restores.length === 0 ? keys : keys.map((key) => ({ ...key, restores }))
}

function readRestore(entry: unknown, index: number): RestoreTimes {
  const where = `restores[${index}]`
  const { copied_at, restored_at } = isRecord(entry) ? entry : {}
  const [copied, restored] = [
    time(copied_at, `${where}.copied_at`),
    time(restored_at, `${where}.restored_at`),
  ]
  if (copied === undefined || restored === undefined) throw new JwksError(`${where} is not two Unix times`)
  return { copied_at: copied, restored_at: restored }
}

function readJwk(entry: unknown, where: string): VerificationKey[] {
  if (!isRecord(entry)) throw new JwksError(`${where} is not an object`)
  if ('d' in entry) throw new JwksError(`${where} contains a private key; replace that key at once`)
  const { kid, purpose } = entry
  if (typeof purpose !== 'string') throw new JwksError(`${where}.purpose is missing`)
  if (purpose !== 'decision' && purpose !== 'decision-sandbox') return []
  if (entry.kty !== 'OKP' || entry.crv !== 'Ed25519' || entry.use !== 'sig' || entry.alg !== 'EdDSA') {
    throw new JwksError(`${where} is not an Ed25519 signature key`)
  }
  if (typeof kid !== 'string' || kid === '') throw new JwksError(`${where}.kid is missing`)
  const notAfter = time(entry.exp, `${where}.exp`)
  const revokedAt = time(entry.revoked_at, `${where}.revoked_at`)
  const notBefore = time(entry.nbf, `${where}.nbf`)
  if (notBefore === undefined) throw new JwksError(`${where}.nbf is missing`)
  const publicKey = point(entry.x, `${where}.x`)
  return [
    { kid, purpose, publicKey, notBefore, ...(notAfter && { notAfter }), ...(revokedAt && { revokedAt }) },
  ]
}

function point(x: unknown, where: string): Uint8Array {
  if (typeof x !== 'string') throw new JwksError(`${where} is missing`)
  let publicKey: Uint8Array
  try {
    publicKey = fromBase64Url(x)
  } catch (cause) {
    throw new JwksError(`${where} is not canonical base64url`, { cause })
  }
  const problem = publicKeyProblem(publicKey)
  if (problem !== undefined) throw new JwksError(`${where} ${problem}`)
  return publicKey
}

function time(value: unknown, where: string): Date | undefined {
  if (value === undefined) return undefined
  // 8.64e12 s is the latest time a Date can hold; with a later one every comparison would be false.
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 8.64e12) {
    throw new JwksError(`${where} is not a Unix time in seconds`)
  }
  return new Date(value * 1000)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
