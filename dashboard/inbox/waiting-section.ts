import type { Outcome } from '../../src/domain/receipt.ts'
import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { announce, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { section } from '../parts/section.ts'
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
      const { DecideTogether } = await import('./decide-together.ts')
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
  return p('Your session has ended. ', link('/signin?next=/', 'Sign in'), ' to see what waits for you.')
}

/** The most that the service takes at once. */
const AT_ONCE = 50

/** Buttons that decide on what is ticked, or on everything when nothing is. */
interface TogetherBar {
  element: HTMLElement
  /** Takes what can be decided now, in order. */
  show(choice: { all: readonly string[]; ticked: readonly string[] }): void
}

/** `decide` gets the ids; it resolves when it is over. */
function togetherBar(decide: (ids: string[], decision: Outcome) => Promise<void>): TogetherBar {
  let ids: string[] = []
  const approve = button('Approve all', 'plain', () => decide(ids, 'approved'))
  const reject = button('Reject all', 'plain', () => decide(ids, 'rejected'), {
    class: 'button plain reject-quiet',
  })
  const hint = el('p', { class: 'hint' })
  const element = el(
    'div',
    { class: 'together', role: 'group', 'aria-label': 'Decide several at once' },
    hint,
    buttonRow(approve, reject),
  )
  return {
    element,
    show({ all, ticked }) {
      const chosen = ticked.length > 0 ? ticked : all
      ids = chosen.slice(0, AT_ONCE)
      element.hidden = all.length < 2
      const which = whichOnes(ids.length, all.length, ticked.length > 0)
      approve.textContent = `Approve ${which}`
      reject.textContent = `Reject ${which}`
      hint.textContent =
        chosen.length > AT_ONCE
          ? `At most ${AT_ONCE} can be decided at once: these are the first.`
          : 'Select some to decide only those. You see everything that is signed before you confirm.'
    },
  }
}

function whichOnes(chosen: number, all: number, ticked: boolean): string {
  if (chosen === all) return `all ${all}`
  return ticked ? `the ${chosen} selected` : `the first ${chosen}`
}

/** Without the stream, or before it is open. */
const POLL_MS = 5000
/** With the stream: in case it lost something. */
const SELDOM_MS = 60_000

/**
 * Runs `look` whenever what waits for the person may have changed: as the service's stream tells, and every few seconds where
 * there is none. Only while `element` is on the page and seen; it ends when `look` answers false.
 * @returns what makes it look at once
 */
function followInbox(element: HTMLElement, signal: AbortSignal, look: () => Promise<boolean>): () => void {
  const stream = new InboxStream(() => now())
  let looked = performance.now()
  let told = false
  const now = (): void => {
    told = true
    lookNow()
  }
  const lookNow = whileVisible(element, POLL_MS, async () => {
    const fresh = performance.now() - looked < SELDOM_MS
    if (stream.isOpen() && fresh && !told) return true
    told = false
    looked = performance.now()
    const more = await look()
    if (!more) stream.close()
    else stream.openAgain()
    return more
  })
  const seen = (): void => {
    // A browser opens only few connections to a service: pages out of sight must not hold one each.
    if (document.visibilityState !== 'visible') stream.pause()
    else now()
  }
  document.addEventListener('visibilitychange', seen, { signal })
  signal.addEventListener('abort', () => stream.close())
  stream.openAgain()
  return now
}

/** `GET /me/pending/events`, opened again where the browser has given it up. */
class InboxStream {
  readonly #changed: () => void
  #source: EventSource | undefined
  #over = false

  constructor(changed: () => void) {
    this.#changed = changed
  }

  isOpen(): boolean {
    return this.#source?.readyState === EventSource.OPEN
  }

  /** The browser connects again by itself after an interruption, but not after a refusal. */
  openAgain(): void {
    const alive = this.#source !== undefined && this.#source.readyState !== EventSource.CLOSED
    if (this.#over || alive || document.visibilityState !== 'visible') return
    this.#source = new EventSource('/api/v1/me/pending/events')
    this.#source.addEventListener('changed', this.#changed)
  }

  pause(): void {
    this.#source?.close()
  }

  close(): void {
    this.#over = true
    this.pause()
  }
}
