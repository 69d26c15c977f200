import type { CardView } from '../../src/domain/card-view.ts'
import type { Precedents } from '../../src/domain/precedents.ts'
import { viewCard } from '../../src/flow/tell/view-card.ts'
import { sampleRequest, TO_ANA } from './card-samples.ts'
import { SLACK_INJECTIONS, SPOOF_CASES, TEAMS_INJECTIONS } from './spoof-cases.ts'

/** Every text that tries to be more than a text, on whatever platform. */
export const HOSTILE = [
  ...SPOOF_CASES.map(({ text }) => text),
  'Move EUR \u05d0 4711 → 0815',
  ...SLACK_INJECTIONS,
  ...TEAMS_INJECTIONS,
].map((text) => ({ text }))

/** A card on which this text is everything that a caller can choose. */
export function hostileView(text: string): CardView {
  const context = {
    reason: text,
    tool: `${text}\n${text}`,
    tool_arguments: { [text]: [text] },
    [`key ${text}`]: text,
  }
  const findings = [{ severity: text, detector: text, snippet: text }]
  const context_json = JSON.stringify({ ...context, risk_arg_findings: findings })
  const precedents: Precedents = {
    ...{
      likeness: { by: 'tool', tool: text },
      own: false,
      approved: 0,
      rejected: 0,
      at_least: false,
      last: undefined,
    },
    departures: [{ field: text, how: 'added' }],
  }
  return viewCard(sampleRequest({ action: text, context_json }), { ...TO_ANA, precedents })
}
