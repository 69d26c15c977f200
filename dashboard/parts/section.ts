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

/** Puts those of `parts` that hold something unsaved into the page that was drawn anew, in the place of their new copies. */
export function carryOver(parts: readonly HTMLElement[], scene: HTMLElement): void {
  const copies = [...scene.querySelectorAll<HTMLElement>('[data-part]')]
  for (const part of parts.filter(holdsUnsaved))
    copies.find(({ dataset }) => dataset.part === part.dataset.part)?.replaceWith(part)
}

/** Whether a new copy would lose something: a changed field of a form, or a secret that is shown only once. */
export function holdsUnsaved(part: ParentNode): boolean {
  if (part.querySelector('.secret-box > code, .backup-codes') !== null) return true
  return [...part.querySelectorAll('form:not([role="search"]) :is(input, textarea, option)')].some(isChanged)
}

/** Changes the fields of `newer` as those of `old` are, except where the newer one began with something else. */
export function carryChanges(old: ParentNode, newer: ParentNode): void {
  const fields = [...newer.querySelectorAll<Filled>('input, select')]
  for (const one of old.querySelectorAll<Filled>('input, select')) {
    const same = fields.find((field) => nameOf(field) === nameOf(one))
    if (same === undefined || initial(same) !== initial(one)) continue
    same.value = one.value
    if ('checked' in one && 'checked' in same) same.checked = one.checked
    same.dispatchEvent(new Event('change'))
  }
}

type Filled = HTMLInputElement | HTMLSelectElement

function nameOf({ labels }: Filled): string | null | undefined {
  return labels?.[0]?.textContent
}

function initial(one: Filled): string {
  if ('checked' in one) return `${one.defaultValue} ${one.defaultChecked}`
  return [...one.options].map(({ defaultSelected }) => defaultSelected).join()
}

function isChanged(one: Element): boolean {
  if (one instanceof HTMLOptionElement) return one.selected !== one.defaultSelected
  if (one instanceof HTMLInputElement && one.checked !== one.defaultChecked) return true
  const typed = one instanceof HTMLInputElement || one instanceof HTMLTextAreaElement
  return typed && one.value !== one.defaultValue
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
