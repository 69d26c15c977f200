import type { ReplyView } from '../../src/domain/card-view.ts'
import { replyParts } from '../../src/domain/reply-parts.ts'
import { drawParts, link, richText, type SlackMessage, section } from './rich-text.ts'

/** Draws a line for the thread under a card: the decision with the receipt's id, or a reminder. Pure. */
export function renderReply(view: ReplyView): SlackMessage {
  const reply = replyParts(view, { verify: '/verify', apart: false })
  const blocks = [richText([...drawParts(reply.parts), section([link(reply.link, view.details)])])]
  return { blocks, text: reply.text }
}
