import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { announce, div, el, facts, link, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { type NoticeSlot, sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Filters, filtersIn, withFilters } from '../parts/filters.ts'
import { rowPanel } from '../parts/rows.ts'
import { section } from '../parts/section.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { replaceAddress } from '../shell/shown-address.ts'
import { deliveryRow, loadDeliveries } from './deliveries.ts'
import { type Delivery, type DeliveryPage, type Webhook, webhookShape } from './integration-shapes.ts'
import { logTools } from './log-tools.ts'
import { eventsOf, webhookActions, webhookHints, webhookState } from './webhook-actions.ts'

/** `/integrations/webhooks/:id`: one webhook and its delivery log. */
export async function webhookPage(context: PageContext): Promise<PageView> {
  const { params, query } = context
  const id = params.id ?? ''
  const place = filtersIn(query, ['state', 'event', 'cursor'])
  const [webhook, deliveries] = await Promise.all([
    get(`/account/webhooks/${encodeURIComponent(id)}`, webhookShape),
    loadDeliveries(id, place),
  ])
  const log = logSection(webhook, deliveries, place, context)
  const scene = div(
    'webhook-page',
    el('p', { class: 'way-back' }, link(context.href('/integrations'), 'Integrations')),
    el('h1', {}, 'Webhook'),
    aboutSection(webhook, context, log.look),
    log.element,
  )
  return { title: 'Webhook', scene, wide: true }
}

function aboutSection(webhook: Webhook, context: PageContext, look: () => void): HTMLElement {
  const part = section('About this webhook', webhook.state === 'deleted' ? DELETED : ABOUT)
  const panel = rowPanel()
  part.body.append(
    facts(
      ['Address', mono(callerText(webhook.url))],
      ['State', webhookState(webhook.state)],
      ['Events', eventsOf(webhook.events)],
      ['Created', moment(webhook.created_at)],
    ),
    // The first hint repeats the events.
    ...webhookHints(webhook).slice(1),
  )
  if (webhook.state !== 'deleted') {
    const actions = webhookActions(webhook, panel, {
      done: context.done,
      deleted: () => context.go(context.href('/integrations'), 'The webhook is deleted.'),
      tested: look,
    })
    part.body.append(div('entry-buttons', ...actions), panel.element)
  }
  return part.element
}

const ABOUT = 'A test is a real delivery: it is signed, and the log below shows it.'
const DELETED = 'It receives no more events. Its log stays readable for 90 days.'

const POLL_MS = 3000

/** With no delivery in progress, the log is read only once in so many looks, to find new deliveries. */
const QUIET_LOOKS = 5

/**
 * The deliveries to a webhook, with each attempt; updates by itself while one is in progress. `named` holds the address's
 * filters and the cursor of the page; without a cursor, the newest page is shown.
 */
function logSection(
  webhook: Webhook,
  first: DeliveryPage,
  named: Filters,
  context: PageContext,
): { element: HTMLElement; look(): void } {
  let place = named
  const part = section(
    'Delivery log',
    'Newest first. Of a receiver’s answer only the status is kept. A finished delivery can be sent once more, under the same id.',
  )
  const list = new DeliveryList(webhook, part.slot, context, () => look())
  const tools = logTools(webhook.id, part.slot, place, (filters) => {
    place = filters
    replaceAddress(pageHref(webhook.id, place, context))
    look()
  })
  const trouble = el('p', { class: 'note', hidden: true })
  const pages = el('nav', { class: 'buttons', 'aria-label': 'Pages of the log' })
  part.body.append(tools, list.element, trouble, pages)
  let shown = first
  const show = (page: DeliveryPage): void => {
    shown = page
    list.show(page.data, place.has('state') || place.has('event'))
    const links = pageLinks(webhook.id, place, page.next_cursor, context)
    if (links.map(({ href }) => href).join() !== hrefsIn(pages)) pages.replaceChildren(...links)
    pages.hidden = links.length === 0
  }
  show(first)
  let quiet = 0
  let asked = false
  const kick = whileVisible(part.element, POLL_MS, async () => {
    quiet += 1
    if (!asked && !isMoving(shown.data) && (place.has('cursor') || quiet < QUIET_LOOKS)) return true
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
      const wanted = place
      const page = await loadDeliveries(webhook.id, wanted)
      // Another filter was chosen meanwhile: the next look uses it.
      if (wanted !== place) return true
      show(page)
      trouble.hidden = true
      if (isMoving(before) && !isMoving(shown.data)) announce('Every delivery is finished')
    } catch (error) {
      trouble.textContent = `This log may be out of date. ${sentenceOf(error)}`
      trouble.hidden = false
      return !(error instanceof RequestFailure && error.status === 401)
    }
    return true
  }
  return { element: part.element, look }
}

/** Checks whether a delivery is being sent, or is due within ten seconds. */
function isMoving(deliveries: readonly Delivery[]): boolean {
  return deliveries.some(
    ({ state, next_attempt_at: next }) =>
      state === 'sending' || (state === 'due' && (next === null || Date.parse(next) < Date.now() + 10_000)),
  )
}

function pageHref(id: string, place: Filters, { href }: PageContext): string {
  return withFilters(href(`/integrations/webhooks/${encodeURIComponent(id)}`), place)
}

function pageLinks(
  id: string,
  place: Filters,
  next: string | null,
  context: PageContext,
): HTMLAnchorElement[] {
  const to = (cursor: readonly [string, string][]): string =>
    pageHref(id, new Map([...[...place].filter(([name]) => name !== 'cursor'), ...cursor]), context)
  const look = { class: 'button plain' }
  return [
    ...(place.has('cursor') ? [link(to([]), 'Newest', look)] : []),
    ...(next === null ? [] : [link(to([['cursor', next]]), 'Older', look)]),
  ]
}

function hrefsIn(pages: HTMLElement): string {
  return [...pages.querySelectorAll('a')].map(({ href }) => href).join()
}

/** The rows of a log. The row of an unchanged delivery stays as it is, opened or focused. */
class DeliveryList {
  readonly element = div('section-body')
  readonly #list = el('ul', { class: 'entries' })
  readonly #empty = p()
  /** The sentence for a webhook to which nothing was ever sent. */
  readonly #nothing: string
  readonly #rows = new Map<string, { told: string; row: HTMLElement }>()
  readonly #make: (delivery: Delivery) => HTMLElement

  /** `replayed` is called when a delivery is on its way again. */
  constructor(webhook: Webhook, slot: NoticeSlot, context: PageContext, replayed: () => void) {
    const around = { slot, context, replayed, replayable: webhook.state === 'active' }
    this.#make = (delivery) => deliveryRow(delivery, around)
    this.#nothing =
      webhook.state === 'deleted'
        ? 'Nothing was sent to this webhook.'
        : 'Nothing was sent to this webhook yet. Send a test to try its receiver.'
    this.element.append(this.#empty, this.#list)
  }

  /** `filtered`: deliveries may exist even if the filters find none. */
  show(deliveries: readonly Delivery[], filtered: boolean): void {
    const rows = deliveries.map((delivery) => this.#rowOf(delivery))
    const kept = new Set(deliveries.map(({ id }) => id))
    for (const id of this.#rows.keys()) if (!kept.has(id)) this.#rows.delete(id)
    this.#empty.hidden = rows.length > 0
    this.#empty.textContent = filtered ? 'No delivery fits these filters.' : this.#nothing
    this.#list.hidden = rows.length === 0
    for (const child of [...this.#list.children]) {
      if (!rows.some((row) => row === child)) child.remove()
    }
    // Rows are moved only where the order differs: moving a row takes its focus away.
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

/** Replaces a row by its newer state: opened attempts stay open, and the focus stays in the row. */
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
