import type { AuditEntry } from './audit.ts'
import { type AuthenticatorFacts, type Authenticators, permits } from './authenticator.ts'
import type { LinkedIdentity } from './chat.ts'
import type { Hearing } from './hearing.ts'

/** A registered passkey. Binary fields are base64url. */
export interface Passkey extends AuthenticatorFacts {
  /** `pky_…`, the id in our API. */
  id: string
  /** The authenticator's own id for the passkey. */
  credential_id: string
  /** COSE public key. */
  public_key: string
  /** COSE algorithm: −7, −8 or −257. */
  algorithm: number
  name: string
  counter: number
  transports: string[]
  /** BE flag at registration; must never change (T35). */
  backup_eligible: boolean
  synced: boolean
  created_at: Date
  last_used_at: Date | null
  /** Set when the counter of a device-bound passkey went backwards: a possible clone (T30). It no longer counts as a factor. */
  suspended_at: Date | null
  /** When the person was last told that the counter of this synced passkey went backwards. */
  counter_fell_at?: Date
}

/** Time-based codes. The seed is sealed with the user's id as associated data (T28). */
export interface Totp {
  sealed_seed: string
  confirmed_at: Date
  /** The last accepted time step: only a later one is accepted (T25). */
  last_step: number
  /** Consecutive failures since the last success (T26). */
  failures: number
  locked_until: Date | null
  /** Consecutive locks; each doubles the next lock's duration. */
  locks: number
  disabled_at: Date | null
}

/** Checks that codes are neither locked nor disabled. */
export function isTotpOpen({ disabled_at, locked_until }: Totp, at: Date): boolean {
  return disabled_at === null && (locked_until === null || locked_until <= at)
}

/** One person. */
export interface User {
  id: string
  /** Lower-cased, NFC; unique. */
  email: string
  name: string
  /** The account this person owns, or, with `no_account`, would own: their own entries of the trail carry it from the beginning. */
  account_id: string
  /** Set for invited people until they make an account of their own; the account itself is stored before it is removed. */
  no_account?: true
  /** The account that invited the person as a member; the dashboard opens with it. */
  home_account_id?: string
  /** The account whose owner's invitation created this user: only that account's links may give them their first factor. */
  invited_by_account?: string
  /** The person who decides for them for a while. */
  delegate?: Delegate
  /** 16 hex characters, a keyed hash of the id. */
  approver: string
  /** WebAuthn user handle, base64url of random bytes: tells an authenticator nothing about the person. */
  user_handle: string
  default_ttl_seconds: number
  /** By which channels the person is told what; absent: as the account that asks has it. */
  hearing?: Hearing
  /** The person hid the list of what is left to set up. */
  next_steps_hidden?: boolean
  passkeys: Passkey[]
  totp?: Totp
  /** A new seed that no correct code has confirmed yet. */
  totp_pending?: { sealed_seed: string; expires_at: Date; tries: number }
  /** Keyed hashes of unused one-time codes. */
  backup_codes: string[]
  /** Keyed hashes of device cookies: browsers on which codes may sign in. */
  devices: { hash: string; created_at: Date }[]
  /** An owner's offer to set up sign-in anew, for a member who lost a device. Read it by `openRecovery`. */
  recovery?: Recovery
  /** How often factors changed; absent means never. A session is valid only while this equals its own `factor_epoch`. */
  factor_epoch?: number
  /** Identities on chat platforms, each linked to one person only. They tell where to send cards, and never decide (T37). */
  chat: LinkedIdentity[]
  created_at: Date
  enrolled_at: Date | null
  /** Set while the person is being erased: the identities (`identityKey`) that they had linked, whose traces go as well. */
  erasing?: { chat: string[]; redrawn?: true }
  /** When all that names the person was erased; name and address are tombstones since. */
  erased_at?: Date
  /** Set while no browser or address of theirs ever had notifications; removed before the first one is stored. */
  no_browsers?: true
  /** Set for the person who signed up with the set-up link; unique, so that two such links never create two owners. */
  founder?: true
  version: number
  audit: AuditEntry[]
}

/** A signed-in browser. The cookie holds a random token; only its keyed hash is stored. */
export interface Session {
  id: string
  token_hash: string
  user_id: string
  /** The person's own account, for the audit entries about the session. */
  account_id: string
  created_at: Date
  last_seen_at: Date
  /** Unchanged when the session's id is renewed. */
  expires_at: Date
  /** When the person last proved presence in this session, by a passkey or a code. */
  proven_at?: Date
  /** By what: the passkey's `credential_id`, or `totp`. The proof counts only while this factor does. */
  proven_by?: string
  user_agent: string
  /** The person's `factor_epoch` when the session began; absent means 0. */
  factor_epoch?: number
}

/**
 * Checks whether the operator (or, for the first owner, the set-up link) vouched for the address. Any owner may invite any
 * address and open the link themself, so nothing addressed by e-mail alone reaches a user created by an owner's invitation.
 */
export function isVouchedFor({ invited_by_account }: Pick<User, 'invited_by_account'>): boolean {
  return invited_by_account === undefined
}

/**
 * Returns the field that every change of factors also writes. From that write on, all earlier sessions are invalid, even if
 * the service dies before it has ended them one by one (T23).
 */
export function nextFactorEpoch({ factor_epoch = 0 }: Pick<User, 'factor_epoch'>): { factor_epoch: number } {
  return { factor_epoch: factor_epoch + 1 }
}

/**
 * A person may set up their sign-in anew, by a link in the hands of the owner of the account whose invitation made them. The link
 * works from `opens_at` on, so that a person who lost nothing hears of it first and can refuse (T93).
 */
export interface Recovery {
  account_id: string
  opens_at: Date
  expires_at: Date
  /** The person's `factor_epoch` when the owner asked: a person whose factors change is in control again, which ends the offer. */
  factor_epoch: number
  /** The person refused: until `expires_at` no owner may ask again. */
  refused_at?: Date
}

/** The time between an owner's word and the moment when the link works: notices must reach a person who lost nothing. */
export const RECOVERY_NOTICE_MS = 86_400_000

/** How long an offer lasts, from the owner's word on. */
export const RECOVERY_MS = 7 * 86_400_000

/** Returns the offer that is neither over nor refused; its link may not work yet. */
export function openRecovery(
  { recovery, factor_epoch = 0 }: Pick<User, 'recovery' | 'factor_epoch'>,
  now: Date,
): Recovery | undefined {
  if (recovery === undefined || recovery.refused_at !== undefined) return undefined
  return recovery.expires_at > now && recovery.factor_epoch === factor_epoch ? recovery : undefined
}

/** Checks whether the person refused an offer that would otherwise still last. */
export function refusedRecovery({ recovery }: Pick<User, 'recovery'>, now: Date): boolean {
  return recovery?.refused_at !== undefined && recovery.expires_at > now
}

/** Lists the passkeys that are not suspended and that the rule permits. */
export function usablePasskeys(user: Pick<User, 'passkeys'>, rule?: Authenticators): Passkey[] {
  return user.passkeys.filter((passkey) => passkey.suspended_at === null && permits(rule, passkey))
}

/** Tells which factors the person has, under a rule for passkeys. Locked codes still are a factor; disabled codes are not. */
export function factorsOf(user: User, rule?: Authenticators): { has_passkey: boolean; has_totp: boolean } {
  return {
    has_passkey: usablePasskeys(user, rule).length > 0,
    has_totp: user.totp !== undefined && user.totp.disabled_at === null,
  }
}

/** Checks whether a factor that the person has, named as in `Session.proven_by`, was taken out of use. */
export function isOutOfUse({ passkeys, totp }: User, by: string | undefined): boolean {
  if (by === 'totp') return totp !== undefined && totp.disabled_at !== null
  return passkeys.some(({ credential_id, suspended_at }) => credential_id === by && suspended_at !== null)
}

/**
 * Gives each mailbox one spelling: trimmed, lower-cased, NFC (last, since lower-casing can leave letters that compose).
 * @returns undefined for text that is no address; invisible characters are refused, or two people could look like one
 */
export function normaliseEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase().normalize('NFC')
  return email.length <= 254 && /^[^\s\p{C}@<>"]{1,64}@[^\s\p{C}@<>"]{1,189}$/u.test(email)
    ? email
    : undefined
}

/** The address of an erased person: no mail arrives there (RFC 2606), and no one else has it. */
export function tombstoneAddress(id: string): string {
  return `${id}@erased.invalid`
}

export const DEFAULT_TTL_SECONDS = 3600

const TRANSPORTS = ['ble', 'hybrid', 'internal', 'nfc', 'usb'] as const

/** Checks for a transport that the specification knows. The list comes from the client, so other names are dropped. */
export function isTransport(name: string): name is (typeof TRANSPORTS)[number] {
  return TRANSPORTS.some((known) => known === name)
}

/** The person who stands in for another, and when. The vote counts for the other, and is made with the delegate's own factor. */
export interface Delegate {
  user_id: string
  starts_at: Date
  /** Exclusive. */
  ends_at: Date
}

/** The longest time for which a delegate can stand in. */
export const MAX_DELEGATION_DAYS = 366

/** Checks whether the delegate stands in at that time. */
export function standsIn(delegate: Delegate | undefined, now: Date): delegate is Delegate {
  return delegate !== undefined && delegate.starts_at <= now && now < delegate.ends_at
}

/** Operations that need a fresh proof by one of the person's factors (T34). */
export const STEP_UP_OPERATIONS = [
  'session.prove',
  'passkey.add',
  'passkey.remove',
  'totp.add',
  'totp.remove',
  'backup_codes.renew',
  'chat.link',
  'chat.channel',
  'policy.change',
  'key.change',
  'member.invite',
  'member.change',
  'member.recover',
  'delegate.change',
] as const
