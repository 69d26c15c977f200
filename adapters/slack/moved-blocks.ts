import { MOVED_HEADING, MOVED_SENTENCE } from '../../src/domain/moved-view.ts'
import { header, richText, type SlackMessage, section, words } from './rich-text.ts'

/** What stays of a card in a chat that is not the approver's; pure. */
export function renderMoved(): SlackMessage {
  return {
    blocks: [header(MOVED_HEADING), richText([section([words(MOVED_SENTENCE)])])],
    text: `${MOVED_HEADING}. ${MOVED_SENTENCE}`,
  }
}
