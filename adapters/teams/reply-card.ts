import type { ReplyView } from '../../src/domain/card-view.ts'
import { replyParts } from '../../src/domain/reply-parts.ts'
import { openUrl } from './actions.ts'
import { drawParts, message } from './draw.ts'
import type { TeamsMessage } from './elements.ts'

/** Draws a message below a card: the decision with the receipt's id, or a reminder. Pure. */
export function renderReply(view: ReplyView): TeamsMessage {
  const { parts, link, text } = replyParts(view, 'verify')
  return message(text, drawParts(parts), [openUrl(link, view.details)], view.details)
}
