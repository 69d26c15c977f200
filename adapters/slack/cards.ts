import type { types } from '@slack/bolt'
import type {
  BatchView,
  CardView,
  ConsentView,
  GreetingView,
  NoticeView,
  ReplyView,
} from '../../src/domain/card-view.ts'
import { BATCH_SIZES, batchDocument, batchReplyDocument, summaryOf } from '../shared/batch-card.ts'
import { type BoxSize, callerParts, largestThatFits } from '../shared/caller-parts.ts'
import { type CardDocument, type CardLink, ours } from '../shared/card-parts.ts'
import {
  cardHeading,
  cardPreview,
  cardSummary,
  closedLink,
  decisionLinks,
  headParts,
  replyDocument,
} from '../shared/request-card.ts'
import { consentDocument, greetingDocument, movedWords, noticeDocument } from '../shared/small-cards.ts'
import { fits } from './limits.ts'
import {
  drawParts,
  escapeMrkdwn,
  fallbackText,
  header,
  link,
  note,
  type Part,
  plain,
  richText,
  type SlackMessage,
  section,
} from './rich-text.ts'

/** Action ids of link buttons. Slack reports their clicks as well: the receiver acknowledges them and decides nothing (T46). */
export const ACTION_IDS = {
  approve: 'countersign_approve',
  reject: 'countersign_reject',
  details: 'countersign_details',
} as const

export const ACTIONS_BLOCK_ID = 'countersign_actions'

/** The largest size that fits is used: escaping lengthens some texts more than others, and a row costs more than its text. */
const BOX_SIZES: readonly [BoxSize, ...BoxSize[]] = [
  { characters: 6000, rows: 20, findings: 8 },
  { characters: 5000, rows: 14, findings: 6 },
  { characters: 4500, rows: 9, findings: 3 },
  { characters: 3000, rows: 9, findings: 3 },
  { characters: 2000, rows: 8, findings: 3 },
  { characters: 1000, rows: 6, findings: 2 },
]

const CHAT = {
  name: 'Slack',
  invitation:
    'You were found by your e-mail address. Type /countersign link to tell Countersign who you are in this workspace.',
}

/**
 * Draws a card as Slack blocks; pure, and never over a limit of Slack's. The card counts the text that does not fit; the
 * approval page shows it. The sender sets `unfurl_links: false` and `unfurl_media: false`.
 */
export function renderCard(view: CardView): SlackMessage {
  const blocks = largestThatFits(BOX_SIZES, (size) => cardBlocks(view, size), fits)
  return { blocks, text: fallbackText(cardPreview(view)) }
}

/**
 * Draws the action, who requests it and until when, then the buttons, all on a phone's screen; the context follows. The
 * caller's text stands below a line of ours that names its author; another line of ours ends the last frame (T44).
 */
function cardBlocks(view: CardView, size: BoxSize): types.KnownBlock[] {
  const { badges, lines, warnings, precedents, comment } = headParts(view)
  const { action, details, end } = callerParts(view, size)
  const open = view.status.kind === 'pending'
  return [
    header(cardHeading(view)),
    richText(drawParts(open && badges.length > 0 ? [ours(...badges), ...action] : action)),
    richText(drawParts([...precedents, ours(...(open ? [] : badges), ...warnings, ...lines), ...comment])),
    ...(open ? [actionButtons(view)] : []),
    ...(details.length > 0 ? [richText(drawParts(details))] : []),
    ...(end === undefined ? [] : [note(end)]),
    ...(open ? openEnd(view) : closedEnd(view)),
  ]
}

function openEnd(view: CardView): types.KnownBlock[] {
  return [
    note(`Nothing is decided in Slack: buttons open the page. ${view.request_id}`),
    ...(view.invite_to_link ? [note(CHAT.invitation)] : []),
  ]
}

function closedEnd(view: CardView): types.KnownBlock[] {
  const page = closedLink(view)
  const line = page === undefined ? [] : [richText([section([link(page.title, page.url)])])]
  return [...line, note(view.request_id)]
}

/** Draws the links to the hosted page as buttons: a click in Slack decides nothing. `Details` is always present. */
function actionButtons(view: CardView): types.ActionsBlock {
  const { details: url } = view.links
  return actions(
    ...decisions(decisionLinks(view)),
    linkButton(ACTION_IDS.details, { title: 'Details', url, opens: 'the approval page' }),
  )
}

function decisions([approve, reject]: readonly CardLink[]): types.Button[] {
  return [
    ...(approve === undefined ? [] : [linkButton(ACTION_IDS.approve, approve, 'primary')]),
    ...(reject === undefined ? [] : [linkButton(ACTION_IDS.reject, reject, 'danger')]),
  ]
}

function actions(...elements: types.Button[]): types.ActionsBlock {
  return { type: 'actions', block_id: ACTIONS_BLOCK_ID, elements }
}

function linkButton(
  action_id: string,
  { title, url, opens }: Pick<CardLink, 'title' | 'url' | 'opens'>,
  style?: 'primary' | 'danger',
): types.Button {
  return {
    type: 'button',
    action_id,
    text: plain(title),
    url,
    accessibility_label: `${title.replace('…', '')}: opens ${opens}`,
    ...(style === undefined ? {} : { style }),
  }
}

/** Draws the card of several requests; pure, and never over a limit of Slack's. It counts what does not fit. */
export function renderBatch(view: BatchView): SlackMessage {
  return largestThatFits(
    BATCH_SIZES,
    (size) => drawDocument(batchDocument(view, size, CHAT)),
    ({ blocks }) => fits(blocks),
  )
}

/** Returns the text to post when Slack refuses the blocks, as `plainCard` does. */
export function plainBatch(view: BatchView): string {
  return [summaryOf(view), linked(view.links.details, 'Open the inbox'), view.request_id].join(' ')
}

/** Draws the card of an agent that asks for a key; pure, and always within Slack's limits: a name has 60 characters. */
export function renderConsent(view: ConsentView): SlackMessage {
  return drawDocument(consentDocument(view, CHAT))
}

/** Draws the notice that a person's factors changed; pure, and always within Slack's limits. */
export function renderNotice(view: NoticeView): SlackMessage {
  return drawDocument(noticeDocument(view))
}

/** Draws the first message in a channel; pure. */
export function renderGreeting(view: GreetingView): SlackMessage {
  return drawDocument(greetingDocument(view))
}

/** Draws the message that replaces a card in a chat that is no longer the approver's, or a duplicate of a card; pure. */
export function renderMoved(view: { twice?: true } = {}): SlackMessage {
  const { heading, sentence } = movedWords(view)
  return drawDocument({
    heading,
    parts: [ours([{ kind: 'words', text: sentence }])],
    notes: [],
    preview: { summary: `${heading}. ${sentence}` },
  })
}

const REPLY_PLACE = { verify: '/verify', apart: false }

/** Draws a reply in the thread under a card: the decision with the receipt's id, or a reminder. Pure. */
export function renderReply(view: ReplyView): SlackMessage {
  return drawDocument(replyOf(view))
}

function replyOf(view: ReplyView): CardDocument {
  return view.kind === 'batch' ? batchReplyDocument(view, false) : replyDocument(view, REPLY_PLACE)
}

/** Draws a document that has only one size. `below`: lines of ours that only Slack shows, above the link. */
export function drawDocument(
  { heading, parts, choices = [], below: rest = [], link: opened, notes, preview }: CardDocument,
  below: Part[] = [],
): SlackMessage {
  const line = opened === undefined ? [] : [section([link(opened.title, opened.url)])]
  return {
    blocks: [
      ...(heading === undefined ? [] : [header(heading)]),
      richText([...drawParts(parts), ...below, ...(opened?.shown === 'line' ? line : [])]),
      ...(opened?.shown === 'button'
        ? [
            actions(
              ...decisions(choices),
              linkButton(ACTION_IDS.details, opened, choices.length > 0 ? undefined : 'primary'),
            ),
          ]
        : []),
      ...(rest.length > 0 ? [richText(drawParts(rest))] : []),
      ...(opened?.shown === 'below' ? [richText(line)] : []),
      ...notes.map(note),
    ],
    text: fallbackText(preview),
  }
}

/**
 * Returns the text to post when Slack refuses the blocks: our own words and the link, so that approvers do not wait for a
 * card that never comes. It contains nothing that the caller wrote.
 */
export function plainCard(view: CardView): string {
  const page = view.status.kind === 'pending' ? view.links.details : closedLink(view)?.url
  const way = page === undefined ? [] : [linked(page, 'Open the approval page')]
  return [cardSummary(view), ...way, view.request_id].join(' ')
}

/** Returns the same for an agent that asks for a key. */
export function plainConsent(view: ConsentView): string {
  const { preview } = consentDocument(view, CHAT)
  return `${preview.summary} ${linked(view.links.details, 'Open the consent page')} ${view.request_id}`
}

/** Returns the same for a change of a person's factors. */
export function plainNotice(view: NoticeView): string {
  const { preview, link: opened } = noticeDocument(view)
  return `${preview.summary} ${linked(opened.url, opened.title)}`
}

/** Returns the same for a reply under a card. */
export function plainReply(view: ReplyView): string {
  const { preview, link: opened } = replyOf(view)
  const receipt = view.kind === 'decided' ? ` Receipt ${view.status.decision_id}` : ''
  return `${preview.summary}${receipt}${opened === undefined ? '' : ` ${linked(opened.url, opened.title)}`}`
}

function linked(url: string, title: string): string {
  return `<${escapeMrkdwn(url)}|${title}>`
}
