import { type PendingRequest, pendingShape } from '../../webauthn-page/kit/api/contract.ts'
import { getTimed, type Timed } from '../../webauthn-page/kit/api/request.ts'
import { div, el, freshId, link, note, p } from '../../webauthn-page/kit/dom/element.ts'
import { duration, secondsUntil } from '../../webauthn-page/kit/dom/moment.ts'
import { revokedKeyNote } from '../../webauthn-page/kit/request/request-words.ts'
import { callerName, callerQuote } from '../../webauthn-page/kit/show/caller-text.ts'
import { forWhom, inOrder } from './pending.ts'

/** What the service says is waiting, oldest first. */
export type Pending = Timed<ReturnType<typeof pendingShape>>

/** The service names at most so many and does not say how many more there are. */
const LISTED = 100

/** @throws RequestFailure, ShapeError */
export function loadPending(): Promise<Pending> {
  return getTimed('/me/pending', pendingShape)
}

/** What the list tells the section it stands in. */
interface WaitingListEvents {
  /** The row that had the focus went. */
  focusLost(): void
  /** Rows came or went, or one was ticked. */
  selection(): void
}

/** The rows. A request never changes, so a row stays as it is, opened or focused, until its request is settled. */
export class WaitingList {
  readonly element = div('section-body')
  readonly #list = el('ul', { class: 'waiting-list' })
  readonly #empty = p(
    'Nothing waits for you now. A request that names you as an approver will appear here by itself.',
  )
  readonly #more = note(`These are the ${LISTED} oldest; there may be more.`)
  readonly #rows = new Map<string, WaitingRow>()
  readonly #events: WaitingListEvents
  #clock = 0

  constructor(events: WaitingListEvents) {
    this.#events = events
    this.#list.addEventListener('change', () => events.selection())
    this.element.append(this.#empty, this.#list, this.#more)
  }

  /** Adds what is new, in its place, and takes away what is settled. @returns how many are new */
  show({ value: { data }, clock }: Pending): number {
    this.#clock = clock
    this.#keep(new Set(data.map(({ id }) => id)))
    let fresh = 0
    for (const [at, request] of inOrder(data).entries()) {
      const known = this.#rows.get(request.id)
      known?.renew(request)
      if (known !== undefined) continue
      const row = waitingRow(request)
      this.#rows.set(request.id, row)
      this.#list.insertBefore(row.element, this.#list.children[at] ?? null)
      fresh += 1
    }
    this.#list.hidden = this.#rows.size === 0
    this.#empty.hidden = this.#rows.size > 0
    this.#more.hidden = data.length < LISTED
    this.tick()
    this.#offerChoice()
    return fresh
  }

  /** One request alone needs no ticking. */
  #offerChoice(): void {
    const several = this.choice().all.length > 1
    for (const { box } of this.#rows.values()) {
      if (box?.parentElement) box.parentElement.hidden = !several
      if (box !== undefined && !several) box.checked = false
    }
    this.#events.selection()
  }

  /** Moves the times left. */
  tick(): void {
    for (const row of this.#rows.values()) row.tick(this.#clock)
  }

  /** Ids of what this person can decide, in the order of the list, and of what is ticked. */
  choice(): { all: string[]; ticked: string[] } {
    const rows = inOrder([...this.#rows.values()].map((row) => ({ ...row, ...row.request })))
    const open = rows.filter(({ box }) => box !== undefined)
    return {
      all: open.map(({ id }) => id),
      ticked: open.filter(({ box }) => box?.checked === true).map(({ id }) => id),
    }
  }

  /** Shows `instead` and forgets the rows: the next person in front of this page may be another one. */
  close(instead: HTMLElement): void {
    this.#keep(new Set())
    this.element.replaceChildren(instead)
    this.#events.selection()
  }

  #keep(ids: ReadonlySet<string>): void {
    for (const [id, { element }] of this.#rows) {
      if (ids.has(id)) continue
      const focused = element.contains(document.activeElement)
      element.remove()
      this.#rows.delete(id)
      if (focused) this.#events.focusLost()
    }
  }
}

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
function waitingRow(request: PendingRequest): WaitingRow {
  const time = el('p', { class: 'time-left' })
  const { element: quote, textId } = callerQuote(request.action)
  const open = request.may_decide && request.methods.length > 0
  const box = open ? el('input', { type: 'checkbox', id: freshId('select') }) : undefined
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
    div('waiting-head', request.high_impact && el('p', { class: 'badge high-impact' }, 'High impact'), time),
    quote,
    el('p', { class: 'asker' }, 'Asked by ', ...asker(request), '.'),
    key,
    forWhom(request.on_behalf_of),
    votes,
    div(
      'waiting-foot',
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

function votesSoFar({ quorum }: PendingRequest): string {
  if (quorum.needed === 1) return ''
  return `${quorum.approved} of ${quorum.needed} needed approvals so far.`
}

function asker({ requested_by: { key_name, account_name } }: PendingRequest): (HTMLElement | string)[] {
  const strong = (name: string): HTMLElement => callerName(name)
  return ['the API key ', strong(key_name), ' of the account ', strong(account_name)]
}
