import { unmarked } from '../../src/domain/cut-text.ts'
import type { CardPart, Piece, Preview } from '../shared/card-parts.ts'
import type {
  Action,
  ActionSet,
  CardElement,
  Container,
  ExecuteAction,
  Fold,
  OpenUrlAction,
  RichTextBlock,
  Spacing,
  TeamsMessage,
  TextBlock,
  TextRun,
  Verb,
} from './elements.ts'
import { CARD_BUDGET, TEAMS_LIMITS } from './limits.ts'

const DOUBLED = /[{$](?=\{)/g

/**
 * Draws text literally. Clients replace `{{DATE(…)}}` and `{{TIME(…)}}` even in text runs, and template engines `${…}`: a
 * blank separates such braces everywhere except in our own moments (T42).
 */
function plainText(text: string): string {
  // Clients that draw HTML collapse several blanks into one, and drop those at the beginning of a line.
  return text.replace(DOUBLED, '$& ').replace(/(?<=[ \n]) /g, '\u00a0')
}

/** Checks whether any braces in these parts are drawn apart; the card then says so. */
export function drawsApart(parts: readonly CardPart[]): boolean {
  const texts = parts.flatMap((part) =>
    part.kind === 'preformatted'
      ? [part.text]
      : part.lines.flat().map((piece) => ('text' in piece ? piece.text : '')),
  )
  return texts.some((text) => text.search(DOUBLED) >= 0)
}

/** The note on cards for which `drawsApart` is true. */
export const BRACES = 'Braces are drawn apart here: “{ {” and “$ {” were written without the blank.'

function drawPiece(piece: Exclude<Piece, { kind: 'moment' }>): TextRun {
  switch (piece.kind) {
    case 'words':
      return { type: 'TextRun', text: plainText(piece.text) }
    case 'bold':
      return { type: 'TextRun', text: plainText(piece.text), weight: 'Bolder' }
    case 'italic':
      return { type: 'TextRun', text: plainText(piece.text), italic: true }
    case 'code':
      return { type: 'TextRun', text: plainText(piece.text), fontType: 'Monospace', size: 'Small' }
  }
}

/** Formats a moment for the reader's time zone, which only the client knows. The syntax takes whole seconds only. */
function momentText(at: Date): string {
  const second = `${at.toISOString().slice(0, 19)}Z`
  return `{{TIME(${second})}} · {{DATE(${second},SHORT)}}`
}

/**
 * Draws a line as a block of its own, so that no client can join two lines. Only in text blocks do clients promise to fill in
 * moments. Text blocks also draw Markdown, so a line with a moment contains only our own constant words.
 */
function drawLine(line: readonly Piece[], spacing: Spacing): RichTextBlock | TextBlock {
  const runs = line.filter((piece) => piece.kind !== 'moment')
  if (runs.length < line.length) {
    const texts = line.map((piece) => {
      if (piece.kind === 'moment') return momentText(piece.at)
      return piece.kind === 'bold' ? piece.text.replace(/\S.*\S/, '**$&**') : piece.text
    })
    return { type: 'TextBlock', text: texts.join(''), wrap: true, spacing }
  }
  const [first, ...rest] = runs.map(drawPiece)
  const inlines = first === undefined ? [] : [{ ...first, text: first.text.replace(/^ /, '\u00a0') }, ...rest]
  return { type: 'RichTextBlock', inlines, spacing }
}

export function drawLines(lines: readonly Piece[][], first: Spacing): (RichTextBlock | TextBlock)[] {
  return lines.map((line, index) => drawLine(line, index === 0 ? first : 'None'))
}

/** Draws our own words as the heading. */
export function heading(text: string): TextBlock {
  return { type: 'TextBlock', text, wrap: true, size: 'Large', weight: 'Bolder', style: 'heading' }
}

/** Draws our own words in small print. */
export function note(text: string, spacing: Spacing = 'Small'): RichTextBlock {
  return {
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, size: 'Small', isSubtle: true }],
    spacing,
  }
}

/** Backgrounds for our own words; the frame around the caller's words has a different one. */
type Ground = Exclude<Container['style'], 'emphasis'>

/** Draws our own statements on a background that stands out; the words say everything that the colour says. */
export function band(style: Ground, lines: readonly Piece[][]): Container[] {
  if (lines.length === 0) return []
  return [{ type: 'Container', style, spacing: 'Small', items: drawLines(lines, 'None') }]
}

/** Draws the heading, on a coloured background if it states a result or comes with lines that must not be missed. */
export function titled(text: string, style: Ground | undefined, lines: readonly Piece[][] = []): CardElement {
  const title = heading(text)
  if (style === undefined) return title
  return { type: 'Container', style, spacing: 'None', items: [title, ...drawLines(lines, 'None')] }
}

const FOLD_ID = 'countersign_details'

/** Hides elements until `UNFOLD` is pressed; clients that cannot hide elements show them. */
export function fold(items: CardElement[]): Fold {
  return { type: 'Container', id: FOLD_ID, isVisible: false, spacing: 'Small', items }
}

/** The button that shows and hides the folded elements, without asking the bot. */
export const UNFOLD: Action = {
  type: 'Action.ToggleVisibility',
  title: 'Details',
  targetElements: [FOLD_ID],
}

/** Separates the first line from the elements above it, with a gap and a rule. */
export function apartFromAbove([first, ...rest]: CardElement[]): CardElement[] {
  if (first?.type !== 'RichTextBlock' && first?.type !== 'TextBlock') return rest
  return [{ ...first, spacing: 'Medium', separator: true }, ...rest]
}

/** The most characters of a frame that others may follow: a longer or multi-line one might pass for the rows below it. */
const SHORT_FRAME = 160

/**
 * Draws the parts of a card for Teams. The frame is a container of style `emphasis`, which holds none of our own lines: its
 * background differs and its text is indented, so that no line of the caller's begins where ours do (T44).
 */
export function drawParts(parts: readonly CardPart[]): CardElement[] {
  const elements: CardElement[] = []
  let open: Container | undefined
  for (const part of parts) {
    if (part.kind === 'ours') {
      elements.push(...drawLines(part.lines, 'Small'))
      open = undefined
      continue
    }
    const lines = framedLines(part)
    if (open === undefined) {
      open = { type: 'Container', style: 'emphasis', spacing: 'Small', items: drawLines(lines, 'None') }
      elements.push(open)
    } else open.items.push(...drawLines(lines, 'Small'))
    if (!isShort(lines)) open = undefined
  }
  return elements
}

function framedLines(part: Exclude<CardPart, { kind: 'ours' }>): Piece[][] {
  return part.kind === 'preformatted' ? [[{ kind: 'code', text: part.text }]] : part.lines
}

function isShort(lines: readonly Piece[][]): boolean {
  const texts = lines.flat().map((piece) => ('text' in piece ? piece.text : ''))
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  return length <= SHORT_FRAME && !texts.some((text) => text.includes('\n'))
}

/** Creates a message. `text` is for notifications; clients that cannot draw this card version show it with the page's address. */
export function message(
  text: string,
  body: CardElement[],
  actions: Action[] = [],
  page?: string,
): TeamsMessage {
  const fallbackText = page === undefined ? text : `${text} See ${page}`
  const card = { type: 'AdaptiveCard', version: TEAMS_LIMITS.version, fallbackText, body } as const
  return { card: actions.length === 0 ? card : { ...card, actions }, text }
}

export function fits(drawn: TeamsMessage): boolean {
  return JSON.stringify(drawn).length <= CARD_BUDGET
}

/** Returns the text of notifications; clients that draw Markdown or HTML can make no link, tag or date of it (T41, T42). */
export function summaryText({ summary, asking }: Preview): string {
  if (asking === undefined) return summary
  const brackets: Record<string, string> = { '[': '(', ']': ')', '<': '‹', '>': '›', '&': '+' }
  const plain = unmarked(asking).replace(/[[\]<>&]/g, (bracket) => brackets[bracket] ?? '')
  return `${summary} ${plainText(plain)}`
}

export function openUrl(title: string, url: string, more: Partial<OpenUrlAction> = {}): OpenUrlAction {
  return { type: 'Action.OpenUrl', title, url, ...more }
}

/** Draws buttons within the card's body, rather than below the card. */
export function buttons(...actions: Action[]): ActionSet {
  return { type: 'ActionSet', spacing: 'Small', actions }
}

/** Creates a button that asks the bot. */
export function execute(title: string, verb: Verb, request_id: string): ExecuteAction {
  const fallback = { type: 'Action.Submit' as const, title, data: { verb, request_id } }
  return { type: 'Action.Execute', title, verb, data: { request_id }, fallback }
}
