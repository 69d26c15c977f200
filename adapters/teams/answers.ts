import { setTimeout as wait } from 'node:timers/promises'
import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import {
  type ChatAnswer,
  type ChatSpeaker,
  done,
  type PendingRow,
  problem,
} from '../../src/flow/chat/chat-answer.ts'
import type { VerdictView } from '../../src/flow/chat/verdict.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatOutcome } from '../../src/ports/ports.ts'
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
import type { BotAddress, BotCalls, BotCommand, BotMessage, SentMessage } from './bot-port.ts'
import { drawDocument, withBraces } from './cards.ts'
import type { Conversations } from './conversations.ts'
import { apartFromAbove, band, buttons, drawParts, fits, heading, message, note, openUrl } from './draw.ts'
import type { CardElement, TeamsMessage } from './elements.ts'
import { TEAMS_LIMITS } from './limits.ts'

/** Draws the answer to a command; pure. A `link` may go only to the speaker's own conversation with the app. */
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

/** Draws the requests that wait for the reader, within the size that Teams accepts. Requests left out are counted. */
function renderPending(answer: ChatAnswer & { kind: 'pending' }): TeamsMessage {
  const { rows, more, open } = answer
  const title = pendingHeading(answer)
  const agents = waitingAgents(answer)
  const all = openUrl('All pending requests', open)
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
  const first = [words(`Request ${index + 1} · expires at: `), moment(row.expires_at)]
  const link = openUrl(`Open request ${index + 1}`, row.url)
  return [...apartFromAbove(drawParts([ours(first, ...lines), ...action])), buttons(link)]
}

function leftOut(count: number) {
  return count === 0 ? [] : [ours([italic(leftOutWords(count))])]
}

export interface AnsweringParts {
  deps: FlowDeps
  calls: BotCalls
  conversations: Conversations
  tenant: string
  /** The tenant's name, or its id if no name is set. */
  organisation: string
}

/**
 * Answers a command where it was given. Where others can read it, only verdicts and help are shown; an answer about the
 * speaker goes to the speaker's own conversation with the app, and a line here says so: Teams has no answer that only one
 * member of a channel sees.
 */
export async function answerMessage(parts: AnsweringParts, command: BotCommand): Promise<void> {
  const speaker = await speakerOf(parts, command)
  if (speaker === undefined) return
  const { deps, calls, conversations } = parts
  const tell = (answer: ChatAnswer) =>
    say(calls, deps.log, command.conversation, renderAnswer(answer, { now: deps.clock.now() }))
  const answer = await answerCommand(deps, speaker, command.text).catch((error: unknown) => {
    deps.log.error({ error }, 'answering a command in Teams failed')
    return NOTICES.wentWrong
  })
  if (command.conversation.kind === 'person') {
    await tell(answer)
    return
  }
  if (answer.kind === 'verdict' || answer.kind === 'help' || answer === NOTICES.wentWrong) {
    await tell(forEverybody(answer))
    return
  }
  const own = await conversations.ofPerson(speaker.identity.user)
  const sent = await say(calls, deps.log, own, renderAnswer(answer, { now: deps.clock.now() }))
  await tell(sent.ok ? NOTICES.sentToYou : NOTICES.cannotReachYou)
}

/** Removes who the speaker is in Countersign, which is shown to the speaker alone. */
function forEverybody(answer: ChatAnswer): ChatAnswer {
  if (answer.kind !== 'help') return answer
  const { linked_as: _, ...help } = answer
  return help
}

/** Reads the speaker as Teams names them; only a link made by the signed-in person says who they are here (T37). */
async function speakerOf(
  { conversations, tenant, organisation }: AnsweringParts,
  { user, user_name, channel, channel_name }: BotCommand,
): Promise<ChatSpeaker | undefined> {
  if (user === undefined) return undefined
  const identity = { platform: 'teams', tenant, user } as const
  const shown_as = { person: user_name ?? user, workspace: organisation }
  if (channel === undefined) return { identity, shown_as }
  const name = channel_name ?? (await conversations.nameOf(channel)) ?? channel
  return {
    identity,
    shown_as: { ...shown_as, channel: name },
    channel: { platform: 'teams', tenant, channel },
  }
}

/** Few tries, because a person waits for the answer. */
const MOST_TRIES = 3
const LONGEST_WAIT_S = 10

/**
 * Sends an answer to a person who asked. Answers are in no outbox. Only an answer refused for its rate is retried, a little
 * later, because no other failure says that nothing was posted.
 */
export async function say(
  calls: Pick<BotCalls, 'post'>,
  log: FlowDeps['log'],
  to: BotAddress,
  message: BotMessage,
): Promise<ChatOutcome<SentMessage>> {
  for (let tries = 1; ; tries += 1) {
    const said = await calls.post(to, message)
    if (said.ok) return said
    const { outcome, code, retry_after = 1 } = said
    if (outcome === 'rate_limited' && tries < MOST_TRIES && retry_after <= LONGEST_WAIT_S) {
      await wait(retry_after * 1000)
      continue
    }
    log.warn({ outcome, reason: code }, 'sending an answer in Teams failed')
    return said
  }
}

/** Notices from the receiver itself. All their words are ours. */
export const NOTICES = {
  sentToYou: done(
    'Sent to you alone',
    'The answer is in your own chat with this app: it is not for everyone here.',
  ),
  cannotReachYou: problem(
    'The answer is for you alone',
    'This app cannot write to you. Add it for yourself in Teams, then ask it there.',
  ),
  wentWrong: problem(
    'Something went wrong on our side',
    'Countersign could not answer; nothing was decided or approved. Try again in a moment.',
  ),
} as const
