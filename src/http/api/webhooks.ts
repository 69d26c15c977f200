import { z } from 'zod'
import { EVENT_TYPES, type EventType } from '../../domain/event.ts'
import type { ListedWebhook } from '../../domain/views.ts'
import type { Webhook } from '../../domain/webhook.ts'
import { deliveryAnswer, presentDelivery } from './deliveries.ts'
import { type Answer, hexField, idField, ignoredFields, pageOf, present, timeField } from './shared/fields.ts'
import { text } from './shared/input.ts'
import { idInPath, operations } from './shared/operation.ts'

/** The events that a webhook can subscribe to: all but the test, which is sent on request. */
const SUBSCRIBABLE = EVENT_TYPES.filter(
  (type): type is Exclude<EventType, 'webhook.test'> => type !== 'webhook.test',
)

const subscribable = z
  .enum(SUBSCRIBABLE, { error: `must be one of ${SUBSCRIBABLE.join(', ')}` })
  .meta({ id: 'Subscribable' })

export const newWebhookBody = z
  .object({
    url: text.meta({
      description: 'Where events are posted to: https: on the public internet, at most 2048 characters.',
      maxLength: 2048,
      example: 'https://hooks.example.com/countersign',
    }),
    events: z
      .array(subscribable)
      .min(1, 'must name at least one event; leave it out for all')
      .max(SUBSCRIBABLE.length, 'must not repeat events')
      .optional()
      .meta({
        description: 'The events it receives; if left out, all of them, those of later versions included.',
      }),
  })
  .meta({ id: 'CreateWebhook' })

const webhookAnswer = z
  .strictObject({
    id: idField('whk'),
    url: z.string().meta({ example: 'https://hooks.example.com/countersign' }),
    events: z.array(subscribable).meta({ description: 'The events it receives.' }),
    state: z.enum(['active', 'disabled', 'deleted']).meta({
      description:
        '`disabled`: its receiver answered 410, or the operator did it; nothing is sent until it is switched on again.',
    }),
    created_at: timeField,
    disabled_at: timeField.nullable(),
    previous_secret_valid_until: timeField.nullable().meta({
      description: 'Until then deliveries are also signed with the secret before the last rotation.',
    }),
  })
  .meta({ id: 'Webhook', description: 'A webhook of the account; its secret is never shown again.' })

const shownSecret = hexField.meta({
  description:
    'Signing secret, shown only once. The HMAC key is the text itself: the ASCII of these 64 characters. For Standard Webhooks libraries: `whsec_` + base64 of the text.',
})

export const createdWebhookAnswer = z
  .strictObject({ webhook: webhookAnswer, secret: shownSecret, ignored_fields: ignoredFields })
  .meta({ id: 'CreatedWebhook' })

export const changedWebhookAnswer = z
  .strictObject({ ok: z.literal(true), webhook: webhookAnswer })
  .meta({ id: 'ChangedWebhook' })

export const rotatedWebhookAnswer = z
  .strictObject({
    webhook: webhookAnswer,
    secret: shownSecret,
    previous_secret_valid_until: timeField,
  })
  .meta({ id: 'RotatedWebhook' })

/** `GET /api/v1/account/webhooks/:id`, also of a deleted webhook. */
export const listedWebhookAnswer = webhookAnswer
  .extend({
    last_delivery: deliveryAnswer
      .nullable()
      .meta({ description: 'The newest; null while nothing happened.' }),
  })
  .meta({ id: 'ListedWebhook' })

export const webhookListAnswer = pageOf(listedWebhookAnswer).meta({ id: 'WebhookList' })

/** Presents a webhook, never its secrets. @param now decides whether the secret before the last rotation still signs */
export function presentWebhook(webhook: Webhook, now: Date): Answer<typeof webhookAnswer> {
  const until = webhook.previous_secret?.until
  return present(webhookAnswer, webhook, {
    events:
      webhook.events.length === 0 ? SUBSCRIBABLE : webhook.events.filter((type) => type !== 'webhook.test'),
    disabled_at: webhook.disabled_at?.toISOString() ?? null,
    previous_secret_valid_until: until !== undefined && until > now ? until.toISOString() : null,
  })
}

/** Like `presentWebhook`, with the newest delivery. */
export function presentListed(
  { webhook, last }: ListedWebhook,
  now: Date,
): Answer<typeof listedWebhookAnswer> {
  return { ...presentWebhook(webhook, now), last_delivery: last === undefined ? null : presentDelivery(last) }
}

const path = idInPath('whk', 'Webhook id.')

export const webhookOperations = operations('Webhooks', {
  'get /api/v1/account/webhooks': {
    id: 'listWebhooks',
    summary: 'List webhooks',
    answers: {
      '200': { schema: webhookListAnswer, description: 'All that were not deleted, oldest first.' },
    },
  },
  'post /api/v1/account/webhooks': {
    id: 'createWebhook',
    summary: 'Make a webhook',
    description:
      'Each has its own signing secret, shown in this answer and never again. An account has at most 20. Events that happened before are not sent.',
    body: {
      schema: newWebhookBody,
      example: {
        url: 'https://hooks.example.com/countersign',
        events: ['approval.approved', 'approval.rejected'],
      },
    },
    answers: { '201': { schema: createdWebhookAnswer, description: 'The webhook and its secret.' } },
    refusals: ['webhook_limit', 'no_own_account', 'proof_required'],
  },
  'get /api/v1/account/webhooks/{id}': {
    id: 'readWebhook',
    summary: 'Read a webhook',
    description: 'Also a deleted one: its delivery log stays.',
    parameters: { path },
    answers: { '200': { schema: listedWebhookAnswer, description: 'The webhook.' } },
    refusals: ['not_found'],
  },
  'delete /api/v1/account/webhooks/{id}': {
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Permanent. Deliveries still under way to it are dropped; its delivery log stays readable by its id.',
    parameters: { path },
    answers: { '200': { schema: changedWebhookAnswer, description: 'Deleted.' } },
    refusals: ['not_found', 'proof_required'],
  },
  'post /api/v1/account/webhooks/{id}/enable': {
    id: 'enableWebhook',
    summary: 'Switch a webhook on again',
    description:
      'A receiver that answers 410 is switched off. Events in the meantime are not sent; deliveries that were given up or dropped can be replayed. A webhook that is on stays on.',
    parameters: { path },
    answers: { '200': { schema: changedWebhookAnswer, description: 'It is on.' } },
    refusals: ['not_found', 'proof_required'],
  },
  'post /api/v1/account/webhooks/{id}/rotate': {
    id: 'rotateWebhookSecret',
    summary: 'Give a webhook a new secret',
    description:
      'For 24 hours `webhook-signature` carries two signatures, by the new and by the old secret, so that receivers can switch over without a gap; `X-Service-Signature` is by the new secret at once. Rotating again ends the oldest secret at once: when a secret leaked, rotate twice.',
    parameters: { path },
    answers: { '200': { schema: rotatedWebhookAnswer, description: 'The new secret, shown only once.' } },
    refusals: ['not_found', 'webhook_rotated', 'proof_required'],
  },
  'post /api/v1/account/webhooks/{id}/test': {
    id: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends `webhook.test` at once, and once, also to a webhook that is switched off; the answer says how it ended. One at a time for an account.',
    parameters: { path },
    answers: { '200': { schema: deliveryAnswer, description: 'The delivery with its only attempt.' } },
    refusals: ['not_found', 'test_in_progress'],
  },
})
