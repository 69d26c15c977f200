import type { AuditEntry, AuditType } from './audit.ts'
import { shortLine } from './cut-text.ts'
import { visibleString } from './text.ts'

/**
 * A change of a person's factors or rights, told to that person everywhere (T34); or a trouble that keeps cards of an owner's
 * account out of chat.
 */
export interface FactorNotice {
  type: AuditType
  at: Date
  /** Address the change came from; absent when another person (whose address is private) or the service acted, or if unknown. */
  address?: string
  /** Another person made the change. */
  by_other?: true
  /** The name that a person gave to the thing that changed: a passkey, a device. */
  name?: string
}

const NAME_LENGTH = 80

interface Words {
  /** Without a full stop. */
  heading: string
  /** One sentence more, where the heading does not say it all. */
  more?: string
}

/** The words of each notice. An audit entry makes a notice if and only if its type is listed here. */
const WORDS: Partial<Record<AuditType, Words>> = {
  'factor.passkey_added': { heading: 'A passkey was added to your account' },
  'factor.passkey_removed': { heading: 'A passkey was removed from your account' },
  'factor.passkey_suspended': {
    heading: 'One of your passkeys was suspended',
    more: 'Its counter went backwards, as it does when a passkey was copied.',
  },
  'factor.passkey_counter_fell': {
    heading: 'The counter of your passkey went backwards',
    more: 'Apps that share a synced passkey count differently, which is harmless; a copy in other hands looks the same. The passkey still works.',
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
  'factor.backup_code_used': { heading: 'One of your backup codes was used to sign in' },
  'user.enrolled': { heading: 'Your account was set up with a sign-in link' },
  'delegate.set': { heading: 'Another person is now your delegate and decides for you' },
  'delegate.removed': { heading: 'Your delegate was removed' },
  'member.changed': { heading: 'Your role in an account was changed' },
  'member.removed': { heading: 'You were removed from an account' },
  'member.joined': { heading: 'You joined an account' },
  'member.left': { heading: 'You left an account' },
  'member.recovery_offered': {
    heading: 'The owner of an account lets you set up your sign-in anew',
    more: 'A day after this, a link in their hands works; with it all your passkeys and codes stop working.',
  },
  'member.recovery_ended': {
    heading: 'Your sign-in stays as it is: the link to set it up anew was cancelled',
  },
  'member.recovered': {
    heading: 'Your sign-in was set up anew',
    more: 'Your earlier passkeys, codes and sessions no longer work.',
  },
  'chat.unlinked': { heading: 'A chat identity was unlinked from your account' },
  'chat.linked': { heading: 'A chat identity was linked to your account' },
  'approval.same_address': {
    heading: 'A request was decided from the address that made it',
    more: 'This is usual in an office, but an agent controlling the approver’s browser would look the same.',
  },
  'push.device_added': { heading: 'Notifications were turned on' },
  'push.device_removed': {
    heading: 'Your e-mail address refuses our mails',
    more: 'Nothing more is sent there until you confirm it again.',
  },
  'approval.unheard': {
    heading: 'A reminder reached nobody',
    more: 'None of its approvers can be told: no chat, browser or address of theirs is reachable, or they chose to hear nothing.',
  },
  'notifications.tested': {
    heading: 'Notifications work',
    more: 'Your pending requests will be shown like this.',
  },
  'chat.unavailable': { heading: 'A chat workspace or channel refuses your account’s cards' },
  'chat.restored': { heading: 'A chat workspace or channel accepts your account’s cards again' },
}

/** Returns the first line of a notice, without a full stop. */
export function noticeHeading({ type }: Pick<FactorNotice, 'type'>): string {
  return WORDS[type]?.heading ?? 'Your account was changed'
}

/** Returns one more sentence, with a full stop; undefined where the heading says it all. */
export function noticeMore({ type }: Pick<FactorNotice, 'type'>): string | undefined {
  return WORDS[type]?.more
}

/** Says when and from where the change was made, and anything else. All our words, except the name and the address. */
export function noticeSentences({ type, at, address, by_other, name }: FactorNotice): string[] {
  const from = address === undefined ? '' : ` from ${address}`
  const more = noticeMore({ type })
  return [
    ...(name === undefined ? [] : [`“${noticeName(name)}”`]),
    `${timeWords(at)}${from}${by_other ? ', by another person' : ''}.`,
    ...(more === undefined ? [] : [more]),
  ]
}

/** Says what to do; the link to `noticePath` goes with it. */
export function noticeAdvice({ type }: Pick<FactorNotice, 'type'>): string {
  return (
    ADVICE[type] ??
    'If this was not you, open your account, remove what you do not know and end the other sessions.'
  )
}

const ADVICE: Partial<Record<AuditType, string>> = {
  'chat.unavailable':
    'Your requests are in the inbox. The page Integrations says what to do; the waiting cards are then sent automatically.',
  'chat.restored': 'The waiting cards are on their way.',
  // The sessions that the copy may have begun go on: the person's own may rest on the same passkey, and could be their last.
  'factor.passkey_suspended':
    'Open your account, end the other sessions and add another passkey; without another factor, ask the operator for a new link.',
  'member.recovery_offered':
    'If you lost no device or did not ask for this, open your account and cancel it: any sign-in can, within a day.',
  'member.recovered': 'If this was not you, tell the operator of the service at once.',
  'push.device_removed': 'Open your account to confirm it, or ask the operator if it is wrong.',
  'approval.unheard':
    'Tell an approver yourself, and ask them to choose on their account page how they are told.',
  'notifications.tested': 'You chose what you are told on your account page.',
}

const PLACES: Partial<Record<AuditType, '/integrations' | '/requests'>> = {
  'chat.unavailable': '/integrations',
  'chat.restored': '/integrations',
  'approval.unheard': '/requests',
}

/** Returns the page to which the advice refers. */
export function noticePath({ type }: Pick<FactorNotice, 'type'>): '/account' | '/integrations' | '/requests' {
  return PLACES[type] ?? '/account'
}

/** Puts a name that a person gave on one line, in visible form. */
export function noticeName(name: string): string {
  return shortLine(visibleString(name), NAME_LENGTH)
}

/** Formats a time as "21 Nov 2026, 16:02 UTC": notices are read later and elsewhere, so they name the zone. */
export function timeWords(at: Date): string {
  const text = at.toISOString()
  const month = MONTHS[at.getUTCMonth()] ?? ''
  return `${at.getUTCDate()} ${month} ${at.getUTCFullYear()}, ${text.slice(11, 16)} UTC`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/**
 * Makes the notices for audit entries written together. Enrolling also adds a factor, and a change of delegate is recorded
 * for every account they decide in; each makes only one notice.
 * A person who was only invited gets none: they have not said that they want to hear from that account. What happens `again`
 * soon after a notice makes none either.
 * @returns nothing for entries of any other type
 */
export function noticesIn(audit: readonly AuditEntry[]): PersonNotice[] {
  const found = audit.flatMap(noticesOf)
  const enrolled = found.filter(({ notice: { type } }) => ENROLLED.has(type))
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
const ENROLLED: ReadonlySet<AuditType> = new Set(['user.enrolled', 'member.recovered'])
const FIRST_FACTOR: ReadonlySet<AuditType> = new Set(['factor.passkey_added', 'factor.totp_added'])

/** A notice and its recipient; `event_id` and `subject` are those of the audit entry. */
export interface PersonNotice {
  user_id: string
  event_id: string
  subject: string
  notice: FactorNotice
  /** The chat platform whose workspace takes no cards: a notice about that is not posted there. */
  unheard?: string
}

function noticesOf(entry: AuditEntry): PersonNotice[] {
  const { type, detail } = entry
  if (WORDS[type] === undefined || detail?.invited === true || detail?.again === true) return []
  // All other removals are the person's own will, or told of by what caused them.
  if (type === 'push.device_removed' && detail?.reason !== 'bounced') return []
  const { owner_id } = detail ?? {}
  const people = [personOf(entry), ...(typeof owner_id === 'string' ? [owner_id] : [])]
  return people.flatMap((user_id) => (user_id === undefined ? [] : [noticeFor(entry, user_id)]))
}

function noticeFor(entry: AuditEntry, user_id: string): PersonNotice {
  const { eid, type, at, actor, detail } = entry
  // Where the service itself acted, the entry's detail holds the address that caused it.
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

/** Finds the person that an entry is about: its subject, the user in its detail, or else the actor (who owns the subject). */
function personOf({ subject, actor, detail }: AuditEntry): string | undefined {
  if (subject.startsWith('usr_')) return subject
  if (typeof detail?.user_id === 'string') return detail.user_id
  return actor.kind === 'user' ? actor.id : undefined
}
