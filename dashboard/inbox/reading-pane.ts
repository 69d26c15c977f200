import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, freshId, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice, sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import {
  type CheckedReview,
  loadReview,
  MismatchError,
} from '../../webauthn-page/kit/request/checked-review.ts'
import { quorumView } from '../../webauthn-page/kit/request/request-panel.ts'
import { signedFacts } from '../../webauthn-page/kit/request/request-scene.ts'
import { revokedKeyNote } from '../../webauthn-page/kit/request/request-words.ts'
import { callerBox } from '../../webauthn-page/kit/show/caller-box.ts'
import { callerName } from '../../webauthn-page/kit/show/caller-text.ts'
import { askedBefore } from '../requests/asked-before.ts'
import { canDecide } from './inbox-row.ts'
import { forWhom } from './pending.ts'

/** Beside the list: everything about the chosen request. It is decided on its own page, where nothing else is loaded. */
export class ReadingPane {
  readonly element = el('section', {
    class: 'reading',
    'aria-label': 'The chosen request',
    // It scrolls by itself, also with the keyboard.
    tabindex: 0,
  })
  #wanted: PendingRequest | undefined
  #loading = false

  /** Shows it as soon as it is there; of several asked for meanwhile, the last. */
  async show(request: PendingRequest): Promise<void> {
    this.#wanted = request
    if (this.#loading) return
    this.#loading = true
    this.element.setAttribute('aria-busy', 'true')
    let shown: PendingRequest | undefined
    while (this.#wanted !== undefined && shown !== this.#wanted) {
      shown = this.#wanted
      const parts = await this.#partsOf(shown)
      if (shown === this.#wanted) this.element.replaceChildren(...parts)
    }
    this.element.scrollTo(0, 0)
    this.element.removeAttribute('aria-busy')
    this.#loading = false
  }

  /** It waits no more: what was read stays readable, but nothing invites to decide it. */
  settle(): void {
    const id = this.#wanted?.id
    this.#wanted = undefined
    if (id === undefined) return
    const said = notice(
      'info',
      'this request does not wait for you any more. ',
      link(`/a/${encodeURIComponent(id)}`, 'See its state'),
    )
    // While it loads, another one stands there, of which this is not true.
    const place = this.#loading ? null : this.element.querySelector('.reading-head')
    ;(place ?? this.element).replaceChildren(said)
  }

  /** Nothing is chosen. */
  clear(): void {
    this.#wanted = undefined
    this.element.replaceChildren()
  }

  async #partsOf(request: PendingRequest): Promise<HTMLElement[]> {
    try {
      const [checked, before] = await Promise.all([loadReview(request.id), askedBefore(request.id)])
      return [...reading(request, checked), ...(before === undefined ? [] : [before])]
    } catch (error) {
      if (error instanceof MismatchError)
        return [
          notice('error', error.message, ' Do not decide this request. Tell the operator of this service.'),
        ]
      if (error instanceof RequestFailure && error.status === 404)
        return [p('This request does not wait for you any more.')]
      return [
        notice('failed', sentenceOf(error)),
        buttonRow(button('Try again', 'plain', () => this.show({ ...request }))),
      ]
    }
  }
}

/** What a signature on it would cover, with our warnings before it. */
export function everythingSigned({ review, context }: CheckedReview, actionId: string): HTMLElement[] {
  const { action, context_json: contextJson, requested_by, on_behalf_of } = review
  const box = callerBox({ action, context, contextJson, keyName: requested_by.key_name, actionId })
  const notes = [revokedKeyNote(requested_by), forWhom(on_behalf_of)].filter((note) => note !== undefined)
  return [...notes, box, signedFacts(review)]
}

function reading(request: PendingRequest, checked: CheckedReview): HTMLElement[] {
  const { review } = checked
  const actionId = freshId('action')
  const { key_name, account_name } = review.requested_by
  const parts = [
    div(
      'reading-head',
      request.high_impact && el('p', { class: 'badge high-impact' }, 'High impact'),
      canDecide(request)
        ? wayToDecide(review.id, actionId)
        : p('You have nothing to confirm it with. ', link('/account', 'Set up a passkey or codes'), '.'),
    ),
    ...everythingSigned(checked, actionId),
    hint(
      'Countersign knows the caller as the API key ',
      callerName(key_name),
      ' of the account ',
      callerName(account_name),
      '. Ends ',
      moment(review.expires_at),
      '.',
    ),
    review.quorum.needed > 1 ? quorumView(review) : undefined,
  ]
  return parts.filter((part) => part !== undefined)
}

/** Neither link decides: the page they lead to asks for the passkey or code. */
function wayToDecide(id: string, actionId: string): HTMLElement {
  const to = (wanted: 'approve' | 'reject', words: string): HTMLElement =>
    link(`/a/${encodeURIComponent(id)}?d=${wanted}`, words, {
      class: `button ${wanted}`,
      'aria-describedby': actionId,
    })
  return div(
    'section-body',
    buttonRow(to('approve', 'Approve…'), to('reject', 'Reject…')),
    hint('You confirm on the next page. What is signed cannot be taken back.'),
  )
}
