import type { AuditType } from '../../domain/audit.ts'
import type { StateDocument } from '../../store/state-survey.ts'

type Facts = StateDocument['facts']

/** A collection whose documents the trail must tell of. */
export interface Witness {
  collection: string
  /** Fields that `needs` and `denies` look at. */
  fields: readonly string[]
  /** Every entry that `needs` and `denies` can name; the first is that of the document's making. */
  types: readonly [AuditType, ...AuditType[]]
  /** Its documents are never deleted: what the trail tells of must be there. */
  kept: boolean
  /** Entries that must be in the trail, given this state. */
  needs(facts: Facts): AuditType[]
  /** Entries that must not be there: the state says that it never happened. */
  denies(facts: Facts): AuditType[]
}

const FINAL: readonly AuditType[] = [
  'approval.approved',
  'approval.rejected',
  'approval.expired',
  'approval.cancelled',
]

/** Which entry closed a request in that state. */
function finalEntry({ status, cancelled }: Facts): AuditType[] {
  if (status === 'approved') return ['approval.approved']
  if (status === 'rejected') return ['approval.rejected']
  if (status === 'expired') return [cancelled === true ? 'approval.cancelled' : 'approval.expired']
  return []
}

const requests: Witness = {
  collection: 'requests',
  fields: ['status', 'cancelled', 'consumed_at', 'reminded_at', 'votes.decision_id'],
  types: ['approval.created', 'approval.voted', ...FINAL, 'approval.consumed', 'approval.reminded'],
  kept: true,
  needs: (facts) => [
    'approval.created',
    ...finalEntry(facts),
    ...when(isFilled(facts.votes), 'approval.voted'),
    ...when(isSet(facts.consumed_at), 'approval.consumed'),
    ...when(isSet(facts.reminded_at), 'approval.reminded'),
  ],
  denies: (facts) => [
    ...FINAL.filter((type) => !finalEntry(facts).includes(type)),
    ...when(!isSet(facts.consumed_at), 'approval.consumed'),
  ],
}

const apiKeys: Witness = {
  collection: 'api_keys',
  fields: ['revoked_at'],
  types: ['key.created', 'key.revoked'],
  kept: true,
  needs: ({ revoked_at }) => ['key.created', ...when(isSet(revoked_at), 'key.revoked')],
  denies: ({ revoked_at }) => when(!isSet(revoked_at), 'key.revoked'),
}

const signingKeys: Witness = {
  collection: 'signing_keys',
  fields: [],
  types: ['signing_key.created'],
  kept: true,
  needs: () => ['signing_key.created'],
  denies: () => [],
}

const pushKeys: Witness = {
  collection: 'push_keys',
  fields: [],
  types: ['push_key.created'],
  kept: true,
  needs: () => ['push_key.created'],
  denies: () => [],
}

/** Removed ones are deleted when the trail has them. */
const pushDevices: Witness = {
  collection: 'push_devices',
  fields: ['state'],
  types: ['push.device_added', 'push.device_removed'],
  kept: false,
  needs: ({ state }) => ['push.device_added', ...when(state === 'removed', 'push.device_removed')],
  denies: ({ state }) => when(state !== 'removed', 'push.device_removed'),
}

/** The person who asked for a test watches it, and it leaves no entry. */
const pushes: Witness = {
  collection: 'pushes',
  fields: ['state', 'about.kind'],
  types: ['push.sent', 'push.failed'],
  kept: false,
  needs: ({ state, about }) => {
    if (isTest(about)) return []
    return [...when(state === 'sent', 'push.sent'), ...when(state === 'dead', 'push.failed')]
  },
  denies: ({ state }) => [...when(state !== 'sent', 'push.sent'), ...when(state !== 'dead', 'push.failed')],
}

/** The first owner set the service up; all other people were invited. */
const users: Witness = {
  collection: 'users',
  fields: ['founder', 'enrolled_at', 'passkeys.id', 'totp.confirmed_at', 'chat.key'],
  types: ['user.enrolled', 'user.invited', 'factor.passkey_added', 'factor.totp_added', 'chat.linked'],
  kept: true,
  needs: ({ founder, enrolled_at, passkeys, totp, chat }) => [
    ...when(founder !== true, 'user.invited'),
    ...when(isSet(enrolled_at), 'user.enrolled'),
    ...when(isFilled(passkeys), 'factor.passkey_added'),
    ...when(isSet(totp), 'factor.totp_added'),
    ...when(isFilled(chat), 'chat.linked'),
  ],
  denies: ({ enrolled_at }) => when(!isSet(enrolled_at), 'user.enrolled'),
}

/** Made together with their owner, of whose making the trail tells. */
const accounts: Witness = {
  collection: 'accounts',
  fields: ['channels.channel'],
  types: ['channel.added'],
  kept: true,
  needs: ({ channels }) => when(isFilled(channels), 'channel.added'),
  denies: () => [],
}

const sessions: Witness = {
  collection: 'sessions',
  fields: ['ended_at'],
  types: ['session.created', 'session.ended'],
  kept: false,
  needs: ({ ended_at }) => ['session.created', ...when(isSet(ended_at), 'session.ended')],
  denies: ({ ended_at }) => when(!isSet(ended_at), 'session.ended'),
}

const webhooks: Witness = {
  collection: 'webhooks',
  fields: ['state'],
  types: ['webhook.created', 'webhook.disabled', 'webhook.deleted'],
  kept: true,
  needs: ({ state }) => [
    'webhook.created',
    ...when(state === 'disabled', 'webhook.disabled'),
    ...when(state === 'deleted', 'webhook.deleted'),
  ],
  denies: ({ state }) => when(state !== 'deleted', 'webhook.deleted'),
}

const deliveries: Witness = {
  collection: 'deliveries',
  fields: ['state'],
  types: ['delivery.delivered', 'delivery.exhausted', 'delivery.dropped'],
  kept: false,
  needs: ({ state }) => [
    ...when(state === 'delivered', 'delivery.delivered'),
    ...when(state === 'dead', 'delivery.exhausted'),
    ...when(state === 'dropped', 'delivery.dropped'),
  ],
  denies: () => [],
}

/** How a bootstrap ended; an approved one may also have been collected. */
const SETTLED: readonly AuditType[] = ['bootstrap.approved', 'bootstrap.rejected', 'bootstrap.expired']

const bootstraps: Witness = {
  collection: 'bootstraps',
  fields: ['status', 'collected.at'],
  types: ['bootstrap.requested', ...SETTLED, 'bootstrap.collected'],
  kept: false,
  needs: ({ status, collected }) => [
    'bootstrap.requested',
    ...SETTLED.filter((type) => type === `bootstrap.${status}`),
    ...when(isSet(collected), 'bootstrap.collected'),
  ],
  denies: ({ status, collected }) => [
    ...SETTLED.filter((type) => type !== `bootstrap.${status}`),
    ...when(!isSet(collected) && status !== 'approved', 'bootstrap.collected'),
  ],
}

/** Every state the trail is held against (T86). */
export const WITNESSES: readonly Witness[] = [
  requests,
  apiKeys,
  signingKeys,
  users,
  accounts,
  sessions,
  webhooks,
  deliveries,
  bootstraps,
  pushKeys,
  pushDevices,
  pushes,
]

function when(holds: boolean, type: AuditType): AuditType[] {
  return holds ? [type] : []
}

function isTest(about: unknown): boolean {
  return Object(about).kind === 'test'
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
