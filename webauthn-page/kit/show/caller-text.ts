import { hasHidden, mixedScriptWarning, type Segment, visibleText } from '../../../src/domain/text.ts'
import { el } from '../dom/element.ts'

/**
 * Text that somebody else wrote, isolated in its own `<bdi>` so that its direction cannot reach our words (T43). Hidden
 * characters become labelled chips; an address in it stays text and is never a link.
 */
export function callerText(text: string): HTMLElement {
  return el('bdi', { class: 'caller-text' }, ...visibleText(text).map(segmentNode))
}

function segmentNode(segment: Segment): Node | string {
  if (segment.kind === 'text') return segment.text
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

/** Our own warnings about a text: hidden characters, look-alike letters. Empty for most texts. */
export function textWarnings(text: string): HTMLElement[] {
  const warnings: HTMLElement[] = []
  if (hasHidden(text)) {
    warnings.push(
      flag(
        'Hidden characters',
        'This text holds characters that are normally invisible; they are shown in brackets.',
      ),
    )
  }
  const mixed = mixedScriptWarning(text)
  if (mixed !== undefined) warnings.push(flag('Look-alike letters', el('bdi', {}, mixed)))
  return warnings
}

function flag(title: string, sentence: string | HTMLElement): HTMLElement {
  return el('p', { class: 'text-flag' }, el('strong', {}, `${title}. `), sentence)
}

/** A caller's text with its warnings below it. */
export function callerValue(text: string): HTMLElement {
  if (text === '') return el('em', { class: 'note' }, 'empty text')
  const shown = el('div', { class: 'caller-value' }, callerText(text), ...textWarnings(text))
  return isLong(text) ? longValue(shown, text) : shown
}

const LONG_CHARACTERS = 900
const LONG_LINES = 14

function isLong(text: string): boolean {
  return text.length > LONG_CHARACTERS || text.split('\n').length > LONG_LINES
}

/** Long texts scroll in a box that says how long they are and can be opened; nothing is ever cut off. */
function longValue(shown: HTMLElement, text: string): HTMLElement {
  const characters = [...text].length.toLocaleString('en')
  const box = el(
    'div',
    { class: 'long-value', tabindex: 0, role: 'group', 'aria-label': `Long text, ${characters} characters` },
    shown,
  )
  const toggle = el(
    'button',
    { type: 'button', class: 'button quiet', 'aria-expanded': 'false' },
    'Show at full length',
  )
  toggle.addEventListener('click', () => {
    const open = box.classList.toggle('open')
    toggle.setAttribute('aria-expanded', String(open))
    toggle.textContent = open ? 'Show in a box' : 'Show at full length'
  })
  const caption = el(
    'p',
    { class: 'long-caption' },
    `${characters} characters, scroll to read them all. `,
    toggle,
  )
  return el('div', {}, box, caption)
}
