import type {
  BatchView,
  CardView,
  ConsentView,
  GreetingView,
  NoticeView,
  ReplyView,
} from '../../src/domain/card-view.ts'
import { BATCH_SIZES, batchDocument, batchReplyDocument } from '../shared/batch-card.ts'
import {
  type BoxSize,
  type CallerParts,
  callerParts,
  contextWords,
  largestThatFits,
} from '../shared/caller-parts.ts'
import { bold, type CardDocument, type CardLink, moment, ours, type Piece } from '../shared/card-parts.ts'
import {
  cardHeading,
  cardPreview,
  cardTone,
  closedLink,
  decisionLinks,
  type HeadParts,
  headParts,
  replyDocument,
} from '../shared/request-card.ts'
import { consentDocument, greetingDocument, movedWords, noticeDocument } from '../shared/small-cards.ts'
import {
  apartFromAbove,
  BRACES,
  band,
  buttons,
  drawLines,
  drawParts,
  drawsApart,
  execute,
  fits,
  fold,
  heading,
  message,
  note,
  openUrl,
  summaryText,
  titled,
  UNFOLD,
} from './draw.ts'
import { type Action, type CardElement, type OpenUrlAction, type TeamsMessage, VERBS } from './elements.ts'

type Shows = 'card' | 'details'

/** Fits whatever the text is, even if it is all quotation marks, which take twice their length in JSON. */
const SMALLEST: BoxSize = { characters: 600, rows: 4, findings: 1 }

/** The largest size that fits is used. A first card leaves room for the rest of the conversation; `Details` shows more. */
const BOX_SIZES: Record<Shows, readonly [BoxSize, ...BoxSize[]]> = {
  card: [{ characters: 930, rows: 7, findings: 3 }, { characters: 800, rows: 6, findings: 2 }, SMALLEST],
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
 * Draws a card as Adaptive Card 1.5; pure, and never over the size that Teams accepts. The card counts the text that does not
 * fit; `Details` shows more of it, and the approval page shows all.
 */
export function renderCard(view: CardView): TeamsMessage {
  return largestThatFits(BOX_SIZES.card, (size) => drawCard(view, 'card', size), fits)
}

/**
 * Draws the answer to `Details`: the same card with as much of the context as a message holds. It decides nothing either:
 * people sign what the approval page shows. Equals `renderCard` once there is no context to show.
 */
export function renderDetails(view: CardView): TeamsMessage {
  return view.status.kind === 'pending' && view.audience === 'approver'
    ? largestThatFits(BOX_SIZES.details, (size) => drawCard(view, 'details', size), fits)
    : renderCard(view)
}

function drawCard(view: CardView, shows: Shows, size: BoxSize): TeamsMessage {
  const { details: page } = view.links
  const text = summaryText(cardPreview(view))
  const head = headParts(view)
  const caller = callerParts(view, size)
  if (view.status.kind !== 'pending') {
    const link = closedLink(view)
    const ways = link === undefined ? [] : [openUrl(link.title, link.url)]
    return message(text, closed(view, head, caller), ways, link?.url)
  }
  const refresh = execute('Refresh', VERBS.refresh, view.request_id)
  const folded = shows === 'card' && caller.details.length > 0
  return message(text, open(view, head, caller, shows), folded ? [UNFOLD, refresh] : [refresh], page)
}

/**
 * Draws the action, who asks and the buttons that lead to the decision, all on a phone's screen; the rest is folded up below
 * them until the reader opens it.
 */
function open(view: CardView, head: HeadParts, caller: CallerParts, shows: Shows): CardElement[] {
  const { action, details } = caller
  const rest = contextBox(view, caller, shows)
  const folded = shows === 'card' && details.length > 0
  const lines = shows === 'details' ? [[bold('Requested: '), moment(view.created_at)]] : foldedWords(view)
  return [
    titled(cardHeading(view), head.badges.length === 0 ? undefined : impactGround(view), head.badges),
    ...drawParts(action),
    ...drawParts(head.precedents),
    ...band('warning', head.warnings),
    ...drawLines([...head.lines, ...lines], 'Small'),
    buttons(...pageActions(view)),
    ...(folded ? [fold(rest)] : rest),
    ...(drawsApart([...action, ...details]) ? [note(BRACES)] : []),
    note(`Nothing is decided in Teams: the buttons open the approval page. ${view.request_id}`),
    ...(view.invite_to_link ? [note(CHAT.invitation)] : []),
  ]
}

function impactGround({ high_impact }: CardView): 'attention' | 'accent' {
  return high_impact ? 'attention' : 'accent'
}

/** Says in our words what is folded up. */
function foldedWords(view: CardView): Piece[][] {
  const words = contextWords(view)
  return words === undefined ? [] : [[bold('Details: '), { kind: 'words', text: words }]]
}

/** Draws the caller's text besides the action, and says whether it is complete. */
function contextBox(view: CardView, { action, details, end }: CallerParts, shows: Shows): CardElement[] {
  const cut = [...action, ...details].some((part) => part.kind === 'ours' && part.omits)
  const more = execute('More details', VERBS.details, view.request_id)
  // A person found by e-mail address alone is shown no more than the card.
  const asks = cut && shows === 'card' && view.audience === 'approver' && !view.invite_to_link
  const all = cut
    ? 'The approval page shows all that the caller wrote.'
    : 'This is all that the caller wrote.'
  return [
    ...apartFromAbove(drawParts(details)),
    ...(end === undefined ? [] : [note(end)]),
    ...(cut || shows === 'details' ? [note(all)] : []),
    ...(asks ? [buttons(more)] : []),
  ]
}

function closed(view: CardView, head: HeadParts, { action }: CallerParts): CardElement[] {
  return [
    titled(cardHeading(view), cardTone(view)),
    ...drawParts(action),
    ...drawLines([...head.badges, ...head.lines], 'Small'),
    ...drawParts(head.comment),
    ...(drawsApart([...action, ...head.comment]) ? [note(BRACES)] : []),
    ...band('warning', head.warnings),
    note(view.request_id),
  ]
}

/** Draws links to the hosted page, where the decision is made; without a decision to make, a link to view the request. */
function pageActions(view: CardView): OpenUrlAction[] {
  const choices = decisions(decisionLinks(view))
  return choices.length > 0 ? choices : [openUrl('Open the approval page', view.links.details)]
}

function decisions([approve, reject]: readonly CardLink[]): OpenUrlAction[] {
  if (approve === undefined || reject === undefined) return []
  return [
    openUrl(approve.title, approve.url, { style: 'positive', tooltip: `Approve: opens ${approve.opens}` }),
    openUrl(reject.title, reject.url, { style: 'destructive', tooltip: `Reject: opens ${reject.opens}` }),
  ]
}

/** Characters of the action that are certain to fit. */
const ACTION = 500

/** Shrinks a card that Teams refused for its size: says what is left out, and where to read it. */
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
 * Draws the card of an agent that asks for a key; pure, and far below the size that Teams accepts. While the request is
 * pending, a second button refreshes the card.
 */
export function renderConsent(view: ConsentView): TeamsMessage {
  const document = withBraces(consentDocument(view, CHAT))
  if (view.status.kind !== 'pending') return drawDocument(document)
  return drawDocument(document, { style: 'positive' }, [execute('Refresh', VERBS.refresh, view.request_id)])
}

/** Draws the card of several requests; pure, and never over the size that Teams accepts. It counts what does not fit. */
export function renderBatch(view: BatchView, sizes = BATCH_SIZES): TeamsMessage {
  const refresh = execute('Refresh', VERBS.refresh, view.request_id)
  const more = view.status.kind === 'pending' ? [refresh] : []
  return largestThatFits(
    sizes,
    (size) => drawDocument(withBraces(batchDocument(view, size, CHAT)), {}, more),
    fits,
  )
}

/** Draws it as small as possible, for a client whose limit is lower than ours. */
export function renderSmallBatch(view: BatchView): TeamsMessage {
  return renderBatch(view, [BATCH_SIZES.at(-1) ?? BATCH_SIZES[0]])
}

/** Draws the notice that a person's factors changed; pure. */
export const renderNotice = (view: NoticeView): TeamsMessage => drawDocument(noticeDocument(view))

/** Draws a link to a page, for clients that cannot show more in place; pure. */
export function renderWay(url: string): TeamsMessage {
  const summary = 'Your version of Teams cannot show more here.'
  return drawDocument({
    parts: [ours([{ kind: 'words', text: summary }])],
    link: { title: 'Open the page', url, opens: 'the page that shows all', shown: 'button' },
    notes: [],
    preview: { summary },
  })
}

/** Draws the first message in a channel; pure. */
export function renderGreeting(view: GreetingView): TeamsMessage {
  return drawDocument(withBraces(greetingDocument(view)))
}

/** Draws the message that replaces a card in a chat that is no longer the approver's, or a duplicate of a card; pure. */
export function renderMoved(view: { twice?: true } = {}): TeamsMessage {
  const { heading: title, sentence } = movedWords(view)
  return message(title, [heading(title), note(sentence)])
}

/**
 * Draws a message about a card: the decision with the receipt's id, or a reminder. Pure. Chats in Teams have no threads, so the
 * message stands below the latest one. Clients would fill in dates even in the action; where braces are drawn apart, it says so.
 */
export function renderReply(view: ReplyView): TeamsMessage {
  const document =
    view.kind === 'batch'
      ? batchReplyDocument(view, true)
      : replyDocument(view, { verify: 'verify', apart: true })
  return drawDocument(withBraces(document))
}

/** Adds a note to the document where braces are drawn apart. */
export function withBraces(document: CardDocument): CardDocument {
  return drawsApart([...document.parts, ...(document.below ?? [])])
    ? { ...document, notes: [BRACES, ...document.notes] }
    : document
}

/** Draws a document that has only one size. */
export function drawDocument(
  { heading: title, tone, parts, choices = [], below = [], link, notes, preview }: CardDocument,
  look: Partial<OpenUrlAction> = {},
  more: Action[] = [],
): TeamsMessage {
  const body = [
    ...(title === undefined ? [] : [titled(title, tone)]),
    ...drawParts(parts),
    ...(choices.length > 0 ? [buttons(...decisions(choices))] : []),
    ...drawParts(below),
    ...notes.map((one) => note(one)),
  ]
  const text = summaryText(preview)
  if (link === undefined) return message(text, body, more)
  const tooltip = link.opens === undefined ? {} : { tooltip: `Opens ${link.opens}` }
  return message(text, body, [openUrl(link.title, link.url, { ...look, ...tooltip }), ...more], link.url)
}
