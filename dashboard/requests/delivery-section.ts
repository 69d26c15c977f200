import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Child, el, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import type { WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { cardState, deliveryState, outcomeWord, platformName } from '../parts/delivery-words.ts'
import { section } from '../parts/section.ts'
import { showMore } from '../parts/show-more.ts'
import { type Card, type Delivery, type RequestLog, requestLogShape } from './delivery-shapes.ts'

/** What was sent about a request; only the account's owner may see it. @throws RequestFailure, ShapeError */
export function loadLog(id: string, cursor?: string): Promise<RequestLog> {
  const page = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
  return get(`/approvals/${id}/deliveries${page}`, requestLogShape)
}

/** What the section writes addresses of pages and people with. */
interface Writing {
  href(path: string): string
  person: WritePerson
}

/** Who was told of the request, and what came of it. */
export function deliverySection(id: string, log: RequestLog, { href, person }: Writing): HTMLElement {
  const part = section(
    'Who was told',
    'The callback of the request, your webhooks, and messages in chat. What a receiver answered is not kept, only its kind.',
  )
  part.body.append(...(log.quiet ?? []).map((quiet) => quietNote(quiet, person)))
  if (log.data.length + log.cards.length === 0) {
    part.body.append(p('Nothing was sent: no callback, no webhook, no chat.'))
    return part.element
  }
  const list = el('ul', { class: 'entries', 'aria-label': 'Deliveries' })
  const add = (deliveries: readonly Delivery[]): HTMLElement | undefined => {
    const rows = deliveries.map((delivery) => deliveryRow(delivery, href))
    list.append(...rows)
    return rows[0]?.querySelector('summary') ?? undefined
  }
  add(log.data)
  if (log.data.length > 0) part.body.append(list)
  part.body.append(
    showMore(log, {
      load: (cursor) => loadLog(id, cursor),
      add,
      said: (count) => (count === 1 ? '1 more delivery' : `${count} more deliveries`),
    }),
  )
  if (log.cards.length > 0) {
    const cards = log.cards.map((card) => cardRow(card, person))
    part.body.append(el('ul', { class: 'entries', 'aria-label': 'Messages in chat' }, ...cards))
  }
  return part.element
}

/** No message went to this person in quiet hours: the request is in their inbox. */
function quietNote(
  { approver, until }: { approver: string; until: string },
  person: WritePerson,
): HTMLElement {
  return notice(
    'info',
    'Approver ',
    person(approver),
    ' was sent no message and no notification: they had just rejected three requests of this key, which is silent towards them until ',
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
    { words: deliveryState(state), bad: state === 'dead' },
    [el('span', { class: 'mono' }, callerText(url))],
    next_attempt_at,
    attempts,
  )
}

function cardRow(
  { platform, recipient, approver, state, next_attempt_at, attempts }: Card,
  person: WritePerson,
): HTMLElement {
  const whom: Child[] =
    approver === undefined
      ? [recipient === 'channel' ? 'A channel' : 'An approver']
      : ['Approver ', person(approver)]
  return row(
    [platformName(platform)],
    { words: cardState(state), bad: state === 'unreachable' || state === 'not_sent' },
    whom,
    next_attempt_at,
    attempts,
  )
}

interface LoggedAttempt {
  at: string
  what?: string
  outcome: string
  duration_ms: number
}

function row(
  title: readonly Child[],
  { words, bad }: { words: string; bad: boolean },
  to: readonly Child[],
  next: string | null,
  attempts: readonly LoggedAttempt[],
): HTMLElement {
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, ...title, el('span', { class: bad ? 'tag warn' : 'tag' }, words)),
      hint(...to),
      next !== null && hint('Next attempt ', moment(next)),
      attempts.length > 0 && attemptList(attempts),
    ),
  )
}

function attemptList(attempts: readonly LoggedAttempt[]): HTMLElement {
  return el(
    'details',
    { class: 'attempts' },
    el('summary', {}, attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`),
    el(
      'ol',
      {},
      ...attempts.map(({ at, what, outcome, duration_ms }) =>
        el(
          'li',
          {},
          moment(at),
          `: ${what === undefined ? '' : `${what}, `}${outcomeWord(outcome)} (${duration_ms} ms)`,
        ),
      ),
    ),
  )
}
