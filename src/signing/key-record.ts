import type { RestoreTimes } from '../domain/restore.ts'

/** What a key may sign. Each key has one use, so that a signature made for one use cannot be presented for another. */
export type KeyPurpose = 'decision' | 'decision-sandbox' | 'session' | 'token' | 'log'

/** The facts about a key that a verifier needs. */
export interface VerificationKey {
  /** RFC 7638 thumbprint. */
  kid: string
  purpose: KeyPurpose
  /** 32 raw bytes. */
  publicKey: Uint8Array
  notBefore: Date
  notAfter?: Date
  /** Since when the key counts as compromised; only what it signed before this time counts. */
  revokedAt?: Date
  /** The restores of the key's service, oldest first; absent if there was none. */
  restores?: readonly RestoreTimes[]
}

/** The public half of a key as stored and published. */
export interface PublicKeyRecord extends VerificationKey {
  createdAt: Date
}

/** A key with its secret. Never log it and never hand it to a serialiser. */
export interface SigningKey extends PublicKeyRecord {
  /** 32 secret bytes (RFC 8032 section 5.1.5). */
  seed: Uint8Array
}

/** Validity as published, in Unix seconds. */
export interface KeyWindow {
  nbf: number
  exp?: number
  revoked_at?: number
}

/** The key's validity in whole seconds, the resolution of receipts and JWKS. */
export function keyWindow(key: VerificationKey): KeyWindow {
  return {
    nbf: seconds(key.notBefore),
    ...(key.notAfter ? { exp: seconds(key.notAfter) } : {}),
    ...(key.revokedAt ? { revoked_at: seconds(key.revokedAt) } : {}),
  }
}

/** Why the key may not sign at `ts` (Unix seconds); undefined if it may. The second of its revocation is refused already. */
export function keyProblemAt(
  key: VerificationKey,
  ts: number,
): 'receipt_key_not_yet_valid' | 'receipt_key_expired' | 'receipt_key_revoked' | undefined {
  const window = keyWindow(key)
  if (ts < window.nbf) return 'receipt_key_not_yet_valid'
  if (window.revoked_at !== undefined && ts >= window.revoked_at) return 'receipt_key_revoked'
  if (window.exp !== undefined && ts > window.exp) return 'receipt_key_expired'
  return undefined
}

/** Returns the Unix time in whole seconds. */
export function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}
