import { z } from 'zod'
import { EVENT_TYPES } from '../../../domain/event.ts'
import { approverField, idField, pageOf, timeField } from '../../api/shared/fields.ts'
import { SUBSCRIBABLE } from '../webhooks.ts'

const webhookAnswer = z
  .strictObject({
    id: idField('whk'),
    url: z.string().meta({ example: 'https://hooks.example.com/countersign' }),
    events: z.array(z.enum(SUBSCRIBABLE)).meta({ description: 'The events it is told.' }),
    state: z.enum(['active', 'disabled', 'deleted']).meta({
      description: '`disabled`: its receiver answered 410; nothing is sent until it is switched on again.',
    }),
    created_at: timeField,
    disabled_at: timeField.nullable(),
    previous_secret_valid_until: timeField.nullable().meta({
      description: 'Until then deliveries are also signed with the secret before the last rotation.',
    }),
  })
  .meta({ id: 'Webhook', description: 'A webhook of the account; its secret is never shown again.' })

const shownSecret = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({
    description:
      'Signing secret, shown this once. The HMAC key is the text itself: the ASCII of these 64 characters. For Standard Webhooks libraries: `whsec_` + base64 of the text.',
  })

/** `POST /api/v1/account/webhooks`. */
export const createdWebhookAnswer = z
  .strictObject({ webhook: webhookAnswer, secret: shownSecret })
  .meta({ id: 'CreatedWebhook' })

/** `DELETE /api/v1/account/webhooks/:id` and `POST …/enable`. */
export const changedWebhookAnswer = z
  .strictObject({ ok: z.literal(true), webhook: webhookAnswer })
  .meta({ id: 'ChangedWebhook' })

/** `POST /api/v1/account/webhooks/:id/rotate`. */
export const rotatedWebhookAnswer = z
  .strictObject({
    webhook: webhookAnswer,
    secret: shownSecret,
    previous_secret_valid_until: timeField,
  })
  .meta({ id: 'RotatedWebhook' })

const outcome = z
  .string()
  .regex(/^(?:http_\d{3}|blocked|connect_failed|timeout|interrupted|unsigned)$/)
  .meta({
    description:
      'A coarse class: `http_<status>`, `blocked` (the address must not be called), `connect_failed`, `timeout`, `interrupted` (the service was stopped in the middle; it does not count as a try), or `unsigned` (its secret could not be opened, nothing was sent).',
    example: 'http_200',
  })

/** A delivery as its log shows it: never the body, nor what the receiver answered. */
export const deliveryAnswer = z
  .strictObject({
    id: idField('dlv'),
    target: z.enum(['callback', 'webhook']),
    webhook_id: idField('whk').optional(),
    request_id: idField('req').optional(),
    event_id: idField('evt').meta({ description: 'The header `webhook-id` of every attempt.' }),
    event_type: z.enum([...EVENT_TYPES, 'callback']),
    url: z.string(),
    state: z.enum(['due', 'sending', 'delivered', 'dead', 'dropped']).meta({
      description:
        '`dead`: given up after the last try. `dropped`: its webhook was deleted or switched off before.',
    }),
    next_attempt_at: timeField.nullable().meta({ description: 'While it is due.' }),
    attempts: z
      .array(z.strictObject({ at: timeField, outcome, duration_ms: z.int().min(0) }))
      .meta({ description: 'Oldest first; the last 50.' }),
    created_at: timeField,
  })
  .meta({ id: 'Delivery', description: 'One event on its way to one receiver.' })

/** `GET /api/v1/account/webhooks/:id`, also one that was deleted. */
export const listedWebhookAnswer = webhookAnswer
  .extend({
    last_delivery: deliveryAnswer
      .nullable()
      .meta({ description: 'The newest; null while nothing happened.' }),
  })
  .meta({ id: 'ListedWebhook' })

/** `GET /api/v1/account/webhooks`. */
export const webhookListAnswer = pageOf(listedWebhookAnswer).meta({ id: 'WebhookList' })

const cardAnswer = z
  .strictObject({
    id: idField('crd'),
    platform: z.enum(['slack', 'teams']),
    recipient: z.enum(['approver', 'channel']),
    approver: approverField.optional(),
    state: z.enum(['due', 'sending', 'shown', 'behind', 'not_sent', 'unreachable']).meta({
      description:
        '`shown`: the message is up to date. `behind`: editing it was given up until the next change. `not_sent`: posting was given up, or the request was over before. `unreachable`: the platform knows nobody to send it to.',
    }),
    next_attempt_at: timeField.nullable().meta({ description: 'While it is due.' }),
    attempts: z
      .array(
        z.strictObject({
          at: timeField,
          what: z.enum(['post', 'update', 'reply']),
          outcome: z.enum(['accepted', 'unreachable', 'rate_limited', 'timeout', 'failed', 'interrupted']),
          duration_ms: z.int().min(0),
        }),
      )
      .meta({ description: 'Oldest first; the last 50.' }),
    created_at: timeField,
  })
  .meta({ id: 'Card', description: 'One message in chat about a request, edited as the request changes.' })

/** `GET /api/v1/approvals/:id/deliveries`. */
export const requestLogAnswer = pageOf(deliveryAnswer)
  .extend({
    cards: z.array(cardAnswer).meta({ description: 'All cards in chat, oldest first, on every page.' }),
    quiet: z.array(z.strictObject({ approver: approverField, until: timeField })).meta({
      description:
        'Approvers who were sent neither card nor push when it was made: they had just rejected three requests of this key within 10 minutes. It stands in their inbox.',
    }),
  })
  .meta({ id: 'RequestLog' })

/** `GET /api/v1/account/webhooks/:id/deliveries`. */
export const deliveryListAnswer = pageOf(deliveryAnswer).meta({ id: 'DeliveryList' })
