import { MOVED_HEADING, MOVED_SENTENCE } from '../../src/domain/moved-view.ts'
import { message, note, titled } from './draw.ts'
import type { TeamsMessage } from './elements.ts'

/** What stays of a card in a chat that is not the approver's; pure. */
export function renderMoved(): TeamsMessage {
  return message(MOVED_HEADING, [titled(MOVED_HEADING, undefined), note(MOVED_SENTENCE)], [])
}
