import { pendingShape } from '../../webauthn-page/api/contract.ts'
import { getTimed, type Timed } from '../../webauthn-page/api/request.ts'
import { el } from '../../webauthn-page/dom/element.ts'
import { type WaitingRow, waitingRow } from './waiting-row.ts'

/** What the service says is waiting, oldest first. */
export type Pending = Timed<ReturnType<typeof pendingShape>>

/** The service names at most so many and does not say how many more there are. */
const LISTED = 100

/** @throws RequestFailure, ShapeError */
export function loadPending(): Promise<Pending> {
  return getTimed('/me/pending', pendingShape)
}

/** The rows. A request never changes, so a row stays as it is, opened or focused, until its request is settled. */
export class WaitingList {
  readonly element = el('div', { class: 'section-body' })
  readonly #list = el('ul', { class: 'waiting-list' })
  readonly #empty = el(
    'p',
    {},
    'Nothing waits for you now. When an application or agent asks for your approval, its request will appear here by itself.',
  )
  readonly #more = el('p', { class: 'note' }, `These are the ${LISTED} oldest; there may be more.`)
  readonly #rows = new Map<string, WaitingRow>()
  readonly #focusLost: () => void
  #clock = 0

  /** `focusLost` is called when the row that had the focus goes. */
  constructor(focusLost: () => void) {
    this.#focusLost = focusLost
    this.element.append(this.#empty, this.#list, this.#more)
  }

  /** Adds what is new and takes away what is settled. @returns how many are new */
  show({ value: { data }, clock }: Pending): number {
    this.#clock = clock
    this.#keep(new Set(data.map(({ id }) => id)))
    const fresh = data.filter(({ id }) => !this.#rows.has(id))
    for (const request of fresh) {
      const row = waitingRow(request)
      this.#rows.set(request.id, row)
      this.#list.append(row.element)
    }
    this.#list.hidden = this.#rows.size === 0
    this.#empty.hidden = this.#rows.size > 0
    this.#more.hidden = data.length < LISTED
    this.tick()
    return fresh.length
  }

  /** Moves the times left. */
  tick(): void {
    for (const row of this.#rows.values()) row.tick(this.#clock)
  }

  /** Shows `instead` and forgets the rows: the next person in front of this page may be another one. */
  close(instead: HTMLElement): void {
    this.#keep(new Set())
    this.element.replaceChildren(instead)
  }

  #keep(ids: ReadonlySet<string>): void {
    for (const [id, { element }] of this.#rows) {
      if (ids.has(id)) continue
      const focused = element.contains(document.activeElement)
      element.remove()
      this.#rows.delete(id)
      if (focused) this.#focusLost()
    }
  }
}
