import { bold, code, moment, ours, words } from '../../src/domain/card-parts.ts'
import { shortLine } from '../../src/domain/cut-text.ts'
import type { ChatAnswer } from '../../src/flow/chat/chat-answer.ts'
import { helpHeading, linkTimeLeft, linkWords, NOTICE_SIGNS } from '../../src/flow/chat/chat-answer.ts'
import { openUrl } from './actions.ts'
import { band, drawParts, heading, message, note } from './draw.ts'
import type { TeamsMessage } from './elements.ts'
import { renderPending } from './pending-card.ts'
import { renderVerdict } from './verdict-card.ts'

const PERSON_LENGTH = 200

/** Draws what we answer to a command; pure. A `link` is for the speaker's own conversation with the app alone. */
export function renderAnswer(answer: ChatAnswer, { now }: { now: Date }): TeamsMessage {
  switch (answer.kind) {
    case 'verdict':
      return renderVerdict(answer.view)
    case 'help':
      return renderHelp(answer)
    case 'link':
      return renderLink(answer, now)
    case 'pending':
      return renderPending(answer)
    case 'notice':
      return renderNotice(answer)
  }
}

function renderHelp(answer: ChatAnswer & { kind: 'help' }): TeamsMessage {
  const title = helpHeading(answer, 'Teams')
  const { unknown, linked_as, commands } = answer
  const who =
    linked_as === undefined
      ? [words('You are not linked yet: write '), code('link'), words(' here.')]
      : [bold('You are '), words(shortLine(linked_as, PERSON_LENGTH))]
  const lines = commands.map(({ usage, does }) => ours([code(usage), words(` · ${does}`)]))
  const body = [
    heading(unknown ? `❔ ${title}` : title),
    ...drawParts([ours(who), ...lines]),
    note('In a channel, mention the app before the command.', 'Default'),
    note('Nothing is decided in Teams: decisions are made on the approval page.'),
  ]
  return message(unknown ? `${title}. Write “help” to see what there is.` : title, body)
}

function renderLink(answer: ChatAnswer & { kind: 'link' }, now: Date): TeamsMessage {
  const { heading: title, does, button, advice } = linkWords(answer, 'Teams')
  const left = linkTimeLeft(answer, now)
  const body = [
    heading(title),
    ...drawParts([
      ours([words(does)]),
      ours([bold('Works once, for '), bold(left), words(' · until '), moment(answer.expires_at)]),
    ]),
    ...band('warning', [[bold(`⚠️ ${advice}`)]]),
  ]
  return message(`${title}: a link for you alone, for ${left}.`, body, [openUrl(button, answer.url)])
}

function renderNotice({ tone, heading: title, sentence }: ChatAnswer & { kind: 'notice' }): TeamsMessage {
  const body = [heading(`${NOTICE_SIGNS[tone]} ${title}`), ...drawParts([ours([words(sentence)])])]
  return message(`${title}. ${sentence}`, body)
}
