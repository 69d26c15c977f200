import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Child, el, hint, link, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { ago, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import type { WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Reader, type Reading, readingOf, sentenceOf } from '../audit/audit-sentence.ts'
import { type AuditEntry, type AuditPage, auditPageShape } from '../audit/audit-shapes.ts'
import {
  type Attempt,
  attemptList,
  CARD_STATES,
  PLATFORMS,
  RECIPIENTS,
  stateTag,
} from '../parts/delivery-words.ts'
import { withFilters } from '../parts/filters.ts'
import { readPages } from '../parts/read-pages.ts'
import { entry, tag } from '../parts/rows.ts'
import { section } from '../parts/section.ts'
import { moreRows } from '../parts/show-more.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { type Card, type Delivery, type RequestLog, requestLogShape } from './request-shapes.ts'

/** One event in the life of a request. */
interface Step {
  at: string
  words: readonly Child[]
}

/**
 * The timeline of a request: its entries in the audit log, who opened it and, for the account's owner, its cards and
 * deliveries.
 * @throws RequestFailure, ShapeError
 */
export async function timelineSection(
  { id, seen = [] }: Pick<Review, 'id' | 'seen'>,
  log: RequestLog | undefined,
  context: Reader & Pick<PageContext, 'ofAccount'>,
  person: WritePerson,
): Promise<HTMLElement | undefined> {
  const { user, href, ofAccount } = context
  // Calls the reader "you", as the entries of the audit log do.
  const whoever = (reference: string, you: string): HTMLElement =>
    reference === user.approver ? el('strong', {}, you) : person(reference)
  const reading = readingOf(context)
  const load = async (cursor: string): Promise<AuditPage> => {
    const page = await get(ofAccount(`/account/audit?subject=${id}&limit=100${cursor}`), auditPageShape)
    reading.learn(page)
    return page
  }
  const trail = await readPages(await load(''), (cursor) => load(`&cursor=${encodeURIComponent(cursor)}`))
  // The log is newest first, even within one instant: reversed, a vote comes before the outcome that it brings about.
  const audited = stepsOf(trail.data.reverse(), reading)
  const opened = seen.map(
    ({ approver, at }): Step => ({ at, words: [whoever(approver, 'You'), ' opened the request'] }),
  )
  const steps = [...audited, ...opened, ...sent(log, (reference) => whoever(reference, 'you'))].sort(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  )
  if (steps.length === 0) return undefined
  const part = section('Timeline', 'All events of this request, oldest first.')
  if (!trail.complete)
    part.body.append(
      hint(
        'The earliest entries are not shown: there are too many. ',
        link(withFilters(href('/audit'), [['subject', id]]), 'The audit log'),
        ' has all of them.',
      ),
    )
  part.body.append(
    el(
      'ol',
      { class: 'timeline', 'aria-label': 'Timeline' },
      ...steps.map(({ at, words }) => el('li', {}, ago(at), el('p', {}, ...words))),
    ),
  )
  return part.element
}

/**
 * Anyone may check a receipt, as often as they like: repeated checks make one line, in the place of the first. The vote that
 * decided makes one line with the outcome.
 */
function stepsOf(entries: readonly AuditEntry[], reading: Reading): Step[] {
  const alike = new Map<unknown, AuditEntry[]>()
  const outcome = entries.find(({ type }) => type === 'approval.approved' || type === 'approval.rejected')
  const deciding = entries
    .filter(({ type, actor }) => type === 'approval.voted' && actor.id === outcome?.actor.id)
    .at(-1)
  for (const entry of entries) {
    if (entry === deciding) continue
    const { type, actor, detail } = entry
    const check = type === 'approval.verified'
    const key = check ? `${actor.kind} ${actor.id} ${detail.result}` : entry
    const before = alike.get(key)
    if (before === undefined) alike.set(key, [entry])
    else before.push(entry)
  }
  return [...alike.values()].flatMap(([first, ...again]) => {
    if (first === undefined) return []
    const last = again.at(-1)
    const often = last === undefined ? [] : [`, ${again.length + 1} times, the last `, ago(last.at)]
    return [{ at: first.at, words: [...sentenceOf(first, reading), ...often] }]
  })
}

/** The cards that were posted, and the deliveries that were delivered or given up. */
function sent(log: RequestLog | undefined, person: WritePerson): Step[] {
  const cards = (log?.cards ?? []).flatMap(({ platform, recipient, approver, attempts }): Step[] => {
    const at = firstAccepted(attempts)
    const whom = approver === undefined ? [RECIPIENTS[recipient].replace(/^A/, 'a')] : [person(approver)]
    return at === undefined ? [] : [{ at, words: [`Posted in ${PLATFORMS[platform]} to `, ...whom] }]
  })
  const deliveries = (log?.data ?? []).flatMap(({ target, event_type, state, attempts }): Step[] => {
    const at = attempts.at(-1)?.at
    if (at === undefined || (state !== 'delivered' && state !== 'dead')) return []
    const what = target === 'callback' ? 'The callback' : `The webhook of ${event_type}`
    return [{ at, words: [`${what} was ${state === 'delivered' ? 'delivered' : 'given up'}`] }]
  })
  return [...cards, ...deliveries]
}

function firstAccepted(attempts: readonly Attempt[]): string | undefined {
  return attempts.find(({ outcome }) => outcome === 'accepted' || outcome === 'http_200')?.at
}

/** Loads the deliveries of a request; only the account's owner may see them. @throws RequestFailure, ShapeError */
export function loadLog(id: string, cursor?: string): Promise<RequestLog> {
  const page = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
  return get(`/approvals/${id}/deliveries${page}`, requestLogShape)
}

/** Who was notified of the request, and with what result. */
export function sentSection(
  id: string,
  log: RequestLog,
  href: (path: string) => string,
  person: WritePerson,
): HTMLElement {
  const part = section(
    'Notifications',
    'The callback of the request, your webhooks, messages in chat, notifications and mails. Of a receiver’s answer only the kind is kept.',
  )
  part.body.append(...log.quiet.map((quiet) => quietNote(quiet, person)))
  if (log.data.length + log.cards.length + log.notifications.length === 0) {
    part.body.append(p('Nothing was sent: no callback, no webhook, no chat, no notification, no mail.'))
    return part.element
  }
  const list = el('ul', { class: 'entries', 'aria-label': 'Deliveries' })
  const more = moreRows(list, log, {
    row: (delivery) => deliveryRow(delivery, href),
    load: (cursor) => loadLog(id, cursor),
    called: ['delivery', 'deliveries'],
  })
  part.body.append(log.data.length > 0 ? list : '', more)
  if (log.cards.length > 0) {
    const cards = log.cards.map((card) => cardRow(card, person))
    part.body.append(el('ul', { class: 'entries', 'aria-label': 'Messages in chat' }, ...cards))
  }
  if (log.notifications.length > 0) {
    const told = log.notifications.map((one) => notificationRow(one, person))
    part.body.append(el('ul', { class: 'entries', 'aria-label': 'Notifications and mails' }, ...told))
  }
  return part.element
}

/** Explains why this approver got no message: the key is quiet towards them; the request is in their inbox. */
function quietNote(
  { approver, until }: { approver: string; until: string },
  person: WritePerson,
): HTMLElement {
  return notice(
    'info',
    'Approver ',
    person(approver),
    ' was sent no message and no notification: they had just rejected three requests of this key, so it is muted for them until ',
    moment(until),
    '. The request is in their inbox.',
  )
}

function deliveryRow(delivery: Delivery, href: (path: string) => string): HTMLElement {
  const { target, webhook_id, event_type, url, state, attempts, next_attempt_at } = delivery
  const title: Child[] =
    target === 'webhook' && webhook_id !== undefined
      ? [link(href(`/integrations/webhooks/${encodeURIComponent(webhook_id)}`), 'Webhook')]
      : ['Callback']
  return row(
    [...title, event_type !== 'callback' && el('code', { class: 'mono' }, event_type)],
    stateTag(state),
    [mono(callerText(url))],
    next_attempt_at,
    attempts,
  )
}

function cardRow(
  { platform, recipient, approver, state, next_attempt_at, attempts }: Card,
  person: WritePerson,
): HTMLElement {
  const whom: Child[] = approver === undefined ? [RECIPIENTS[recipient]] : ['Approver ', person(approver)]
  return row(
    [PLATFORMS[platform]],
    tag(CARD_STATES[state], state === 'unreachable' || state === 'not_sent' ? 'warn' : ''),
    whom,
    next_attempt_at,
    attempts,
  )
}

const TOLD = { request: '', reminder: ', a reminder', outcome: ', the outcome' }
const TOLD_STATES = {
  due: 'Waiting',
  sending: 'Being sent',
  sent: 'Sent',
  dead: 'Given up',
  dropped: 'Not needed any more',
}

function notificationRow(
  { channel, about, approver, state, next_attempt_at, attempts }: RequestLog['notifications'][number],
  person: WritePerson,
): HTMLElement {
  const what = channel === 'mail' ? 'E-mail' : 'Browser'
  const whom: Child[] = approver === undefined ? ['A person who is told'] : ['Approver ', person(approver)]
  return row(
    [`${what}${TOLD[about]}`],
    tag(TOLD_STATES[state], state === 'dead' ? 'warn' : ''),
    whom,
    next_attempt_at,
    attempts,
  )
}

function row(
  title: readonly Child[],
  state: HTMLElement,
  to: readonly Child[],
  next: string | null,
  attempts: readonly Attempt[],
): HTMLElement {
  return entry(
    [...title, state],
    [
      hint(...to),
      next !== null && hint('Next attempt ', ago(next)),
      attempts.length > 0 && attemptList(attempts),
    ],
  )
}
