import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { notice, sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { keepFilters } from '../../webauthn-page/kit/request/inbox-filter.ts'
import { pageOf } from './inbox-row.ts'

/** Matches while there is room for the chosen request beside the list. */
export const SIDE_BY_SIDE = matchMedia('(min-width: 64rem)')

/** The pane's content. A phone has no use for it; on a wide screen it loads while the list is requested. */
const loadReading = () => import('./reading.ts')
if (SIDE_BY_SIDE.matches && location.pathname === '/') loadReading().catch(() => {})

/** Shows everything about the chosen request beside the list. It is decided on its own page, where nothing else is loaded. */
export class ReadingPane {
  readonly element = el('section', {
    class: 'reading',
    'aria-label': 'The chosen request',
    // The pane scrolls separately from the page, also with the keyboard.
    tabindex: 0,
  })
  #wanted: PendingRequest | undefined
  #loading = false
  #allowed = true

  /** Shows the request as soon as it is loaded; if others were chosen meanwhile, the last of them. */
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
      this.aim()
    }
    this.element.scrollTo(0, 0)
    this.element.removeAttribute('aria-busy')
    this.#loading = false
  }

  /** Says that the shown request no longer waits: it stays readable, but nothing invites the person to decide it. */
  settle(): void {
    const id = this.#wanted?.id
    this.#wanted = undefined
    if (id === undefined) return
    const said = notice(
      'info',
      'this request no longer needs your decision. ',
      link(keepFilters(pageOf({ id })), 'See its state'),
    )
    // While the request loads, the pane still shows another one, of which the notice would be false.
    const place = this.#loading ? null : this.element.querySelector('.reading-head')
    ;(place ?? this.element).replaceChildren(said)
  }

  /** Disables the links to a decision while the service is out of reach. */
  allow(reachable: boolean): void {
    this.#allowed = reachable
    for (const way of this.element.querySelectorAll('.reading-head a.button')) {
      if (reachable) way.removeAttribute('aria-disabled')
      else way.setAttribute('aria-disabled', 'true')
    }
  }

  /** Gives the links to a decision the filters of the list. */
  aim(): void {
    for (const way of this.element.querySelectorAll<HTMLAnchorElement>('.reading-head a.button'))
      way.href = keepFilters(way.pathname, new URLSearchParams(way.search).get('d'))
  }

  /** Empties the pane: nothing is chosen. */
  clear(): void {
    this.#wanted = undefined
    this.element.replaceChildren()
  }

  async #partsOf(request: PendingRequest): Promise<HTMLElement[]> {
    try {
      return await (await loadReading()).readingOf(request)
    } catch (error) {
      if (error instanceof RequestFailure && error.status === 404)
        return [p('This request no longer needs your decision.')]
      return [
        notice('failed', sentenceOf(error)),
        buttonRow(button('Try again', 'plain', () => this.show({ ...request }))),
      ]
    }
  }
}
