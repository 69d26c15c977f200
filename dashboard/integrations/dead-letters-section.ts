import { el } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { section } from '../parts/section.ts'
import { showMore } from '../parts/show-more.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { deliveryRow } from './delivery-row.ts'
import { type DeliveryPage, loadDeadLetters } from './load-deliveries.ts'
import type { Delivery } from './webhook-shapes.ts'

/** Callbacks and events that were given up, to be sent once more. Not there while there are none. */
export function deadLettersSection(first: DeliveryPage, context: PageContext): HTMLElement | undefined {
  if (first.data.length === 0) return undefined
  const part = section(
    'Given up',
    'Nobody took these callbacks and events. When their receiver works again, replay them: they keep their ids.',
  )
  const list = el('ul', { class: 'entries' })
  const add = (deliveries: readonly Delivery[]): HTMLElement | undefined => {
    const rows = deliveries.map((delivery) =>
      deliveryRow(delivery, {
        slot: part.slot,
        context,
        replayable: true,
        replayed: () => void context.done('The delivery is on its way again.'),
        to: el('p', { class: 'hint' }, 'To ', el('span', { class: 'mono' }, callerText(delivery.url))),
      }),
    )
    list.append(...rows)
    return rows[0]?.querySelector('summary') ?? undefined
  }
  add(first.data)
  part.body.append(
    list,
    showMore(first, {
      load: loadDeadLetters,
      add,
      said: (count) => (count === 1 ? '1 more' : `${count} more`),
    }),
  )
  return part.element
}
