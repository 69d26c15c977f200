/** Everything that leaves a trace in the audit trail (closed list). */
export type AuditType =
  | 'approval.created'
  | 'approval.voted'
  | 'approval.approved'
  | 'approval.rejected'
  | 'approval.expired'
  | 'approval.reminded'
  | 'key.created'
  | 'key.revoked'
  | 'signing_key.created'
  | 'user.invited'
  | 'user.enrolled'
  | 'session.created'
  | 'session.ended'
  | 'factor.passkey_added'
  | 'factor.passkey_removed'
  | 'factor.passkey_suspended'
  | 'factor.totp_added'
  | 'factor.totp_removed'
  | 'factor.totp_locked'
  | 'factor.totp_disabled'
  | 'factor.backup_codes_renewed'
  | 'factor.backup_code_used'
  | 'internal_token.used'

/** Who did it: a key, a person, the internal token's caller, the command line, or the service by itself. */
export type AuditActor =
  | { kind: 'api_key'; id: string; address?: string }
  | { kind: 'internal'; id: string; address?: string }
  | { kind: 'user'; id: string; address?: string }
  | { kind: 'cli' }
  | { kind: 'service' }

/** One entry, embedded in the same document write as the change it tells of. */
export interface AuditEntry {
  /** `evt_…`, unique: copying an entry twice is recognised by it. */
  eid: string
  type: AuditType
  at: Date
  actor: AuditActor
  /** The account it concerns, for the account's own view; absent when it concerns the whole service. */
  account_id?: string
  /** What it is about: a request, key, user or session id. */
  subject: string
  /** Few, small, never secret. */
  detail?: Record<string, string | number | boolean>
}
