import type { AuditEntry } from './audit.ts'
import { type AuthenticatorFacts, type Authenticators, permits } from './authenticator.ts'
import type { LinkedIdentity } from './chat.ts'

/** A registered passkey. Binary fields are base64url. */
export interface Passkey extends AuthenticatorFacts {
  /** `pky_…`, the id in our API. */
  id: string
  /** What the authenticator calls it. */
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
  /** Set when the counter went backwards: a possible clone (T30). It no longer counts as a factor. */
  suspended_at: Date | null
}

/** Time-based codes. The seed is sealed with the user's id as associated data (T28). */
export interface Totp {
  sealed_seed: string
  confirmed_at: Date
  /** The last accepted time step: only a greater one is taken (T25). */
  last_step: number
  /** Consecutive failures since the last success (T26). */
  failures: number
  locked_until: Date | null
  /** How often it was locked in a row: doubles the lock. */
  locks: number
  disabled_at: Date | null
}

/** One person. */
export interface User {
  id: string
  /** Lower-cased, NFC; unique. */
  email: string
  name: string
  /** The account this person owns. */
  account_id: string
  /** The account that invited the person as a member: its dashboard opens first. */
  home_account_id?: string
  /** The account whose owner made this person by an invitation: only its links may give them their first factor. */
  invited_by_account?: string
  /** Who decides for them for a while. */
  delegate?: Delegate
  /** 16 hex characters, a keyed hash of the id. */
  approver: string
  /** WebAuthn user handle, base64url of random bytes: tells an authenticator nothing about the person. */
  user_handle: string
  default_ttl_seconds: number
  passkeys: Passkey[]
  totp?: Totp
  /** A seed waiting for its first right code. */
  totp_pending?: { sealed_seed: string; expires_at: Date; tries: number }
  /** Keyed hashes of unused one-time codes. */
  backup_codes: string[]
  /** Keyed hashes of device cookies: browsers on which codes may sign in. */
  devices: { hash: string; created_at: Date }[]
  /** How often factors changed; absent is never. A session lives only while this is what it was when the session began. */
  factor_epoch?: number
  /** Identities on chat platforms that the person linked; no other person has any of them. They address, and never decide (T37). */
  chat: LinkedIdentity[]
  created_at: Date
  enrolled_at: Date | null
  /** No browser of theirs ever had notifications: gone before the first one is stored. */
  no_browsers?: true
  /** Set for the person who signed up by the set-up link; unique, so that two such links never make two owners. */
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
  /** Carried over when the id is renewed. */
  expires_at: Date
  /** When the person last proved presence in it by a passkey or a code. */
  proven_at?: Date
  user_agent: string
  /** The person's `factor_epoch` when it began; absent is 0. */
  factor_epoch?: number
}

/**
 * Did the operator (or, for the first owner, the set-up link) vouch for the address? Any owner may invite any address and open
 * the link themself, so nothing that goes by the address alone reaches a person whom only an owner's invitation made.
 */
export function isVouchedFor({ invited_by_account }: Pick<User, 'invited_by_account'>): boolean {
  return invited_by_account === undefined
}

/**
 * What a change of factors writes with it: every session begun before is worth nothing from that write on, whatever happens to
 * the service before it has ended them one by one (T23).
 */
export function nextFactorEpoch({ factor_epoch = 0 }: Pick<User, 'factor_epoch'>): { factor_epoch: number } {
  return { factor_epoch: factor_epoch + 1 }
}

/** Passkeys that still count, and that the rule permits. */
export function usablePasskeys(user: Pick<User, 'passkeys'>, rule?: Authenticators): Passkey[] {
  return user.passkeys.filter((passkey) => passkey.suspended_at === null && permits(rule, passkey))
}

/** Which factors the person could use now, under that rule for passkeys. A locked code still is a factor; a disabled one is not. */
export function factorsOf(user: User, rule?: Authenticators): { has_passkey: boolean; has_totp: boolean } {
  return {
    has_passkey: usablePasskeys(user, rule).length > 0,
    has_totp: user.totp !== undefined && user.totp.disabled_at === null,
  }
}

/**
 * One spelling per mailbox: trimmed, lower-cased, NFC (last: lower-casing can leave letters that compose).
 * @returns undefined when it is no address; invisible characters make it none, or two people could look like one
 */
export function normaliseEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase().normalize('NFC')
  return email.length <= 254 && /^[^\s\p{C}@<>"]{1,64}@[^\s\p{C}@<>"]{1,189}$/u.test(email)
    ? email
    : undefined
}

export const DEFAULT_TTL_SECONDS = 3600

const TRANSPORTS = ['ble', 'hybrid', 'internal', 'nfc', 'usb'] as const

/** Only names the specification knows are kept: the list comes from the client. */
export function isTransport(name: string): name is (typeof TRANSPORTS)[number] {
  return TRANSPORTS.some((known) => known === name)
}

/** Who stands in for a person, and when. The vote then counts for that person and is made with the delegate's own factor. */
export interface Delegate {
  user_id: string
  starts_at: Date
  /** Exclusive. */
  ends_at: Date
}

/** The longest time for which a delegate can stand in. */
export const MAX_DELEGATION_DAYS = 366

/** Does the delegate stand in at that time? */
export function standsIn(delegate: Delegate | undefined, now: Date): delegate is Delegate {
  return delegate !== undefined && delegate.starts_at <= now && now < delegate.ends_at
}

/** What needs a fresh proof by a factor the person has (T34). */
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
  'delegate.change',
] as const
