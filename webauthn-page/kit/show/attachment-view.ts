import { imageType } from '../../../src/domain/image.ts'
import { visibleString, visibleText } from '../../../src/domain/text.ts'
import { directions } from '../../../src/domain/text-direction.ts'
import { toBase64 } from '../../../src/signing/base64.ts'
import type { Attachment } from '../api/contract.ts'
import { button } from '../dom/button.ts'
import { el, folded, hint, kind, p } from '../dom/element.ts'
import { notice } from '../dom/notice.ts'
import { MismatchError } from '../request/checked-review.ts'
import { callerText, isLong, longValue, textWarnings } from './caller-text.ts'
import { type DiffLine, diffLines, hunks } from './line-diff.ts'

/**
 * Fetches an attachment and shows it. Only bytes with the hash that would be signed are shown (T16). A file is fetched by its
 * button alone.
 * @param opened called when one of `all` was fetched and noted in it
 * @throws MismatchError, Error with a sentence
 */
export async function showAttachment(
  id: string,
  all: Attachment[],
  index: number,
  opened: () => void,
): Promise<Node[]> {
  const fetchOne = async (at: number): Promise<Uint8Array<ArrayBuffer>> => {
    const one = all[at]
    if (one === undefined) throw new MismatchError('An attachment is missing.')
    const content = await fetchBytes(`/api/v1/approvals/${id}/attachments/${at}`)
    const sha256 = await sha256Of(content)
    if (sha256 !== one.sha256 || content.length !== one.bytes)
      throw new MismatchError('This attachment does not have the fingerprint that would be signed.')
    one.opened = true
    opened()
    return content
  }
  const one = all[index]
  if (one === undefined) return []
  const content = one.kind === 'file' ? undefined : await fetchOne(index)
  const base = all.findIndex(({ name }) => name === one.base)
  const former = one.kind === 'diff' ? decode(await fetchOne(base)) : ''
  return [
    ...(content === undefined ? [] : draw(one, content, former)),
    p(el('code', { class: 'mono' }, one.sha256), ' ', kind('SHA-256')),
    button('Download', 'quiet', async () => save(one.name, content ?? (await fetchOne(index)))),
  ]
}

async function fetchBytes(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(address, {
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(30_000),
  }).catch(() => undefined)
  if (response?.ok !== true)
    throw new Error('The attachment could not be loaded. Check your connection and try again.')
  return new Uint8Array(await response.arrayBuffer())
}

async function sha256Of(content: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', content))
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

function draw(one: Attachment, content: Uint8Array, former: string): Node[] {
  if (one.kind === 'image') return [picture(content)]
  const text = decode(content)
  const whole = [...warnings(text), textView(text)]
  if (one.kind === 'text') return whole
  const base = hint(
    'Compared with ',
    callerText(one.base ?? ''),
    ', line by line. + was added, − was removed.',
  )
  return [base, changes(former, text), folded('The whole new text', ...whole)]
}

function decode(content: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
}

/** By a data address of the checked bytes: what is drawn is what was hashed. */
function picture(content: Uint8Array): HTMLElement {
  const unshown = p('This image cannot be shown. Download it to look at it.')
  const type = imageType(content)
  // Of a request that was made before its size was looked at.
  if (type === undefined) return unshown
  const source = `data:${type};base64,${toBase64(content)}`
  const image = el('img', { class: 'attachment-image', src: source, alt: 'Image supplied by the caller' })
  image.addEventListener('error', () => image.replaceWith(unshown))
  return image
}

function textView(text: string): HTMLElement {
  if (text === '') return el('em', { class: 'note' }, 'empty text')
  const shown = el('pre', { class: 'attachment-text' }, ...visibleLines(text))
  return isLong(text) ? longValue(shown, text) : shown
}

/** Labels and turns of direction, each an element, that a browser draws at once. */
const MOST_LABELS = 3_000

/** Checks for a text that would keep a browser busy for a minute. */
function isFlood(text: string): boolean {
  const labels = visibleText(text).filter(({ kind }) => kind !== 'text')
  return labels.length + directions(text).length > MOST_LABELS
}

function warnings(text: string): HTMLElement[] {
  if (!isFlood(text)) return textWarnings(text)
  const flood =
    'This text has thousands of hidden characters or changes of direction. It is shown in the order'
  return [notice('warning', `${flood} that is signed, with hidden characters as text in brackets.`)]
}

/** ASCII, with no more blanks than indent a line or stand between words. */
function isPlain(line: string): boolean {
  return /^[\t -~]*$/.test(line) && !/^[ \t]{81}|[!-~][ \t]{17}/.test(line)
}

/** Splits off what needs labels, so that deep indentation and two empty lines in a row stay layout, as code has them. */
function visibleLines(text: string): Node[] {
  if (isFlood(text)) return [el('bdi', { class: 'in-order', dir: 'ltr' }, visibleString(text))]
  const nodes: Node[] = []
  let [run, plain] = ['', true]
  const end = (): void => {
    if (run !== '') nodes.push(plain ? document.createTextNode(run) : callerText(run))
    run = ''
  }
  // More than three empty lines in a row push text out of sight.
  for (const part of text.split(/((?:\n[ \t]*){5,}|\n)/)) {
    const next = part === '\n' ? plain : isPlain(part)
    if (next !== plain) end()
    plain = next
    run += part
  }
  end()
  return nodes
}

/** Rows that are drawn at a time: a browser needs seconds for a hundred thousand. */
const ROWS = 2_000

function changes(former: string, text: string): HTMLElement {
  const rows = hunks(diffLines(former, text))
  if (rows.every((row) => typeof row === 'number')) return p('Nothing was changed.')
  const lines = el('div', { class: 'diff-lines' })
  const left = (): string => `Show more of the ${rows.length.toLocaleString('en')} lines left`
  const more = button('', 'quiet', () => {
    lines.append(...rows.splice(0, ROWS).map(diffRow))
    more.textContent = left()
    more.hidden = rows.length === 0
  })
  more.click()
  const look = { class: 'diff', tabindex: 0, role: 'group', 'aria-label': 'Changes' }
  return el('div', look, ...warnings(rows.map(textOf).join('\n')), lines, more)
}

function textOf(row: DiffLine | number): string {
  return typeof row === 'number' ? '' : row.text
}

const ELEMENTS = { '+': 'ins', '-': 'del', ' ': 'div' } as const
const SIGNS = { '+': '+', '-': '−', ' ': '' }

/** A line with its sign in a column of its own, which no text of the caller can reach. */
function diffRow(row: DiffLine | number): HTMLElement {
  if (typeof row === 'number')
    return el('p', { class: 'diff-gap' }, row === 1 ? '1 equal line' : `${row} equal lines`)
  const sign = el('span', { class: 'diff-sign' }, SIGNS[row.sign])
  return el(ELEMENTS[row.sign], { class: 'diff-line' }, sign, el('span', {}, ...visibleLines(row.text)))
}

function save(name: string, content: Uint8Array<ArrayBuffer>): void {
  // Never its own type: a browser must not open it as a page.
  const address = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  el('a', { href: address, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
