/** A child of an element. Text always becomes a text node: nothing in this page parses HTML. */
export type Child = Node | string | undefined | false

/** Attribute values; `true` writes the attribute without a value, `false` and `undefined` leave it out. */
export type Attributes = Record<string, string | number | boolean | undefined>

/** Makes an element. @throws TypeError for an attribute that could carry script, markup or style. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (/^(on|srcdoc$|style$)/i.test(name)) throw new TypeError(`attribute ${name} is not allowed`)
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...children.filter((child) => child !== undefined && child !== false))
  return element
}

/** A `<div>` of that class. */
export function div(className: string, ...children: Child[]): HTMLDivElement {
  return el('div', { class: className }, ...children)
}

/** A short text that people compare letter by letter: a reference, an address, a hash. */
export function mono(text: Child): HTMLSpanElement {
  return el('span', { class: 'mono' }, text)
}

/** Small print beside something that says what it is or who states it. */
export function kind(text: Child): HTMLSpanElement {
  return el('span', { class: 'kind' }, text)
}

/** A less prominent paragraph at the end of the part it belongs to. */
export function note(...children: Child[]): HTMLParagraphElement {
  return el('p', { class: 'note' }, ...children)
}

/** Content folded under its title until a person opens it. */
export function folded(title: string, ...children: Child[]): HTMLDetailsElement {
  return el('details', { class: 'exact' }, el('summary', {}, title), ...children)
}

/** A long text that people compare letter by letter; it has its own scroll box. */
export function exactText(label: string, text: Child): HTMLPreElement {
  return el('pre', { class: 'exact-text', tabindex: 0, role: 'group', 'aria-label': label }, text)
}

/** A section of a page under its heading. */
export function panel(className: string, title: string, ...children: Child[]): HTMLElement {
  const id = freshId('panel')
  return el('section', { class: className, 'aria-labelledby': id }, el('h2', { id }, title), ...children)
}

/** A paragraph. */
export function p(...children: Child[]): HTMLParagraphElement {
  return el('p', {}, ...children)
}

/** A paragraph in small print that explains the element beside it. */
export function hint(...children: Child[]): HTMLParagraphElement {
  return el('p', { class: 'hint' }, ...children)
}

/** A paragraph in large print that says what a page is about. */
export function lede(...children: Child[]): HTMLParagraphElement {
  return el('p', { class: 'lede' }, ...children)
}

/** Returns a unique `id` to tie labels, hints and errors to their fields. */
export function freshId(stem: string): string {
  lastId += 1
  return `${stem}-${lastId}`
}
let lastId = 0

/** A link within this service or to one of its JSON answers; never built from text of a caller. */
export function link(href: string, label: string, attributes: Attributes = {}): HTMLAnchorElement {
  return el('a', { href, ...attributes }, label)
}

/** The live region that `announce` writes to: one in the page, one in each dialog. */
export function announcements(): HTMLElement {
  return el('div', { class: 'visually-hidden announcements', role: 'status', 'aria-live': 'polite' })
}

/**
 * Tells screen readers about a change without moving the focus (`aria-live="polite"`). They do not read anything behind a
 * dialog, so the topmost open dialog's region is used.
 */
export function announce(message: string): void {
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
  const region = dialog?.querySelector('.announcements') ?? document.querySelector('#announcements')
  if (region !== null) region.textContent = message
}

/** Rows of name and value. */
export function facts(...rows: (readonly [name: string, ...value: Child[]] | undefined)[]): HTMLElement {
  const list = el('dl', { class: 'facts' })
  for (const row of rows) {
    if (row === undefined) continue
    const [name, ...value] = row
    list.append(el('div', {}, el('dt', {}, name), el('dd', {}, ...value)))
  }
  return list
}
