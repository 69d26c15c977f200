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
 * Clients replace `{{DATE(…)}}` and `{{TIME(…)}}` also in text runs, and template engines `${…}`: in everything but our own
 * moments such braces are drawn apart (T42).
 */
function plainText(text: string): string {
  // Clients that draw HTML make one blank of many, and none at the beginning of a line.
  return text.replace(DOUBLED, '$& ').replace(/(?<=[ \n]) /g, '\u00a0')
}

/** Whether some braces of these parts are drawn apart: then the card says so. */
export function drawsApart(parts: readonly CardPart[]): boolean {
  const texts = parts.flatMap((part) =>
    part.kind === 'preformatted'
      ? [part.text]
      : part.lines.flat().map((piece) => ('text' in piece ? piece.text : '')),
  )
  return texts.some((text) => text.search(DOUBLED) >= 0)
}

/** Said where `drawsApart`. */
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

/** In the reader's zone, which only the client knows. Whole seconds only. */
function momentText(at: Date): string {
  const second = `${at.toISOString().slice(0, 19)}Z`
  return `{{TIME(${second})}} · {{DATE(${second},SHORT)}}`
}

/**
 * A line is a block of its own, so that no client can run two together. Clients promise to fill in moments in text blocks
 * alone; Markdown is drawn there, and a line with a moment holds nothing but constant words of ours.
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

/** Our own words as the heading. */
export function heading(text: string): TextBlock {
  return { type: 'TextBlock', text, wrap: true, size: 'Large', weight: 'Bolder', style: 'heading' }
}

/** Our own words, small. */
export function note(text: string, spacing: Spacing = 'Small'): RichTextBlock {
  return {
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, size: 'Small', isSubtle: true }],
    spacing,
  }
}

/** Grounds for our own words; the frame of the caller's has its own. */
type Ground = Exclude<Container['style'], 'emphasis'>

/** Our own statements on a ground that stands out; the words say everything that the colour says. */
export function band(style: Ground, lines: readonly Piece[][]): Container[] {
  if (lines.length === 0) return []
  return [{ type: 'Container', style, spacing: 'Small', items: drawLines(lines, 'None') }]
}

/** The heading, on a ground where it tells a result or with lines that are not to be missed. */
export function titled(text: string, style: Ground | undefined, lines: readonly Piece[][] = []): CardElement {
  const title = heading(text)
  if (style === undefined) return title
  return { type: 'Container', style, spacing: 'None', items: [title, ...drawLines(lines, 'None')] }
}

const FOLD_ID = 'countersign_details'

/** Elements that are not seen before `UNFOLD` is pressed; clients that cannot fold show them. */
export function fold(items: CardElement[]): Fold {
  return { type: 'Container', id: FOLD_ID, isVisible: false, spacing: 'Small', items }
}

/** Shows and hides what is folded up; nothing is asked for it. */
export const UNFOLD: Action = {
  type: 'Action.ToggleVisibility',
  title: 'Details',
  targetElements: [FOLD_ID],
}

/** The first line a little below what stands above, with a rule between. */
export function apartFromAbove([first, ...rest]: CardElement[]): CardElement[] {
  if (first?.type !== 'RichTextBlock' && first?.type !== 'TextBlock') return rest
  return [{ ...first, spacing: 'Medium', separator: true }, ...rest]
}

/** Where a frame ends: what is longer, or has lines of its own, might pass for the rows below it. */
const SHORT_FRAME = 160

/**
 * The parts of a card in Teams' terms. The frame is a container of the style `emphasis`, which nothing of ours is in: its
 * ground differs and its text is set in, so that no line of a caller's begins where ours do (T44).
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

/** `text` is for notifications; clients that know no card of this version show it too, with where to go instead. */
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

/** No link, tag or date can be made of it, whatever the client makes of Markdown and HTML there (T41, T42). */
export function summaryText({ summary, asking }: Preview): string {
  if (asking === undefined) return summary
  const brackets: Record<string, string> = { '[': '(', ']': ')', '<': '‹', '>': '›', '&': '+' }
  const plain = unmarked(asking).replace(/[[\]<>&]/g, (bracket) => brackets[bracket] ?? '')
  return `${summary} ${plainText(plain)}`
}

export function openUrl(title: string, url: string, more: Partial<OpenUrlAction> = {}): OpenUrlAction {
  return { type: 'Action.OpenUrl', title, url, ...more }
}

/** Buttons where they belong, rather than below the card. */
export function buttons(...actions: Action[]): ActionSet {
  return { type: 'ActionSet', spacing: 'Small', actions }
}

/** A button that asks the bot. */
export function execute(title: string, verb: Verb, request_id: string): ExecuteAction {
  const fallback = { type: 'Action.Submit' as const, title, data: { verb, request_id } }
  return { type: 'Action.Execute', title, verb, data: { request_id }, fallback }
}
