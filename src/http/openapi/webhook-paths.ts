import { DAYS_AT_REST } from '../../domain/webhook.ts'
import { BAD_LIMIT, idInPath, operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { deliveryQuery } from '../delivery-page.ts'
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

const path = idInPath('whk', 'Webhook id.')

export const webhookOperations = operations('Webhooks', {
  'get /api/v1/account/webhooks': {
    id: 'listWebhooks',
    summary: 'List webhooks',
    access: SIGNED_IN,
    limited: true,
    answers: {
      '200': { schema: webhookListAnswer, description: 'All that were not deleted, oldest first.' },
    },
  },
  'post /api/v1/account/webhooks': {
    id: 'createWebhook',
    summary: 'Make a webhook',
    description:
      'Each has its own signing secret, shown in this answer and never again. An account has at most 20. Events that happened before are not sent.',
    access: SIGNED_IN_CHANGE,
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
  },
  'get /api/v1/account/webhooks/{id}': {
    id: 'readWebhook',
    summary: 'Read a webhook',
    description: 'Also one that was deleted: its delivery log stays.',
    access: SIGNED_IN,
    limited: true,
    parameters: { path },
    answers: { '200': { schema: listedWebhookAnswer, description: 'The webhook.' } },
    refusals: ['not_found'],
  },
  'delete /api/v1/account/webhooks/{id}': {
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'For good. What was still on its way to it is dropped; its delivery log stays readable by its id.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    answers: { '200': { schema: changedWebhookAnswer, description: 'Deleted.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/webhooks/{id}/enable': {
    id: 'enableWebhook',
    summary: 'Switch a webhook on again',
    description:
      'A receiver that answers 410 is switched off. Events of the time in between are not sent; deliveries that were given up or dropped can be replayed. A webhook that is on stays on.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    answers: { '200': { schema: changedWebhookAnswer, description: 'It is on.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/webhooks/{id}/rotate': {
    id: 'rotateWebhookSecret',
    summary: 'Give a webhook a new secret',
    description:
      'For 24 hours `webhook-signature` carries two signatures, by the new and by the old secret, so that receivers change over without a gap; `X-Service-Signature` is by the new secret at once. Rotating again ends the oldest secret at once: when a secret leaked, rotate twice.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    answers: { '200': { schema: rotatedWebhookAnswer, description: 'The new secret, shown this once.' } },
    refusals: ['not_found', 'webhook_rotated'],
  },
  'post /api/v1/account/webhooks/{id}/test': {
    id: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends `webhook.test` at once, and once, also to a webhook that is switched off; the answer tells what came of it. One at a time for an account.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    answers: { '200': { schema: deliveryAnswer, description: 'The delivery with its only attempt.' } },
    refusals: ['not_found', 'test_in_progress'],
  },
  'get /api/v1/account/webhooks/{id}/deliveries': {
    id: 'listWebhookDeliveries',
    summary: 'Delivery log of a webhook, newest first',
    access: SIGNED_IN,
    limited: true,
    parameters: { path, query: deliveryQuery },
    answers: { '200': { schema: deliveryListAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT, 'not_found'],
  },
  'get /api/v1/approvals/{id}/deliveries': {
    id: 'listApprovalDeliveries',
    summary: 'Who was told about a request, newest first',
    description:
      'With the API key that made the request: its callback and its cards in chat; this counts as a read and needs the scope `approval:read`. With a session of the account: what webhooks were told as well.',
    access: { by: 'key or session', scope: 'approval:read' },
    limited: true,
    parameters: {
      path: idInPath('req', 'Request id.'),
      query: deliveryQuery,
    },
    answers: { '200': { schema: requestLogAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT, 'not_found'],
  },
  'get /api/v1/account/dead-letters': {
    id: 'listDeadLetters',
    summary: 'What was given up, newest first',
    description:
      'Callbacks of requests and events for webhooks that nobody took after the last try, until they are replayed. Tests are left out.',
    access: SIGNED_IN,
    limited: true,
    parameters: { query: deliveryQuery },
    answers: { '200': { schema: deliveryListAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT],
  },
  'post /api/v1/deliveries/{id}/replay': {
    id: 'replayDelivery',
    summary: 'Send a delivery once more',
    description: `Starts a new round of tries for a delivery that rests — delivered, given up or dropped — with the same event id and the same bytes: receivers that keep ids drop what they had. ${DAYS_AT_REST} days after it came to rest a delivery is deleted, and then answers \`not_found\`.`,
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path: idInPath('dlv', 'Delivery id.') },
    answers: { '200': { schema: deliveryAnswer, description: 'The delivery, due at once.' } },
    refusals: ['not_found', 'delivery_in_progress', 'webhook_gone'],
  },
})
