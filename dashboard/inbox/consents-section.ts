import { type WaitingConsent, waitingConsentsShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { announce, el, link } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerQuote } from '../../webauthn-page/kit/show/caller-text.ts'
import { section } from '../parts/section.ts'

const POLL_MS = 5000

/** Who asks for a key of this account now. @throws RequestFailure, ShapeError */
export async function loadConsents(): Promise<WaitingConsent[]> {
  return (await get('/account/bootstrap', waitingConsentsShape)).data
}

/** Hidden while nobody asks, which is nearly always; it appears by itself. */
export function consentsSection(first: readonly WaitingConsent[]): HTMLElement {
  const part = section(
    'Asking for an API key',
    'Agents and programs that want a key of your account. Looking decides nothing; you confirm on the next page.',
  )
  const list = el('ul', { class: 'waiting-list' })
  part.body.replaceChildren(list)
  let shown = ''
  const show = (waiting: readonly WaitingConsent[]): void => {
    const ids = waiting.map(({ id }) => id).join()
    if (ids === shown && shown !== '') return
    if (shown !== '' || part.element.isConnected) tell(shown, waiting)
    shown = ids
    part.element.hidden = waiting.length === 0
    const focused = list.contains(document.activeElement)
    list.replaceChildren(...waiting.map(row))
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
  if (waiting.some(({ id }) => !before.includes(id))) announce('Somebody asks for an API key')
}

function row(consent: WaitingConsent): HTMLElement {
  const { element: quote, textId } = callerQuote(consent.client_name)
  return el(
    'li',
    { class: 'waiting' },
    quote,
    el(
      'p',
      { class: 'asker' },
      'Unverified name. Asked from ',
      el('span', { class: 'mono' }, consent.requester.address),
      '; ends ',
      moment(consent.expires_at),
      '.',
    ),
    link(`/b/${encodeURIComponent(consent.id)}`, 'Look and decide', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  )
}
