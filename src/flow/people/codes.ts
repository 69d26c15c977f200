import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import type { AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { LimitState } from '../../domain/limits.ts'
import { limitSubject } from '../../domain/limits.ts'
import { isTotpOpen, type Totp, type User } from '../../domain/user.ts'
import type { RoundEnd } from '../../store/people/totp-tries.ts'
import type { PeopleDeps } from '../deps.ts'
import { personAudit } from './person.ts'

/** Wrong codes from one network address, for any person: against spraying codes over accounts. */
const ADDRESS_ALLOWANCE = { most: 100, seconds: 15 * 60 }

/** The additional data that a seed is sealed with: swapped between two people, it no longer opens (T28). */
function totpAad(userId: string): string {
  return `totp:${userId}`
}

/** Tries at once that one may lose against others: ten wrong ones lock codes, and each right one needs a step of its own. */
const MAX_LOST = 16

/**
 * Checks a code of this person and burns its time step. The code is compared first, and its outcome is told only once it has counted
 * by one conditional write for the address and one for the person. Right and wrong codes need the same writes, under the condition
 * that nothing came between: of guesses at once, over any number of processes, the first ten to arrive learn something, as if they
 * had come one by one, and a right one has no advantage (T26). Ten wrong ones in a row lock codes for 15 minutes, doubling; fifty
 * disable them. A code counts once (T25). Right codes do not count towards the limit of an address: people who share an address do
 * not lock each other out.
 * @throws Refusal `totp_refused`, `totp_locked` (with `retry_after`), `totp_disabled`, `method_not_enrolled`
 */
export async function verifyTotp(
  deps: PeopleDeps,
  input: { user: User; code: string; address?: string },
): Promise<{ step: number }> {
  const { code, address } = input
  if (!isCodeShaped(code)) throw refusal('totp_refused')
  const at = deps.clock.now()
  let user: User | undefined = input.user
  let giveBack: (() => Promise<void>) | undefined
  let isWithin = false
  for (let lost = 0; lost < MAX_LOST; lost += 1) {
    const totp = user?.totp
    if (user === undefined || totp === undefined || !isTotpOpen(totp, at)) {
      // Such a try tells nothing about the code, so the address keeps it (T27).
      await giveBack?.()
      throw whyNoTry(totp, at)
    }
    const step = freshStep(deps, user, totp, code, at)
    // Once for a try: asked again after a lost race, only a right code could meet an address that is full by now.
    if (step === undefined) giveBack ??= await takeAddressTry(deps, address)
    else if (!isWithin) await checkAddress(deps, address)
    isWithin = true
    const entryOf = (end: RoundEnd) => lockEntry(deps, input, end)
    const settled = await deps.users.settleTotpTry(user.id, totp, { step, at, entryOf })
    if (settled !== undefined) {
      if (step !== undefined) return { step }
      logLock(deps, user, settled, at)
      throw refusal('totp_refused')
    }
    user = await deps.users.find(user.id)
  }
  await giveBack?.()
  throw refusal('unavailable')
}

/** Returns the time step of a right code that was not used yet. */
function freshStep(deps: PeopleDeps, { id }: User, totp: Totp, code: string, at: Date): number | undefined {
  const step = matchTotp(deps.vault.open(totp.sealed_seed, totpAad(id)), code, at)
  return step !== undefined && step > totp.last_step ? step : undefined
}

/** Checks that the address has a try left, and takes none. @throws Refusal `totp_locked` */
async function checkAddress({ attempts }: PeopleDeps, address?: string): Promise<void> {
  if (address !== undefined) checkAllowed(await attempts.check(addressSubject(address), ADDRESS_ALLOWANCE))
}

/** Takes one of the address's tries. @returns a function that gives it back @throws Refusal `totp_locked` */
async function takeAddressTry({ attempts }: PeopleDeps, address?: string): Promise<() => Promise<void>> {
  if (address === undefined) return async () => undefined
  const subject = addressSubject(address)
  const taken = await attempts.take(subject, ADDRESS_ALLOWANCE)
  checkAllowed(taken)
  return () => attempts.giveBack(subject, taken)
}

function addressSubject(address: string): string {
  return `totp:${limitSubject(address)}`
}

/** @throws Refusal `totp_locked` */
function checkAllowed({ allowed, retryAfter, limit }: LimitState): void {
  if (!allowed) throw refusal('totp_locked', { retry_after: retryAfter, limit })
}

function whyNoTry(totp: Totp | undefined, at: Date) {
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
  { vault }: PeopleDeps,
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
  { random, vault }: PeopleDeps,
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
export function drawBackupCodes(deps: PeopleDeps, userId: string): { codes: string[]; hashes: string[] } {
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
export function backupCodeHash(deps: PeopleDeps, userId: string, typed: string): string | undefined {
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  return /^[0-9A-HJKMNP-TV-Z]{10}$/.test(code) ? hashOf(deps, userId, code) : undefined
}

/** Includes the person's id, so that equal codes of two people have different hashes. */
function hashOf(deps: PeopleDeps, userId: string, code: string): string {
  return deps.vault.hash('backup-code', `${userId}:${code}`)
}
