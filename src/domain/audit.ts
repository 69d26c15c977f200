import { given } from './given.ts'
import { drawId } from './identifier.ts'

/** Everything that the audit trail records (closed list). */
export const AUDIT_TYPES = [
  'approval.created',
  'approval.voted',
  'approval.same_address',
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.cancelled',
  'approval.consumed',
  'approval.reminded',
  'approval.unheard',
  'approval.erased',
  'approval.deleted',
  'approval.verified',
  'webhook.created',
  'webhook.deleted',
  'webhook.rotated',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.tested',
  'delivery.delivered',
  'delivery.failed',
  'delivery.exhausted',
  'delivery.dropped',
  'delivery.replayed',
  'card.posted',
  'card.unreachable',
  'card.exhausted',
  'chat.linked',
  'chat.unlinked',
  'chat.browser_known',
  'chat.installed',
  'chat.uninstalled',
  'chat.unavailable',
  'chat.restored',
  'channel.added',
  'channel.removed',
  'notifications.tested',
  'push.device_added',
  'push.device_removed',
  'push.sent',
  'push.failed',
  'key.created',
  'key.revoked',
  'key.secret_read',
  'signing_key.created',
  'signing_key.revoked',
  'push_key.created',
  'bootstrap.requested',
  'bootstrap.approved',
  'bootstrap.rejected',
  'bootstrap.expired',
  'bootstrap.collected',
  'account.changed',
  'policy.changed',
  'key.changed',
  'member.invited',
  'member.joined',
  'member.declined',
  'member.changed',
  'member.removed',
  'member.left',
  'member.recovery_offered',
  'member.recovery_ended',
  'member.recovered',
  'delegate.set',
  'delegate.removed',
  'user.changed',
  'user.erased',
  'user.invited',
  'user.enrolled',
  'user.reset',
  'session.created',
  'session.ended',
  'factor.passkey_added',
  'factor.passkey_removed',
  'factor.passkey_suspended',
  'factor.passkey_counter_fell',
  'factor.totp_added',
  'factor.totp_removed',
  'factor.totp_locked',
  'factor.totp_disabled',
  'factor.backup_codes_renewed',
  'factor.backup_code_used',
  'internal_token.used',
  'store.restored',
  'store.released',
  'approval.released',
  'audit.erased',
  'log.rollback_detected',
  'log.renewed',
] as const
export type AuditType = (typeof AUDIT_TYPES)[number]

/**
 * The actor of an entry: a key, a person, the internal token's caller, a person in chat, the command line, the service by
 * itself, or the public.
 */
export type AuditActor =
  | { kind: 'api_key'; id: string; address?: string }
  | { kind: 'internal'; id: string; address?: string }
  | { kind: 'user'; id: string; address?: string }
  /** The holder of this identity on a chat platform (`identityKey`), vouched for by the platform alone. */
  | { kind: 'chat'; id: string; address?: string }
  | { kind: 'cli' }
  | { kind: 'service' }
  /** Public verification asks for no credential. */
  | { kind: 'public'; address?: string }

/** One entry, embedded in the same document write as the change it records. */
export interface AuditEntry {
  /** `evt_…`, unique: it reveals an entry that was copied twice. */
  eid: string
  type: AuditType
  at: Date
  actor: AuditActor
  /** The account in whose trail the entry is shown; absent when the entry concerns the whole service. */
  account_id?: string
  /** Id of the request, key, user or session that the entry is about. */
  subject: string
  /** A few small facts, never secret. */
  detail?: Record<string, string | number | boolean>
}

/** What an entry says; `undefined` stands for a field that it lacks. */
interface EntryFacts extends Omit<AuditEntry, 'eid' | 'account_id' | 'detail'> {
  account_id?: AuditEntry['account_id'] | undefined
  detail?: AuditEntry['detail'] | undefined
}

/** Makes an entry, with an id of its own. */
export function drawEntry(
  deps: Parameters<typeof drawId>[0],
  { account_id, detail, ...facts }: EntryFacts,
): AuditEntry {
  return { eid: drawId(deps, 'evt'), ...facts, ...given({ account_id, detail }) }
}

/** An entry at its place in the audit trail. The first record has `seq` 1. */
export interface AuditRecord {
  /** 1, 2, 3 … without gaps. */
  seq: number
  /** Absent once the entry had to be erased: the hashes stay, so the chain still holds. */
  entry?: AuditEntry
  /** 32 random bytes in hex, erased with the entry, so that the hash below then reveals nothing about it. */
  salt?: string
  /** Hex SHA-256 over salt and entry (`signing/audit-chain.ts`). */
  content_sha256: string
  /** Hex SHA-256 of what the log's leaf names beside the content; stored once entry and salt, which give it, are erased. */
  subject_sha256?: string
  /** Hex SHA-256 over the previous record's hash, `seq` and `content_sha256`. */
  hash: string
}

/** A cursor into the trail. `at` is set only for queries limited to a span of time, which are listed in order of time. */
export interface AuditPosition {
  seq: number
  at?: Date
}

/** Checks whether a query is limited to a span of time. */
export function isByTime({ from, to }: { from?: Date; to?: Date }): boolean {
  return from !== undefined || to !== undefined
}
