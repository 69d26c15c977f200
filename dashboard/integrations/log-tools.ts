import { div } from '../../webauthn-page/kit/dom/element.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { DELIVERY_STATES } from '../parts/delivery-words.ts'
import { choiceField } from '../parts/fields.ts'
import { fileButtons } from '../parts/file-buttons.ts'
import type { Filters } from '../parts/filters.ts'
import { loadNewestDeliveries, MOST_IN_A_FILE } from './deliveries.ts'
import type { Delivery } from './integration-shapes.ts'
import { EVENTS } from './webhook-actions.ts'

const DELIVERY_COLUMNS = {
  id: ({ id }: Delivery) => id,
  event_type: ({ event_type }: Delivery) => event_type,
  event_id: ({ event_id }: Delivery) => event_id,
  request_id: ({ request_id }: Delivery) => request_id ?? '',
  state: ({ state }: Delivery) => state,
  attempts: ({ attempts }: Delivery) => attempts.length,
  last_outcome: ({ attempts }: Delivery) => attempts.at(-1)?.outcome ?? '',
  created_at: ({ created_at }: Delivery) => created_at,
}

/** The filters of a webhook's log, each applied when it is chosen, and the buttons that save the list as a file. */
export function logTools(
  id: string,
  slot: NoticeSlot,
  named: Filters,
  choose: (filters: Filters) => void,
): HTMLElement {
  const fields = [
    choiceField({
      label: 'State',
      name: 'state',
      choices: [['', 'Any'], ...Object.entries(DELIVERY_STATES)],
      value: named.get('state') ?? '',
    }),
    choiceField({
      label: 'Event',
      name: 'event',
      choices: [['', 'Any'], ...[...EVENTS, 'webhook.test'].map((type) => [type, type] as const)],
      value: named.get('event') ?? '',
    }),
  ]
  const chosen = (): Filters =>
    new Map(fields.flatMap(({ input }) => (input.value === '' ? [] : [[input.name, input.value] as const])))
  const file = fileButtons({
    name: 'deliveries',
    columns: DELIVERY_COLUMNS,
    rows: async () => {
      const { all, more } = await loadNewestDeliveries(id, chosen())
      if (more) slot.show('info', `The file has the newest ${MOST_IN_A_FILE.toLocaleString('en')}.`)
      return all
    },
    slot,
  })
  const element = div('list-tools', ...fields.map(({ row }) => row), file)
  element.addEventListener('change', () => choose(chosen()))
  return element
}
