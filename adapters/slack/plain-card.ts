import type { CardView, ReplyView } from '../../src/domain/card-view.ts'
import { cardSummary } from '../../src/domain/card-words.ts'
import { escapeMrkdwn } from './escape.ts'
import { renderReply } from './reply-blocks.ts'

/**
 * What is posted when Slack refuses the blocks: a line of our own words and the link, so that nobody waits for a card that
 * never comes. Nothing the caller wrote is in it.
 */
export function plainCard(view: CardView): string {
  return `${cardSummary(view)} ${linked(view.links.details)} ${view.request_id}`
}

/** The same for a line under a card. */
export function plainReply(view: ReplyView): string {
  return `${renderReply(view).text} ${linked(view.details)}`
}

function linked(url: string): string {
  return `<${escapeMrkdwn(url)}|Open the approval page>`
}
