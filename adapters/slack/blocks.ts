import type { types } from '@slack/bolt'
import { type BoxSize, callerParts } from '../../src/domain/caller-parts.ts'
import type { CardView } from '../../src/domain/card-view.ts'
import { cardHeading, cardSummary, STATUS_SIGNS } from '../../src/domain/card-words.ts'
import { actionButtons } from './action-buttons.ts'
import { cardHead } from './card-head.ts'
import { fallbackName } from './escape.ts'
import { MESSAGE_BUDGET } from './limits.ts'
import { drawParts, header, link, note, richText, type SlackMessage, section } from './rich-text.ts'

/** The most that fits is taken: escaping makes some texts longer than others, and every row costs besides its text. */
const BOX_SIZES: readonly BoxSize[] = [
  { characters: 6000, rows: 20, findings: 8 },
  { characters: 5000, rows: 14, findings: 6 },
  { characters: 4500, rows: 9, findings: 3 },
  { characters: 3000, rows: 9, findings: 3 },
  { characters: 2000, rows: 8, findings: 3 },
  { characters: 1000, rows: 6, findings: 2 },
]

/**
 * Draws a card as Slack blocks; pure, and never over a limit of Slack's. What does not fit is counted on the card and is
 * on the approval page. The sender sets `unfurl_links: false` and `unfurl_media: false`.
 */
export function renderCard(view: CardView): SlackMessage {
  let blocks: types.KnownBlock[] = []
  for (const size of BOX_SIZES) {
    blocks = cardBlocks(view, size)
    if (fits(blocks)) break
  }
  return { blocks, text: fallbackText(view) }
}

const INVITATION =
  'You were found by your e-mail address. Type /countersign link to tell Countersign who you are in this workspace.'

/** An open request begins with what to mind when reading it, a closed one with what it was. */
function cardBlocks(view: CardView, size: BoxSize): types.KnownBlock[] {
  const heading = cardHeading(view)
  const box = callerBox(view, size)
  if (view.status.kind === 'pending') {
    return [
      header(heading),
      cardHead(view),
      { type: 'divider' },
      ...box,
      ...actionButtons(view),
      note(`Nothing is decided in Slack: the buttons open the approval page. ${view.request_id}`),
      ...(view.invite_to_link ? [note(INVITATION)] : []),
    ]
  }
  return [
    header(`${STATUS_SIGNS[view.status.kind]} ${heading}`),
    ...box,
    cardHead(view),
    richText([section([link('Details on the approval page', view.links.details)])]),
    note(view.request_id),
  ]
}

/** Everything the caller wrote, between a line of ours that names its author and one that ends it (T44). */
function callerBox(view: CardView, size: BoxSize): types.KnownBlock[] {
  const { action, details, end } = callerParts(view, size)
  return [
    richText(drawParts(action)),
    ...(details.length > 0 ? [richText(drawParts(details))] : []),
    ...(end === undefined ? [] : [note(end)]),
  ]
}

/** Is it within what Slack takes in one message, all blocks together? */
export function fits(blocks: types.KnownBlock[]): boolean {
  return JSON.stringify(blocks).length <= MESSAGE_BUDGET.json && textLength(blocks) <= MESSAGE_BUDGET.text
}

/** Characters of every `text` and `fallback` in the blocks. */
function textLength(value: object): number {
  return Object.entries(value).reduce((sum, [name, inner]: [string, unknown]) => {
    if (typeof inner === 'object' && inner !== null) return sum + textLength(inner)
    return typeof inner === 'string' && (name === 'text' || name === 'fallback') ? sum + inner.length : sum
  }, 0)
}

/** What notifications and screen readers say first: our words and who asks, nothing that the caller wrote (T41). */
function fallbackText(view: CardView): string {
  const key = fallbackName(view.requested_by.key_name)
  const account = fallbackName(view.requested_by.account_name)
  return `${cardSummary(view)} API key: ${key} · Account: ${account}`
}
