import type { ReplyView } from '../../src/domain/card-view.ts'
import { replyParts } from '../../src/domain/reply-parts.ts'
import { openUrl } from './actions.ts'
import { BRACES, drawParts, drawsApart, message, note } from './draw.ts'
import type { TeamsMessage } from './elements.ts'

/**
 * Draws a message about a card: the decision with the receipt's id, or a reminder. Pure. Chats of Teams have no threads, so
 * it stands below whatever came last. Clients fill in dates in the action too, and the message says where braces are drawn apart.
 */
export function renderReply(view: ReplyView): TeamsMessage {
  const { parts, link, text } = replyParts(view, { verify: 'verify', apart: true })
  return message(
    text,
    [...drawParts(parts), ...(drawsApart(parts) ? [note(BRACES)] : [])],
    [openUrl(link, view.details)],
    view.details,
  )
}
