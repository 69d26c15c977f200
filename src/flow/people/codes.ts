import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import type { AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import { limitSubject } from '../../domain/limits.ts'
import { isTotpOpen, type Totp, type User } from '../../domain/user.ts'
import type { RoundEnd } from '../../store/totp-tries.ts'
import type { PeopleDeps } from '../deps.ts'
import type { LimitState } from '../ports.ts'
import { personAudit } from './person.ts'

/** Wrong codes from one network address, for any person: against spraying codes over accounts. */
const ADDRESS_ALLOWANCE = { most: 100, seconds: 15 * 60 }

/** The additional data that a seed is sealed with: swapped between two people, it no longer opens (T28). */
function totpAad(userId: string): string {
  return `totp:${userId}`
}

/**
 * Checks a code of this person and burns its time step. A code is compared first, and its outcome counts by one conditional write
 * for the address and one for the person: a right code only passes where it meets room for a try, as a wrong one takes one. So of
 * parallel guesses over many processes, in the order of these writes, none beyond the limit learns whether it was right (T26): ten
 * wrong ones in a row lock codes for 15 minutes, doubling; fifty disable them. A code counts once (T25). Right codes do not count
 * towards the limit of an address: people who share an address do not lock each other out.
 * @throws Refusal `totp_refused`, `totp_locked` (with `retry_after`), `totp_disabled`, `method_not_enrolled`
 */
export async function verifyTotp(
  deps: PeopleDeps,
  input: { user: User; code: string; address?: string },
): Promise<{ step: number }> {
  const { code, user } = input
  if (!isCodeShaped(code)) throw refusal('totp_refused')
  if (user.totp === undefined) throw refusal('method_not_enrolled')
  const at = deps.clock.now()
  // Locked codes are not compared: a right one takes other writes, and the time they take would tell it from a wrong one.
  const step = isTotpOpen(user.totp, at) ? freshStep(deps, user, user.totp, code, at) : undefined
  if (step !== undefined && (await passes(deps, input, user.totp, step, at))) return { step }
  await countWrongCode(deps, input, at)
  throw refusal('totp_refused')
}

/** Returns the time step of a right code that was not used yet. */
function freshStep(deps: PeopleDeps, { id }: User, totp: Totp, code: string, at: Date): number | undefined {
  const step = matchTotp(deps.vault.open(totp.sealed_seed, totpAad(id)), code, at)
  return step !== undefined && step > totp.last_step ? step : undefined
}

/**
 * Checks that the right code comes within the limits, and burns its step.
 * @returns false if codes were locked, set up again or used by another process meanwhile
 * @throws Refusal `totp_locked` where the address has no try left
 */
async function passes(
  deps: PeopleDeps,
  { user, address }: { user: User; address?: string },
  totp: Totp,
  step: number,
  at: Date,
): Promise<boolean> {
  if (address !== undefined)
    checkAllowed(await deps.attempts.check(addressSubject(address), ADDRESS_ALLOWANCE))
  return deps.users.takeTotpStep(user.id, { step, sealed_seed: totp.sealed_seed }, at)
}

/**
 * Counts a wrong code for the address and the person. The address gets its try back where codes are locked: such a try tells
 * nothing about the code (T27).
 * @throws Refusal `totp_locked`, `totp_disabled`, `method_not_enrolled` where it was one too many
 */
async function countWrongCode(
  deps: PeopleDeps,
  input: { user: User; address?: string },
  at: Date,
): Promise<void> {
  const { user, address } = input
  const subject = address === undefined ? undefined : addressSubject(address)
  const taken = subject === undefined ? undefined : await deps.attempts.take(subject, ADDRESS_ALLOWANCE)
  if (taken !== undefined) checkAllowed(taken)
  const tried = await deps.users.takeTotpTry(user.id, at, (end) => lockEntry(deps, input, end))
  if (tried !== undefined) return logLock(deps, user, tried, at)
  if (subject !== undefined && taken !== undefined) await deps.attempts.giveBack(subject, taken)
  throw await whyNoTry(deps, user.id, at)
}

function addressSubject(address: string): string {
  return `totp:${limitSubject(address)}`
}

/** @throws Refusal `totp_locked` */
function checkAllowed({ allowed, retryAfter, limit }: LimitState): void {
  if (!allowed) throw refusal('totp_locked', { retry_after: retryAfter, limit })
}

async function whyNoTry(deps: PeopleDeps, userId: string, at: Date) {
  const totp = (await deps.users.find(userId))?.totp
  if (totp === undefined) return refusal('method_not_enrolled')
  if (totp.disabled_at !== null) return refusal('totp_disabled')
  return refusal('totp_locked', { retry_after: secondsUntil(totp.locked_until ?? at, at) })
}

/** Makes the entry, and thereby the notice, of the try that locks or disables codes (T27). */
function lockEntry(
  deps: PeopleDeps,
  { user, address }: { user: User; address?: string },
  { failures, disabled }: RoundEnd,
): AuditEntry {
  return personAudit(deps, disabled ? 'factor.totp_disabled' : 'factor.totp_locked', user, {
    actor: { kind: 'service' },
    detail: { failures, ...(address === undefined ? {} : { address }) },
  })
}

function logLock(deps: PeopleDeps, { id }: User, tried: Totp, at: Date): void {
  if (isTotpOpen(tried, at)) return
  const { failures, disabled_at } = tried
  deps.log.warn({ user_id: id, failures }, disabled_at === null ? 'codes locked' : 'codes disabled')
}

/** Returns the first state of codes, confirmed by a right code, which that uses up (T25). @throws Refusal `totp_refused` */
export function confirmTotp(
  { vault }: Pick<PeopleDeps, 'vault'>,
  { user_id, sealed_seed }: { user_id: string; sealed_seed: string },
  code: string,
  at: Date,
): Totp {
  const step = matchTotp(vault.open(sealed_seed, totpAad(user_id)), code, at)
  if (step === undefined) throw refusal('totp_refused')
  return {
    sealed_seed,
    confirmed_at: at,
    last_step: step,
    failures: 0,
    locked_until: null,
    locks: 0,
    disabled_at: null,
  }
}

/** Whole seconds, at least one. */
function secondsUntil(end: Date, now: Date): number {
  return Math.max(1, Math.ceil((end.getTime() - now.getTime()) / 1000))
}

/** RFC 6238 with what every authenticator app assumes: HMAC-SHA-1, 30 s, 6 digits. */
const PERIOD_SECONDS = 30

/** 160 bits, the length of the hash (RFC 4226 section 4, R6). */
const SEED_BYTES = 20

/** Exactly six ASCII digits. The library throws on anything else, and full-width digits must not count (T29). */
export function isCodeShaped(code: unknown): code is string {
  return typeof code === 'string' && /^[0-9]{6}$/.test(code)
}

/**
 * Returns the time step of the code: the current one or the one before (RFC 6238 section 5.2), never a future one.
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

/** What an authenticator app needs, as text to type and as a link to scan. Shown once. */
export interface TotpSetUp {
  /** Base32 without padding. */
  secret: string
  otpauth_url: string
}

/** What authenticator apps call the service. */
const ISSUER = 'Countersign'

/** Draws a seed for this person: sealed for the store, and in the form that their authenticator app takes. */
export function drawSeed(
  { random, vault }: Pick<PeopleDeps, 'random' | 'vault'>,
  { id, email }: Pick<User, 'id' | 'email'>,
): { sealed_seed: string; shown: TotpSetUp } {
  const seed = random.bytes(SEED_BYTES)
  const secret = new ScureBase32Plugin().encode(seed, { padding: false })
  const shown = { secret, otpauth_url: generateURI({ issuer: ISSUER, label: email, secret }) }
  return { sealed_seed: vault.seal(seed, totpAad(id)), shown }
}

/** Crockford base 32: no I, L, O or U, so that a handwritten code can be read back. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

const COUNT = 10
const LENGTH = 10

/** Draws ten codes of 50 bits, `XXXXX-XXXXX`, and their keyed hashes. The codes are shown once. */
export function drawBackupCodes(
  deps: Pick<PeopleDeps, 'random' | 'vault'>,
  userId: string,
): { codes: string[]; hashes: string[] } {
  const plain = Array.from({ length: COUNT }, () =>
    Array.from(deps.random.bytes(LENGTH), (byte) => ALPHABET.charAt(byte & 31)).join(''),
  )
  return {
    codes: plain.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`),
    hashes: plain.map((code) => hashOf(deps, userId, code)),
  }
}

/**
 * Returns the keyed hash of a code as typed: case, hyphens, spaces and Crockford's look-alikes do not matter.
 * @returns undefined when it is not shaped like a code
 */
export function backupCodeHash(
  deps: Pick<PeopleDeps, 'vault'>,
  userId: string,
  typed: string,
): string | undefined {
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  return /^[0-9A-HJKMNP-TV-Z]{10}$/.test(code) ? hashOf(deps, userId, code) : undefined
}

/** Includes the person's id, so that equal codes of two people have different hashes. */
function hashOf(deps: Pick<PeopleDeps, 'vault'>, userId: string, code: string): string {
  return deps.vault.hash('backup-code', `${userId}:${code}`)
}
