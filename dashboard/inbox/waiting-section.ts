import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { announce, el, link } from '../../webauthn-page/kit/dom/element.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { section } from '../parts/section.ts'
import { followInbox } from './follow-inbox.ts'
import { togetherBar } from './together-bar.ts'
import { loadPending, type Pending, WaitingList } from './waiting-list.ts'

interface Waiting {
  /** Reference of the signed-in person. */
  actor: string
  signal: AbortSignal
  /** No new request of the account that is looked at names them. */
  auditor: boolean
  /** Hears what waits, at first and after every look. */
  follow?: (waiting: readonly PendingRequest[]) => void
}

const AUDITORS =
  'New requests of this account do not name auditors: you find them all under Requests. Here stands what names you all the same, of any account.'

/** What waits for this person, kept up to date while it can be seen. */
export function waitingSection(first: Pending, { actor, signal, auditor, follow }: Waiting): HTMLElement {
  const part = section(
    'Waiting for you',
    auditor ? AUDITORS : 'Requests for your approval. Looking decides nothing; you confirm on the next page.',
  )
  part.element.id = 'waiting'
  const list = new WaitingList({
    focusLost: () => part.element.querySelector('h2')?.focus({ preventScroll: true }),
    selection: () => bar.show(list.choice()),
  })
  const bar = togetherBar(async (ids, decision) => {
    part.slot.clear()
    try {
      const { DecideTogether } = await import('./batch/decide-together.ts')
      await new DecideTogether(ids, decision, actor).open()
      lookNow()
    } catch {
      part.slot.show('error', 'A part of this page did not arrive. Check your connection and try again.')
    }
  })
  const trouble = el('p', { class: 'note', hidden: true })
  const show = (pending: Pending): number => {
    const fresh = list.show(pending)
    follow?.(pending.value.data)
    return fresh
  }
  part.body.replaceChildren(bar.element, list.element, trouble)
  show(first)
  const lookNow = followInbox(part.element, signal, async () => {
    try {
      const fresh = show(await loadPending())
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
  signal.addEventListener('abort', () => clearInterval(clock))
  return part.element
}

/** Says so here only: another part of the page may show a key that is shown once. */
function signInAgain(): HTMLElement {
  announce('Your session has ended')
  return el(
    'p',
    {},
    'Your session has ended. ',
    link('/signin?next=/', 'Sign in'),
    ' to see what waits for you.',
  )
}
