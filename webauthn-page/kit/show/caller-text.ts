import { hasHidden, type Segment, visibleString, visibleText } from '../../../src/domain/text.ts'
import { directions, mixedDirection } from '../../../src/domain/text-direction.ts'
import { mixedScriptWarning } from '../../../src/domain/text-scripts.ts'
import { div, el, freshId, kind } from '../dom/element.ts'

/**
 * Text that another person wrote, isolated in its own `<bdi>` so that its direction cannot affect our words (T43). Hidden
 * characters become labelled chips; an address in the text is never made a link.
 */
export function callerText(text: string): HTMLElement {
  return markedText(text)
}

/** Like `callerText`; `mark` may highlight parts of the visible text. */
export function markedText(
  text: string,
  mark: (plain: string) => (Node | string)[] = (plain) => [plain],
): HTMLElement {
  const nodes = visibleText(text).flatMap((segment) =>
    segment.kind === 'text' ? mark(segment.text) : [labelOf(segment)],
  )
  // Otherwise a browser would draw numbers and words around right-to-left parts in another order than the signed one.
  const ordered = mixedDirection(text) === 'left'
  const shown = nodes.flatMap((node) => (ordered && typeof node === 'string' ? inOrder(node) : node))
  return el('bdi', { class: 'caller-text', dir: ordered && 'ltr' }, ...shown)
}

/** Isolates right-to-left parts, so that the text beside them keeps its order. */
export function inOrder(text: string): (Node | string)[] {
  return directions(text).map(({ text, turned }) => (turned ? el('bdi', { dir: 'rtl' }, text) : text))
}

/** A name that another person chose, inside a sentence of our own. */
export function callerName(text: string): HTMLElement {
  return el('strong', {}, callerText(text))
}

function labelOf(segment: Exclude<Segment, { kind: 'text' }>): HTMLElement {
  if (segment.kind === 'newlines') {
    return el(
      'span',
      { class: 'chip', role: 'img', 'aria-label': `${segment.count} line breaks` },
      segment.label,
    )
  }
  const repeats = segment.count > 1 ? `, ${segment.count} times` : ''
  const name = `hidden character ${segment.codePoint}${repeats}`
  return el('span', { class: 'chip hidden', role: 'img', 'aria-label': name }, segment.label)
}

const HIDDEN_MEANS = 'Characters that are normally invisible or stack on others are shown in brackets.'
const ENCODED = /\bxn--\w/i
const ENCODED_MEANS =
  '“xn--” stands for letters of other alphabets. In a browser the address can look like a different one.'

type Warning = readonly [name: string, sentence: string | HTMLElement]

function warningsOf(text: string): Warning[] {
  const mixed = mixedScriptWarning(text)
  const ways = mixedDirection(text)
  return [
    ...(hasHidden(text) ? [['Hidden characters', HIDDEN_MEANS] as const] : []),
    ...(mixed === undefined ? [] : [['Look-alike letters', el('bdi', {}, mixed)] as const]),
    ...(ENCODED.test(text) ? [['Encoded address', ENCODED_MEANS] as const] : []),
    ...(ways === undefined ? [] : [['Two directions', directionsMean(text, ways)] as const]),
  ]
}

/** Returns our own warnings about a text, such as hidden characters or look-alike letters. Empty for most texts. */
export function textWarnings(text: string): HTMLElement[] {
  return warningsOf(text).map(([name, sentence]) => flag(name, sentence))
}

/** Explains the order of the text. If it is drawn from right to left, as its readers expect, shows the signed order beside it. */
function directionsMean(text: string, ways: 'left' | 'right'): HTMLElement {
  const turned = 'Parts of this text are read from right to left'
  if (ways === 'left') return el('span', {}, `${turned}; it is shown in the order that is signed.`)
  const order = el('bdi', { dir: 'ltr' }, ...inOrder(visibleString(text)))
  return el('span', {}, `${turned}; signed it is in this order: `, order)
}

/** Returns the names of a text's warnings, for places without room for their sentences. */
export function warningNames(text: string): string[] {
  return warningsOf(text).map(([name]) => name)
}

function flag(title: string, sentence: string | HTMLElement): HTMLElement {
  return el('p', { class: 'text-flag' }, el('strong', {}, `${title}. `), sentence)
}

/** A caller's text with its warnings below it. */
export function callerValue(text: string): HTMLElement {
  return textBox(text, '')
}

/** Like `callerValue`, with `look` as an additional class; `mark` as in `markedText`. */
export function textBox(
  text: string,
  look: string,
  mark?: (plain: string) => (Node | string)[],
): HTMLElement {
  if (text === '') return el('em', { class: 'note' }, 'empty text')
  const shown = div(`caller-value ${look}`, markedText(text, mark), ...textWarnings(text))
  return isLong(visibleString(text)) ? longValue(shown, text) : shown
}

const LONG_CHARACTERS = 900
const LONG_LINES = 14

export function isLong(text: string): boolean {
  return text.length > LONG_CHARACTERS || text.split('\n').length > LONG_LINES
}

/** A box for a long text that scrolls, states the length and can be opened; nothing is ever cut off. */
export function longValue(shown: HTMLElement, text: string): HTMLElement {
  const characters = [...text].length.toLocaleString('en')
  const box = el(
    'div',
    { class: 'long-value', tabindex: 0, role: 'group', 'aria-label': `Long text, ${characters} characters` },
    shown,
  )
  const scrolls = `${characters} characters, scroll to read them all.`
  const size = el('span', {}, scrolls)
  const toggle = el(
    'button',
    { type: 'button', class: 'button quiet', 'aria-expanded': 'false' },
    'Show at full length',
  )
  toggle.addEventListener('click', () => {
    const open = box.classList.toggle('open')
    toggle.setAttribute('aria-expanded', String(open))
    toggle.textContent = open ? 'Show in a box' : 'Show at full length'
    size.textContent = open ? `${characters} characters` : scrolls
  })
  return el('div', {}, box, el('p', { class: 'long-caption' }, size, ' ', toggle))
}

/** One text of a caller in a frame that names its author: nothing in it can pass as the service's own words (T44). */
export function callerQuote(text: string, writer = 'the caller'): { element: HTMLElement; textId: string } {
  const titleId = freshId('quote')
  const textId = freshId('quoted')
  const element = el(
    'div',
    { class: 'caller-box quote', role: 'group', 'aria-labelledby': titleId },
    el(
      'p',
      { class: 'caller-box-title', id: titleId },
      el('span', {}, `Written by ${writer}`),
      ' ',
      el('span', { class: 'caller-box-caution' }, 'Not checked by Countersign'),
    ),
    el('div', { class: 'quoted', id: textId }, callerValue(text)),
  )
  return { element, textId }
}

/** Any JSON value, as parsed. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** Checks whether the value is a JSON object (not null, not an array). */
export function isJsonObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the everyday word for the kind of a value. */
function kindOf(value: JsonValue): string {
  if (value === null) return 'no value'
  if (Array.isArray(value)) return value.length === 1 ? 'list of 1' : `list of ${value.length}`
  if (typeof value === 'object') {
    const size = Object.keys(value).length
    return size === 1 ? '1 field' : `${size} fields`
  }
  return typeof value === 'string' ? 'text' : typeof value
}

/** A list or object with more entries than this starts with the rest of them folded. */
const OPEN_ENTRIES = 12
/** A list or object inside another starts folded when it holds more values than this, at any depth. */
const OPEN_VALUES = 8

/**
 * Shows a JSON value for people. Small parts start open: a person who decides should not need a click to see what they sign.
 * A part that would push the rest out of sight starts folded, and its title says how much it holds. Numbers carry the name of
 * their kind, so that a text that looks like a number is not mistaken for one.
 * @param draw draws values whose form it knows, and returns undefined for others
 */
export function valueTree(
  value: JsonValue,
  draw?: (value: JsonValue) => HTMLElement | undefined,
): HTMLElement {
  const drawn = draw?.(value)
  if (drawn !== undefined) return drawn
  if (typeof value === 'string') return callerValue(value)
  if (value === null || typeof value !== 'object') {
    return el('span', {}, el('code', {}, String(value)), ' ', kind(kindOf(value)))
  }
  const entries: [string, JsonValue][] = Array.isArray(value)
    ? value.map((item, index) => [`${index + 1}.`, item])
    : Object.entries(value)
  if (entries.length === 0)
    return el('em', { class: 'note' }, Array.isArray(value) ? 'empty list' : 'no fields')
  const rows = entries.map(([key, item]) => branch(key, item, isJsonObject(value), draw))
  if (rows.length <= OPEN_ENTRIES) return el('ul', { class: 'tree' }, ...rows)
  const others = rows.splice(OPEN_ENTRIES - 2)
  const rest = el('summary', {}, `${others.length} more`)
  const more = el('details', {}, rest, el('ul', { class: 'tree' }, ...others))
  return el('ul', { class: 'tree' }, ...rows, el('li', {}, more))
}

/** Counts the values inside a value, at any depth; an empty list or object counts as one. */
export function valuesIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1
  return Math.max(
    1,
    Object.values(value).reduce<number>((sum, item) => sum + valuesIn(item), 0),
  )
}

function branch(
  key: string,
  value: JsonValue,
  named: boolean,
  draw: Parameters<typeof valueTree>[1],
): HTMLElement {
  const label = named ? fieldName(key) : el('span', { class: 'tree-index' }, key)
  const folds = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  const warnings = named ? textWarnings(key) : []
  if (!folds) return el('li', {}, div('leaf', label, ' ', valueTree(value, draw)), ...warnings)
  const drawn = draw?.(value)
  const values = valuesIn(value)
  const all = values === Object.keys(value).length ? '' : `, ${values} values in all`
  const summary = el('summary', {}, label, ' ', kind(`${kindOf(value)}${all}`))
  return el(
    'li',
    {},
    el(
      'details',
      { open: drawn !== undefined || values <= OPEN_VALUES },
      summary,
      ...warnings,
      drawn ?? valueTree(value, draw),
    ),
  )
}

/** A field name that the caller chose, marked as such; put its `textWarnings` beside the field's value. */
export function fieldName(key: string): HTMLElement {
  if (key === '') return el('em', { class: 'note' }, 'empty name')
  return el('span', { class: 'field-name' }, callerText(key))
}
