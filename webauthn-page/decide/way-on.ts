import { type PendingRequest, pendingShape } from '../kit/api/contract.ts'
import { get } from '../kit/api/request.ts'
import { el, link } from '../kit/dom/element.ts'

/** Where to go from a request that is not to be decided here any more. */
export function wayBack(): HTMLElement {
  return el(
    'nav',
    { class: 'buttons way-on', 'aria-label': 'Go on' },
    link('/', 'Back to the inbox', { class: 'button plain' }),
  )
}

/**
 * After a decision: the way back, and the request whose time runs out first of those that still wait for this person. It is
 * a plain link, which takes along no decision. Whoever cannot be told which one it is has the way back.
 */
export function wayOn(decidedId: string): HTMLElement {
  const element = wayBack()
  void get('/me/pending', pendingShape).then(
    ({ data }) => {
      const next = nextOf(data, decidedId)
      if (next === undefined) return
      // Last: what is there already stays under the finger.
      element.append(link(`/a/${encodeURIComponent(next.id)}`, 'Next request', { class: 'button primary' }))
    },
    () => {},
  )
  return element
}

function nextOf(waiting: readonly PendingRequest[], decidedId: string): PendingRequest | undefined {
  return waiting
    .filter(
      ({ id, may_decide, methods }) => id !== decidedId && may_decide !== false && methods?.length !== 0,
    )
    .sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))[0]
}
