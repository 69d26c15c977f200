import { post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, el, link } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { outcomeWord } from '../requests/delivery-words.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { stateTag } from './outcome-view.ts'
import { type Delivery, deliveryShape } from './webhook-shapes.ts'

interface Around {
  slot: NoticeSlot
  context: PageContext
  /** Is anybody there to send it to? */
  replayable: boolean
  /** It is on its way again. */
  replayed(): void
  /** Says to whom it is, where that is not plain. */
  to?: HTMLElement
}

/** One delivery: what it told of, how it stands, each attempt, and for one that rests another round. */
export function deliveryRow(delivery: Delivery, around: Around): HTMLElement {
  const { event_type, event_id, request_id, state, next_attempt_at, attempts, created_at } = delivery
  const rests = state === 'delivered' || state === 'dead' || state === 'dropped'
  return el(
    'li',
    { class: 'entry delivery' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, el('code', {}, event_type), stateTag(state)),
      el(
        'p',
        { class: 'hint' },
        moment(created_at),
        ...(request_id === undefined
          ? []
          : [' · ', link(around.context.href(`/requests/${encodeURIComponent(request_id)}`), 'its request')]),
        ' · ',
        el('span', { class: 'mono' }, event_id),
      ),
      around.to,
      next_attempt_at !== null && el('p', { class: 'hint' }, 'Next attempt ', moment(next_attempt_at)),
      attempts.length > 0 && attemptList(attempts),
    ),
    rests &&
      around.replayable &&
      button('Replay', 'quiet', () => replay(delivery, around), {
        'aria-label': `Replay ${event_type}, ${event_id}`,
      }),
  )
}

async function replay({ id }: Delivery, { slot, replayed }: Around): Promise<void> {
  slot.clear()
  try {
    await post(`/deliveries/${encodeURIComponent(id)}/replay`, {}, deliveryShape)
    announce('It is on its way again')
    replayed()
  } catch (error) {
    slot.fail(error)
  }
}

function attemptList(attempts: Delivery['attempts']): HTMLElement {
  const last = attempts.at(-1)
  const said = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`
  return el(
    'details',
    { class: 'attempts' },
    el('summary', {}, last === undefined ? said : `${said}, the last: ${outcomeWord(last.outcome)}`),
    el(
      'ol',
      {},
      ...attempts.map(({ at, outcome, duration_ms }) =>
        el('li', {}, moment(at), `: ${outcomeWord(outcome)}, after ${duration_ms} ms`),
      ),
    ),
  )
}
