import { RequestFailure } from '../../webauthn-page/api/request.ts'
import { announce } from '../../webauthn-page/dom/announce.ts'
import { el, link } from '../../webauthn-page/dom/element.ts'
import { sentenceOf } from '../../webauthn-page/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/dom/while-visible.ts'
import { section } from '../parts/section.ts'
import { loadPending, type Pending, WaitingList } from './waiting-list.ts'

const POLL_MS = 5000

/** Where links on the account page lead to. */
export const WAITING_ID = 'waiting'

/** The first part of the account page: what waits for this person, kept up to date while it can be seen. */
export function waitingSection(first: Pending): HTMLElement {
  const part = section(
    'Waiting for you',
    'Requests for your approval. Looking decides nothing; you confirm on the next page.',
  )
  part.element.id = WAITING_ID
  const list = new WaitingList(() => part.element.querySelector('h2')?.focus({ preventScroll: true }))
  const trouble = el('p', { class: 'note', hidden: true })
  part.body.replaceChildren(list.element, trouble)
  list.show(first)
  whileVisible(part.element, POLL_MS, async () => {
    try {
      const fresh = list.show(await loadPending())
      trouble.hidden = true
      if (fresh > 0)
        announce(fresh === 1 ? 'A new request waits for you' : `${fresh} new requests wait for you`)
    } catch (error) {
      if (error instanceof RequestFailure && error.status === 401) {
        list.close(signInAgain())
        return false
      }
      trouble.textContent = `This list may be out of date. ${sentenceOf(error)}`
      trouble.hidden = false
    }
    return true
  })
  const clock = setInterval(() => {
    if (part.element.isConnected) list.tick()
    else clearInterval(clock)
  }, 1000)
  return part.element
}

/** Says so here only: another part of the page may show a key or codes that are shown once. */
function signInAgain(): HTMLElement {
  announce('Your session has ended')
  return el(
    'p',
    {},
    'Your session has ended. ',
    link('/signin?next=/account', 'Sign in'),
    ' to see what waits for you.',
  )
}
