import type { AuditEntry } from '../domain/audit.ts'
import type { LinkedIdentity } from '../domain/chat.ts'
import type { Outcome } from '../domain/receipt.ts'
import type { Delegate, Passkey, Totp, User } from '../domain/user.ts'

export type { SessionTokens } from '../signing/session-token.ts'

/**
 * People. Every write is one conditional single-document write and raises `version`; writers that replace whole fields
 * name the version they read.
 */
export interface UserStore {
  /** @throws Refusal `email_taken`, or `enrollment_invalid` for a second founder, on the unique indexes. */
  insert(user: User): Promise<void>
  find(id: string): Promise<User | undefined>
  /** The address must be normalised (`normaliseEmail`). */
  findByEmail(email: string): Promise<User | undefined>
  findByCredential(credentialId: string): Promise<User | undefined>
  /** Whose browser is it? By the keyed hash of the device cookie. */
  findByDevice(deviceHash: string): Promise<User | undefined>
  /** Who linked this identity? By `identityKey`. */
  findByIdentity(key: string): Promise<User | undefined>
  findMany(ids: readonly string[]): Promise<User[]>
  /** Those for whom this person stands in at `now`. */
  principalsOf(userId: string, now: Date): Promise<User[]>
  list(): Promise<User[]>
  count(): Promise<number>
  /**
   * Replaces the named fields if nobody else wrote in between. @returns undefined when the version moved: read again.
   * @throws Refusal `passkey_exists` or `identity_taken` when somebody has the credential or the identity already (unique
   * indexes).
   */
  change(id: string, version: number, fields: UserChange, audit: AuditEntry[]): Promise<User | undefined>
  /**
   * After an assertion passed: the counter moves only forwards, or stays 0 (T30).
   * @returns false when another use was ahead, or the passkey is gone or suspended by now.
   */
  usePasskey(use: PasskeyUse): Promise<boolean>
  /** Takes a passkey out of use; keeps the first suspension's time. */
  suspendPasskey(userId: string, credentialId: string, at: Date, audit: AuditEntry): Promise<void>
  /**
   * Takes one try before a code is compared, so that parallel guesses are counted before they can succeed (T26). The try
   * that uses up a round locks at once, the last one of all disables; `takeTotpStep` undoes both when it was right.
   * @returns the state after counting, or undefined when codes are locked, disabled or not set up.
   */
  takeTotpTry(userId: string, at: Date): Promise<Totp | undefined>
  /**
   * Burns a time step: only one greater than every earlier one (T25). Clears failures and locks. `tried` is what
   * `takeTotpTry` answered: a try from before a disabling cannot undo it.
   */
  takeTotpStep(userId: string, step: number, tried: Totp): Promise<boolean>
  /** Counts a wrong first code of a seed that waits for one. @returns undefined when there is none, or five were wrong. */
  takePendingTotpTry(userId: string, at: Date): Promise<User | undefined>
  /** Removes one backup code if it is still there. */
  takeBackupCode(userId: string, hash: string, audit: AuditEntry): Promise<boolean>
  /** Adds entries about the person when no field changes with them. */
  addAudit(userId: string, audit: AuditEntry): Promise<void>
}

/** One successful use of a passkey. */
export interface PasskeyUse {
  userId: string
  credentialId: string
  counter: number
  synced: boolean
  at: Date
}

/** `null` removes an optional field. */
export interface UserChange {
  name?: string
  default_ttl_seconds?: number
  delegate?: Delegate | null
  invited_by_account?: null
  passkeys?: Passkey[]
  totp?: Totp | null
  totp_pending?: { sealed_seed: string; expires_at: Date; tries: number } | null
  backup_codes?: string[]
  devices?: { hash: string; created_at: Date }[]
  factor_epoch?: number
  chat?: LinkedIdentity[]
  enrolled_at?: Date
}

/** What a challenge may be used for; another purpose never accepts it (T19). */
export type ChallengePurpose =
  | 'sign-in'
  | 'enroll'
  | 'decision'
  | 'batch'
  | 'bootstrap'
  | 'passkey.add'
  | 'step-up'
  | 'chat.install'

/** A WebAuthn challenge as the server keeps it: hashed, single use, five minutes (T33). `chat.install`: an OAuth state. */
export interface Challenge {
  /** Hex SHA-256 of the challenge bytes. */
  id: string
  purpose: ChallengePurpose
  user_id?: string
  /** Step-up: the operation and its target, e.g. `passkey.remove:pky_…`; enrolment: the enrolment's id. */
  subject?: string
  /** Step-up and adding a passkey: the session that asked. */
  session_id?: string
  /** Decision: the request, the outcome and the intent whose hash is the challenge. Batch: the batch statement. */
  request_id?: string
  intent_json?: string
  /** Batch: what the person was shown of each request, in the order of the statement. */
  shown?: ShownItem[]
  /** Set-up by the first owner: what the person typed before the ceremony. Enrolment: the handle offered. */
  profile?: { email: string; name: string; user_handle: string }
  expires_at: Date
}

/** One request of a batch as it stood when the person was asked; any difference later refuses the whole batch (T18). */
export interface ShownItem {
  request_id: string
  decision: Outcome
  /** RFC 8785 text of the request's own intent. */
  intent_json: string
  /** User id of whose vote it would be. */
  whose: string
  /** Decision ids of the votes cast until then. */
  votes: string[]
  /** The factors with which the person could decide it. */
  methods: ('passkey' | 'totp')[]
}

export interface ChallengeStore {
  put(challenge: Challenge): Promise<void>
  /**
   * Reads and deletes in one step, before anything is verified (T33). Expired ones (by the database's clock) and those of
   * another purpose are not found.
   */
  take(id: string, purpose: ChallengePurpose): Promise<Challenge | undefined>
}

/** A signed-in browser. The cookie holds a random token; only its keyed hash is stored. */
export interface Session {
  id: string
  token_hash: string
  user_id: string
  /** The person's own account, for the audit entries about the session; absent from sessions that the first versions made. */
  account_id?: string
  created_at: Date
  last_seen_at: Date
  /** 30 days after sign-in at most; carried over when the id is renewed. */
  expires_at: Date
  user_agent: string
  /** The person's `factor_epoch` when it began; absent is 0. */
  factor_epoch?: number
}

/** Sessions. An ended one stays, worth nothing, until its audit entries are in the trail. */
export interface SessionStore {
  insert(session: Session, audit: AuditEntry): Promise<void>
  /** Live — not ended, within the idle (12 h) and the absolute limit at `now` — by cookie hash. */
  findByToken(tokenHash: string, now: Date): Promise<Session | undefined>
  findLive(id: string, now: Date): Promise<Session | undefined>
  /** Notes that the session is used, at most once a minute. */
  touch(id: string, at: Date): Promise<void>
  /** @returns false when it was over already. */
  end(id: string, at: Date, audit: AuditEntry): Promise<boolean>
  /** Ends all sessions of the person; `entryOf` makes the audit entry of each. */
  endAllOf(userId: string, at: Date, entryOf: (session: Session) => AuditEntry): Promise<void>
  /** Sessions of the person that are live at `now`, the latest used first. */
  liveOf(userId: string, now: Date, limit: number): Promise<Session[]>
  /** Which of these are live at `now`: one query for everybody who holds a stream open. */
  liveAmong(ids: readonly string[], now: Date): Promise<string[]>
  /** Sessions past their idle or absolute limit at `now` that nobody has ended. */
  lapsed(now: Date, limit: number): Promise<Session[]>
  /** Ends a session that is lapsed at `now`. @returns false when it is not, or was ended already. */
  endLapsed(id: string, now: Date, audit: AuditEntry): Promise<boolean>
  /** Deletes ended sessions whose audit entries are in the trail. @returns how many */
  deleteEnded(): Promise<number>
}

/** A one-time link to set up the first owner or an invited person. Only the token's keyed hash is stored. */
export interface Enrollment {
  id: string
  kind: 'setup' | 'invite'
  token_hash: string
  /** Invitations: the person invited. */
  user_id?: string
  /** Invitations to become a member: of this account. Without it the operator gave the link out. */
  account_id?: string
  /** An invitation to become a member that the operator gave out, by the command line. */
  by_operator?: true
  /** What the person typed (set-up) and the seed shown, while they enrol with codes. */
  pending?: EnrollmentPending
  /** Codes compared so far; at five the link is dead. */
  tries: number
  expires_at: Date
  created_at: Date
}

interface EnrollmentPending {
  /** Set-up: the id the person will have; the seed is sealed for it. */
  user_id: string
  email: string
  name: string
  sealed_seed: string
}

export interface EnrollmentStore {
  insert(enrollment: Enrollment): Promise<void>
  /** Open ones only: unused, unexpired (by the database's clock) and with tries left. */
  find(tokenHash: string): Promise<Enrollment | undefined>
  setPending(id: string, pending: EnrollmentPending): Promise<void>
  /** Takes one of five tries before a code is compared. @returns false when none is left. */
  takeTry(id: string): Promise<boolean>
  /** Uses the link up. @returns false when somebody else did, or it expired. */
  consume(id: string): Promise<boolean>
  /** Ends open links of that kind (a new one replaces the old); `by_operator: null`: but those the operator gave out. */
  revokeOpen(
    kind: Enrollment['kind'],
    of?: { user_id: string; account_id?: string; by_operator?: null },
  ): Promise<void>
}

/** Attempts per subject (`totp:<address>`, …) in fixed windows, counted in the store (T26). */
export interface AttemptStore {
  /** @returns the number within the window, this one included, and when the window ends. */
  take(subject: string, windowSeconds: number): Promise<{ count: number; ends: Date }>
  /** Takes one attempt back out of the window that ends at `ends`; what is gone or at 0 stays. */
  giveBack(subject: string, windowSeconds: number, ends: Date): Promise<void>
}
