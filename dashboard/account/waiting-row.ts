import type { PendingRequest } from '../../webauthn-page/api/contract.ts'
import { el, link } from '../../webauthn-page/dom/element.ts'
import { duration, secondsUntil } from '../../webauthn-page/dom/moment.ts'
import { callerQuote } from '../../webauthn-page/show/caller-quote.ts'
import { callerText } from '../../webauthn-page/show/caller-text.ts'

/** One request in the list of those that wait. */
export interface WaitingRow {
  element: HTMLElement
  /** Shows the time left by that clock. */
  tick(clock: number): void
}

/** The service's own words stand around the frame of the caller, never in it (T44). */
export function waitingRow(request: PendingRequest): WaitingRow {
  const time = el('p', { class: 'time-left' })
  const { element: quote, textId } = callerQuote(request.action)
  const element = el(
    'li',
    { class: 'waiting' },
    el(
      'div',
      { class: 'waiting-head' },
      request.high_impact && el('p', { class: 'badge high-impact' }, 'High impact'),
      time,
    ),
    quote,
    el('p', { class: 'asker' }, 'Asked by ', ...asker(request), '.'),
    link(`/a/${encodeURIComponent(request.id)}`, 'Look and decide', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  )
  const tick = (clock: number): void => {
    const left = secondsUntil(request.expires_at, clock)
    time.textContent = left > 0 ? `${duration(left)} left to decide` : 'The time is up'
    time.classList.toggle('urgent', left <= 60)
  }
  return { element, tick }
}

function asker({ requested_by: { key_name, account_name } }: PendingRequest): (HTMLElement | string)[] {
  const strong = (name: string): HTMLElement => el('strong', {}, callerText(name))
  return ['the API key ', strong(key_name), ' of the account ', strong(account_name)]
}
