import { z } from 'zod'
import type { User } from '../../domain/user.ts'
import type { Principal, Waiting } from '../../domain/views.ts'
import { delegateField, presentQuorum, quorumField } from './decision.ts'
import {
  type Answer,
  actionField,
  approverField,
  idField,
  pageOf,
  present,
  timeField,
} from './shared/fields.ts'
import { pageQuery } from './shared/input.ts'
import { operations } from './shared/operation.ts'

export const pendingQuery = pageQuery(100)

export const principalAnswer = z
  .strictObject({ name: z.string(), approver: approverField, delegate: delegateField })
  .meta({
    id: 'Principal',
    description: 'The approver for whom the signed-in person would decide, as their delegate.',
  })

export const votedMethods = z.array(z.enum(['passkey', 'totp']))

/** The key and account that asked, by their names at that time. */
export const askerAnswer = z.strictObject({
  key_name: z.string(),
  account_name: z.string(),
  key_revoked: z.literal(true).optional().meta({
    description: 'The key was revoked after it made the request; only while the request is pending.',
  }),
})

const pendingRequest = z
  .strictObject({
    id: idField('req'),
    action: actionField,
    high_impact: z.boolean(),
    account_id: idField('acc'),
    requested_by: askerAnswer,
    created_at: timeField,
    expires_at: timeField,
    on_behalf_of: principalAnswer.nullable(),
    quorum: quorumField,
    attachments: z.int().optional().meta({ description: 'How many it has, if any.' }),
    may_decide: z
      .boolean()
      .meta({ description: 'False: the person lacks the required factor, or it is held.' }),
    batch: idField('bat').optional().meta({
      description: 'Equal for requests that share a card; the inbox at `/?batch=…` has them selected.',
    }),
    held: z.literal(true).optional().meta({ description: 'Held after a restore (`held_after_restore`).' }),
    methods: votedMethods.meta({ description: 'Ways in which this person may prove presence here.' }),
    kind: z
      .string()
      .optional()
      .meta({ description: 'Equal for requests of one key for the same tool, or with the same fields.' }),
    opened: z.literal(true).optional().meta({ description: 'This person has had it on the screen.' }),
  })
  .meta({ id: 'PendingRequest' })

export const pendingAnswer = pageOf(pendingRequest).meta({ id: 'PendingRequests' })

/** Presents a request in an inbox: what it asks, and how the person may decide it. */
export function presentWaiting(
  waiting: Waiting,
  person: Pick<User, 'approver'>,
): Answer<typeof pendingRequest> {
  const { request, methods, onBehalfOf, held } = waiting
  return present(pendingRequest, request, {
    requested_by: presentAsker(waiting),
    on_behalf_of: presentPrincipal(onBehalfOf, person),
    quorum: presentQuorum(request),
    attachments: request.attachments?.length,
    // A request in the inbox still lacks this person's vote, so only a hold or a missing factor can prevent it.
    may_decide: methods.length > 0,
    methods,
    batch: request.batch?.id,
    held,
    kind: waiting.kind,
    opened: request.seen?.some(({ approver }) => approver === person.approver) || undefined,
  })
}

export function presentAsker({
  request,
  keyRevoked,
}: Pick<Waiting, 'request' | 'keyRevoked'>): Answer<typeof askerAnswer> {
  const { key_name, account_name } = request.requested_by
  return { key_name, account_name, key_revoked: keyRevoked || undefined }
}

/** Presents the person for whom the signed-in person acts; `delegate` is the latter's reference in a receipt's intent. */
export function presentPrincipal(
  principal: Principal | undefined,
  person: Pick<User, 'approver'>,
): Answer<typeof principalAnswer> | null {
  if (principal === undefined) return null
  return { name: principal.name, approver: principal.approver, delegate: person.approver }
}

export const inboxOperations = operations('Deciding', {
  'get /api/v1/me/pending': {
    id: 'listPendingForMe',
    summary: 'List my pending requests, the one that expires first on top',
    limited: false,
    parameters: { query: pendingQuery },
    answers: { '200': { schema: pendingAnswer, description: 'One page.' } },
  },
  'get /api/v1/me/pending/events': {
    id: 'watchPendingForMe',
    summary: 'Get a signal when my pending requests may have changed',
    description:
      'Server-sent events. `changed`, with `{}` as data, comes at the beginning and whenever the list may have changed: read it again then. `shutdown` and `error` (data: the body of the refusal, with `status`) end the stream, which lasts 15 minutes at most; reconnect after 3 seconds unless `status` is 401. Comments every 15 seconds keep it open. At most 10 streams a person. Watching does not keep a session alive.',
    limited: false,
    answers: {
      '200': {
        schema: z.string(),
        description: 'The stream.',
        type: 'text/event-stream',
        examples: { one: { value: 'retry: 3000\n\nevent: changed\ndata: {}\n\n: still here\n\n' } },
      },
    },
    refusals: ['too_many_waits'],
  },
})
