import type { AuditType } from '../../src/domain/audit.ts'

/**
 * Each type of entry: its name in the list of filters, and the sentence for people. `{actor}`, `{subject}` and the names of
 * details stand for their values.
 */
export interface AuditWords {
  name: string
  sentence: string
}

/** All types, in the groups of the filter. */
export const AUDIT_WORDS: Readonly<Record<string, Partial<Record<AuditType, AuditWords>>>> = {
  Requests: {
    'approval.created': { name: 'Asked', sentence: '{actor} asked for an approval' },
    'approval.voted': { name: 'Vote', sentence: '{actor} voted on the request: {decision}' },
    'approval.approved': { name: 'Approved', sentence: '{actor} approved the request' },
    'approval.rejected': { name: 'Rejected', sentence: '{actor} rejected the request' },
    'approval.expired': { name: 'Expired', sentence: 'Nobody decided the request in time' },
    'approval.cancelled': { name: 'Withdrawn', sentence: '{actor} withdrew the request' },
    'approval.consumed': { name: 'Used', sentence: '{actor} used the approval' },
    'approval.reminded': { name: 'Reminder', sentence: '{actor} reminded the approvers' },
    'approval.verified': { name: 'Receipt checked', sentence: '{actor} checked the receipt: {result}' },
  },
  'API keys': {
    'key.created': { name: 'Key created', sentence: '{actor} created {subject}' },
    'key.changed': { name: 'Key changed', sentence: '{actor} changed {subject}' },
    'key.revoked': { name: 'Key revoked', sentence: '{actor} revoked {subject}' },
    'bootstrap.requested': { name: 'Key asked for', sentence: '{actor} asked for an API key' },
    'bootstrap.approved': { name: 'Key granted', sentence: '{actor} agreed to an API key' },
    'bootstrap.rejected': { name: 'Key refused', sentence: '{actor} refused an API key' },
    'bootstrap.expired': { name: 'Key not granted', sentence: 'Nobody agreed to an API key in time' },
    'bootstrap.collected': { name: 'Key collected', sentence: '{actor} collected an API key' },
    'internal_token.used': {
      name: 'Internal token',
      sentence: '{actor} acted for {subject} with the internal token',
    },
  },
  'Account and members': {
    'account.changed': { name: 'Account changed', sentence: '{actor} changed the account' },
    'policy.changed': { name: 'Policy changed', sentence: '{actor} changed the policy' },
    'member.invited': { name: 'Invited', sentence: '{actor} invited {subject} as {role}' },
    'member.joined': { name: 'Joined', sentence: '{subject} joined as {role}' },
    'member.declined': { name: 'Declined', sentence: '{subject} declined to join' },
    'member.changed': { name: 'Role changed', sentence: '{actor} made {subject} {role}' },
    'member.removed': { name: 'Removed', sentence: '{actor} removed {subject} from the account' },
    'member.left': { name: 'Left', sentence: '{subject} left the account' },
  },
  People: {
    'user.invited': { name: 'Person invited', sentence: '{actor} invited {subject}' },
    'user.enrolled': { name: 'Signed up', sentence: '{actor} signed up' },
    'user.changed': { name: 'Profile changed', sentence: '{actor} changed name or defaults' },
    'session.created': { name: 'Signed in', sentence: '{actor} signed in' },
    'session.ended': { name: 'Signed out', sentence: '{actor} ended a session' },
    'delegate.set': { name: 'Delegate set', sentence: '{actor} named a delegate' },
    'delegate.removed': { name: 'Delegate removed', sentence: '{actor} removed the delegate' },
    'factor.passkey_added': { name: 'Passkey added', sentence: '{actor} added a passkey' },
    'factor.passkey_removed': { name: 'Passkey removed', sentence: '{actor} removed a passkey' },
    'factor.passkey_suspended': {
      name: 'Passkey suspended',
      sentence: 'A passkey was suspended, because it may be a copy: {subject}',
    },
    'factor.totp_added': { name: 'Codes set up', sentence: '{actor} set up codes from an authenticator app' },
    'factor.totp_removed': {
      name: 'Codes removed',
      sentence: '{actor} removed codes from an authenticator app',
    },
    'factor.totp_locked': {
      name: 'Codes locked',
      sentence: 'Codes were locked after wrong ones: {subject}',
    },
    'factor.totp_disabled': {
      name: 'Codes switched off',
      sentence: 'Codes were switched off after many wrong ones: {subject}',
    },
    'factor.backup_codes_renewed': {
      name: 'Backup codes renewed',
      sentence: '{actor} renewed the backup codes',
    },
    'factor.backup_code_used': { name: 'Backup code used', sentence: '{actor} signed in with a backup code' },
    'push.device_added': {
      name: 'Notifications on',
      sentence: '{actor} switched notifications on in a browser',
    },
    'push.device_removed': {
      name: 'Notifications off',
      sentence: '{actor} switched notifications off in a browser',
    },
  },
  'Webhooks and messages': {
    'webhook.created': { name: 'Webhook added', sentence: '{actor} added a webhook' },
    'webhook.deleted': { name: 'Webhook deleted', sentence: '{actor} deleted a webhook' },
    'webhook.rotated': { name: 'Webhook secret', sentence: '{actor} gave a webhook a new secret' },
    'webhook.disabled': {
      name: 'Webhook off',
      sentence: '{actor} switched a webhook off: its receiver is gone',
    },
    'webhook.enabled': { name: 'Webhook on', sentence: '{actor} switched a webhook on again' },
    'webhook.tested': { name: 'Webhook tested', sentence: '{actor} sent a test to a webhook' },
    'delivery.delivered': { name: 'Delivered', sentence: '{actor} delivered an event' },
    'delivery.failed': { name: 'Delivery failed', sentence: '{actor} could not deliver an event this time' },
    'delivery.exhausted': { name: 'Delivery given up', sentence: '{actor} gave up delivering an event' },
    'delivery.dropped': {
      name: 'Delivery dropped',
      sentence: '{actor} dropped an event: nobody wants it any more',
    },
    'delivery.replayed': { name: 'Delivery repeated', sentence: '{actor} had an event delivered again' },
    'card.posted': { name: 'Card posted', sentence: '{actor} posted a message in chat' },
    'card.unreachable': {
      name: 'Nobody in chat',
      sentence: '{actor} found nobody in chat to send a message to',
    },
    'card.exhausted': { name: 'Card given up', sentence: '{actor} gave up sending a message in chat' },
    'push.sent': { name: 'Notification sent', sentence: '{actor} sent a notification to a browser' },
    'push.failed': {
      name: 'Notification failed',
      sentence: '{actor} could not send a notification to a browser',
    },
  },
  Chat: {
    'chat.linked': { name: 'Chat linked', sentence: '{actor} linked a chat identity' },
    'chat.unlinked': { name: 'Chat unlinked', sentence: '{actor} unlinked a chat identity' },
    'chat.browser_known': {
      name: 'Browser made known',
      sentence: '{actor} made a browser known by a link from chat',
    },
    'chat.installed': { name: 'App installed', sentence: '{actor} installed the app in {workspace}' },
    'chat.uninstalled': { name: 'App removed', sentence: '{actor} removed the app from {workspace}' },
    'channel.added': { name: 'Channel added', sentence: '{actor} added a channel for cards' },
    'channel.removed': { name: 'Channel removed', sentence: '{actor} removed a channel for cards' },
  },
  Service: {
    'signing_key.created': { name: 'Signing key', sentence: '{actor} made a new signing key' },
    'push_key.created': { name: 'Push key', sentence: '{actor} made a key for notifications' },
  },
}

const BY_TYPE: ReadonlyMap<string, AuditWords> = new Map(
  Object.values(AUDIT_WORDS).flatMap((group) => Object.entries(group)),
)

/** The words of a type; a service may know newer ones than this page. */
export function auditWords(type: string): AuditWords {
  return BY_TYPE.get(type) ?? { name: type, sentence: `{actor}: ${type}` }
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

/** How people call some of the values of details. */
export function valueWord(value: string): string {
  return VALUES[value] ?? value
}
