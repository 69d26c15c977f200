import { z } from 'zod'
import { standingOf } from '../../domain/card-standing.ts'
import { EVENT_TYPES } from '../../domain/event.ts'
import { mailDeviceId } from '../../domain/push.ts'
import type { LoggedCard, LoggedPush } from '../../domain/views.ts'
import { DAYS_AT_REST, type Delivery } from '../../domain/webhook.ts'
import { sentType } from './events.ts'
import { type Answer, approverField, idField, pageOf, present, timeField } from './shared/fields.ts'
import { pageQuery } from './shared/input.ts'
import { idInPath, operations } from './shared/operation.ts'

const STATES = ['due', 'sending', 'delivered', 'dead', 'dropped'] as const

/** `limit` and `cursor` of a delivery log. */
export const deliveryQuery = pageQuery(20)

export const webhookLogQuery = deliveryQuery.extend({
  state: z
    .enum(STATES, { error: `must be one of ${STATES.join(', ')}` })
    .optional()
    .meta({ description: 'Only deliveries in this state.' }),
  event: z
    .enum(EVENT_TYPES, { error: 'must be the type of an event' })
    .optional()
    .meta({ description: 'Only deliveries of this event.' }),
})

const outcome = z
  .string()
  .regex(/^(?:(?:http|smtp)_\d{3}|blocked|connect_failed|timeout|interrupted|unsigned|bounced)$/)
  .meta({
    description:
      'A coarse class: `http_<status>`, of mails `smtp_<reply>` and `bounced` (the relay refused the recipient for good), `blocked` (the address must not be called), `connect_failed`, `timeout`, `interrupted` (the service was stopped in the middle; it does not count as a try), or `unsigned` (its secret could not be opened, nothing was sent).',
    example: 'http_200',
  })

const attempt = z.strictObject({ at: timeField, outcome, duration_ms: z.int().min(0) })

/** A delivery as its log shows it: without its body and the receiver's answer. */
export const deliveryAnswer = z
  .strictObject({
    id: idField('dlv'),
    target: z.enum(['callback', 'webhook']),
    webhook_id: idField('whk').optional(),
    request_id: idField('req').optional(),
    event_id: idField('evt').meta({ description: 'The header `webhook-id` of every attempt.' }),
    event_type: sentType,
    url: z.string(),
    state: z.enum(STATES).meta({
      description:
        '`dead`: given up after the last try. `dropped`: its webhook was deleted or switched off before, or the store was restored from a copy in which it was due.',
    }),
    next_attempt_at: timeField.nullable().meta({ description: 'While it is due.' }),
    attempts: z.array(attempt).meta({ description: 'Oldest first; the last 50.' }),
    created_at: timeField,
  })
  .meta({ id: 'Delivery', description: 'One event sent to one receiver.' })

const cardAttempt = z.strictObject({
  at: timeField,
  what: z.enum(['post', 'update', 'reply']),
  outcome: z
    .enum(['accepted', 'unreachable', 'unavailable', 'rate_limited', 'timeout', 'failed', 'interrupted'])
    .meta({ description: '`unavailable`: the workspace accepts nothing from the app.' }),
  duration_ms: z.int().min(0),
})

const cardAnswer = z
  .strictObject({
    id: idField('crd'),
    platform: z.enum(['slack', 'teams']),
    recipient: z.enum(['approver', 'channel', 'member']).meta({
      description: '`member`: named in `notify`, to be told the outcome.',
    }),
    approver: approverField.optional(),
    state: z.enum(['due', 'sending', 'shown', 'behind', 'not_sent', 'unreachable']).meta({
      description:
        '`shown`: the message is up to date. `due`: waiting to be sent, also while calls fail. `behind`: it shows an older state and cannot be edited. `not_sent`: the request had ended before. `unreachable`: the platform knows no one to send it to.',
    }),
    next_attempt_at: timeField.nullable().meta({ description: 'While it is due.' }),
    attempts: z.array(cardAttempt).meta({ description: 'Oldest first; the last 50.' }),
    created_at: timeField,
  })
  .meta({ id: 'Card', description: 'One message in chat about a request, edited as the request changes.' })

const pushAnswer = z
  .strictObject({
    id: idField('psh'),
    channel: z.enum(['browser', 'mail']),
    about: z.enum(['request', 'reminder', 'outcome']),
    approver: approverField.optional(),
    state: z.enum(['due', 'sending', 'sent', 'dead', 'dropped']).meta({
      description:
        '`sent`: the push service or the mail relay accepted it. `dead`: given up. `dropped`: there was nothing left to say.',
    }),
    next_attempt_at: timeField.nullable().meta({ description: 'While it is due.' }),
    attempts: z.array(attempt).meta({ description: 'Oldest first; the last 50.' }),
    created_at: timeField,
  })
  .meta({ id: 'Notification', description: 'One notification in a browser, or one mail, about a request.' })

export const requestLogAnswer = pageOf(deliveryAnswer)
  .extend({
    cards: z.array(cardAnswer).meta({ description: 'All cards in chat, oldest first, on every page.' }),
    notifications: z.array(pushAnswer).meta({
      description:
        'Notifications and mails of the last week, oldest first, on every page. Digests are not among them.',
    }),
    quiet: z.array(z.strictObject({ approver: approverField, until: timeField })).meta({
      description:
        'Approvers who were sent no card, push or mail when it was made: they had just rejected three requests of this key within 10 minutes. It is in their inbox.',
    }),
  })
  .meta({ id: 'RequestLog' })

export const deliveryListAnswer = pageOf(deliveryAnswer).meta({ id: 'DeliveryList' })

/** Returns the store's name for a `state` of the log. */
export function storedState(state: (typeof STATES)[number]): Delivery['state'] {
  return state === 'sending' ? 'leased' : state
}

/** Presents a delivery: never its body, and only coarse outcomes of its attempts (T7). */
export function presentDelivery(delivery: Delivery): Answer<typeof deliveryAnswer> {
  const { target } = delivery
  return present(deliveryAnswer, delivery, {
    target: target.kind,
    webhook_id: target.kind === 'webhook' ? target.webhook_id : undefined,
    state: delivery.state === 'leased' ? 'sending' : delivery.state,
    next_attempt_at: delivery.state === 'due' ? delivery.next_at.toISOString() : null,
    attempts: delivery.attempts.map((one) =>
      present(attempt, one, { duration_ms: Math.round(one.duration_ms) }),
    ),
  })
}

/** Presents a card: its approver by reference, never their identity or place on the platform. */
export function presentCard({ card, approver, told }: LoggedCard): Answer<typeof cardAnswer> {
  return present(cardAnswer, card, {
    // The third kind of recipient, an identity, gets only notices, which are about no request.
    recipient: card.recipient.kind === 'channel' ? 'channel' : told ? 'member' : 'approver',
    approver,
    state: standingOf(card),
    next_attempt_at: card.state === 'due' ? card.next_at.toISOString() : null,
    attempts: card.attempts.map((one) =>
      present(cardAttempt, one, { duration_ms: Math.round(one.duration_ms) }),
    ),
  })
}

/** Presents a notification or a mail: never the address or the browser, and of its recipient only the reference. */
export function presentPush({ push, approver }: LoggedPush): Answer<typeof pushAnswer> {
  const { about, device_id, user_id } = push
  return present(pushAnswer, push, {
    channel: device_id === mailDeviceId(user_id) ? 'mail' : 'browser',
    about: about.kind === 'reminder' || about.kind === 'outcome' ? about.kind : 'request',
    approver,
    state: push.state === 'leased' ? 'sending' : push.state,
    next_attempt_at: push.state === 'due' ? push.next_at.toISOString() : null,
    attempts: push.attempts.map((one) => present(attempt, one, { duration_ms: Math.round(one.duration_ms) })),
  })
}

export const deliveryOperations = operations('Webhooks', {
  'get /api/v1/account/webhooks/{id}/deliveries': {
    id: 'listWebhookDeliveries',
    summary: 'Delivery log of a webhook, newest first',
    parameters: { path: idInPath('whk', 'Webhook id.'), query: webhookLogQuery },
    answers: { '200': { schema: deliveryListAnswer, description: 'One page.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/approvals/{id}/deliveries': {
    id: 'listApprovalDeliveries',
    summary: 'List the notifications of a request, newest first',
    description:
      'With the API key that made the request: its callback, its cards in chat, notifications and mails; this counts as a read and needs the scope `approval:read`. With a session of the account: also what was sent to webhooks.',
    access: { by: ['key', 'cookie', 'token'], scope: 'approval:read' },
    parameters: {
      path: idInPath('req', 'Request id.'),
      query: deliveryQuery,
    },
    answers: { '200': { schema: requestLogAnswer, description: 'One page.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/dead-letters': {
    id: 'listDeadLetters',
    summary: 'List deliveries that were given up, newest first',
    description:
      'Callbacks of requests and events for webhooks that their receiver did not accept after the last try, until they are replayed. Tests are left out.',
    parameters: { query: deliveryQuery },
    answers: { '200': { schema: deliveryListAnswer, description: 'One page.' } },
  },
  'post /api/v1/deliveries/{id}/replay': {
    id: 'replayDelivery',
    summary: 'Send a delivery once more',
    description: `Starts a new round of tries for a finished delivery (delivered, given up or dropped) with the same event id and the same bytes: receivers that store ids ignore repeats. ${DAYS_AT_REST} days after it finished a delivery is deleted, and then answers \`not_found\`.`,
    parameters: { path: idInPath('dlv', 'Delivery id.') },
    answers: { '200': { schema: deliveryAnswer, description: 'The delivery, due at once.' } },
    refusals: ['not_found', 'delivery_in_progress', 'webhook_gone'],
  },
})
