import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { div, el, freshId, note, p } from '../../webauthn-page/kit/dom/element.ts'
import { inboxFilter, inboxOrder, isGrouped } from '../../webauthn-page/kit/request/inbox-filter.ts'
import { appendRows, type InboxRow, inboxRow, placeRows, sizeParts } from './inbox-row.ts'
import { callersLegend, LISTED, type Pending } from './pending.ts'
import type { Unfolded } from './row-groups.ts'

/** The window's title: shows how many requests wait, even while another tab is in front. */
export function inboxTitle({ data, cut }: Pending): string {
  return data.length === 0 ? 'Inbox' : `(${data.length}${cut ? '+' : ''}) Inbox`
}

/** What the list asks of its section and reports to it. */
interface WaitingListEvents {
  /** The row that had the focus was removed. */
  focusLost(): void
  /** Rows came or went, or one was ticked. */
  changed(): void
  /** The person ticked or unticked rows. */
  ticked(): void
  /** The person chose a row by keyboard or mouse; undefined when the chosen request no longer waits. */
  chosen(request: PendingRequest | undefined): void
  /** Checks whether a pane shows the chosen request. */
  hasPane(): boolean
  /** Name of the account at the head of the page: if all rows belong to it, they need not name it. */
  account: string
}

/** The list of rows. A request never changes, so its row stays as it is, ticked or focused, until it is settled. */
export class WaitingList {
  readonly element = div('inbox-rows')
  /** The legend, above the list and the pane beside it. */
  readonly legend: HTMLElement
  readonly #list: HTMLElement
  readonly #empty = p(
    'You have no pending requests. A new request that names you as an approver appears here automatically.',
  )
  readonly #misfit = p('No pending requests match these filters.')
  readonly #more = note()
  readonly #rows = new Map<string, InboxRow>()
  readonly #rowAt = new WeakMap<Element, InboxRow>()
  readonly #events: WaitingListEvents
  readonly #unfolded: Unfolded = new Set()
  /** Loaded when the person first groups the rows. */
  #groups: typeof import('./row-groups.ts') | undefined
  /** The rows as they were last arranged; those that came since are at the end. */
  #order: InboxRow[] = []
  /** What was last shown. */
  #last: Pending | undefined
  /** The filters that the rows' links name. */
  #aimed = ''
  #chosen: string | undefined

  constructor(events: WaitingListEvents) {
    this.#events = events
    const id = freshId('legend')
    this.#list = el('div', {
      class: 'inbox-list',
      role: 'list',
      'aria-label': 'Requests',
      'aria-describedby': id,
    })
    this.#list.addEventListener('change', () => {
      events.changed()
      events.ticked()
    })
    this.#list.addEventListener('focusin', ({ target }) => {
      const row = this.#rowOf(target)
      if (row !== undefined) this.#choose(row)
    })
    this.#list.addEventListener('click', (event) => this.#clicked(event))
    this.#list.addEventListener('pointerleave', () => holdRows(() => this.arrange()))
    this.legend = callersLegend(id)
    this.element.append(this.#empty, this.#misfit, this.#list, this.#more)
  }

  /**
   * Adds rows for new requests and removes settled ones. While the pointer is on the list nothing moves under it: new rows
   * come last and settled rows stay, until the pointer has left.
   * @returns the number of new requests
   */
  show(pending: Pending): number {
    const { data, cut, more } = pending
    const before = this.#last
    this.#last = pending
    const fresh = data.filter(({ id }) => !this.#rows.has(id))
    const held = before !== undefined && isPointedAt(this.#list)
    // What comes with a further page has waited all along.
    const isNew = before !== undefined && before.more === undefined
    if (more === undefined) this.#settle(new Set(data.map(({ id }) => id)))
    for (const request of data) this.#rows.get(request.id)?.renew(request)
    const rows = fresh.map((request) => this.#add(request))
    if (isNew) for (const { element } of rows) element.classList.add('fresh')
    appendRows(this.#list, rows)
    this.#more.hidden = !cut
    this.#more.textContent = more ? 'Loading the rest…' : `Showing the ${LISTED} that expire first.`
    this.filter()
    if (held) sizeParts(this.#list)
    else this.arrange()
    return isNew ? rows.length : 0
  }

  #add(request: PendingRequest): InboxRow {
    const row = inboxRow(request)
    this.#rows.set(request.id, row)
    this.#rowAt.set(row.element, row)
    this.#order.push(row)
    return row
  }

  #settle(still: ReadonlySet<string>): void {
    for (const [id, row] of this.#rows) {
      if (still.has(id)) continue
      row.settle()
      this.#rows.delete(id)
      if (id === this.#chosen) this.#events.chosen(undefined)
    }
  }

  /** Removes settled rows and sorts the others. Controls of groups are made anew here, and never under a finger or pointer. */
  arrange(): void {
    for (const row of this.#list.querySelectorAll('.settled')) {
      const focused = row.contains(document.activeElement)
      row.remove()
      if (focused) this.#events.focusLost()
    }
    this.#order = this.#sorted()
    placeRows(this.#list, this.#order)
  }

  #sorted(): InboxRow[] {
    const order = inboxOrder()
    // In the order of before: sorting what is nearly in order costs little.
    const rows = this.#order.filter(({ request }) => this.#rows.has(request.id))
    rows.sort((a, b) => order(a.request, b.request))
    if (!isGrouped()) {
      this.#groups?.ungroupRows(rows)
      return rows
    }
    if (this.#groups === undefined) {
      void this.#loadGroups()
      return rows
    }
    const hidden = rows.filter(({ element }) => element.hidden)
    const fitting = rows.filter(({ element }) => !element.hidden)
    return [...this.#groups.groupRows(fitting, this.#unfolded, () => this.#regrouped()), ...hidden]
  }

  async #loadGroups(): Promise<void> {
    this.#groups = await import('./row-groups.ts').catch(() => undefined)
    if (this.#groups === undefined) return
    this.arrange()
    this.#events.changed()
  }

  #regrouped(): void {
    this.arrange()
    this.#events.changed()
    this.#events.ticked()
  }

  /** The rows that fit the filters, also those folded under the first of their kind. */
  #fitting(): InboxRow[] {
    return this.#order.filter(({ request, element }) => this.#rows.has(request.id) && !element.hidden)
  }

  #shown(): InboxRow[] {
    return this.#fitting().filter(({ element }) => !element.classList.contains('folded'))
  }

  /** Hides and unticks the rows that do not fit the filters: what cannot be seen must not be decided. */
  filter(): void {
    const rows = [...this.#rows.values()]
    const accounts = new Set(rows.map(({ request }) => request.requested_by.account_name))
    accounts.add(this.#events.account)
    const isListed = inboxFilter()
    const { search } = location
    for (const { request, element, box, account, aim } of rows) {
      hide(account, accounts.size < 2)
      hide(element, !isListed(request))
      if (search !== this.#aimed) aim()
      if (box !== undefined && element.hidden) box.checked = false
    }
    this.#aimed = search
    // A single request needs no tick box.
    const several = rows.filter(({ box, element }) => box !== undefined && !element.hidden).length > 1
    for (const { box } of rows) {
      if (box?.parentElement) hide(box.parentElement, !several)
      if (box !== undefined && !several) box.checked = false
    }
    const none = rows.every(({ element }) => element.hidden)
    this.#list.hidden = none && this.#list.querySelector('.settled') === null
    this.legend.hidden = this.#list.hidden
    this.#empty.hidden = rows.length > 0
    this.#misfit.hidden = !none || rows.length === 0 || this.#last?.more !== undefined
    this.tick()
    this.#events.changed()
  }

  /** Updates the times left. */
  tick(): void {
    for (const row of this.#rows.values()) row.tick(this.#last?.clock ?? 0)
  }

  /** How many of the waiting requests are shown, behind the heading's words; empty for fewer than two. */
  countWords(): string {
    const [shown, all] = [this.#fitting().length, this.#rows.size]
    if (all < 2) return ''
    const some = `${all}${this.#last?.cut === true ? '+' : ''}`
    return shown === all ? ` ${some}` : ` ${shown} of ${some}`
  }

  /** All waiting requests, shown or hidden. */
  waiting(): PendingRequest[] {
    return [...this.#rows.values()].map(({ request }) => request)
  }

  /** Returns the ids of the shown requests that this person can decide, in order, and of those that are ticked. */
  choice(): { all: string[]; ticked: string[] } {
    const open = this.#fitting().filter(({ box }) => box !== undefined)
    const ids = (rows: readonly InboxRow[]): string[] => rows.map(({ request }) => request.id)
    return { all: ids(open), ticked: ids(open.filter(({ box }) => box?.checked === true)) }
  }

  /** Ticks or unticks every shown row; unticking takes those folded away along. */
  tickAll(checked: boolean): void {
    const before = this.choice().ticked.length
    for (const { box } of checked ? this.#shown() : this.#fitting())
      if (box !== undefined) box.checked = checked
    this.#events.changed()
    if (this.choice().ticked.length !== before) this.#events.ticked()
  }

  /** Ticks the rows with these ids that are shown and can be ticked, and unticks the others. */
  tickThese(ids: readonly string[]): void {
    for (const { request, box } of this.#fitting())
      if (box !== undefined && box.parentElement?.hidden === false) box.checked = ids.includes(request.id)
    this.#events.changed()
  }

  /** Ticks or unticks the chosen row. */
  toggle(): void {
    const row = this.#chosen === undefined ? undefined : this.#rows.get(this.#chosen)
    if (row?.box === undefined || row.box.offsetParent === null) return
    // With the focus on the row, a screen reader says which row is ticked.
    if (!row.element.contains(document.activeElement)) row.link.focus()
    row.box.click()
  }

  /** Moves the focus to the row after or before the chosen one; to the first row if none is chosen. */
  move(step: 1 | -1): void {
    const rows = this.#shown()
    const at = rows.findIndex(({ request }) => request.id === this.#chosen)
    const next = at < 0 ? rows[0] : rows[at + step]
    // At either end the chosen row is focused again, since it may have lost the focus.
    const row = next ?? rows[at]
    row?.link.focus()
  }

  /** The chosen request, if it still waits and is shown. */
  chosen(): PendingRequest | undefined {
    return this.#shown()[this.place()]?.request
  }

  /** Chooses the request with this id, or, if it is gone, the request that took its place; none if no row has that place. */
  resume(id: string | undefined, place: number): void {
    const rows = this.#shown()
    this.#choose(rows.find(({ request }) => request.id === id) ?? rows[Math.min(place, rows.length - 1)])
  }

  /** Position of the chosen row among the shown ones, from 0; -1 if it is not shown. */
  place(): number {
    return this.#shown().findIndex(({ request }) => request.id === this.#chosen)
  }

  /** Shows `instead` and forgets the rows: the next person at this page may be someone else. */
  close(instead: HTMLElement): void {
    this.#settle(new Set())
    this.legend.hidden = true
    const focused = this.element.contains(document.activeElement)
    this.element.replaceChildren(instead)
    if (focused) this.#events.focusLost()
    this.#events.changed()
  }

  #rowOf(target: EventTarget | null): InboxRow | undefined {
    const element = target instanceof Element ? target.closest('.inbox-row') : null
    const row = element === null ? undefined : this.#rowAt.get(element)
    return row && this.#rows.get(row.request.id)
  }

  #choose(row: InboxRow | undefined): void {
    if (row?.request.id === this.#chosen) return
    this.#list.querySelector('.inbox-open[aria-current]')?.removeAttribute('aria-current')
    this.#chosen = row?.request.id
    if (this.#events.hasPane()) row?.element.classList.add('read')
    row?.link.setAttribute('aria-current', 'true')
    this.#events.chosen(row?.request)
  }

  /** With a pane beside the list, a click of the mouse shows the request there; Enter and a tap open its page. */
  #clicked(event: MouseEvent): void {
    const early = event.detail > 0 && performance.now() < restUntil
    const row = this.#rowOf(event.target)
    const onLink = event.target instanceof Element && event.target.closest('a') !== null
    const settled = event.target instanceof Element && event.target.closest('.settled') !== null
    if (settled || early) event.preventDefault()
    const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
    const pointed = onLink && !modified && !early && event.detail > 0
    if (row === undefined || !pointed || !this.#events.hasPane()) return
    event.preventDefault()
    row.link.focus({ preventScroll: true })
    this.#choose(row)
  }
}

/** Checks whether a mouse points at the list. A finger never does, although browsers keep `:hover` after a touch. */
function isPointedAt(list: HTMLElement): boolean {
  return list.matches(':hover') && matchMedia('(hover: hover)').matches
}

/** Writes `hidden` only where it changes: the browser would look at every row's style again. */
function hide(element: HTMLElement, hidden: boolean): void {
  if (element.hidden !== hidden) element.hidden = hidden
}

/** Milliseconds after rows moved by themselves in which a press was still meant for what stood there before. */
const REST_MS = 800
let restUntil = 0

/**
 * Runs `change`, which the person did not ask for, and scrolls so that the rows they read stay in place: not every browser
 * does so itself. At the top of the page new rows must be seen: there the rows move, and take no press for a moment.
 */
export function holdRows(change: () => void): void {
  // Asking for the place of a row in a part that is not drawn would draw it.
  const parts = [...document.querySelectorAll('.inbox-part')].filter(isInSight)
  const rows = parts.flatMap(({ children }) => [...children]).filter(isInSight)
  const seen = rows.map((row) => ({ row, top: topOf(row) }))
  change()
  const stay = seen.filter(({ row }) => row.isConnected)
  const [first] = stay
  if (first !== undefined && window.scrollY > 0) window.scrollBy(0, topOf(first.row) - first.top)
  if (stay.some(({ row, top }) => Math.abs(topOf(row) - top) > 1)) restUntil = performance.now() + REST_MS
}

function isInSight(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect()
  return bottom > 0 && top < innerHeight
}

function topOf(row: Element): number {
  return row.getBoundingClientRect().top
}
