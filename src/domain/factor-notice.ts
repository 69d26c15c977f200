import type { AuditEntry, AuditType } from './audit.ts'
import { shortLine } from './cut-text.ts'
import { visibleString } from './text.ts'

/**
 * A change of what a person can prove themself with, or may do, told to that person everywhere (T34); and what keeps an owner's
 * requests from chat.
 */
export interface FactorNotice {
  type: AuditType
  at: Date
  /** From where; absent when another person did it, whose address is private, when the service did, or when it is not known. */
  address?: string
  /** Another person did it. */
  by_other?: true
  /** The name of what changed, in the words it was given: a passkey's, a device's. */
  name?: string
}

const NAME_LENGTH = 80

interface Words {
  /** Without a full stop. */
  heading: string
  /** One sentence more, where the heading does not say it all. */
  more?: string
}

/** The changes that make a notice, and their names. Being listed here is what makes an entry a notice. */
const WORDS: Partial<Record<AuditType, Words>> = {
  'factor.passkey_added': { heading: 'A passkey was added to your account' },
  'factor.passkey_removed': { heading: 'A passkey was removed from your account' },
  'factor.passkey_suspended': {
    heading: 'A passkey of yours was suspended',
    more: 'Its counter went backwards, as it does when a passkey was copied.',
  },
  'factor.totp_added': { heading: 'An authenticator app was added to your account' },
  'factor.totp_removed': { heading: 'The authenticator app was removed from your account' },
  'factor.totp_locked': {
    heading: 'Codes of your authenticator app are locked for a while',
    more: 'Too many wrong codes were entered in your name.',
  },
  'factor.totp_disabled': {
    heading: 'Codes of your authenticator app are switched off',
    more: 'Too many wrong codes were entered in your name.',
  },
  'factor.backup_codes_renewed': { heading: 'Your backup codes were renewed' },
  'factor.backup_code_used': { heading: 'A backup code of yours was used to sign in' },
  'user.enrolled': { heading: 'Your account was set up with an enrolment link' },
  'delegate.set': { heading: 'Another person was made your delegate and decides for you' },
  'delegate.removed': { heading: 'You have no delegate any more' },
  'member.changed': { heading: 'Your role in an account was changed' },
  'member.removed': { heading: 'You were removed from an account' },
  'member.joined': { heading: 'You joined an account' },
  'member.left': { heading: 'You left an account' },
  'chat.unlinked': { heading: 'A chat identity was unlinked from your account' },
  'chat.linked': { heading: 'A chat identity was linked to your account' },
  'approval.same_address': {
    heading: 'A request was decided from the address that asked for it',
    more: 'In an office that is usual; but an agent that works the browser of the one who decides looks the same.',
  },
  'push.device_added': { heading: 'Notifications were turned on for a browser' },
  'chat.unavailable': { heading: 'A chat workspace or channel takes no cards of your account' },
  'chat.restored': { heading: 'A chat workspace or channel takes cards of your account again' },
}

/** The first line of a notice, without a full stop. */
export function noticeHeading({ type }: Pick<FactorNotice, 'type'>): string {
  return WORDS[type]?.heading ?? 'Your account was changed'
}

/** What else is to be said, with a full stop; undefined where the heading says it all. */
export function noticeMore({ type }: Pick<FactorNotice, 'type'>): string | undefined {
  return WORDS[type]?.more
}

/** When and from where, and what else there is to say. All of it our words, but the name and the address. */
export function noticeSentences({ type, at, address, by_other, name }: FactorNotice): string[] {
  const from = address === undefined ? '' : ` from ${address}`
  const more = noticeMore({ type })
  return [
    ...(name === undefined ? [] : [`“${noticeName(name)}”`]),
    `${timeWords(at)}${from}${by_other ? ', by another person' : ''}.`,
    ...(more === undefined ? [] : [more]),
  ]
}

/** What to do; the link to `noticePath` goes with it. */
export function noticeAdvice({ type }: Pick<FactorNotice, 'type'>): string {
  if (type === 'chat.unavailable')
    return 'Requests wait in the inbox meanwhile. Your integrations say what to do; then the cards come by themselves.'
  if (type === 'chat.restored') return 'What waited is on its way.'
  return 'If this was not you, open your account, remove what you do not know and end the other sessions.'
}

/** The page that the advice is about. */
export function noticePath({ type }: Pick<FactorNotice, 'type'>): '/account' | '/integrations' {
  return type === 'chat.unavailable' || type === 'chat.restored' ? '/integrations' : '/account'
}

/** A name that a person gave, on one line and in visible form. */
export function noticeName(name: string): string {
  return shortLine(visibleString(name), NAME_LENGTH)
}

/** "21 Nov 2026, 16:02 UTC": notices are read later and elsewhere, so they name the zone. */
export function timeWords(at: Date): string {
  const text = at.toISOString()
  const month = MONTHS[at.getUTCMonth()] ?? ''
  return `${at.getUTCDate()} ${month} ${at.getUTCFullYear()}, ${text.slice(11, 16)} UTC`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/**
 * The notices that entries written together are worth. Enrolling adds a factor, and a delegate is noted in the trail of every
 * account they decide in: each makes one notice.
 * A person who was only invited gets none: they have not said that they want to hear from that account.
 * @returns nothing for every other entry
 */
export function noticesIn(audit: readonly AuditEntry[]): PersonNotice[] {
  const found = audit.flatMap(noticesOf)
  const enrolled = found.filter(({ notice }) => notice.type === 'user.enrolled')
  const told = new Set<string>()
  return found.filter(({ user_id, notice: { type, at } }) => {
    if (FIRST_FACTOR.has(type))
      return !enrolled.some(
        (other) => other.user_id === user_id && other.notice.at.getTime() === at.getTime(),
      )
    if (!IN_SEVERAL_TRAILS.has(type)) return true
    const change = `${type} ${user_id} ${at.getTime()}`
    return !told.has(change) && told.add(change)
  })
}

const IN_SEVERAL_TRAILS: ReadonlySet<AuditType> = new Set(['delegate.set', 'delegate.removed'])
const FIRST_FACTOR: ReadonlySet<AuditType> = new Set(['factor.passkey_added', 'factor.totp_added'])

/** A notice and whom it is for; `event_id` is that of the entry, `subject` what it is about. */
export interface PersonNotice {
  user_id: string
  event_id: string
  subject: string
  notice: FactorNotice
  /** It is about a workspace of this chat platform, where it would not be heard. */
  unheard?: string
}

function noticesOf(entry: AuditEntry): PersonNotice[] {
  const { type, detail } = entry
  if (WORDS[type] === undefined || detail?.invited === true) return []
  const { owner_id } = detail ?? {}
  const people = [personOf(entry), ...(typeof owner_id === 'string' ? [owner_id] : [])]
  return people.flatMap((user_id) => (user_id === undefined ? [] : [noticeFor(entry, user_id)]))
}

function noticeFor(entry: AuditEntry, user_id: string): PersonNotice {
  const { eid, type, at, actor, detail } = entry
  // Where the service itself acted, the entry tells in its detail who made it do so.
  const address = ('address' in actor ? actor.address : undefined) ?? detail?.address
  const name = detail?.name
  const byOther = actor.kind === 'user' && actor.id !== user_id
  return {
    user_id,
    event_id: eid,
    subject: entry.subject,
    notice: {
      type,
      at,
      ...(typeof address === 'string' && !byOther ? { address } : {}),
      ...(byOther ? { by_other: true as const } : {}),
      ...(typeof name === 'string' ? { name } : {}),
    },
    ...(type === 'chat.unavailable' && detail?.channel === undefined
      ? { unheard: String(detail?.platform) }
      : {}),
  }
}

/** Entries about a person name them as subject, or as the one who acted when the subject is a part of theirs. */
function personOf({ subject, actor, detail }: AuditEntry): string | undefined {
  if (subject.startsWith('usr_')) return subject
  if (typeof detail?.user_id === 'string') return detail.user_id
  return actor.kind === 'user' ? actor.id : undefined
}
