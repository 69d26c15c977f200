import type { WaitingConsent } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { announce, el, link, mono } from '../../webauthn-page/kit/dom/element.ts'
import { ago } from '../../webauthn-page/kit/dom/moment.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerQuote } from '../../webauthn-page/kit/show/caller-text.ts'
import { section } from '../parts/section.ts'
import { loadConsents } from './pending.ts'
import { holdRows } from './waiting-list.ts'

const POLL_MS = 5000

/** The waiting requests for an API key. Hidden while there are none, nearly always; appears without a reload. */
export function consentsSection(first: readonly WaitingConsent[]): HTMLElement {
  const part = section(
    'Requests for an API key',
    'Agents that ask for a key of your account. Opening a request decides nothing; you confirm on the next page.',
  )
  const list = el('ul', { class: 'waiting-list' })
  part.body.replaceChildren(list)
  let shown = ''
  const show = (waiting: readonly WaitingConsent[]): void => {
    const ids = waiting.map(({ id }) => id).join()
    if (ids === shown && shown !== '') return
    if (shown !== '' || part.element.isConnected) tell(shown, waiting)
    shown = ids
    const focused = list.contains(document.activeElement)
    // This section may stand above the list of requests, and move its rows.
    holdRows(() => {
      part.element.hidden = waiting.length === 0
      list.replaceChildren(...waiting.map(consentRow))
    })
    if (focused && waiting.length > 0) part.element.querySelector('h2')?.focus({ preventScroll: true })
  }
  show(first)
  whileVisible(part.element, POLL_MS, async () => {
    try {
      show(await loadConsents())
    } catch (error) {
      // Another part of the page says that the session has ended.
      if (error instanceof RequestFailure && error.status === 401) show([])
      return !(error instanceof RequestFailure && error.status === 401)
    }
    return true
  })
  return part.element
}

function tell(before: string, waiting: readonly WaitingConsent[]): void {
  if (waiting.some(({ id }) => !before.includes(id))) announce('An agent asks for an API key')
}

function consentRow(consent: WaitingConsent): HTMLElement {
  const { element: quote, textId } = callerQuote(consent.client_name, 'the agent')
  return el(
    'li',
    { class: 'waiting' },
    quote,
    el(
      'p',
      { class: 'asker' },
      'Unverified name. Requested from ',
      mono(consent.requester.address),
      '; expires ',
      ago(consent.expires_at),
      '.',
    ),
    link(`/b/${encodeURIComponent(consent.id)}`, 'Review', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  )
}
