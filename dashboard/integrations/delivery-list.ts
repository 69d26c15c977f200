import { el } from '../../webauthn-page/kit/dom/element.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { deliveryRow } from './delivery-row.ts'
import type { Delivery, Webhook } from './webhook-shapes.ts'

/** The rows of a log. One that has not changed stays as it is, opened or focused. */
export class DeliveryList {
  readonly element = el('div', { class: 'section-body' })
  readonly #list = el('ul', { class: 'entries' })
  readonly #empty: HTMLElement
  readonly #rows = new Map<string, { told: string; row: HTMLElement }>()
  readonly #make: (delivery: Delivery) => HTMLElement

  /** `replayed` is called when a delivery is on its way again. */
  constructor(webhook: Webhook, slot: NoticeSlot, context: PageContext, replayed: () => void) {
    const around = { slot, context, replayed, replayable: webhook.state === 'active' }
    this.#make = (delivery) => deliveryRow(delivery, around)
    this.#empty = el(
      'p',
      {},
      webhook.state === 'deleted'
        ? 'Nothing was sent to this webhook.'
        : 'Nothing was sent to this webhook yet. Send a test to try its receiver.',
    )
    this.element.append(this.#empty, this.#list)
  }

  show(deliveries: readonly Delivery[]): void {
    const rows = deliveries.map((delivery) => this.#rowOf(delivery))
    const kept = new Set(deliveries.map(({ id }) => id))
    for (const id of this.#rows.keys()) if (!kept.has(id)) this.#rows.delete(id)
    this.#empty.hidden = rows.length > 0
    this.#list.hidden = rows.length === 0
    for (const child of [...this.#list.children]) {
      if (!rows.some((row) => row === child)) child.remove()
    }
    // Moved only where the order differs: moving takes the focus away.
    for (const [index, row] of rows.entries()) {
      const there = this.#list.children[index]
      if (there !== row) this.#list.insertBefore(row, there ?? null)
    }
  }

  #rowOf(delivery: Delivery): HTMLElement {
    const told = JSON.stringify(delivery)
    const known = this.#rows.get(delivery.id)
    if (known?.told === told) return known.row
    const row = this.#make(delivery)
    if (known !== undefined) takeOver(known.row, row)
    this.#rows.set(delivery.id, { told, row })
    return row
  }
}

/** Puts a row in the place of an older state of it: what was open stays open, and the focus stays in the row. */
function takeOver(old: HTMLElement, fresh: HTMLElement): void {
  const [was, is] = [old, fresh].map((row) => row.querySelector('details'))
  if (was?.open === true && is) is.open = true
  const focused = [...old.querySelectorAll('summary, button, a')].find(
    (one) => one === document.activeElement,
  )
  old.replaceWith(fresh)
  if (focused === undefined) return
  const kinds = [focused.tagName, 'summary', 'button', 'a']
  const next = kinds.flatMap((kind) => fresh.querySelector<HTMLElement>(kind) ?? [])[0]
  next?.focus({ preventScroll: true })
}
