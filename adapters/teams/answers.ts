import type { ChatAnswer, PendingRow } from '../../src/flow/chat/chat-answer.ts'
import type { VerdictView } from '../../src/flow/chat/verdict.ts'
import {
  fitPending,
  helpHeading,
  helpSpeaker,
  leftOutWords,
  linkWords,
  noticeAnswer,
  pendingHeading,
  pendingRow,
  verdictDocument,
  waitingAgents,
} from '../shared/answers.ts'
import { bold, code, italic, moment, ours, words } from '../shared/card-parts.ts'
import { drawDocument, withBraces } from './cards.ts'
import { apartFromAbove, band, buttons, drawParts, fits, heading, message, note, openUrl } from './draw.ts'
import type { CardElement, TeamsMessage } from './elements.ts'
import { TEAMS_LIMITS } from './limits.ts'

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
      return drawDocument(noticeAnswer(answer))
  }
}

/** Draws the answer to `verify`; pure. */
export function renderVerdict(view: VerdictView): TeamsMessage {
  return drawDocument(withBraces(verdictDocument(view)))
}

function renderHelp(answer: ChatAnswer & { kind: 'help' }): TeamsMessage {
  const title = helpHeading(answer, 'Teams')
  const { unknown, commands } = answer
  const who = helpSpeaker(answer) ?? [words('You are not linked yet: write '), code('link'), words(' here.')]
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
  const { heading: title, lines, button, advice, summary } = linkWords(answer, 'Teams', now)
  const body = [
    heading(title),
    ...drawParts(lines.map((line) => ours(line))),
    ...band('warning', [[bold(`⚠️ ${advice}`)]]),
  ]
  return message(summary, body, [openUrl(button, answer.url)])
}

/** What waits for the reader, within the size Teams takes. What is left out is counted. */
function renderPending(answer: ChatAnswer & { kind: 'pending' }): TeamsMessage {
  const { rows, more, open } = answer
  const title = pendingHeading(answer)
  const agents = waitingAgents(answer)
  const all = openUrl('All that waits for you', open)
  const agentsLine = agents === undefined ? [] : drawParts([ours([words(`🔑 ${agents}.`)])])
  if (rows.length === 0) {
    if (more === 0 && agents === undefined) return message(title, [heading(`✅ ${title}`)])
    const [sign, lines] = more === 0 ? ['🔑', []] : ['⏳', agentsLine]
    return message(title, [heading(`${sign} ${title}`), ...lines], [all], open)
  }
  const draw = (count: number, length: number) => {
    const body = [
      heading(`⏳ ${title}`),
      ...rows.slice(0, count).flatMap((row, index) => drawRow(row, index, length)),
      ...agentsLine,
      ...drawParts(leftOut(rows.length - count + more)),
    ]
    return message(title, body, [all], open)
  }
  return fitPending(Math.min(rows.length, TEAMS_LIMITS.pendingRows), draw, fits)
}

function drawRow(row: PendingRow, index: number, length: number): CardElement[] {
  const { lines, action } = pendingRow(row, length)
  const first = [words(`Request ${index + 1} · open until: `), moment(row.expires_at)]
  const link = openUrl(`Open request ${index + 1}`, row.url)
  return [...apartFromAbove(drawParts([ours(first, ...lines), ...action])), buttons(link)]
}

function leftOut(count: number) {
  return count === 0 ? [] : [ours([italic(leftOutWords(count))])]
}
