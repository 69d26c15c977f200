import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  verify as platformVerify,
} from 'node:crypto'
import { hashes, sign } from '@noble/ed25519'
import { hasLengths, hasSmallR, isReduced, isStrictPoint } from './ed25519-web.ts'

hashes.sha512 = (message) => new Uint8Array(createHash('sha512').update(message).digest())

/** DER prefix that makes 32 raw bytes an Ed25519 SubjectPublicKeyInfo (RFC 8410 section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** DER prefix that makes a 32-byte seed a private key in PKCS #8 (RFC 8410 section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The 32-byte public key of a 32-byte seed (RFC 8032 section 5.1.5). @throws RangeError for another length. */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  if (seed.length !== 32) throw new RangeError('an Ed25519 seed has 32 bytes')
  const der = Buffer.concat([PKCS8_PREFIX, seed])
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  return Uint8Array.from(key.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length))
}

/** Makes a plain RFC 8032 signature without checking it: callers outside `sign.ts` want `signBytes`. */
export function rawSign(message: Uint8Array, seed: Uint8Array): Uint8Array {
  return sign(message, seed)
}

/** Parsed keys by their bytes: parsing one costs as much as verifying a signature. Bounded, because passkeys come here too. */
const known = new Map<string, { key: KeyObject; strict: boolean }>()
const MOST_KNOWN = 1_000

/**
 * Returns the key as a `KeyObject`, and whether it is a strict point; both are computed once per cached key.
 * @throws when the platform cannot read the key: wrong length, or no point of the curve
 */
function imported(publicKey: Uint8Array): { key: KeyObject; strict: boolean } {
  const id = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.length).toString('latin1')
  const found = known.get(id)
  if (found !== undefined) return found
  const der = Buffer.concat([SPKI_PREFIX, publicKey])
  const read = {
    key: createPublicKey({ key: der, format: 'der', type: 'spki' }),
    strict: isStrictPoint(publicKey),
  }
  const [oldest] = known.keys()
  if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest)
  known.set(id, read)
  return read
}

/** The public key for packages that take node:crypto's `KeyObject`. @throws for bytes that are no key */
export function toKeyObject(publicKey: Uint8Array): KeyObject {
  return imported(publicKey).key
}

/** The verdict of node:crypto alone, which accepts small-order keys before Node 24; see `verifySignature`. */
export function platformAccepts(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return platformVerify(null, message, imported(publicKey).key, signature)
  } catch {
    return false
  }
}

/**
 * Strict Ed25519 by node:crypto. Never throws. It gives the same verdict as `signatureHolds`, which needs no node:crypto, and
 * as both implementations together, for these reasons:
 *
 * - A: node:crypto would accept other spellings of a point, and points of small order. Both are properties of the key alone,
 *   so @noble/ed25519 judges them once per key (`isStrictPoint`).
 * - S: must be below L, or one signature would have two spellings.
 * - R: node:crypto computes [S]B - [k]A and compares its only encoding with the bytes of R, so no other spelling of R passes.
 *   Whether an R of small order passes depends on the version of Node, so all of them are refused here.
 * - The equation: node:crypto checks it without cofactor. Where it holds, it also holds times eight, which noble checks.
 */
export function verifySignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const key = strictKey(publicKey, message, signature)
  try {
    return key !== undefined && platformVerify(null, message, key, signature)
  } catch {
    return false
  }
}

/** Gives the verdict of `verifySignature`, computed on a thread of libuv's pool. */
export async function verifySignatureAside(...signed: Parameters<typeof verifySignature>): Promise<boolean> {
  const [publicKey, message, signature] = signed
  const key = strictKey(publicKey, message, signature)
  if (key === undefined) return false
  return new Promise((resolve) => {
    platformVerify(null, message, key, signature, (error, holds) => resolve(error === null && holds))
  })
}

/** Returns the key for node:crypto; undefined when a strict check refuses the key or the signature unseen. */
function strictKey(...signed: Parameters<typeof verifySignature>): KeyObject | undefined {
  const [publicKey, message, signature] = signed
  if (!hasLengths(publicKey, message, signature)) return undefined
  if (!isReduced(signature) || hasSmallR(signature)) return undefined
  try {
    const { key, strict } = imported(publicKey)
    return strict ? key : undefined
  } catch {
    return undefined
  }
}
