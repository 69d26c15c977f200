import fc from 'fast-check'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { decidedRequest, sampleRequest, sampleVote } from './card-samples.ts'
import { SLACK_INJECTIONS, SPOOF_CASES, TEAMS_INJECTIONS } from './spoof-cases.ts'

const KNOWN = [
  'reason',
  'agent_name',
  'agent_purpose',
  'tool',
  'tool_arguments',
  'tool_arguments_fingerprint',
  'risk_arg_findings',
  'source',
]

/** Any text that can be stored, and not the pleasant ones only. */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  const nasty = fc.constantFrom(
    ...SPOOF_CASES.map(({ text }) => text.toWellFormed()),
    ...SLACK_INJECTIONS,
    ...TEAMS_INJECTIONS,
  )
  const flood = fc
    .tuple(
      fc.constantFrom('\n', '"', '\\', '\u202e', '\u2800 ', 'א', '😀', '\u200d', 'e\u0301'),
      fc.nat(maxLength),
    )
    .map(([unit, count]) => unit.repeat(count))
  return fc
    .oneof(fc.string({ unit: 'grapheme', maxLength }), fc.string({ unit: 'binary', maxLength }), nasty, flood)
    .map((text) => [...text].slice(0, maxLength).join(''))
}

const finding = fc.record(
  {
    detector: anyText(300),
    severity: fc.oneof(fc.constantFrom('critical', 'high', 'low'), anyText(80)),
    snippet: anyText(3000),
  },
  { requiredKeys: [] },
)

const value: fc.Arbitrary<unknown> = fc.oneof(
  anyText(3000),
  fc.jsonValue({ maxDepth: 6 }),
  fc.dictionary(anyText(60), anyText(200), { maxKeys: 40 }),
  fc.array(fc.integer(), { maxLength: 400 }),
  fc.array(finding, { maxLength: 30 }),
)

/** Any context, named keys among it. It may be a good deal larger than the 16 KiB that are let in. */
export const anyContext: fc.Arbitrary<Record<string, unknown>> = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...KNOWN), anyText(120)), value), { maxLength: 60 })
  .map((entries) => {
    const context: Record<string, unknown> = {}
    for (const [key, one] of entries) {
      Object.defineProperty(context, key, { value: one, enumerable: true, configurable: true })
    }
    return context
  })

const anyName = fc.oneof(fc.constant('ops-agent-prod'), anyText(80))

/** Any request in any state, asked for by anybody. */
export const anyRequest: fc.Arbitrary<ApprovalRequest> = fc
  .record({
    context: anyContext,
    action: anyText(500),
    key_name: anyName,
    account_name: anyName,
    comment: fc.option(anyText(1000)),
    state: fc.constantFrom('pending', 'partly', 'approved', 'rejected', 'expired', 'withdrawn'),
    high_impact: fc.boolean(),
    sandbox: fc.boolean(),
  })
  .map(({ context, action, key_name, account_name, comment, state, high_impact, sandbox }) => {
    const vote = sampleVote({ decision: state === 'rejected' ? 'rejected' : 'approved', comment })
    const sample = state === 'approved' || state === 'rejected' ? decidedRequest(vote) : sampleRequest({}, {})
    return {
      ...sample,
      ...(state === 'partly' ? { votes: [vote], requirement: { ...sample.requirement, quorum: 2 } } : {}),
      ...(state === 'expired' || state === 'withdrawn' ? { status: 'expired' as const } : {}),
      ...(state === 'withdrawn' ? { cancelled: true as const } : {}),
      action,
      context_json: canonicalize(context),
      requested_by: { key_name, account_name },
      high_impact,
      sandbox,
    }
  })
