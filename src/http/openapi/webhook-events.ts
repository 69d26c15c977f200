import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { EVENT_TYPES, type EventType } from '../../domain/event.ts'
import { idField } from '../api/shared/fields.ts'
import { callbackBody, eventBody } from '../schemas/events.ts'

const time = z.string().regex(/^\d+$/)
const timeFacts = {
  description: 'When this attempt was made, Unix seconds. Refuse what is more than 300 s away.',
  example: '1772616600',
}

/** Headers of every attempt: those of the interface, and those of Standard Webhooks 1.0.0. */
const signed = z.object({
  'X-Service-Signature': z
    .string()
    .regex(/^sha256=[0-9a-f]{64}$/)
    .meta({
      description:
        'HMAC-SHA256 over `<X-Service-Timestamp>.<raw body>`; the key is the ASCII of the secret as it is shown. Compare in constant time.',
      param: { id: 'X-Service-Signature' },
    }),
  'X-Service-Timestamp': time.meta({ ...timeFacts, param: { id: 'X-Service-Timestamp' } }),
  'webhook-id': idField('evt').meta({
    description: 'The same for all attempts: keep it, and drop what you have seen.',
    param: { id: 'webhook-id' },
  }),
  'webhook-timestamp': time.meta({ ...timeFacts, param: { id: 'webhook-timestamp' } }),
  'webhook-signature': z
    .string()
    .regex(/^v1,[A-Za-z0-9+/]{43}=(?: v1,[A-Za-z0-9+/]{43}=)*$/)
    .meta({
      description:
        'HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<raw body>` with the same key. After a rotation for 24 hours two signatures, the new secret first; one that matches is enough.',
      param: { id: 'webhook-signature' },
    }),
})

const exampleRequest = 'req_7h3k9m2p5q8r1s4t6v0w2x5y8z'

const exampleCreated = {
  id: 'evt_7h3k9m2p5q8r1s4t6v0w2x5y8z',
  type: 'approval.created',
  created_at: '2026-03-04T09:30:00.000Z',
  data: {
    request_id: exampleRequest,
    action: 'Pay $120.00 to ACME Corp, invoice 4711',
    created_at: '2026-03-04T09:30:00.000Z',
    expires_at: '2026-03-04T09:45:00.000Z',
    requires_individual_decision: false,
  },
}

const SUMMARIES: Record<EventType, string> = {
  'approval.created': 'A request was made',
  'approval.approved': 'A request was approved',
  'approval.rejected': 'A request was rejected',
  'approval.expired': 'A request ran out or was withdrawn',
  'approval.reminded': 'The approvers were reminded',
  'bootstrap.requested': 'Somebody asks for an API key of the account',
  'bootstrap.approved': 'The owner consented; the key is made when it is collected',
  'key.created': 'An API key was made',
  'key.revoked': 'An API key was revoked',
  'delivery.exhausted': 'A delivery was given up after its last try',
  'webhook.test': 'Somebody tries the webhook',
}

function event(type: EventType): ZodOpenApiOperationObject {
  const words = type.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return {
    operationId: `on${words.join('')}`,
    tags: ['Events'],
    summary: SUMMARIES[type],
    requestParams: { header: signed },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: eventBody(type), ...exampleOf(type) } },
    },
    responses: {
      '2XX': { description: 'Taken. Any other answer, or none within the time limit, is a failure.' },
      '410': { description: 'Switches the webhook off.' },
      default: {
        description: 'Tried again after 1 s, 5 s, 30 s and 5 min; `Retry-After` can lengthen that.',
      },
    },
  }
}

function exampleOf(type: EventType): { example?: unknown } {
  return type === 'approval.created' ? { example: exampleCreated } : {}
}

const callback: ZodOpenApiOperationObject = {
  operationId: 'onDecision',
  tags: ['Events'],
  summary: 'The callback of a request',
  description:
    'Sent to `callback_url` once the request is approved or rejected; not when it expires. Signed with the secret of the API key that made the request.',
  requestParams: { header: signed },
  requestBody: { required: true, content: { 'application/json': { schema: callbackBody } } },
  responses: {
    '2XX': { description: 'Taken. Any other answer, or none within the time limit, is a failure.' },
    default: { description: 'Tried again after exactly 1 s, 5 s, 30 s and 5 min.' },
  },
}

/** What receivers get: the section `webhooks` of the document. */
export const WEBHOOKS: ZodOpenApiPathsObject = {
  callback: { post: callback },
  ...Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: event(type) }])),
}
