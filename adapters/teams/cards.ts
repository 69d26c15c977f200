import type { CardView, ConsentView, NoticeView, ReplyView } from '../../src/domain/card-view.ts'
import { type BoxSize, type CallerParts, callerParts, largestThatFits } from '../shared/caller-parts.ts'
import { bold, type CardDocument, moment } from '../shared/card-parts.ts'
import {
  cardHeading,
  cardNotification,
  cardTone,
  decisionLinks,
  type HeadParts,
  headParts,
  replyDocument,
} from '../shared/request-card.ts'
import { consentDocument, MOVED_HEADING, MOVED_SENTENCE, noticeDocument } from '../shared/small-cards.ts'
import {
  apartFromAbove,
  BRACES,
  band,
  drawLines,
  drawParts,
  drawsApart,
  execute,
  fits,
  heading,
  message,
  note,
  openUrl,
  summaryName,
  titled,
} from './draw.ts'
import { type Action, type CardElement, type OpenUrlAction, type TeamsMessage, VERBS } from './elements.ts'

type Shows = 'card' | 'details'

/** Fits whatever the text: even all quotation marks, which take twice their length in JSON. */
const SMALLEST: BoxSize = { characters: 600, rows: 4, findings: 1 }

/** The most that fits is taken. A first card leaves room for the rest of the conversation: `Details` shows more. */
const BOX_SIZES: Record<Shows, readonly [BoxSize, ...BoxSize[]]> = {
  card: [{ characters: 1000, rows: 8, findings: 3 }, { characters: 800, rows: 6, findings: 2 }, SMALLEST],
  details: [
    { characters: 6000, rows: 24, findings: 10 },
    { characters: 5000, rows: 16, findings: 8 },
    { characters: 4000, rows: 12, findings: 5 },
    { characters: 3000, rows: 9, findings: 3 },
    { characters: 2000, rows: 8, findings: 3 },
    { characters: 1000, rows: 6, findings: 2 },
    SMALLEST,
  ],
}

const CHAT = {
  name: 'Teams',
  invitation:
    'You were found by your e-mail address. Write “link” to this app to tell Countersign who you are in Teams.',
}

/**
 * Draws a card as Adaptive Card 1.5; pure, and never over the size that Teams takes. What does not fit is counted on the
 * card; `Details` shows more of it, and the approval page all.
 */
export function renderCard(view: CardView): TeamsMessage {
  return largestThatFits(BOX_SIZES.card, (size) => drawCard(view, 'card', size), fits)
}

/**
 * The answer to `Details`: the same card with as much of the context as a message holds. Nothing is decided by what it
 * shows either: what people sign stands on the approval page. Equals `renderCard` once there is no context to show.
 */
export function renderDetails(view: CardView): TeamsMessage {
  return view.status.kind === 'pending' && view.audience === 'approver'
    ? largestThatFits(BOX_SIZES.details, (size) => drawCard(view, 'details', size), fits)
    : renderCard(view)
}

/** An open request begins with what to mind when reading it, a closed one with what it was. */
function drawCard(view: CardView, shows: Shows, size: BoxSize): TeamsMessage {
  const head = headParts(view)
  if (shows === 'details') head.lines.push([bold('Asked: '), moment(view.created_at)])
  const caller = callerParts(view, size)
  const body =
    view.status.kind === 'pending'
      ? open(view, head, caller, notes(view, shows, caller))
      : closed(view, head, caller)
  const text = cardNotification(view, summaryName)
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
    ...(view.invite_to_link ? [CHAT.invitation] : []),
  ].filter((one) => one !== '')
}

const EXTENT: Record<Shows, { whole: string; cut: string }> = {
  card: { whole: '', cut: 'Details shows more of what the caller wrote.' },
  details: {
    whole: 'This is all that the caller wrote.',
    cut: 'More than this has no room in Teams; the approval page shows all.',
  },
}

function closed(view: CardView, head: HeadParts, caller: CallerParts): CardElement[] {
  return [
    titled(cardHeading(view), cardTone(view)),
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
  return [
    ...apartFromAbove(drawParts(parts)),
    ...(drawsApart(parts) ? [note(BRACES)] : []),
    ...(end === undefined ? [] : [note(end)]),
  ]
}

/**
 * Buttons below a card. `Approve…` and `Reject…` are links to the hosted page, where the decision is made; where there are
 * none of these, a link to look at it. `Details` shows more of the context here, so a channel has none. Once the request is
 * closed there is nothing to do but look.
 */
function cardActions(view: CardView, shows: Shows): Action[] {
  const { status, audience, links, request_id } = view
  if (status.kind !== 'pending') return [openUrl('Details on the approval page', links.details)]
  const [approve, reject] = decisionLinks(view)
  const page =
    approve === undefined || reject === undefined
      ? [openUrl('Open the approval page', links.details)]
      : [
          openUrl(approve.title, approve.url, {
            style: 'positive',
            tooltip: 'Approve: opens the approval page',
          }),
          openUrl(reject.title, reject.url, {
            style: 'destructive',
            tooltip: 'Reject: opens the approval page',
          }),
        ]
  const details = audience === 'approver' && shows === 'card'
  return [
    ...page,
    ...(details ? [execute('Details', VERBS.details, request_id)] : []),
    execute('Refresh', VERBS.refresh, request_id),
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

/**
 * Draws the card of an agent that asks for a key; pure, and far below the size that Teams takes. As long as there is
 * something to decide, a second button asks what is true now.
 */
export function renderConsent(view: ConsentView): TeamsMessage {
  const document = withBraces(consentDocument(view, CHAT))
  if (view.status.kind !== 'pending') return drawDocument(document)
  return drawDocument(document, { style: 'positive' }, [execute('Refresh', VERBS.refresh, view.request_id)])
}

/** Draws a change of a person's factors; pure. */
export function renderNotice(view: NoticeView): TeamsMessage {
  return drawDocument(noticeDocument(view))
}

/** What stays of a card in a chat that is not the approver's; pure. */
export function renderMoved(): TeamsMessage {
  return message(MOVED_HEADING, [heading(MOVED_HEADING), note(MOVED_SENTENCE)])
}

/**
 * Draws a message about a card: the decision with the receipt's id, or a reminder. Pure. Chats of Teams have no threads, so
 * it stands below whatever came last. Clients fill in dates in the action too, and the message says where braces are drawn apart.
 */
export function renderReply(view: ReplyView): TeamsMessage {
  return drawDocument(withBraces(replyDocument(view, { verify: 'verify', apart: true })))
}

function withBraces(document: CardDocument): CardDocument {
  return drawsApart(document.parts) ? { ...document, notes: [BRACES, ...document.notes] } : document
}

/** Draws what has no size to choose. */
export function drawDocument(
  { heading: title, tone, parts, link, notes, summary }: CardDocument,
  look: Partial<OpenUrlAction> = {},
  more: Action[] = [],
): TeamsMessage {
  const body = [
    ...(title === undefined ? [] : [titled(title, tone)]),
    ...drawParts(parts),
    ...notes.map((one) => note(one)),
  ]
  if (link === undefined) return message(summary, body, more)
  const tooltip = link.opens === undefined ? {} : { tooltip: `Opens ${link.opens}` }
  return message(summary, body, [openUrl(link.title, link.url, { ...look, ...tooltip }), ...more], link.url)
}
