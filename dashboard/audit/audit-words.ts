import type { AuditType } from '../../src/domain/audit.ts'
import type { AuditEntry } from './audit-shapes.ts'

/**
 * The words for a type of entry: its name in the list of filters, and the sentence for people. `{actor}`, `{subject}` and
 * the names of details stand for their values.
 */
type AuditWords = readonly [name: string, sentence: string]

/** The words for all types, in the groups of the filter. */
export const AUDIT_WORDS: Readonly<Record<string, Partial<Record<AuditType, AuditWords>>>> = {
  Requests: {
    'approval.created': ['Requested', '{actor} made a request'],
    'approval.voted': ['Vote', '{actor} voted on the request: {decision}'],
    'approval.same_address': ['Same address', '{actor} decided {subject} from the caller’s address'],
    'approval.approved': ['Approved', '{actor} approved the request'],
    'approval.rejected': ['Rejected', '{actor} rejected the request'],
    'approval.expired': ['Expired', 'The request expired without a decision'],
    'approval.cancelled': ['Withdrawn', '{actor} withdrew the request'],
    'approval.consumed': ['Used', '{actor} used the approval'],
    'approval.reminded': ['Reminder', '{actor} reminded the approvers'],
    'approval.unheard': ['Nobody reached', 'The first reminder could reach no approver'],
    'approval.erased': ['Texts erased', '{actor} erased the texts of the request'],
    'approval.deleted': ['Request deleted', '{actor} deleted the request'],
    'approval.verified': ['Receipt checked', '{actor} checked the receipt: {result}'],
  },
  'API keys': {
    'key.created': ['Key created', '{actor} created {subject}'],
    'key.changed': ['Key changed', '{actor} changed {subject}'],
    'key.revoked': ['Key revoked', '{actor} revoked {subject}'],
    'key.secret_read': ['Signing secret read', '{actor} read the signing secret of {subject}'],
    'bootstrap.requested': ['Key requested', '{actor} asked for an API key'],
    'bootstrap.approved': ['Key granted', '{actor} agreed to an API key'],
    'bootstrap.rejected': ['Key refused', '{actor} refused an API key'],
    'bootstrap.expired': ['Key not granted', 'The request for an API key expired without an answer'],
    'bootstrap.collected': ['Key collected', '{actor} collected an API key'],
    'store.restored': ['Restored', 'The store was restored from a copy'],
    'store.released': ['Hold lifted', '{actor} lifted the hold after a restore'],
    'approval.released': ['Released after a restore', '{actor} lifted the hold on the request'],
    'internal_token.used': ['Internal token', '{actor} acted for {subject} with the internal token'],
  },
  'Account and members': {
    'account.changed': ['Account changed', '{actor} changed the account'],
    'policy.changed': ['Policy changed', '{actor} changed the policy'],
    'member.invited': ['Invited', '{actor} invited {subject} as {role}'],
    'member.joined': ['Joined', '{subject} joined as {role}'],
    'member.declined': ['Declined', '{subject} declined to join'],
    'member.changed': ['Role changed', '{actor} made {subject} {role}'],
    'member.removed': ['Removed', '{actor} removed {subject} from the account'],
    'member.left': ['Left', '{subject} left the account'],
    'member.recovery_offered': [
      'New set-up offered',
      '{actor} offered {subject} a new set-up of the sign-in',
    ],
    'member.recovery_ended': [
      'New set-up cancelled',
      '{actor} cancelled the new set-up offered to {subject}',
    ],
    'member.recovered': ['Set up anew', '{subject} set up the sign-in anew'],
  },
  People: {
    'user.invited': ['Person invited', '{actor} invited {subject}'],
    'user.enrolled': ['Signed up', '{actor} signed up'],
    'user.changed': ['Profile changed', '{actor} changed the profile of {subject}'],
    'user.erased': ['Person erased', '{actor} erased {subject}'],
    'audit.erased': ['Entry erased', '{actor} erased what an entry said'],
    'log.rollback_detected': ['Log stopped', 'The log {subject} was rolled back, and signs nothing more'],
    'log.renewed': ['Log renewed', '{actor} began the log {subject}'],
    'user.reset': ['Person reset', '{actor} removed all factors and sessions of {subject}'],
    'session.created': ['Signed in', '{actor} signed in'],
    'session.ended': ['Signed out', '{actor} ended a session'],
    'delegate.set': ['Delegate set', '{actor} named a delegate'],
    'delegate.removed': ['Delegate removed', '{actor} removed the delegate'],
    'factor.passkey_added': ['Passkey added', '{actor} added a passkey'],
    'factor.passkey_removed': ['Passkey removed', '{actor} removed a passkey'],
    'factor.passkey_suspended': [
      'Passkey suspended',
      'A passkey was suspended, because it may be a copy: {subject}',
    ],
    'factor.passkey_counter_fell': [
      'Passkey counter fell',
      'The counter of a synced passkey went backwards: {subject}',
    ],
    'factor.totp_added': ['Codes set up', '{actor} set up codes from an authenticator app'],
    'factor.totp_removed': ['Codes removed', '{actor} removed codes from an authenticator app'],
    'factor.totp_locked': ['Codes locked', 'Codes were locked after wrong attempts: {subject}'],
    'factor.totp_disabled': [
      'Codes switched off',
      'Codes were switched off after many wrong attempts: {subject}',
    ],
    'factor.backup_codes_renewed': ['Backup codes renewed', '{actor} renewed the backup codes'],
    'factor.backup_code_used': ['Backup code used', '{actor} signed in with a backup code'],
    'push.device_added': ['Notifications on', '{actor} switched notifications on in a browser or by e-mail'],
    'push.device_removed': [
      'Notifications off',
      '{actor} switched notifications off in a browser or by e-mail',
    ],
    'notifications.tested': ['Chat tested', '{actor} sent a test to the linked chat accounts'],
  },
  'Webhooks and messages': {
    'webhook.created': ['Webhook added', '{actor} added a webhook'],
    'webhook.deleted': ['Webhook deleted', '{actor} deleted a webhook'],
    'webhook.rotated': ['Webhook secret', '{actor} gave a webhook a new secret'],
    'webhook.disabled': ['Webhook off', '{actor} switched a webhook off'],
    'webhook.enabled': ['Webhook on', '{actor} switched a webhook on again'],
    'webhook.tested': ['Webhook tested', '{actor} sent a test to a webhook'],
    'delivery.delivered': ['Delivered', '{actor} delivered an event'],
    'delivery.failed': ['Delivery failed', '{actor} failed to deliver an event; it will be tried again'],
    'delivery.exhausted': ['Delivery given up', '{actor} gave up delivering an event'],
    'delivery.dropped': ['Delivery dropped', '{actor} dropped an event: its receiver no longer wants it'],
    'delivery.replayed': ['Delivery repeated', '{actor} had an event delivered again'],
    'card.posted': ['Card posted', '{actor} posted a message in chat'],
    'card.unreachable': ['Not found in chat', '{actor} found no recipient in chat for a message'],
    'card.exhausted': ['Card given up', '{actor} gave up sending a message in chat'],
    'push.sent': ['Notification sent', '{actor} sent a notification or a mail'],
    'push.failed': ['Notification failed', '{actor} failed to send a notification or a mail'],
  },
  Chat: {
    'chat.linked': ['Chat linked', '{actor} linked a chat identity'],
    'chat.unlinked': ['Chat unlinked', '{actor} unlinked a chat identity'],
    'chat.browser_known': ['Browser trusted', '{actor} trusted a browser by a link from chat'],
    'chat.installed': ['App installed', '{actor} installed the app in {workspace}'],
    'chat.uninstalled': ['App removed', '{actor} removed the app from {workspace}'],
    'chat.unavailable': ['Chat lost', '{actor} found that a chat workspace or channel refuses cards'],
    'chat.restored': ['Chat back', '{actor} found that a chat workspace or channel accepts cards again'],
    'channel.added': ['Channel added', '{actor} added a channel for cards'],
    'channel.removed': ['Channel removed', '{actor} removed a channel for cards'],
  },
  Service: {
    'signing_key.created': ['Signing key', '{actor} made a new signing key'],
    'signing_key.revoked': ['Signing key revoked', '{actor} revoked a signing key'],
    'push_key.created': ['Push key', '{actor} made a key for notifications'],
  },
}

const BY_TYPE: ReadonlyMap<string, AuditWords> = new Map(
  Object.values(AUDIT_WORDS).flatMap((group) => Object.entries(group)),
)

/** The sentences for what people do about themselves. */
const OWN_WORDS: ReadonlyMap<string, string> = new Map([
  ['member.recovery_ended', '{actor} refused a new set-up of the sign-in'],
  ['user.changed', '{actor} changed the profile'],
])

/** The words for a type; the service may know newer types than this page. */
export function auditWords(type: string): AuditWords {
  return BY_TYPE.get(type) ?? [type, `{actor}: ${type}`]
}

/**
 * The sentence of an entry. A public check of a receipt takes no credentials, so its sentence names no actor: it may have
 * been the reader. A session ends in several ways. What people do about themselves names them once.
 */
export function auditSentence({
  type,
  actor,
  subject,
  detail,
}: Pick<AuditEntry, 'type' | 'actor' | 'subject' | 'detail'>): string {
  if (type === 'approval.verified' && actor.kind === 'public') return 'The receipt was checked: {result}'
  if (type === 'session.ended' && detail.reason === 'signed_out') return '{actor} signed out'
  if (type === 'session.ended' && detail.reason === 'enrolled_again')
    return '{actor} used a new sign-in link, which ended a session'
  if (type === 'user.enrolled' && detail.again === true) return '{actor} signed up again, with a new link'
  if (type === 'user.changed' && detail.confirmed === true) return '{actor} confirmed {subject}'
  return (actor.id === subject ? OWN_WORDS.get(type) : undefined) ?? auditWords(type)[1]
}

/** The parts of a sentence: plain words, or the name of a value. */
export function partsOf(sentence: string): { words?: string; name?: string }[] {
  return sentence
    .split(/(\{\w+\})/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith('{') ? { name: part.slice(1, -1) } : { words: part }))
}

const VALUES: Record<string, string> = {
  passkey: 'passkey',
  totp: 'authenticator code',
  backup_code: 'backup code',
  sandbox: 'sandbox, no person',
  owner: 'owner',
  approver: 'approver',
  auditor: 'auditor',
}

/** The everyday word for a value of a detail, if there is one; otherwise the value itself. */
export function valueWord(value: string): string {
  return VALUES[value] ?? value
}
