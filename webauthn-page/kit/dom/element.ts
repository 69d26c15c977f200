/** What can stand inside an element. Text always becomes a text node: nothing in this page parses HTML. */
export type Child = Node | string | undefined | false

/** Attribute values; `true` writes the bare attribute, `false` and `undefined` leave it out. */
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

/** A box of that class. */
export function div(className: string, ...children: Child[]): HTMLDivElement {
  return el('div', { class: className }, ...children)
}

/** A reference, an address, a hash: what is compared letter by letter. */
export function mono(text: Child): HTMLSpanElement {
  return el('span', { class: 'mono' }, text)
}

/** What something is, or who says so, in small print beside it. */
export function kind(text: Child): HTMLSpanElement {
  return el('span', { class: 'kind' }, text)
}

/** A paragraph of less weight, at the end of what it belongs to. */
export function note(...children: Child[]): HTMLParagraphElement {
  return el('p', { class: 'note' }, ...children)
}

/** What stands folded under its title until it is opened. */
export function folded(title: string, ...children: Child[]): HTMLDetailsElement {
  return el('details', { class: 'exact' }, el('summary', {}, title), ...children)
}

/** Text to be compared letter by letter; it scrolls by itself. */
export function exactText(label: string, text: Child): HTMLPreElement {
  return el('pre', { class: 'exact-text', tabindex: 0, role: 'group', 'aria-label': label }, text)
}

/** A part of a page under its heading. */
export function panel(className: string, title: string, ...children: Child[]): HTMLElement {
  const id = freshId('panel')
  return el('section', { class: className, 'aria-labelledby': id }, el('h2', { id }, title), ...children)
}

/** A paragraph. */
export function p(...children: Child[]): HTMLParagraphElement {
  return el('p', {}, ...children)
}

/** A paragraph in small print, which explains what stands beside it. */
export function hint(...children: Child[]): HTMLParagraphElement {
  return el('p', { class: 'hint' }, ...children)
}

/** A paragraph in large print, which says what a page is about. */
export function lede(...children: Child[]): HTMLParagraphElement {
  return el('p', { class: 'lede' }, ...children)
}

/** A number for `id` attributes that tie labels, hints and errors to their fields. */
export function freshId(stem: string): string {
  lastId += 1
  return `${stem}-${lastId}`
}
let lastId = 0

/** A link within this service or to one of its JSON answers; never built from text of a caller. */
export function link(href: string, label: string, attributes: Attributes = {}): HTMLAnchorElement {
  return el('a', { href, ...attributes }, label)
}

/** Where `announce` tells: one in the page, one in each dialog. */
export function announcements(): HTMLElement {
  return el('div', { class: 'visually-hidden announcements', role: 'status', 'aria-live': 'polite' })
}

/**
 * Tells screen readers about a change without moving the focus (`aria-live="polite"`). What is behind a dialog they do not read,
 * so the one on top tells it.
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
