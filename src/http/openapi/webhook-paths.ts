import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { DAYS_AT_REST } from '../../domain/webhook.ts'
import { deliveryQuery } from '../delivery-page.ts'
import { idField } from '../schemas/responses/fields.ts'
import {
  changedWebhookAnswer,
  createdWebhookAnswer,
  deliveryAnswer,
  deliveryListAnswer,
  listedWebhookAnswer,
  requestLogAnswer,
  rotatedWebhookAnswer,
  webhookListAnswer,
} from '../schemas/responses/webhooks.ts'
import { newWebhookBody } from '../schemas/webhooks.ts'
import { operation } from './operation.ts'

const tag = 'Webhooks'
const reader = { by: 'session', changes: false } as const
const owner = { by: 'session', changes: true } as const
const path = z.object({ id: idField('whk').meta({ description: 'Webhook id.' }) })
const badLimit = { code: 'invalid_field', with: { field: 'limit', detail: 'must be at most 100' } } as const

const list = operation({
  id: 'listWebhooks',
  tag,
  summary: 'List webhooks',
  access: reader,
  limited: true,
  answers: { '200': { schema: webhookListAnswer, description: 'All that were not deleted, oldest first.' } },
})

const read = operation({
  id: 'readWebhook',
  tag,
  summary: 'Read a webhook',
  description: 'Also one that was deleted: its delivery log stays.',
  access: reader,
  limited: true,
  parameters: { path },
  answers: { '200': { schema: listedWebhookAnswer, description: 'The webhook.' } },
  refusals: ['not_found'],
})

const create = operation({
  id: 'createWebhook',
  tag,
  summary: 'Make a webhook',
  description:
    'Each has its own signing secret, shown in this answer and never again. An account has at most 20. Events that happened before are not sent.',
  access: owner,
  limited: true,
  body: {
    schema: newWebhookBody,
    required: 'url',
    invalid: ['url', 'must be an https: URL'],
    example: {
      url: 'https://hooks.example.com/countersign',
      events: ['approval.approved', 'approval.rejected'],
    },
  },
  answers: { '201': { schema: createdWebhookAnswer, description: 'The webhook and its secret.' } },
  refusals: ['webhook_limit'],
})

const remove = operation({
  id: 'deleteWebhook',
  tag,
  summary: 'Delete a webhook',
  description:
    'For good. What was still on its way to it is dropped; its delivery log stays readable by its id.',
  access: owner,
  limited: true,
  parameters: { path },
  answers: { '200': { schema: changedWebhookAnswer, description: 'Deleted.' } },
  refusals: ['not_found'],
})

const enable = operation({
  id: 'enableWebhook',
  tag,
  summary: 'Switch a webhook on again',
  description:
    'A receiver that answers 410 is switched off. Events of the time in between are not sent; deliveries that were given up or dropped can be replayed. A webhook that is on stays on.',
  access: owner,
  limited: true,
  parameters: { path },
  answers: { '200': { schema: changedWebhookAnswer, description: 'It is on.' } },
  refusals: ['not_found'],
})

const rotate = operation({
  id: 'rotateWebhookSecret',
  tag,
  summary: 'Give a webhook a new secret',
  description:
    'For 24 hours `webhook-signature` carries two signatures, by the new and by the old secret, so that receivers change over without a gap; `X-Service-Signature` is by the new secret at once. Rotating again ends the oldest secret at once: when a secret leaked, rotate twice.',
  access: owner,
  limited: true,
  parameters: { path },
  answers: { '200': { schema: rotatedWebhookAnswer, description: 'The new secret, shown this once.' } },
  refusals: ['not_found', 'webhook_rotated'],
})

const test = operation({
  id: 'testWebhook',
  tag,
  summary: 'Send a test event',
  description:
    'Sends `webhook.test` at once, and once, also to a webhook that is switched off; the answer tells what came of it. One at a time for an account.',
  access: owner,
  limited: true,
  parameters: { path },
  answers: { '200': { schema: deliveryAnswer, description: 'The delivery with its only attempt.' } },
  refusals: ['not_found', 'test_in_progress'],
})

const log = operation({
  id: 'listWebhookDeliveries',
  tag,
  summary: 'Delivery log of a webhook, newest first',
  access: reader,
  limited: true,
  parameters: { path, query: deliveryQuery },
  answers: { '200': { schema: deliveryListAnswer, description: 'One page.' } },
  refusals: [badLimit, 'not_found'],
})

const requestLog = operation({
  id: 'listApprovalDeliveries',
  tag,
  summary: 'Who was told about a request, newest first',
  description:
    'With the API key that made the request: its callback and its cards in chat; this counts as a read and needs the scope `approval:read`. With a session of the account: what webhooks were told as well.',
  access: { by: 'key or session', scope: 'approval:read' },
  limited: true,
  parameters: {
    path: z.object({ id: idField('req').meta({ description: 'Request id.' }) }),
    query: deliveryQuery,
  },
  answers: { '200': { schema: requestLogAnswer, description: 'One page.' } },
  refusals: [badLimit, 'not_found'],
})

const deadLetters = operation({
  id: 'listDeadLetters',
  tag,
  summary: 'What was given up, newest first',
  description:
    'Callbacks of requests and events for webhooks that nobody took after the last try, until they are replayed. Tests are left out.',
  access: reader,
  limited: true,
  parameters: { query: deliveryQuery },
  answers: { '200': { schema: deliveryListAnswer, description: 'One page.' } },
  refusals: [badLimit],
})

const replay = operation({
  id: 'replayDelivery',
  tag,
  summary: 'Send a delivery once more',
  description: `Starts a new round of tries for a delivery that rests — delivered, given up or dropped — with the same event id and the same bytes: receivers that keep ids drop what they had. ${DAYS_AT_REST} days after it came to rest a delivery is deleted, and then answers \`not_found\`.`,
  access: owner,
  limited: true,
  parameters: { path: z.object({ id: idField('dlv').meta({ description: 'Delivery id.' }) }) },
  answers: { '200': { schema: deliveryAnswer, description: 'The delivery, due at once.' } },
  refusals: ['not_found', 'delivery_in_progress', 'webhook_gone'],
})

export const webhookPaths: ZodOpenApiPathsObject = {
  '/api/v1/account/webhooks': { get: list, post: create },
  '/api/v1/account/webhooks/{id}': { get: read, delete: remove },
  '/api/v1/account/webhooks/{id}/enable': { post: enable },
  '/api/v1/account/webhooks/{id}/rotate': { post: rotate },
  '/api/v1/account/webhooks/{id}/test': { post: test },
  '/api/v1/account/webhooks/{id}/deliveries': { get: log },
  '/api/v1/approvals/{id}/deliveries': { get: requestLog },
  '/api/v1/account/dead-letters': { get: deadLetters },
  '/api/v1/deliveries/{id}/replay': { post: replay },
}
