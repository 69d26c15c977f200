import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { notice, sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'

/** There is room for the chosen request beside the list. */
export const SIDE_BY_SIDE = matchMedia('(min-width: 64rem)')

/** A phone has no use for it; on a desk it comes while the list is asked for. */
const loadReading = () => import('./reading.ts')
if (SIDE_BY_SIDE.matches && location.pathname === '/') loadReading().catch(() => {})

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
  #allowed = true

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
      this.allow(this.#allowed)
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

  /** What leads to a decision rests while the service is out of reach. */
  allow(reachable: boolean): void {
    this.#allowed = reachable
    for (const way of this.element.querySelectorAll('.reading-head a.button')) {
      if (reachable) way.removeAttribute('aria-disabled')
      else way.setAttribute('aria-disabled', 'true')
    }
  }

  /** Nothing is chosen. */
  clear(): void {
    this.#wanted = undefined
    this.element.replaceChildren()
  }

  async #partsOf(request: PendingRequest): Promise<HTMLElement[]> {
    try {
      return await (await loadReading()).readingOf(request)
    } catch (error) {
      if (error instanceof RequestFailure && error.status === 404)
        return [p('This request does not wait for you any more.')]
      return [
        notice('failed', sentenceOf(error)),
        buttonRow(button('Try again', 'plain', () => this.show({ ...request }))),
      ]
    }
  }
}
