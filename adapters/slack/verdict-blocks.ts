import type { VerdictView } from '../../src/flow/chat/verdict.ts'
import { PUBLIC_CHECK, verdictHeading, verdictLines, verdictSummary } from '../../src/flow/chat/verdict.ts'
import {
  bold,
  drawLines,
  header,
  type Inline,
  link,
  richText,
  type SlackMessage,
  section,
} from './rich-text.ts'

/** Draws the answer to `/verify`; pure. `sharedBy`: the Slack user id of whoever shows it to a channel. */
export function renderVerdict(
  view: VerdictView,
  { sharedBy }: { sharedBy?: string | undefined } = {},
): SlackMessage {
  const lines: Inline[][] = [
    ...drawLines(verdictLines(view)),
    ...(sharedBy === undefined ? [] : [[bold('Shown by: '), { type: 'user' as const, user_id: sharedBy }]]),
    ...(view.facts === undefined ? [] : [[link(PUBLIC_CHECK, view.facts.public_check)]]),
  ]
  return { blocks: [header(verdictHeading(view)), richText([section(...lines)])], text: verdictSummary(view) }
}
