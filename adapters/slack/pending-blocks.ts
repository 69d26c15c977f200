import type { types } from '@slack/bolt'
import { framed } from '../../src/domain/caller-parts.ts'
import { more, shortLine } from '../../src/domain/cut-text.ts'
import type { ChatAnswer, PendingRow } from '../../src/flow/chat/chat-answer.ts'
import { pendingHeading, waitingAgents } from '../../src/flow/chat/chat-answer.ts'
import { fits } from './blocks.ts'
import {
  bold,
  drawParts,
  header,
  italic,
  link,
  moment,
  type Part,
  richText,
  type SlackMessage,
  section,
  words,
} from './rich-text.ts'

const NAME_LENGTH = 100

/** Characters of each action: the most that fits is taken; rows are left out only when even the least does not. */
const ACTION_LENGTHS = [300, 150, 80] as const
const LEAST = 80

/** Draws what waits for the reader; pure, within Slack's limits. What is left out is counted. */
export function renderPending(answer: ChatAnswer & { kind: 'pending' }): SlackMessage {
  const { rows, more: further, open } = answer
  const heading = pendingHeading(answer)
  const agents = waitingAgents(answer)
  if (rows.length === 0) {
    const blocks = agents === undefined ? [header(`✅ ${heading}`)] : onlyAgents(heading, open)
    return { blocks, text: heading }
  }
  const total = rows.length + further
  const draw = (shown: readonly PendingRow[], length: number): types.KnownBlock[] => [
    header(`⏳ ${heading}`),
    richText([
      ...shown.flatMap((row, index) => rowParts(row, index, length)),
      ...(agents === undefined ? [] : [section([words(`🔑 ${agents}. `), link('Your inbox', open)])]),
      ...tail(total - shown.length, open),
    ]),
  ]
  for (const length of ACTION_LENGTHS) {
    const blocks = draw(rows, length)
    if (fits(blocks)) return { blocks, text: heading }
  }
  let count = rows.length - 1
  while (count > 1 && !fits(draw(rows.slice(0, count), LEAST))) count -= 1
  return { blocks: draw(rows.slice(0, count), LEAST), text: heading }
}

/** Our words and the key's name above the frame, what the caller wrote within it. */
function rowParts(row: PendingRow, index: number, length: number): Part[] {
  return [
    section(
      [
        bold(`${index + 1}. `),
        link('Open the approval page', row.url),
        words(' · open until '),
        moment(row.expires_at),
      ],
      ...(row.high_impact ? [[bold('⚠️ High impact')]] : []),
      [bold('API key: '), words(shortLine(row.requested_by, NAME_LENGTH) || 'no name')],
      [bold('Requested action'), italic(' · written by the caller')],
    ),
    ...drawParts(framed(row.action, length)),
  ]
}

function onlyAgents(heading: string, open: string): types.KnownBlock[] {
  return [
    header(`🔑 ${heading}`),
    richText([section([words('Look and decide in '), link('your inbox', open)])]),
  ]
}

function tail(left: number, open: string): Part[] {
  const said = left === 0 ? [] : [italic(`${more(left, 'request', 'requests')}, not shown here. `)]
  return [section([...said, link('All that waits for you', open)])]
}
