import type { types } from '@slack/bolt'
import type { ChatAnswer, PendingRow } from '../../src/flow/chat/chat-answer.ts'
import type { VerdictView } from '../../src/flow/chat/verdict.ts'
import type { DecidedRow, HomeView } from '../../src/flow/chat/view-home.ts'
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
import { framed } from '../shared/caller-parts.ts'
import { drawDocument } from './cards.ts'
import { fits } from './limits.ts'
import {
  bold,
  code,
  drawLines,
  drawParts,
  header,
  type Inline,
  italic,
  link,
  moment,
  note,
  type Part,
  plain,
  richText,
  type SlackMessage,
  section,
  words,
} from './rich-text.ts'

/** The action id of a one-time link's button; Slack reports the click, which changes nothing. */
export const OPEN_LINK_ID = 'countersign_open_link'

/** Draws the answer to a command; pure. `sharedBy`: the Slack user id of the person who shows a verdict to a channel. */
export function renderAnswer(
  answer: ChatAnswer,
  { now, sharedBy }: { now: Date; sharedBy?: string | undefined },
): SlackMessage {
  switch (answer.kind) {
    case 'verdict':
      return renderVerdict(answer.view, { sharedBy })
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

/** Draws the answer to `/verify`; pure. */
export function renderVerdict(
  view: VerdictView,
  { sharedBy }: { sharedBy?: string | undefined } = {},
): SlackMessage {
  const by: Part[] =
    sharedBy === undefined ? [] : [section([bold('Shown by: '), { type: 'user', user_id: sharedBy }])]
  return drawDocument(verdictDocument(view), by)
}

function renderHelp(answer: ChatAnswer & { kind: 'help' }): SlackMessage {
  const { unknown, commands } = answer
  const heading = helpHeading(answer, 'Slack')
  const speaker = helpSpeaker(answer)
  const [who = []] =
    speaker === undefined
      ? [[words('You are not linked yet: type '), code('/countersign link'), words('.')]]
      : drawLines([speaker])
  const lines = commands.map(({ usage, does }): Inline[] => [
    code(usage.startsWith('verify') ? `/${usage}` : `/countersign ${usage}`),
    words(` ${does}`),
  ])
  return {
    blocks: [
      header(unknown ? `❔ ${heading}` : heading),
      richText([section(who), section(...lines)]),
      note('Nothing is decided in Slack: decisions are made on the approval page.'),
    ],
    text: unknown ? `${heading}. /countersign help lists the commands.` : heading,
  }
}

function renderLink(answer: ChatAnswer & { kind: 'link' }, now: Date): SlackMessage {
  const { heading, lines, button, advice, summary } = linkWords(answer, 'Slack', now)
  const open: types.Button = {
    type: 'button',
    action_id: OPEN_LINK_ID,
    text: plain(button),
    url: answer.url,
    style: 'primary',
  }
  return {
    blocks: [
      header(heading),
      richText([section(...drawLines(lines), [bold(`⚠️ ${advice}`)])]),
      { type: 'actions', elements: [open] },
    ],
    text: summary,
  }
}

/** Draws the requests that wait for the reader, within Slack's limits. Requests left out are counted. */
function renderPending(answer: ChatAnswer & { kind: 'pending' }): SlackMessage {
  const { rows, more, open } = answer
  const heading = pendingHeading(answer)
  const agents = waitingAgents(answer)
  if (rows.length === 0) {
    const blocks = agents === undefined ? [header(`✅ ${heading}`)] : onlyAgents(heading, open)
    return { blocks, text: heading }
  }
  const draw = (count: number, length: number): types.KnownBlock[] => [
    header(`⏳ ${heading}`),
    richText([
      ...rows.slice(0, count).flatMap((row, index) => rowParts(row, index, length)),
      ...(agents === undefined ? [] : [section([words(`🔑 ${agents}. `), link('Your inbox', open)])]),
      ...tail(rows.length - count + more, open),
    ]),
  ]
  return { blocks: fitPending(rows.length, draw, fits), text: heading }
}

function rowParts(row: PendingRow, index: number, length: number): Part[] {
  const { lines, action } = pendingRow(row, length)
  const first = [
    bold(`${index + 1}. `),
    link('Open the approval page', row.url),
    words(' · expires at '),
    moment(row.expires_at),
  ]
  return [section(first, ...drawLines(lines)), ...drawParts(action)]
}

function onlyAgents(heading: string, open: string): types.KnownBlock[] {
  return [header(`🔑 ${heading}`), richText([section([words('Review in '), link('your inbox', open)])])]
}

function tail(left: number, open: string): Part[] {
  const said = left === 0 ? [] : [italic(`${leftOutWords(left)} `)]
  return [section([...said, link('All pending requests', open)])]
}

const DECIDED_LENGTH = 150

/**
 * Draws the app's home; pure. Parts of it are answers to commands, each within the limits of a message, which are
 * below the limits of a view. Nothing is decided there (T46).
 */
export function renderHome({ pending, decided, help }: HomeView): types.HomeView {
  const rule = { type: 'divider' } as const
  return {
    type: 'home',
    blocks: [
      ...(pending === undefined ? [] : [...renderPending(pending).blocks, rule]),
      ...(decided.length === 0
        ? []
        : [header('Last decisions'), richText(decided.flatMap(decidedParts)), rule]),
      ...renderHelp(help).blocks,
    ],
  }
}

function decidedParts({ decision, at, action, url }: DecidedRow): Part[] {
  const word = decision === 'approved' ? '✅ Approved' : '❌ Rejected'
  const line = [bold(word), words(' · '), moment(at), words(' · '), link('Open the approval page', url)]
  return [section(line), ...drawParts(framed(action, DECIDED_LENGTH))]
}
