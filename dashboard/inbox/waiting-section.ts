import type { Outcome } from '../../src/domain/receipt.ts'
import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div, el, freshId, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { tick } from '../../webauthn-page/kit/dom/form.ts'
import { kept } from '../../webauthn-page/kit/dom/kept.ts'
import { formatter } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot, signInHref } from '../../webauthn-page/kit/dom/notice.ts'
import { keepFilters } from '../../webauthn-page/kit/request/inbox-filter.ts'
import { type Shortcut, shortcuts } from '../parts/shortcuts.ts'
import { keepInAddress } from '../shell/shown-address.ts'
import type { DecideTogether } from './decide-together.ts'
import { canDecide, pageOf } from './inbox-row.ts'
import { followInbox, loadPending, type Pending } from './pending.ts'
import { rememberedPlace, rememberedTicks, rememberPlace, rememberTicks } from './place.ts'
import { ReadingPane, SIDE_BY_SIDE } from './reading-pane.ts'
import { waitingFilter } from './waiting-filter.ts'
import { holdRows, inboxTitle, WaitingList } from './waiting-list.ts'

interface Waiting {
  /** Reference of the signed-in person. */
  actor: string
  /** Name of the account at the head of the page. */
  account: string
  signal: AbortSignal
  /** Whether the person is an auditor of that account: none of its new requests names them. */
  auditor: boolean
  /** Called when a new request waits. */
  fresh(): void
  /** Called whenever the list is up to date. */
  listed(count: number): void
}

const AUDITORS =
  'New requests do not name auditors: you find them under Requests. Only requests that name you are listed here.'

/** The requests that wait for this person, kept up to date while the section is visible. */
export function waitingSection(first: Pending, waiting: Waiting): HTMLElement {
  return new WaitingSection(waiting).start(first)
}

const CUT_OFF = 'The service does not respond. You can decide when it does again.'

const clockTime = formatter({ timeStyle: 'short' })

class WaitingSection {
  readonly #waiting: Waiting
  readonly #count = el('span', { class: 'inbox-count' })
  readonly #heading = el('h2', { id: freshId('section'), tabindex: -1 }, 'Pending requests', this.#count)
  readonly #slot = noticeSlot()
  readonly #trouble = el('p', { class: 'notice warning cut-off', role: 'status', hidden: true })
  readonly #pane = new ReadingPane()
  readonly #all = tick('checkbox', 'Select all')
  readonly #help = el(
    'button',
    { type: 'button', class: 'button quiet inbox-keys', 'aria-keyshortcuts': '?', 'aria-label': 'Shortcuts' },
    '?',
  )
  readonly #filter = waitingFilter(() => this.#filtered())
  readonly #saved = div('saved-place')
  readonly #list: WaitingList
  readonly #bar = togetherBar(
    (ids, decision) => this.#decideTogether(ids, decision),
    () => this.#clear(),
  )
  readonly #element: HTMLElement
  #seen = new Date()
  /** The decision on several requests, while its dialog is open. */
  #together: DecideTogether | undefined

  constructor(waiting: Waiting) {
    this.#waiting = waiting
    this.#list = new WaitingList({
      focusLost: () => this.#focusHeading(),
      changed: () => this.#changed(),
      ticked: () => announce(this.#bar.words()),
      chosen: (request) => this.#chosen(request),
      hasPane: () => SIDE_BY_SIDE.matches,
      account: waiting.account,
    })
    this.#all.input.addEventListener('change', () => this.#list.tickAll(this.#all.input.checked))
    this.#help.addEventListener('click', shortcuts(this.#keys(), waiting.signal))
    this.#element = el(
      'section',
      { id: 'waiting', 'aria-labelledby': this.#heading.id },
      div('inbox-head', this.#heading, this.#all.row, this.#filter.element, this.#help),
      this.#saved,
      waiting.auditor && hint(AUDITORS),
      this.#slot.element,
      this.#list.legend,
      div('inbox-columns', div('inbox-left', this.#list.element, this.#bar.element), this.#pane.element),
      this.#trouble,
    )
  }

  start(first: Pending): HTMLElement {
    const { signal } = this.#waiting
    this.#element.addEventListener('click', (event) => this.#stopLost(event))
    const ticked = rememberedTicks(this.#waiting.actor)
    this.#show(first)
    this.#list.tickThese(ticked)
    void this.#showSaved()
    const { id, place } = rememberedPlace()
    if (SIDE_BY_SIDE.matches) this.#list.resume(id, place)
    void this.#openBatch()
    void this.#loadOn(first)
    SIDE_BY_SIDE.addEventListener('change', () => this.#chosen(this.#list.chosen()), { signal })
    this.#bar.follow(signal)
    const clock = setInterval(() => {
      if (this.#element.isConnected) this.#list.tick()
      else clearInterval(clock)
    }, 1000)
    signal.addEventListener('abort', () => clearInterval(clock))
    return this.#element
  }

  /** Adds page after page, then follows the inbox. A page that does not come leaves the rest to the next look. */
  async #loadOn(first: Pending): Promise<void> {
    const { signal } = this.#waiting
    try {
      for (let at = first; at.more !== undefined && !signal.aborted; this.#show(at)) at = await at.more()
    } catch {}
    if (!signal.aborted) followInbox(this.#element, signal, () => this.#look())
  }

  #keys(): Shortcut[] {
    return [
      { key: 'j', does: 'Next request', run: () => this.#list.move(1) },
      { key: 'k', does: 'Previous request', run: () => this.#list.move(-1) },
      { key: '/', does: 'Search', run: () => this.#filter.search() },
      { key: 'Enter', does: 'Open the page of the request' },
      { key: 'x', does: 'Select or deselect the request', run: () => this.#list.toggle() },
      {
        key: 'a',
        does: 'Approve the selected requests, or this one: you confirm it next',
        run: () => this.#decide('approved'),
      },
      {
        key: 'r',
        does: 'Reject the selected requests, or this one: you confirm it next',
        run: () => this.#decide('rejected'),
      },
      { key: 'Escape', does: 'Clear the selection', run: () => this.#clear() },
      { key: 'n', does: 'After a decision, on its page: open the next request' },
    ]
  }

  #focusHeading(): void {
    this.#heading.focus({ preventScroll: true })
  }

  /** Clears the selection. The bar disappears with it, and would take the focus along. */
  #clear(): void {
    const inBar = this.#bar.element.contains(document.activeElement)
    this.#list.tickAll(false)
    if (inBar) this.#focusHeading()
  }

  #decide(decision: Outcome): void {
    const chosen = this.#list.chosen()
    if (!this.#trouble.hidden) this.#pointAtTrouble()
    else if (this.#list.choice().ticked.length > 0) this.#bar.decide(decision)
    else if (chosen === undefined || !canDecide(chosen)) announce('Choose a request first, with j')
    else location.assign(keepFilters(pageOf(chosen), decision === 'approved' ? 'approve' : 'reject'))
  }

  #show(pending: Pending): number {
    const { data } = pending
    let fresh = 0
    holdRows(() => {
      fresh = this.#list.show(pending)
      this.#filter.offer(data)
    })
    this.#waiting.listed(data.length)
    if (this.#element.isConnected) document.title = `${inboxTitle(pending)} · Countersign`
    return fresh
  }

  /** Applies the filters. If they hide the chosen row, the first one shown takes its place beside the list. */
  #filtered(): void {
    this.#list.filter()
    this.#list.arrange()
    if (this.#list.chosen() === undefined) {
      this.#pane.clear()
      this.#list.resume(undefined, SIDE_BY_SIDE.matches ? 0 : -1)
    }
    this.#pane.aim()
    void this.#showSaved()
  }

  /** Shows saved filters, and the way to save those that are set; whoever has neither loads nothing for them. */
  async #showSaved(): Promise<void> {
    const [row] = this.#saved.children
    if (row !== undefined) row.dispatchEvent(new Event('filters-changed'))
    else if (location.search !== '' || kept('localStorage', 'inbox-filters') !== null) {
      const { savedFilterRow } = await import('./saved-filters.ts')
      this.#saved.replaceChildren(savedFilterRow())
    }
  }

  #changed(): void {
    const { all, ticked } = this.#list.choice()
    this.#bar.show(ticked)
    // The bar's buttons are then the only ones that decide.
    this.#pane.element.classList.toggle('selecting', ticked.length > 0)
    rememberTicks(this.#waiting.actor, ticked)
    this.#count.textContent = this.#list.countWords()
    const { row, input } = this.#all
    row.hidden = all.length < 2
    this.#help.hidden = all.length === 0
    input.checked = ticked.length > 0 && ticked.length === all.length
    input.indeterminate = ticked.length > 0 && ticked.length < all.length
  }

  #chosen(request: PendingRequest | undefined): void {
    if (request === undefined) this.#pane.settle()
    else {
      rememberPlace(request.id, this.#list.place())
      if (SIDE_BY_SIDE.matches) void this.#pane.show(request)
    }
  }

  async #decideTogether(ids: string[], decision: Outcome): Promise<void> {
    this.#slot.clear()
    const place = this.#list.place()
    try {
      const { DecideTogether } = await import('./decide-together.ts')
      this.#together = new DecideTogether(ids, decision, this.#waiting.actor)
      await this.#together.open()
    } catch {
      this.#slot.show('error', 'Part of this page failed to load. Check your connection and try again.')
      return
    } finally {
      this.#together = undefined
    }
    await this.#look()
    this.#list.arrange()
    // The bar that opened the dialog is hidden, but its button keeps the focus until the page is drawn.
    const { activeElement: focused } = document
    if (focused === document.body || (this.#bar.element.hidden && this.#bar.element.contains(focused)))
      this.#focusHeading()
    if (SIDE_BY_SIDE.matches) this.#list.resume(this.#list.chosen()?.id, Math.max(0, place))
  }

  /** Selects the requests of the card that led here and, if its button named a decision, opens that. */
  async #openBatch(): Promise<void> {
    const query = new URLSearchParams(location.search)
    const [batch, decision] = [query.get('batch'), query.get('d')]
    if (batch === null) return
    // A reload must not begin anew.
    keepInAddress(['batch', 'd'].map((name) => ({ name, value: '' })))
    const asked = this.#list.waiting().filter((request) => request.batch === batch)
    this.#list.tickThese(asked.map(({ id }) => id))
    if (asked.length === 0)
      this.#slot.show(
        'info',
        'none of these requests is pending for you. ',
        link('/requests', 'All requests'),
      )
    const ids = asked.filter(canDecide).map(({ id }) => id)
    if (ids.length > 0 && (decision === 'approve' || decision === 'reject'))
      await this.#decideTogether(ids, decision === 'approve' ? 'approved' : 'rejected')
  }

  async #look(): Promise<'seen' | 'failed' | 'over'> {
    try {
      const fresh = this.#show(await loadPending())
      this.#seen = new Date()
      this.#reached(true)
      if (fresh > 0) {
        announce(fresh === 1 ? 'You have a new request' : `You have ${fresh} new requests`)
        this.#waiting.fresh()
      }
      return 'seen'
    } catch (error) {
      if (error instanceof RequestFailure && error.status === 401) {
        const { ticked } = this.#list.choice()
        this.#list.close(signInAgain())
        this.#filter.element.hidden = true
        rememberTicks(this.#waiting.actor, ticked)
        this.#together?.signedOut()
        this.#pane.clear()
        this.#reached(true)
        return 'over'
      }
      const at = clockTime(this.#seen)
      this.#trouble.textContent = `This list may be out of date: it was updated at ${at}. ${CUT_OFF}`
      this.#reached(false)
      return 'failed'
    }
  }

  #reached(reached: boolean): void {
    this.#trouble.hidden = reached
    this.#element.classList.toggle('stale', !reached)
    this.#bar.allow(reached)
    this.#pane.allow(reached)
    this.#together?.allow(reached ? undefined : CUT_OFF)
  }

  /** Stops links while the service is out of reach: the browser would replace this page by its own error page. */
  #stopLost(event: MouseEvent): void {
    const inside = event.target instanceof Element && event.target.closest('a') !== null
    if (this.#trouble.hidden || !inside || event.defaultPrevented) return
    event.preventDefault()
    this.#pointAtTrouble()
  }

  /** Flashes the notice. Nothing moves, so that it also suits people who prefer reduced motion. */
  #pointAtTrouble(): void {
    announce(CUT_OFF)
    this.#trouble.animate({ filter: ['invert(1)', 'none'] }, { duration: 600, iterations: 2 })
  }
}

/** Replaces only the list: another part of the page may show a key that is shown once. */
function signInAgain(): HTMLElement {
  announce('Your session has ended')
  return div(
    'section-body',
    p('Your session has ended. Sign in to see your pending requests.'),
    link(signInHref(), 'Sign in', { class: 'button primary' }),
  )
}

/** The most requests that the service decides at once. */
const AT_ONCE = 50

/**
 * The bar that stays in sight at the lower edge while a request is ticked.
 * @param decide gets the ids; resolves when its dialog is closed
 * @param clear unticks all rows
 */
function togetherBar(decide: (ids: string[], decision: Outcome) => Promise<void>, clear: () => void) {
  let ids: string[] = []
  const buttons = {
    approved: button('Approve', 'approve', () => decide(ids, 'approved')),
    rejected: button('Reject', 'reject', () => decide(ids, 'rejected')),
  }
  const count = el('p', { class: 'together-count' })
  const element = el(
    'div',
    { class: 'together', role: 'group', 'aria-label': 'Decide the selected requests', hidden: true },
    count,
    buttons.rejected,
    buttons.approved,
    button('Clear', 'quiet', clear),
  )
  return {
    element,
    /** Sets `--together`, by which other parts at the lower edge keep clear of the bar, also where a short list lifts it. */
    follow(signal: AbortSignal) {
      const { documentElement: root, body } = document
      const place = (): void => {
        const above = element.hidden ? 0 : root.clientHeight - element.getBoundingClientRect().top
        root.style.setProperty('--together', `${Math.max(0, above)}px`)
      }
      const observer = new ResizeObserver(place)
      for (const part of [element, body]) observer.observe(part)
      addEventListener('scroll', place, { passive: true, signal })
      addEventListener('resize', place, { signal })
      signal.addEventListener('abort', () => observer.disconnect())
    },
    /** Takes the ids of the ticked requests, in order. */
    show(ticked: readonly string[]) {
      ids = ticked.slice(0, AT_ONCE)
      element.hidden = ids.length === 0
      count.textContent =
        ticked.length > AT_ONCE
          ? `${ticked.length} selected; at most ${AT_ONCE} can be decided at once: these are the first`
          : `${ticked.length} selected`
      buttons.approved.setAttribute('aria-label', `Approve ${ids.length} selected`)
      buttons.rejected.setAttribute('aria-label', `Reject ${ids.length} selected`)
    },
    /** The sentence that says how many requests are selected. */
    words: () => count.textContent,
    /** Disables the buttons while the service is out of reach. */
    allow(reachable: boolean) {
      for (const one of Object.values(buttons)) one.disabled = !reachable
    },
    /** Presses the button of the decision; does nothing while the bar is hidden. */
    decide(decision: Outcome) {
      if (!element.hidden) buttons[decision].click()
    },
  }
}
