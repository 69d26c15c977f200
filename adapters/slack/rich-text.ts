import type { types } from '@slack/bolt'
import { cutText, unmarked } from '../../src/domain/cut-text.ts'
import { type CardPart, type Piece, type Preview, utcMoment } from '../shared/card-parts.ts'
import { HEADER_LENGTH } from './limits.ts'

export type Inline = types.RichTextText | types.RichTextDate | types.RichTextLink | types.RichTextUserMention
export type Part = types.RichTextSection | types.RichTextQuote | types.RichTextPreformatted

/** A message to post: blocks, and the text of notifications. */
export interface SlackMessage {
  blocks: types.KnownBlock[]
  text: string
}

/**
 * Creates literal text: no client looks for mentions, links, emoji or bold in rich text, whatever it holds. That is
 * why callers' text goes here and nowhere else; some renderers apply markup even to `plain_text` (T41).
 */
export function words(text: string): types.RichTextText {
  return { type: 'text', text }
}

export function bold(text: string): types.RichTextText {
  return { type: 'text', text, style: { bold: true } }
}

export function italic(text: string): types.RichTextText {
  return { type: 'text', text, style: { italic: true } }
}

export function code(text: string): types.RichTextText {
  return { type: 'text', text, style: { code: true } }
}

/** Draws a time in the reader's own time zone; the fallback is UTC, to the minute. */
export function moment(at: Date): types.RichTextDate {
  return {
    type: 'date',
    timestamp: Math.floor(at.getTime() / 1000),
    format: '{date_short_pretty} at {time}',
    fallback: utcMoment(at),
  }
}

export function link(text: string, url: string): types.RichTextLink {
  return { type: 'link', text, url }
}

/**
 * Joins lines into one section: clients differ in whether two sections stand below or beside each other. Text by others
 * goes to the end of its line, so that its direction cannot reorder our words (T43).
 */
export function section(...lines: Inline[][]): types.RichTextSection {
  const elements = lines.flatMap((line, index) => (index === 0 ? line : [words('\n'), ...line]))
  return { type: 'rich_text_section', elements }
}

/** Draws a card's parts, which are the same for all platforms, as Slack's rich text. */
export function drawParts(parts: readonly CardPart[]): Part[] {
  return parts.map((part) => {
    if (part.kind === 'preformatted') return { type: 'rich_text_preformatted', elements: [words(part.text)] }
    const lines = section(...drawLines(part.lines))
    // A quote is the frame around text by others.
    return part.kind === 'quote' ? { ...lines, type: 'rich_text_quote' } : lines
  })
}

export function drawLines(lines: readonly Piece[][]): Inline[][] {
  return lines.map((line) => line.map(drawPiece))
}

const PIECES = { words, bold, italic, code }

function drawPiece(piece: Piece): Inline {
  return piece.kind === 'moment' ? moment(piece.at) : PIECES[piece.kind](piece.text)
}

/** Joins parts into one block. Adjacent sections become one section. */
export function richText(parts: readonly Part[]): types.RichTextBlock {
  const elements: Part[] = []
  for (const part of parts) {
    const last = elements.at(-1)
    if (part.type !== 'rich_text_section' || last?.type !== 'rich_text_section') elements.push(part)
    else
      elements[elements.length - 1] = { ...last, elements: [...last.elements, words('\n'), ...part.elements] }
  }
  return { type: 'rich_text', elements }
}

/** Draws our own words as a heading. */
export function header(text: string): types.HeaderBlock {
  return { type: 'header', text: plain(cutText(text, HEADER_LENGTH).text) }
}

/** Draws our own words in small print. */
export function note(text: string): types.ContextBlock {
  return { type: 'context', elements: [plain(text)] }
}

/** Draws our own constant words only; `emoji: false` in case the calling code forgets that. */
export function plain(text: string): types.PlainTextElement {
  return { type: 'plain_text', text, emoji: false }
}

/** Escapes Slack's control characters for `mrkdwn` and the top-level `text` (docs.slack.dev, "Formatting message text"). */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const ESCAPED: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' }

/** Restores these three characters in the text a person typed; unescapes only once, so that a typed `&lt;` stays `&lt;`. */
export function unescapeText(text: string): string {
  return text.replace(/&(?:amp|lt|gt);/g, (escaped) => ESCAPED[escaped] ?? escaped)
}

/** Returns the top-level `text` for notifications; clients can make no mention, link, emoji, code or bold text of it (T41). */
export function fallbackText({ summary, asking }: Preview): string {
  return escapeMrkdwn(asking === undefined ? summary : `${summary} ${unmarked(asking)}`)
}
