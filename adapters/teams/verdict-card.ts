import type { VerdictView } from '../../src/flow/chat/verdict.ts'
import { PUBLIC_CHECK, verdictHeading, verdictLines, verdictSummary } from '../../src/flow/chat/verdict.ts'
import { openUrl } from './actions.ts'
import { drawLines, type Ground, message, titled } from './draw.ts'
import type { TeamsMessage } from './elements.ts'

const GROUNDS: Partial<Record<VerdictView['kind'], Ground>> = {
  approved: 'good',
  rejected: 'attention',
  invalid: 'attention',
  sandbox: 'warning',
}

/** Draws the answer to `verify`; pure. Holds nothing that a caller wrote, so a whole channel may see it. */
export function renderVerdict(view: VerdictView): TeamsMessage {
  const check = view.facts?.public_check
  const body = [titled(verdictHeading(view), GROUNDS[view.kind]), ...drawLines(verdictLines(view), 'Small')]
  const actions = check === undefined ? [] : [openUrl(PUBLIC_CHECK, check)]
  return message(verdictSummary(view), body, actions, check)
}
