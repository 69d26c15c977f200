import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import type { User } from '../../domain/user.ts'
import type { Random } from '../ports.ts'

/** RFC 6238 with what every authenticator app assumes: HMAC-SHA-1, 30 s, 6 digits. */
const PERIOD_SECONDS = 30

/** 160 bits, the length of the hash (RFC 4226 section 4, R6). */
const SEED_BYTES = 20

/** Exactly six ASCII digits. The library throws on anything else, and full-width digits must not count (T29). */
export function isCodeShaped(code: unknown): code is string {
  return typeof code === 'string' && /^[0-9]{6}$/.test(code)
}

/**
 * The time step whose code this is: the current one or the one before (RFC 6238 section 5.2), never a future one.
 * @returns undefined for a wrong or ill-formed code
 */
export function matchTotp(seed: Uint8Array, code: string, at: Date): number | undefined {
  if (!isCodeShaped(code)) return undefined
  const result = verifySync({
    secret: Uint8Array.from(seed),
    token: code,
    epoch: Math.floor(at.getTime() / 1000),
    epochTolerance: [PERIOD_SECONDS, 0],
    period: PERIOD_SECONDS,
  })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/** A new seed. */
export function newTotpSeed(random: Random): Uint8Array {
  return random.bytes(SEED_BYTES)
}

/** What an authenticator app needs, as text to type and as a link to scan. Shown once. */
export interface TotpSetUp {
  /** Base32 without padding. */
  secret: string
  otpauth_url: string
}

/** Describes a seed for the authenticator app of this person. */
export function describeSeed(seed: Uint8Array, issuer: string, email: User['email']): TotpSetUp {
  const secret = new ScureBase32Plugin().encode(seed, { padding: false })
  return { secret, otpauth_url: generateURI({ issuer, label: email, secret }) }
}
