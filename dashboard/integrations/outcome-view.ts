import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { deliveryState, outcomeWord } from '../requests/delivery-words.ts'
import type { Delivery } from './webhook-shapes.ts'

/** State of a delivery as a mark in words; what was given up stands out. */
export function stateTag(state: string): HTMLElement {
  const look = state === 'delivered' ? 'live' : state === 'dead' || state === 'dropped' ? 'warn' : ''
  return el('span', { class: `tag ${look}` }, deliveryState(state))
}

/** "Last delivery 3 November, 10:12: answered with status 200." */
export function lastDelivery(delivery: Delivery | null | undefined): Child[] {
  if (delivery === undefined || delivery === null) return ['Nothing was sent to it yet.']
  const last = delivery.attempts.at(-1)
  const when = ['Last delivery ', moment(last?.at ?? delivery.created_at), ': ']
  if (last === undefined) return [...when, deliveryState(delivery.state).toLowerCase(), '.']
  const stands = delivery.state === 'delivered' ? '' : `, ${deliveryState(delivery.state).toLowerCase()}`
  return [...when, `${outcomeWord(last.outcome)}${stands}.`]
}

/** What came of a test, and what to look at when it was not taken. */
export function testResult({ state, attempts }: Delivery): { good: boolean; words: string } {
  const last = attempts.at(-1)
  if (last === undefined) return { good: false, words: 'The test was not sent. Try again.' }
  const said = `${outcomeWord(last.outcome)}, after ${last.duration_ms} ms`
  if (state === 'delivered') return { good: true, words: `The receiver took the test: ${said}.` }
  return { good: false, words: `The receiver did not take the test: ${said}. ${advice(last.outcome)}` }
}

function advice(outcome: string): string {
  const status = /^http_(\d{3})$/.exec(outcome)?.[1]
  if (status !== undefined) return adviceOnStatus(Number(status))
  switch (outcome) {
    case 'blocked':
      return 'Only public addresses may be called. Does the host name lead to a private one?'
    case 'connect_failed':
      return 'Is it running, reachable from this service, and its certificate valid?'
    case 'timeout':
      return 'It must answer at once and do its work afterwards.'
    default:
      return 'Try again.'
  }
}

function adviceOnStatus(status: number): string {
  if (status >= 300 && status < 400) return 'Redirects are not followed: enter the address they lead to.'
  if (status === 401 || status === 403) return 'Does it check the signature with the secret of this webhook?'
  if (status === 404) return 'Is the path of the address right?'
  if (status === 410) return 'To an event, 410 switches the webhook off.'
  return 'It must answer with a status from 200 to 299.'
}
