import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { el, freshId, link } from '../../webauthn-page/kit/dom/element.ts'
import { duration, secondsUntil } from '../../webauthn-page/kit/dom/moment.ts'
import { revokedKeyNote } from '../../webauthn-page/kit/request/request-words.ts'
import { callerQuote, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { forWhom } from './for-whom.ts'

/** One request in the list of those that wait. */
export interface WaitingRow {
  request: PendingRequest
  element: HTMLElement
  /** To choose it for a decision on several; undefined for what this person cannot decide. */
  box: HTMLInputElement | undefined
  /** Shows how many have approved by now, and whether the key is still in use: all else of a request never changes. */
  renew(request: PendingRequest): void
  /** Shows the time left by that clock. */
  tick(clock: number): void
}

/** The service's own words stand around the frame of the caller, never in it (T44). */
export function waitingRow(request: PendingRequest): WaitingRow {
  const time = el('p', { class: 'time-left' })
  const { element: quote, textId } = callerQuote(request.action)
  const box = canDecide(request) ? el('input', { type: 'checkbox', id: freshId('select') }) : undefined
  box?.setAttribute('aria-describedby', textId)
  const votes = el('p', { class: 'hint' })
  const key = el('div', {})
  const renew = (now: PendingRequest): void => {
    // No key comes back; what stands there already keeps the focus and what is selected.
    const note = key.hasChildNodes() ? undefined : revokedKeyNote(now.requested_by)
    if (note !== undefined) key.append(note)
    key.hidden = !key.hasChildNodes()
    votes.textContent = votesSoFar(now)
    votes.hidden = votes.textContent === ''
  }
  renew(request)
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
    key,
    forWhom(request.on_behalf_of),
    votes,
    el(
      'div',
      { class: 'waiting-foot' },
      link(`/a/${encodeURIComponent(request.id)}`, 'Look and decide', {
        class: 'button primary',
        'aria-describedby': textId,
      }),
      box && el('p', { class: 'check' }, box, ' ', el('label', { for: box.id }, 'Select')),
    ),
  )
  const tick = (clock: number): void => {
    const left = secondsUntil(request.expires_at, clock)
    time.textContent = left > 0 ? `${duration(left)} left to decide` : 'The time is up'
    time.classList.toggle('urgent', left <= 60)
  }
  return { request, element, box, renew, tick }
}

/** A service that does not say takes a decision of everybody it names. */
function canDecide({ may_decide, methods }: PendingRequest): boolean {
  return may_decide !== false && methods?.length !== 0
}

function votesSoFar({ quorum }: PendingRequest): string {
  if (quorum === undefined || quorum.needed === 1) return ''
  return `${quorum.approved} of ${quorum.needed} needed approvals so far.`
}

function asker({ requested_by: { key_name, account_name } }: PendingRequest): (HTMLElement | string)[] {
  const strong = (name: string): HTMLElement => el('strong', {}, callerText(name))
  return ['the API key ', strong(key_name), ' of the account ', strong(account_name)]
}
