import { div, el } from '../dom/element.ts'
import {
  fieldName,
  inOrder,
  isJsonObject,
  type JsonValue,
  markedText,
  textBox,
  valueTree,
} from './caller-text.ts'

/** Draws a value of a known form; returns undefined for any other, which is then shown as a plain tree. */
type Draw = (value: JsonValue) => HTMLElement | undefined

/**
 * Returns the way to draw `tool_arguments` that `context.display` asks for. This hint of the caller changes no letter. Hidden
 * characters are made visible as everywhere, and the plain view is one press away.
 */
export function drawerFor(display: JsonValue | undefined): Draw | undefined {
  return typeof display === 'string' && Object.hasOwn(DRAWERS, display) ? DRAWERS[display] : undefined
}

const DRAWERS: Record<string, Draw> = {
  diff: (value) => (typeof value === 'string' && isDiff(value) ? marked(value, diffLines()) : undefined),
  sql: (value) => (typeof value === 'string' && SQL.test(value) ? marked(value, sqlWords) : undefined),
  shell,
  table,
  json: (value) =>
    typeof value === 'object' && value !== null
      ? drawn(value, textBox(JSON.stringify(value, null, 2), 'code'))
      : undefined,
}

/** The drawn element, with a button that shows the value as it would look without the hint. */
function drawn(value: JsonValue, element: HTMLElement): HTMLElement {
  const toggle = el(
    'button',
    { type: 'button', class: 'button quiet', 'aria-pressed': 'false' },
    'As it was sent',
  )
  const place = div('', element)
  toggle.addEventListener('click', () => {
    const plain = toggle.getAttribute('aria-pressed') === 'false'
    toggle.setAttribute('aria-pressed', String(plain))
    place.replaceChildren(plain ? valueTree(value) : element)
  })
  return div('drawn', place, toggle)
}

function marked(text: string, mark: (plain: string) => (Node | string)[]): HTMLElement {
  return drawn(text, textBox(text, 'code', mark))
}

function isDiff(text: string): boolean {
  return /^@@ .*@@/m.test(text) || (/^--- /m.test(text) && /^\+\+\+ /m.test(text))
}

/** Marks whole lines by their first character, which stays visible for people who cannot see the colours. */
function diffLines(): (plain: string) => (Node | string)[] {
  let open = ''
  let hunk = false
  return (plain) =>
    (plain.match(/[^\n]*\n|[^\n]+/g) ?? []).map((line) => {
      if (open === '' && /^(?:@@|diff )/.test(line)) hunk = line.startsWith('@@')
      const look = open === '' ? lookOf(line, hunk) : open
      open = line.endsWith('\n') ? '' : look
      return look === ' ' ? line : el('span', { class: look }, ...inOrder(line))
    })
}

/** Returns the class of a line. Within a hunk, `--- x` is a removed line that began with two dashes, not a file header. */
function lookOf(line: string, hunk: boolean): string {
  if ((hunk ? /^@@/ : /^(?:---|\+\+\+|diff )/).test(line)) return 'diff-head'
  if (line.startsWith('+')) return 'diff-added'
  return line.startsWith('-') ? 'diff-removed' : ' '
}

const SQL =
  /^\s*(?:--[^\n]*\n\s*)*(?:select|insert|update|delete|merge|with|create|alter|drop|truncate|grant|revoke|begin|explain)\b/i
const SQL_WORDS =
  /\b(select|from|where|and|or|not|in|is|null|join|left|right|inner|outer|on|group|by|order|having|limit|union|all|insert|into|values|update|set|delete|merge|using|with|create|alter|drop|truncate|table|index|view|grant|revoke|to|cascade|begin|commit|rollback|returning|vacuum|explain)\b/i

/** Highlights SQL keywords. Nothing is made fainter, since the important part may be a comment. */
function sqlWords(plain: string): (Node | string)[] {
  return plain.split(new RegExp(SQL_WORDS, 'gi')).map((part, at) => (at % 2 === 1 ? el('b', {}, part) : part))
}

/** Draws a command: a text, or a list of its words. In a list each word has a frame, so that spaces inside it are visible. */
function shell(value: JsonValue): HTMLElement | undefined {
  // A text without spaces, such as a host or a name beside the command, is no command.
  if (typeof value === 'string') return /\s/.test(value) ? drawn(value, textBox(value, 'code')) : undefined
  if (!Array.isArray(value) || value.length === 0) return undefined
  const words = value.filter((word) => typeof word === 'string')
  if (words.length < value.length) return undefined
  const framed = words.flatMap((word) => [el('span', { class: 'shell-word' }, markedText(word)), ' '])
  return drawn(value, div('code', ...framed))
}

/** The most columns that a phone or a desktop screen has room for; more are easier to read as lists. */
const COLUMNS = { phone: 3, desk: 6 }
const ROWS = 10

/** Draws a list of flat objects as a table. */
function table(value: JsonValue): HTMLElement | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isJsonObject)) return undefined
  const names = [...new Set(value.flatMap((row) => Object.keys(row)))]
  const room = matchMedia('(min-width: 44rem)').matches ? COLUMNS.desk : COLUMNS.phone
  const flat = value.every((row) =>
    Object.values(row).every((cell) => typeof cell !== 'object' || cell === null),
  )
  if (!flat || names.length === 0 || names.length > room) return undefined
  const size = sizeOf(names.map((name) => [name, ...value.map((row) => shownText(row[name]))]))
  if (size === '') return undefined
  const figures = names.filter((name) => value.every((row) => isFigure(row[name])))
  const look = (name: string) => (figures.includes(name) ? ' figure' : '')
  const head = (name: string) =>
    el('th', { scope: 'col', class: wholeWords(name) + look(name) }, fieldName(name))
  const part = (rows: typeof value): HTMLElement =>
    el(
      'table',
      { class: size },
      el('thead', {}, el('tr', {}, ...names.map(head))),
      el(
        'tbody',
        {},
        ...rows.map((row) => el('tr', {}, ...names.map((name) => cell(row, name, look(name))))),
      ),
    )
  // A single further row takes no more room than the fold that would hide it.
  const rest = value.length === ROWS + 1 ? [] : value.slice(ROWS)
  const more = rest.length > 0 && el('details', {}, el('summary', {}, `${rest.length} more rows`), part(rest))
  return drawn(value, div('', part(value.slice(0, value.length - rest.length)), more))
}

/** Checks for an amount or a count, whose digits are aligned to compare them at a glance; not a date, version or long id. */
function isFigure(value: JsonValue | undefined): boolean {
  return (
    typeof value === 'number' || (typeof value === 'string' && /^[-+]?\d[\d ,]{0,14}(?:\.\d+)?$/.test(value))
  )
}

function cell(row: { [key: string]: JsonValue }, name: string, look: string): HTMLElement {
  if (!Object.hasOwn(row, name)) return el('td', {})
  const value = row[name] ?? null
  const shown = typeof value === 'string' ? textBox(value, '', wholeFigures) : valueTree(value)
  return el('td', { class: wholeWords(shownText(value)) + look }, shown)
}

/** Returns the text of a cell: other than for a string, with the word for its kind, as `valueTree` shows it. */
function shownText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : `${value} ${typeof value}`
}

/** The most letters of a word that is never broken: "183" on one line and "4.15" on the next would be read as two values. */
const WHOLE = 10

function wholeWords(text: string): string {
  return wordsOf(text).every((word) => word.length <= WHOLE) ? 'whole' : ''
}

/** Splits a text into words; an amount with spaces between its digits is one word. */
function wordsOf(text: string): string[] {
  return text.replace(/(\d) (?=\d{3})/g, '$1_').split(/\s+/)
}

/** Returns the smallest width that breaks no short word in the widest usual font: `slim` 17.5rem, `wide` 32rem, '' for more. */
function sizeOf(columns: string[][]): '' | 'slim' | 'wide' {
  const lettersOf = (word: string) =>
    word.length <= WHOLE || /^\d{4}-\d\d-\d\d/.test(word) ? Math.min(word.length, WHOLE) : 3
  const width = columns
    .map((texts) => Math.max(...texts.flatMap(wordsOf).map(lettersOf)))
    .reduce((all, letters) => all + letters * 0.58 + 1.1, 0)
  if (width <= 17.5) return 'slim'
  return width <= 32 ? 'wide' : ''
}

/**
 * Keeps a date or an amount with spaces on one line: "12" on one line and "000.00" on the next would be read as two values.
 * Three of at most ten characters fit beside each other on a phone; the text after one may move to the next line.
 */
function wholeFigures(plain: string): (Node | string)[] {
  return plain
    .split(/\b(\d{4}-\d\d-\d\d(?=T|\b)|\d{1,2}(?: \d{3}){2}\b|\d{1,3} \d{3}(?:[.,]\d\d)?\b)/)
    .map((part, at) => (at % 2 === 1 ? el('span', { class: 'date' }, part) : part))
}
