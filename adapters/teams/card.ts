import { type BoxSize, type CallerParts, callerParts } from '../../src/domain/caller-parts.ts'
import { bold, moment } from '../../src/domain/card-parts.ts'
import type { CardStatus, CardView } from '../../src/domain/card-view.ts'
import { cardHeading, cardSummary, STATUS_SIGNS } from '../../src/domain/card-words.ts'
import { type HeadParts, headParts } from '../../src/domain/head-parts.ts'
import { cardActions } from './actions.ts'
import {
  BRACES,
  band,
  drawLines,
  drawParts,
  drawsApart,
  fits,
  type Ground,
  heading,
  message,
  note,
  summaryName,
  titled,
} from './draw.ts'
import type { CardElement, TeamsMessage } from './elements.ts'

type Shows = 'card' | 'details'

/** The most that fits is taken. A first card leaves room for the rest of the conversation: `Details` shows more. */
const BOX_SIZES: Record<Shows, readonly BoxSize[]> = {
  card: [
    { characters: 1000, rows: 8, findings: 3 },
    { characters: 800, rows: 6, findings: 2 },
  ],
  details: [
    { characters: 6000, rows: 24, findings: 10 },
    { characters: 5000, rows: 16, findings: 8 },
    { characters: 4000, rows: 12, findings: 5 },
    { characters: 3000, rows: 9, findings: 3 },
    { characters: 2000, rows: 8, findings: 3 },
    { characters: 1000, rows: 6, findings: 2 },
  ],
}

/** Fits whatever the text: even all quotation marks, which take twice their length in JSON. */
const SMALLEST: BoxSize = { characters: 600, rows: 4, findings: 1 }

/**
 * Draws a card as Adaptive Card 1.5; pure, and never over the size that Teams takes. What does not fit is counted on the
 * card; `Details` shows more of it, and the approval page all.
 */
export function renderCard(view: CardView): TeamsMessage {
  return biggest(view, 'card')
}

/**
 * The answer to `Details`: the same card with as much of the context as a message holds. Nothing is decided by what it
 * shows either: what people sign stands on the approval page. Equals `renderCard` once there is no context to show.
 */
export function renderDetails(view: CardView): TeamsMessage {
  return view.status.kind === 'pending' && view.audience === 'approver'
    ? biggest(view, 'details')
    : renderCard(view)
}

function biggest(view: CardView, shows: Shows): TeamsMessage {
  let card = drawCard(view, shows, SMALLEST)
  for (const size of BOX_SIZES[shows]) {
    const larger = drawCard(view, shows, size)
    if (!fits(larger)) continue
    card = larger
    break
  }
  return card
}

const INVITATION =
  'You were found by your e-mail address. Write “link” to this app to tell Countersign who you are in Teams.'

/** An open request begins with what to mind when reading it, a closed one with what it was. */
function drawCard(view: CardView, shows: Shows, size: BoxSize): TeamsMessage {
  const head = headParts(view)
  if (shows === 'details') head.lines.push([bold('Asked: '), moment(view.created_at)])
  const caller = callerParts(view, size)
  const body =
    view.status.kind === 'pending'
      ? open(view, head, caller, notes(view, shows, caller))
      : closed(view, head, caller)
  const key = summaryName(view.requested_by.key_name)
  const account = summaryName(view.requested_by.account_name)
  const text = `${cardSummary(view)} API key: ${key} · Account: ${account}`
  return message(text, body, cardActions(view, shows), view.links.details)
}

function open(view: CardView, head: HeadParts, caller: CallerParts, notes: string[]): CardElement[] {
  return [
    heading(cardHeading(view)),
    ...band(view.high_impact ? 'attention' : 'accent', head.badges),
    ...drawLines(head.lines, 'Small'),
    ...band('warning', head.warnings),
    ...callerBox(caller),
    ...notes.map((one) => note(one)),
  ]
}

function notes(view: CardView, shows: Shows, caller: CallerParts): string[] {
  const whole = ![...caller.action, ...caller.details].some((part) => part.kind === 'ours' && part.omits)
  return [
    ...(view.audience === 'approver' ? [EXTENT[shows][whole ? 'whole' : 'cut']] : []),
    `Nothing is decided in Teams: the buttons open the approval page. ${view.request_id}`,
    ...(view.invite_to_link ? [INVITATION] : []),
  ].filter((one) => one !== '')
}

const EXTENT: Record<Shows, { whole: string; cut: string }> = {
  card: { whole: '', cut: 'Details shows more of what the caller wrote.' },
  details: {
    whole: 'This is all that the caller wrote.',
    cut: 'More than this has no room in Teams; the approval page shows all.',
  },
}

const RESULT_GROUNDS: Partial<Record<CardStatus['kind'], Ground>> = {
  approved: 'good',
  rejected: 'attention',
}

function closed(view: CardView, head: HeadParts, caller: CallerParts): CardElement[] {
  const title = `${STATUS_SIGNS[view.status.kind]} ${cardHeading(view)}`
  return [
    titled(title, RESULT_GROUNDS[view.status.kind]),
    ...callerBox(caller),
    ...drawLines([...head.badges, ...head.lines], 'Small'),
    ...drawParts(head.comment),
    ...(drawsApart(head.comment) ? [note(BRACES)] : []),
    ...band('warning', head.warnings),
    note(view.request_id),
  ]
}

/** Everything the caller wrote, between two lines of ours (T44). */
function callerBox({ action, details, end }: CallerParts): CardElement[] {
  const parts = [...action, ...details]
  const [first, ...rest] = drawParts(parts)
  return [
    ...(first?.type === 'RichTextBlock'
      ? [{ ...first, spacing: 'Medium' as const, separator: true as const }]
      : []),
    ...rest,
    ...(drawsApart(parts) ? [note(BRACES)] : []),
    ...(end === undefined ? [] : [note(end)]),
  ]
}

/** Characters of the action that surely fit. */
const ACTION = 500

/** The same card for a message that was refused for its size: says what it leaves out, and where that stands. */
export function smallView(view: CardView): CardView {
  const letters = [...view.action]
  const cut = letters.length - ACTION
  const left = {
    label: 'Context',
    known: true,
    text: 'Too large for Teams; it is on the approval page.',
    code: false,
  }
  return {
    ...view,
    action:
      cut > 0 ? `${letters.slice(0, ACTION).join('')} … ${cut} more characters, not shown here` : view.action,
    rows: view.rows.length === 0 && view.findings.length === 0 ? [] : [left],
    findings: [],
  }
}
