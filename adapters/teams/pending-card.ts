import { framed } from '../../src/domain/caller-parts.ts'
import { bold, italic, moment, ours, words } from '../../src/domain/card-parts.ts'
import { more, shortLine } from '../../src/domain/cut-text.ts'
import type { ChatAnswer, PendingRow } from '../../src/flow/chat/chat-answer.ts'
import { pendingHeading, waitingAgents } from '../../src/flow/chat/chat-answer.ts'
import { openUrl } from './actions.ts'
import { drawParts, fits, heading, message } from './draw.ts'
import type { CardElement, TeamsMessage } from './elements.ts'
import { TEAMS_LIMITS } from './limits.ts'

const NAME_LENGTH = 100

/** Characters of each action: the most that fits is taken; rows are left out only when even the least does not. */
const ACTION_LENGTHS = [300, 150, 80] as const
const LEAST = 80

/** Draws what waits for the reader; pure, within the size Teams takes. What is left out is counted. */
export function renderPending(answer: ChatAnswer & { kind: 'pending' }): TeamsMessage {
  const { rows, more: further, open } = answer
  const title = pendingHeading(answer)
  const agents = waitingAgents(answer)
  const all = openUrl('All that waits for you', open)
  const agentsLine = agents === undefined ? [] : drawParts([ours([words(`🔑 ${agents}.`)])])
  if (rows.length === 0) {
    if (further === 0 && agents === undefined) return message(title, [heading(`✅ ${title}`)])
    const [sign, lines] = further === 0 ? ['🔑', []] : ['⏳', agentsLine]
    return message(title, [heading(`${sign} ${title}`), ...lines], [all], open)
  }
  const draw = (count: number, length: number) =>
    message(
      title,
      [
        heading(`⏳ ${title}`),
        ...rows.slice(0, count).flatMap((row, index) => drawRow(row, index, length)),
        ...agentsLine,
        ...drawParts(leftOut(rows.length - count + further)),
      ],
      [all],
      open,
    )
  let count = Math.min(rows.length, TEAMS_LIMITS.pendingRows)
  const length = ACTION_LENGTHS.find((one) => fits(draw(count, one))) ?? LEAST
  while (count > 1 && !fits(draw(count, length))) count -= 1
  return draw(count, length)
}

/** Our words and the key's name above the frame, what the caller wrote within it. */
function drawRow(row: PendingRow, index: number, length: number): CardElement[] {
  const [first, ...rest] = drawParts([
    ours(
      [bold(`${index + 1}. `), words('Open until: '), moment(row.expires_at)],
      ...(row.high_impact ? [[bold('⚠️ High impact')]] : []),
      [bold('API key: '), words(shortLine(row.requested_by, NAME_LENGTH) || 'no name')],
      [bold('Requested action'), italic(' · written by the caller')],
    ),
    ...framed(row.action, length),
  ])
  const link = openUrl(`Open request ${index + 1}`, row.url)
  return [
    ...(first?.type === 'RichTextBlock'
      ? [{ ...first, spacing: 'Medium' as const, separator: true as const }]
      : []),
    ...rest,
    { type: 'ActionSet', spacing: 'Small', actions: [link] },
  ]
}

function leftOut(count: number) {
  return count === 0 ? [] : [ours([italic(`${more(count, 'request', 'requests')}, not shown here.`)])]
}
