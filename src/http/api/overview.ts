import { z } from 'zod'
import { attentionOf, ENDINGS, MOST_DAYS, QUICK_SECONDS } from '../../domain/overview.ts'
import type { Overview } from '../../domain/views.ts'
import { type Answer, idField, timeField } from './shared/fields.ts'
import { accountParameter, wholeNumber } from './shared/input.ts'
import { operations } from './shared/operation.ts'

export const overviewQuery = z.object({
  account: accountParameter,
  days: wholeNumber(1, MOST_DAYS).default(30).meta({ description: 'Today and the days before, in UTC.' }),
})

const number = z.int().min(0)

const endings = z
  .strictObject({ approved: number, rejected: number, expired: number, withdrawn: number, pending: number })
  .meta({
    id: 'Endings',
    description: 'Live requests by how they ended; withdrawn ones are apart from expired.',
  })

const seconds = z.number().min(0)

const approverFigures = z.strictObject({
  id: idField('usr'),
  name: z.string().optional().meta({ description: 'Missing: no longer in the account.' }),
  approved: number,
  rejected: number,
  median_look: seconds.optional().meta({
    description: 'Median seconds from the first sight of a request to the vote.',
  }),
  looks: number.meta({ description: 'Votes of which that time is known.' }),
  quick: number.meta({ description: `Of these, votes within ${QUICK_SECONDS} seconds.` }),
  notes: z.array(z.enum(['quick', 'never_rejects'])).meta({
    description:
      '`quick`: a quarter of 10 or more votes or more came that soon. `never_rejects`: not once in 50 votes or more.',
  }),
})

export const overviewAnswer = z
  .strictObject({
    days: z.array(z.strictObject({ day: z.iso.date(), ...endings.shape })).meta({
      description: 'By the day on which the requests were made, oldest first.',
    }),
    total: endings,
    seconds_to_decide: z
      .strictObject({ median: seconds, p90: seconds })
      .optional()
      .meta({ description: 'From request to decision.' }),
    oldest_pending: z.strictObject({ id: idField('req'), created_at: timeField }).optional(),
    keys: z
      .array(z.strictObject({ id: idField('key'), name: z.string().optional(), ...endings.shape }))
      .meta({ description: 'The busiest first.' }),
    approvers: z.array(approverFigures).meta({ description: 'The busiest first.' }),
    reasons: z
      .array(z.strictObject({ reason: z.string(), times: number }))
      .meta({ description: 'Reasons chosen for rejections, the most frequent first.' }),
    dead_letters: number.max(100).meta({ description: 'Callbacks and events given up; counted up to 100.' }),
    chats_in_trouble: number,
  })
  .meta({ id: 'Overview' })

/** Presents the figures of an account. */
export function presentOverview(overview: Overview): Answer<typeof overviewAnswer> {
  const { days, total, waits, oldest, names, account, deadLetters } = overview
  const name = (id: string) => (names.has(id) ? { name: names.get(id) } : {})
  return {
    days: days.map(({ day, endings }) => ({ day, ...endings })),
    total: total.endings,
    ...(waits === undefined ? {} : { seconds_to_decide: waits }),
    ...(oldest === undefined
      ? {}
      : { oldest_pending: { id: oldest.id, created_at: oldest.created_at.toISOString() } }),
    keys: [...total.keys]
      .map(([id, endings]) => ({ id, ...name(id), ...endings }))
      .sort((a, b) => sum(b) - sum(a)),
    approvers: [...total.people]
      .map(([id, votes]) => ({
        ...{ id, ...name(id), approved: votes.approved, rejected: votes.rejected, looks: votes.looks.length },
        ...attentionOf(votes),
      }))
      .sort((a, b) => b.approved + b.rejected - a.approved - a.rejected),
    reasons: [...total.reasons]
      .map(([reason, times]) => ({ reason, times }))
      .sort((a, b) => b.times - a.times),
    dead_letters: deadLetters,
    chats_in_trouble: account.chat_troubles?.length ?? 0,
  }
}

function sum(endings: Record<(typeof ENDINGS)[number], number>): number {
  return ENDINGS.reduce((total, ending) => total + endings[ending], 0)
}

export const overviewOperations = operations('Account', {
  'get /api/v1/account/overview': {
    id: 'getOverview',
    summary: 'See how the requests of an account went',
    description:
      'For owners and auditors: live requests of the last days by outcome, key and approver. Requests stay counted after they are deleted until the service restarts.',
    parameters: { query: overviewQuery },
    answers: { '200': { schema: overviewAnswer, description: 'The figures.' } },
    refusals: ['not_found'],
  },
})
