import { z } from 'zod'
import { REJECT_REASONS } from '../../domain/account.ts'
import { differences } from '../../domain/differences.ts'
import type { Precedents } from '../../domain/precedents.ts'
import { type ApprovalRequest, contextOf } from '../../domain/request.ts'
import type { Similar } from '../../domain/views.ts'
import {
  type Answer,
  actionField,
  approverField,
  idField,
  methodField,
  namesField,
  outcomeField,
  present,
  statusField,
  timeField,
} from './shared/fields.ts'

const similarDecision = z.strictObject({
  method: methodField,
  approver: approverField,
  decided_at: timeField,
})

const difference = z.strictObject({
  field: z.string(),
  before: z.string().optional().meta({ description: 'Absent: it had no such field.' }),
  now: z.string().optional().meta({ description: 'Absent: this request has no such field.' }),
})

const similarRequest = z.strictObject({
  id: idField('req'),
  status: statusField,
  cancelled: z.literal(true).optional(),
  action: actionField,
  created_at: timeField,
  decision: similarDecision.optional(),
  differs: z
    .array(difference)
    .meta({ description: 'The differences of this request: the first 10 fields of action and context.' }),
  more: z.int().min(0).meta({ description: 'Further fields that differ.' }),
})

const departure = z.strictObject({
  field: z
    .string()
    .meta({ description: 'Its path, in the words of the caller.', example: 'tool_arguments.amount' }),
  how: z.enum(['times', 'changed', 'missing', 'added']),
  times: z.number().optional().meta({ description: 'With `times`: so many times the usual number.' }),
  usual: z.number().optional().meta({ description: 'With `times`: the median of those approved.' }),
})

const precedentsAnswer = z
  .strictObject({
    by: z
      .enum(['tool', 'fields'])
      .meta({ description: 'They name the same tool or, naming none, have the same fields.' }),
    own: z.boolean().meta({
      description: 'Counts only requests that name this person or have a vote of theirs.',
    }),
    approved: z.int(),
    rejected: z.int(),
    at_least: z.boolean(),
    last: z.strictObject({ decision: outcomeField, decided_at: timeField }).optional(),
    departures: z.array(departure).meta({
      description: 'How this request differs from those approved, the gravest first; 20 at most.',
    }),
    more: z.int().meta({ description: 'Further fields that differ.' }),
  })
  .meta({
    id: 'Precedents',
    description:
      'What people decided about the last 50 requests of this key and kind. Absent: nothing is known. Without `last`: this is the first of its tool.',
  })

export const similarAnswer = z
  .strictObject({
    precedents: precedentsAnswer.optional(),
    data: z.array(similarRequest),
    reject_reasons: z.array(z.string()).meta({ description: 'The account’s, to choose from.' }),
    names: namesField,
  })
  .meta({ id: 'SimilarRequests' })

const MOST_DIFFERENCES = 10

/** Presents earlier requests, each with the fields in which this request differs. */
export function presentSimilar(
  { request, earlier, precedents, account }: Similar,
  names: Record<string, string>,
): Answer<typeof similarAnswer> {
  const said = (one: ApprovalRequest) => ({ action: one.action, ...contextOf(one) })
  const data = earlier.map((one) => {
    const differs = differences(said(one), said(request))
    return present(similarRequest, one, {
      decision: one.decision && present(similarDecision, one.decision, {}),
      differs: differs.slice(0, MOST_DIFFERENCES),
      more: Math.max(0, differs.length - MOST_DIFFERENCES),
    })
  })
  const reject_reasons = [...(account?.reject_reasons ?? REJECT_REASONS)]
  return { precedents: precedents && presentPrecedents(precedents), data, reject_reasons, names }
}

const MOST_DEPARTURES = 20

function presentPrecedents(precedents: Precedents): Answer<typeof precedentsAnswer> {
  const { likeness, last, departures } = precedents
  return present(precedentsAnswer, precedents, {
    by: likeness.by,
    last: last && { decision: last.decision, decided_at: last.decided_at.toISOString() },
    departures: departures.slice(0, MOST_DEPARTURES),
    more: Math.max(0, departures.length - MOST_DEPARTURES),
  })
}
