import { createHash } from 'node:crypto'
import { toBase64Url } from './base64.ts'
import { publicKeyOf } from './ed25519-node.ts'
import { JwksError, readJwks, thumbprintText } from './jwks.ts'
import type { KeyPurpose, PublicKeyRecord, SigningKey, VerificationKey } from './key-record.ts'

/** Key id of an Ed25519 public key (32 raw bytes): its RFC 7638 SHA-256 thumbprint in base64url, 43 characters. */
export function thumbprint(publicKey: Uint8Array): string {
  return toBase64Url(createHash('sha256').update(thumbprintText(publicKey), 'utf8').digest())
}

/** Makes a key from 32 random bytes. @throws RangeError for a seed of another length. */
export function newSigningKey(facts: {
  purpose: KeyPurpose
  seed: Uint8Array
  createdAt: Date
  notBefore: Date
}): SigningKey {
  const seed = Uint8Array.from(facts.seed)
  const publicKey = publicKeyOf(seed)
  const { purpose, createdAt, notBefore } = facts
  return { kid: thumbprint(publicKey), purpose, publicKey, seed, notBefore, createdAt }
}

/** Copies the public fields one by one, so that the seed stays behind. */
export function toPublicRecord(key: PublicKeyRecord): PublicKeyRecord {
  const { kid, purpose, publicKey, notBefore, notAfter, revokedAt, createdAt } = key
  return {
    kid,
    purpose,
    publicKey,
    notBefore,
    createdAt,
    ...(notAfter && { notAfter }),
    ...(revokedAt && { revokedAt }),
  }
}

/**
 * Reads a pinned or published key set.
 * @throws JwksError for malformed, weak, private or repeated keys, and for a kid that is not the key's own thumbprint:
 * otherwise two sets could give one kid two keys.
 */
export function parseJwks(json: unknown): VerificationKey[] {
  const keys = readJwks(json)
  const misnamed = keys.find((key) => key.kid !== thumbprint(key.publicKey))
  if (misnamed) throw new JwksError(`kid ${misnamed.kid} is not the RFC 7638 thumbprint of its key`)
  return keys
}

/** No key can sign for that purpose now. The message tells the operator what to do. */
export class NoSigningKeyError extends Error {
  override readonly name = 'NoSigningKeyError'

  constructor(purpose: KeyPurpose) {
    super(
      `no key can sign for ${purpose}: the newest one in the store cannot be decrypted, or none has begun yet. Run: countersign signing-keys rotate --purpose ${purpose} --now`,
    )
  }
}

/** Checks whether the key has its seed, without which it cannot sign. */
export function hasSeed(key: PublicKeyRecord): key is SigningKey {
  return 'seed' in key
}

/** All signing keys of the service, past, present and announced. */
export class KeyRing {
  readonly #keys: ReadonlyMap<string, SigningKey | PublicKeyRecord>

  /**
   * @param lost keys whose seed is lost; their signatures still verify
   * @throws RangeError when a kid repeats, or when kid, public key and seed of a record do not belong together.
   */
  constructor(keys: readonly SigningKey[], lost: readonly PublicKeyRecord[] = []) {
    this.#keys = new Map([...keys, ...lost].map((key) => [key.kid, key]))
    if (this.#keys.size !== keys.length + lost.length) throw new RangeError('the key ring repeats a kid')
    for (const key of keys) {
      // Signing with a seed and the public key of another seed would leak the first.
      const derived = publicKeyOf(key.seed)
      if (!Buffer.from(derived).equals(key.publicKey) || thumbprint(derived) !== key.kid) {
        throw new RangeError(`key ${key.kid} does not match its seed`)
      }
    }
  }

  /**
   * Returns the key that signs at this time: the newest key that has begun and not ended. If that key is revoked or its seed
   * is lost, no key signs: the key before it may have been replaced for a reason.
   */
  active(purpose: KeyPurpose, at: Date): SigningKey | undefined {
    const newest = this.#newest(purpose, at)
    return newest !== undefined && newest.revokedAt === undefined && hasSeed(newest) ? newest : undefined
  }

  /** Checks whether no key signs at this time because its key was revoked, perhaps with effect before its own beginning. */
  revokedFor(purpose: KeyPurpose, at: Date): boolean {
    const newest = this.#newest(purpose, at)
    if (newest !== undefined) return newest.revokedAt !== undefined
    return [...this.#keys.values()].some(
      (key) => key.purpose === purpose && key.notBefore <= at && key.revokedAt !== undefined,
    )
  }

  #newest(purpose: KeyPurpose, at: Date): SigningKey | PublicKeyRecord | undefined {
    return [...this.#keys.values()]
      .filter((key) => key.purpose === purpose && signsAt(key, at))
      .sort((a, b) => newestFirst(a, b))[0]
  }

  /** Finds the key with this id, whatever its state. */
  find(kid: string): PublicKeyRecord | undefined {
    return this.#keys.get(kid)
  }

  /** Returns every public record, for verification and for `toJwks`. */
  publicRecords(): PublicKeyRecord[] {
    return [...this.#keys.values()].map(toPublicRecord)
  }
}

function signsAt(key: PublicKeyRecord, at: Date): boolean {
  const over = key.notAfter !== undefined && key.notAfter <= at
  // A key revoked before it began must not be the newest, or no key would sign from then on.
  const never = key.revokedAt !== undefined && key.revokedAt <= key.notBefore
  return key.notBefore <= at && !over && !never
}

/** The kid breaks ties, because all processes must agree on the order. */
function newestFirst(a: PublicKeyRecord, b: PublicKeyRecord): number {
  return (
    b.notBefore.getTime() - a.notBefore.getTime() ||
    b.createdAt.getTime() - a.createdAt.getTime() ||
    (a.kid < b.kid ? -1 : 1)
  )
}
