import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, div, el, freshId, hint } from '../../webauthn-page/kit/dom/element.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'

export type Section = ReturnType<typeof section>

/** One part of a page. */
export function section(title: string, lede: Child) {
  const id = freshId('section')
  const slot = noticeSlot()
  const body = div('section-body')
  const heading = el('h2', { id, tabindex: -1 }, title)
  const about = hint(lede)
  const attributes = { class: 'card', 'aria-labelledby': id, 'data-part': title }
  const element = el('section', attributes, heading, about, slot.element, body)
  return {
    element,
    slot,
    body,
    /** Replaces everything in this part, its heading too; the focus goes to the heading. */
    turnInto(newTitle: string, newLede: Child, newBody: HTMLElement) {
      heading.textContent = newTitle
      about.replaceChildren(newLede === undefined || newLede === false ? '' : newLede)
      slot.clear()
      body.replaceChildren(newBody)
      heading.focus()
    },
  }
}

/** Returns the parts of the shown page in which nothing is being done now: their input is not what is being saved. */
export function idleParts(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('main [data-part]')].filter(
    (part) => part.querySelector('[aria-disabled="true"]') === null,
  )
}

/** The data of a part of a page, or why it could not be read: the rest of the page is shown all the same. */
export type OrFailure<T> = T | { failure: unknown }

/** Returns the data or its failure; throws only when the person is signed out. @throws RequestFailure 401 */
export async function orFailure<T>(load: Promise<T>): Promise<OrFailure<T>> {
  try {
    return await load
  } catch (failure) {
    if (failure instanceof RequestFailure && failure.status === 401) throw failure
    return { failure }
  }
}

/** Shows the failure in the part. `again` reopens the page. */
export function showFailure(part: Section, failure: unknown, again: () => Promise<void>): HTMLElement {
  part.slot.fail(failure)
  part.body.append(button('Try again', 'plain', again))
  return part.element
}
