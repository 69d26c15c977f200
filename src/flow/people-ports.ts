import type { AuditEntry } from '../domain/audit.ts'
import type { Passkey, Totp, User } from '../domain/user.ts'

/** People. Every write is one conditional single-document write; writers that read first name the version they read. */
export interface UserStore {
  /** @throws Refusal `email_taken` on the unique index. */
  insert(user: User): Promise<void>
  find(id: string): Promise<User | undefined>
  findByEmail(email: string): Promise<User | undefined>
  findByCredential(credentialId: string): Promise<User | undefined>
  findMany(ids: readonly string[]): Promise<User[]>
  list(): Promise<User[]>
  /** Replaces the named fields if nobody else wrote in between. @returns undefined when the version moved: read again. */
  change(id: string, version: number, fields: UserChange, audit: AuditEntry[]): Promise<User | undefined>
  /** After an assertion passed: the counter moves only forwards (or stays 0/0). @returns false when another use was ahead (T30). */
  usePasskey(
    userId: string,
    credentialId: string,
    previous: number,
    counter: number,
    synced: boolean,
    at: Date,
  ): Promise<boolean>
  suspendPasskey(userId: string, credentialId: string, at: Date, audit: AuditEntry): Promise<void>
  /** Burns a time step: only one greater than every earlier one, and only while codes are neither locked nor disabled (T25). Clears the failures. */
  takeTotpStep(userId: string, step: number, at: Date): Promise<boolean>
  /**
   * Takes one try before a code is compared, so that parallel guesses are counted before they can succeed (T26).
   * @returns the state after counting, or undefined when codes are locked or disabled by now.
   */
  takeTotpTry(userId: string, at: Date): Promise<Totp | undefined>
  lockTotp(userId: string, until: Date, disabled: boolean, audit: AuditEntry): Promise<void>
  /** Removes one backup code if it is still there. */
  takeBackupCode(userId: string, hash: string, audit: AuditEntry): Promise<boolean>
}

/** `null` removes an optional field. */
export interface UserChange {
  name?: string
  passkeys?: Passkey[]
  totp?: Totp | null
  totp_pending?: { sealed_seed: string; expires_at: Date; tries: number } | null
  backup_codes?: string[]
  devices?: { hash: string; created_at: Date }[]
  enrolled_at?: Date
}

/** What a challenge may be used for; another purpose never accepts it (T19). */
export type ChallengePurpose = 'sign-in' | 'enroll' | 'decision' | 'passkey.add' | 'step-up'

/** A WebAuthn challenge as the server keeps it: hashed, single use, five minutes (T33). */
export interface Challenge {
  /** Hex SHA-256 of the challenge bytes. */
  id: string
  purpose: ChallengePurpose
  user_id?: string
  /** Step-up: the operation and its target, e.g. `passkey.remove:pky_…`; enrolment: the enrolment's id. */
  subject?: string
  /** Decision: the request, the outcome and the intent whose hash is the challenge. */
  request_id?: string
  intent_json?: string
  /** Set-up by the first owner: what the person typed before the ceremony. */
  profile?: { email: string; name: string; user_handle: string }
  expires_at: Date
}

export interface ChallengeStore {
  put(challenge: Challenge): Promise<void>
  /** Reads and deletes in one step, before anything is verified. Expired ones are not found. */
  take(id: string, purpose: ChallengePurpose): Promise<Challenge | undefined>
}

/** A signed-in browser. The cookie holds a random token; only its keyed hash is stored. */
export interface Session {
  id: string
  token_hash: string
  user_id: string
  created_at: Date
  last_seen_at: Date
  /** 30 days after sign-in at most. */
  expires_at: Date
  user_agent: string
}

export interface SessionStore {
  insert(session: Session): Promise<void>
  /** Live by the idle (12 h) and absolute limit at `now`, by cookie hash. */
  findByToken(tokenHash: string, now: Date): Promise<Session | undefined>
  findLive(id: string, now: Date): Promise<Session | undefined>
  touch(id: string, at: Date): Promise<void>
  end(id: string): Promise<boolean>
  endAllOf(userId: string): Promise<void>
}

/** A one-time link to set up the first owner or an invited person. Only the token's keyed hash is stored. */
export interface Enrollment {
  id: string
  kind: 'setup' | 'invite'
  token_hash: string
  user_id?: string
  /** Set-up: what the person typed, and the seed shown, while they enrol with codes. */
  pending?: { email?: string; name?: string; sealed_seed?: string; user_id: string; tries: number }
  expires_at: Date
  created_at: Date
}

export interface EnrollmentStore {
  insert(enrollment: Enrollment): Promise<void>
  find(tokenHash: string): Promise<Enrollment | undefined>
  setPending(id: string, pending: Enrollment['pending']): Promise<void>
  /** Counts a wrong code; at five the link is dead. */
  countTry(id: string): Promise<number>
  /** Uses the link up. @returns false when somebody else did, or it expired. */
  consume(id: string): Promise<boolean>
  /** Ends open links of that kind (a new one replaces the old). */
  revokeOpen(kind: Enrollment['kind'], userId?: string): Promise<void>
}

/** Failures per network address, counted in the store (T26): `count` is the number within the window, this one included. */
export interface AttemptStore {
  take(subject: string, windowSeconds: number): Promise<number>
}
