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
  // The value of a box is `on` where it has none of its own.
  if (one instanceof HTMLInputElement && /^(?:checkbox|radio)$/.test(one.type))
    return one.checked !== one.defaultChecked
  const typed = one instanceof HTMLInputElement || one instanceof HTMLTextAreaElement
  return typed && one.value !== one.defaultValue
}
