import type { AuditType } from '../../domain/audit.ts'
import type { StateDocument } from '../../store/audit/state-survey.ts'

type Facts = StateDocument['facts']

/** An entry type, and whether the trail must (true) or must not (false) have it, given this state; undefined: it may. */
type Rule = readonly [AuditType, (facts: Facts) => boolean | undefined]

/** A collection about whose documents the trail must have entries. */
export interface Witness {
  collection: string
  /** Fields that the rules look at. */
  fields: readonly string[]
  /** Its documents are never deleted: one that the trail names must exist. */
  kept: boolean
  /** One for each entry type that its documents witness; the first type, mostly of the making, proves that there was one. */
  rules: readonly [Rule, ...Rule[]]
}

const always = (): boolean => true

/** Returns the rule that this entry exists exactly when it is the one that closes a request in its state. */
function closedBy(type: AuditType): Rule {
  return [type, ({ status, cancelled }) => type === finalEntry(status, cancelled === true)]
}

function finalEntry(status: unknown, cancelled: boolean): string {
  return status === 'expired' && cancelled ? 'approval.cancelled' : `approval.${status}`
}

/** All states that the trail is compared with (T86). */
export const WITNESSES: readonly Witness[] = [
  {
    collection: 'requests',
    fields: [
      'status',
      'cancelled',
      'consumed_at',
      'reminded_at',
      'votes.decision_id',
      'erased_at',
      'deleting',
    ],
    kept: true,
    rules: [
      ['approval.created', always],
      closedBy('approval.approved'),
      closedBy('approval.rejected'),
      closedBy('approval.expired'),
      closedBy('approval.cancelled'),
      ['approval.voted', ({ votes }) => isFilled(votes) || undefined],
      ['approval.consumed', ({ consumed_at }) => isSet(consumed_at)],
      ['approval.reminded', ({ reminded_at }) => isSet(reminded_at) || undefined],
      ['approval.erased', ({ erased_at, deleting }) => (deleting === true ? undefined : isSet(erased_at))],
      ['approval.deleted', ({ deleting }) => deleting === true || undefined],
    ],
  },
  {
    collection: 'api_keys',
    fields: ['revoked_at'],
    kept: true,
    rules: [
      ['key.created', always],
      ['key.revoked', ({ revoked_at }) => isSet(revoked_at)],
    ],
  },
  {
    collection: 'signing_keys',
    fields: ['revoked_at'],
    kept: true,
    rules: [
      ['signing_key.created', always],
      ['signing_key.revoked', ({ revoked_at }) => isSet(revoked_at)],
    ],
  },
  // The first owner set the service up; all other people were invited.
  {
    collection: 'users',
    fields: ['founder', 'enrolled_at', 'passkeys.id', 'totp.confirmed_at', 'chat.key'],
    kept: true,
    rules: [
      ['user.enrolled', ({ enrolled_at }) => isSet(enrolled_at)],
      ['user.invited', ({ founder }) => founder !== true || undefined],
      ['factor.passkey_added', ({ passkeys }) => isFilled(passkeys) || undefined],
      ['factor.totp_added', ({ totp }) => isSet(totp) || undefined],
      ['chat.linked', ({ chat }) => isFilled(chat) || undefined],
    ],
  },
  // An account is made together with its owner, whose making the trail records.
  {
    collection: 'accounts',
    fields: ['channels.channel'],
    kept: true,
    rules: [['channel.added', ({ channels }) => isFilled(channels) || undefined]],
  },
  {
    collection: 'sessions',
    fields: ['ended_at'],
    kept: false,
    rules: [
      ['session.created', always],
      ['session.ended', ({ ended_at }) => isSet(ended_at)],
    ],
  },
  {
    collection: 'webhooks',
    fields: ['state'],
    kept: true,
    rules: [
      ['webhook.created', always],
      ['webhook.disabled', ({ state }) => state === 'disabled' || undefined],
      ['webhook.deleted', ({ state }) => state === 'deleted'],
    ],
  },
  {
    collection: 'deliveries',
    fields: ['state'],
    kept: false,
    rules: [
      ['delivery.delivered', ({ state }) => state === 'delivered' || undefined],
      ['delivery.exhausted', ({ state }) => state === 'dead' || undefined],
      ['delivery.dropped', ({ state }) => state === 'dropped' || undefined],
    ],
  },
  // The key of an approved bootstrap may have been collected, and this not yet noted.
  {
    collection: 'bootstraps',
    fields: ['status', 'collected.at'],
    kept: false,
    rules: [
      ['bootstrap.requested', always],
      ['bootstrap.approved', ({ status }) => status === 'approved'],
      ['bootstrap.rejected', ({ status }) => status === 'rejected'],
      ['bootstrap.expired', ({ status }) => status === 'expired'],
      [
        'bootstrap.collected',
        ({ status, collected }) => isSet(collected) || (status === 'approved' ? undefined : false),
      ],
    ],
  },
  {
    collection: 'push_keys',
    fields: [],
    kept: true,
    rules: [['push_key.created', always]],
  },
  // A removed browser is deleted once the trail has its removal; an address stays, and may be confirmed again.
  {
    collection: 'push_devices',
    fields: ['state', 'kind'],
    kept: false,
    rules: [
      ['push.device_added', ({ state, kind }) => state === 'active' || kind === undefined || undefined],
      [
        'push.device_removed',
        ({ state, kind }) => state === 'removed' || (kind === undefined ? false : undefined),
      ],
    ],
  },
  // A test push leaves no entry: the person who asked for it watches its outcome.
  {
    collection: 'pushes',
    fields: ['state', 'about.kind'],
    kept: false,
    rules: [
      ['push.sent', ({ state, about }) => (state === 'sent' ? !isTest(about) || undefined : false)],
      ['push.failed', ({ state, about }) => (state === 'dead' ? !isTest(about) || undefined : false)],
    ],
  },
]

function isTest(about: unknown): boolean {
  return Object(about).kind === 'test'
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Checks for a list that is not empty. */
export function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
