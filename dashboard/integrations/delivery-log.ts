import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { announce, el, link } from '../../webauthn-page/kit/dom/element.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { DeliveryList } from './delivery-list.ts'
import { type DeliveryPage, loadDeliveries } from './load-deliveries.ts'
import type { Delivery, Webhook } from './webhook-shapes.ts'

const POLL_MS = 3000

/** Looks without an open delivery between two calls: new ones come without being asked for. */
const QUIET_LOOKS = 5

interface LogOptions {
  /** Of the page of the log that the address names; the newest without one. */
  cursor: string | undefined
  context: PageContext
}

/** What was sent to a webhook, with each attempt; follows by itself while something is on its way. */
export function logSection(
  webhook: Webhook,
  first: DeliveryPage,
  { cursor, context }: LogOptions,
): { element: HTMLElement; look(): void } {
  const part = section(
    'Delivery log',
    'Newest first. What a receiver answers is not kept, only its status. A delivery that rests can be sent once more, under the same id.',
  )
  const list = new DeliveryList(webhook, part.slot, context, () => look())
  const trouble = el('p', { class: 'note', hidden: true })
  const pages = el('nav', { class: 'buttons', 'aria-label': 'Pages of the log' })
  part.body.append(list.element, trouble, pages)
  let shown = first
  const show = (page: DeliveryPage): void => {
    shown = page
    list.show(page.data)
    const links = pageLinks(webhook.id, cursor, page.next_cursor, context)
    if (links.map(({ href }) => href).join() !== hrefsIn(pages)) pages.replaceChildren(...links)
    pages.hidden = links.length === 0
  }
  show(first)
  let quiet = 0
  let asked = false
  const kick = whileVisible(part.element, POLL_MS, async () => {
    quiet += 1
    if (!asked && !isMoving(shown.data) && (cursor !== undefined || quiet < QUIET_LOOKS)) return true
    quiet = 0
    asked = false
    return refresh()
  })
  const look = (): void => {
    asked = true
    kick()
  }
  const refresh = async (): Promise<boolean> => {
    try {
      const before = shown.data
      show(await loadDeliveries(webhook.id, cursor))
      trouble.hidden = true
      if (isMoving(before) && !isMoving(shown.data)) announce('Nothing is on its way any more')
    } catch (error) {
      trouble.textContent = `This log may be out of date. ${sentenceOf(error)}`
      trouble.hidden = false
      return !(error instanceof RequestFailure && error.status === 401)
    }
    return true
  }
  return { element: part.element, look }
}

/** Is something sent now, or about to be? What waits for its next attempt for long does not count until then. */
function isMoving(deliveries: readonly Delivery[]): boolean {
  return deliveries.some(
    ({ state, next_attempt_at: next }) =>
      state === 'sending' || (state === 'due' && (next === null || Date.parse(next) < Date.now() + 10_000)),
  )
}

function pageLinks(
  id: string,
  cursor: string | undefined,
  next: string | null,
  { href }: PageContext,
): HTMLAnchorElement[] {
  const path = `/integrations/webhooks/${encodeURIComponent(id)}`
  const look = { class: 'button plain' }
  return [
    ...(cursor === undefined ? [] : [link(href(path), 'Newest', look)]),
    ...(next === null ? [] : [link(href(`${path}?cursor=${encodeURIComponent(next)}`), 'Older', look)]),
  ]
}

function hrefsIn(pages: HTMLElement): string {
  return [...pages.querySelectorAll('a')].map(({ href }) => href).join()
}
