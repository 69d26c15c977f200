import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, el, hint, link, mono } from '../../webauthn-page/kit/dom/element.ts'
import { ago } from '../../webauthn-page/kit/dom/moment.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { attemptList, DELIVERY_STATES, outcomeWord, stateTag } from '../parts/delivery-words.ts'
import { type Filters, withFilters } from '../parts/filters.ts'
import { readPages } from '../parts/read-pages.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { type Delivery, type DeliveryPage, deliveryPageShape, deliveryShape } from './integration-shapes.ts'

interface Around {
  slot: NoticeSlot
  context: PageContext
  /** Whether there still is a receiver to send the delivery to. */
  replayable: boolean
  /** Called when the delivery is on its way again. */
  replayed(): void
  /** Names the receiver, where the list does not make it plain. */
  to?: HTMLElement
}

/** One delivery in a line: its event, linked to the request, its state, its attempts; a finished one can be replayed. */
export function deliveryRow(delivery: Delivery, around: Around): HTMLElement {
  const { event_type, event_id, state, next_attempt_at, attempts, created_at } = delivery
  const finished = state === 'delivered' || state === 'dead' || state === 'dropped'
  return el(
    'li',
    { class: 'entry delivery' },
    el(
      'div',
      { class: 'entry-line' },
      el('p', { class: 'entry-name' }, ...nameOf(delivery, around.context), stateTag(state)),
      hint(ago(created_at), ' · ', mono(event_id)),
      around.to,
      next_attempt_at !== null && hint('Next attempt ', ago(next_attempt_at)),
      attempts.length > 0 && attemptList(attempts),
    ),
    finished &&
      around.replayable &&
      button('Replay', 'quiet', () => replay(delivery, around), {
        'aria-label': `Replay ${event_type}, ${event_id}`,
      }),
  )
}

function nameOf({ event_type, event_id, request_id }: Delivery, { href }: PageContext): HTMLElement[] {
  const name = el('code', {}, event_type)
  if (request_id === undefined) return [name]
  const open = link(href(`/a/${encodeURIComponent(request_id)}`), '', {
    class: 'row-link',
    'aria-label': `${event_type}: its request, ${event_id}`,
  })
  open.append(name)
  return [open]
}

async function replay({ id }: Delivery, { slot, replayed }: Around): Promise<void> {
  await slot.attempt(async () => {
    await post(`/deliveries/${encodeURIComponent(id)}/replay`, {}, deliveryShape)
    announce('It is queued again')
    replayed()
  })
}

/** "Last delivery 3 min ago: answered with status 200." */
export function lastDelivery(delivery: Delivery | null | undefined): (string | HTMLElement)[] {
  if (delivery === undefined || delivery === null) return ['Nothing has been sent to it yet.']
  const last = delivery.attempts.at(-1)
  const when = ['Last delivery ', ago(last?.at ?? delivery.created_at), ': ']
  if (last === undefined) return [...when, DELIVERY_STATES[delivery.state].toLowerCase(), '.']
  const stands = delivery.state === 'delivered' ? '' : `, ${DELIVERY_STATES[delivery.state].toLowerCase()}`
  return [...when, `${outcomeWord(last.outcome)}${stands}.`]
}

/** The outcome of a test, and what to check if the receiver did not accept it. */
export function testResult({ state, attempts }: Delivery): { good: boolean; words: string } {
  const last = attempts.at(-1)
  if (last === undefined) return { good: false, words: 'The test was not sent. Try again.' }
  const said = `${outcomeWord(last.outcome)}, after ${last.duration_ms} ms`
  if (state === 'delivered') return { good: true, words: `The receiver accepted the test: ${said}.` }
  return { good: false, words: `The receiver refused the test: ${said}. ${advice(last.outcome)}` }
}

function advice(outcome: string): string {
  const status = /^http_(\d{3})$/.exec(outcome)?.[1]
  if (status !== undefined) return adviceOnStatus(Number(status))
  return ADVICE[outcome] ?? 'Try again.'
}

const ADVICE: Readonly<Record<string, string>> = {
  blocked: 'Only public addresses may be called. Does the host name lead to a private one?',
  connect_failed: 'Is it running, reachable from this service, and its certificate valid?',
  timeout: 'It must answer at once and do its work afterwards.',
}

function adviceOnStatus(status: number): string {
  if (status >= 300 && status < 400) return 'Redirects are not followed: enter the address they lead to.'
  if (status === 401 || status === 403) return 'Does it check the signature with the secret of this webhook?'
  if (status === 404) return 'Is the path of the address right?'
  if (status === 410) return 'To an event, 410 switches the webhook off.'
  return 'It must answer with a status from 200 to 299.'
}

/** Loads a webhook's deliveries; `filters` are the API's, with `cursor` and `limit`. @throws RequestFailure, ShapeError */
export function loadDeliveries(id: string, filters: Filters): Promise<DeliveryPage> {
  return get(
    withFilters(`/account/webhooks/${encodeURIComponent(id)}/deliveries`, filters),
    deliveryPageShape,
  )
}

/** Most deliveries in a file: 20 of the 120 calls a minute that a person has, decisions included. */
export const MOST_IN_A_FILE = 2_000

/** Loads the newest deliveries that the filters find, `MOST_IN_A_FILE` at most. @throws RequestFailure, ShapeError */
export async function loadNewestDeliveries(
  id: string,
  filters: Filters,
): Promise<{ all: Delivery[]; more: boolean }> {
  const load = (...place: [string, string][]): Promise<DeliveryPage> =>
    loadDeliveries(id, new Map([...filters, ['limit', '100'], ...place]))
  const { data, complete } = await readPages(
    await load(),
    (cursor) => load(['cursor', cursor]),
    MOST_IN_A_FILE,
  )
  return { all: data, more: !complete }
}

/** Loads the whole account's deliveries that were given up. @throws RequestFailure, ShapeError */
export function loadDeadLetters(cursor?: string): Promise<DeliveryPage> {
  const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
  return get(`/account/dead-letters${query}`, deliveryPageShape)
}
