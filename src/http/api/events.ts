import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { SCOPES } from '../../domain/api-key.ts'
import { EVENT_TYPES, type EventType } from '../../domain/event.ts'
import { delegateField } from './decision.ts'
import { actionField, idField, keyIdField, outcomeField, signatureField, timeField } from './shared/fields.ts'

/** The mark of a dry-run. Objects in bodies to receivers are open, since bodies may gain fields. */
const sandbox = z.literal(true).optional().meta({
  description: 'Only for requests made with a sandbox key: no approver was asked. Refuse it in production.',
})

const aboutRequest = { request_id: idField('req') }

/** The body of a request's callback (interface, "Callback payload"). */
export const callbackBody = z
  .object({
    ...aboutRequest,
    decision: outcomeField,
    decided_at: timeField,
    delegate: delegateField.optional(),
    signed_receipt: z
      .object({
        decision_id: idField('dec'),
        signature: signatureField,
        public_key_id: keyIdField,
        canonical_payload: z
          .string()
          .meta({ description: 'The signed bytes as text: RFC 8785 JSON of the payload.' }),
        comment: z.string().nullable().meta({ description: "The approver's comment; not signed." }),
      })
      .meta({
        id: 'SignedReceipt',
        description:
          'The proof that a person decided; the HMAC of the callback is not. Check it offline, with `countersign verify` or any Ed25519 library, before you act.',
      }),
    sandbox,
  })
  .meta({ id: 'CallbackBody' })

const keyFacts = z.object({
  key_id: idField('key'),
  name: z.string(),
  key_prefix: z.string(),
  sandbox: z.boolean(),
})

const consentFacts = z.object({
  consent_id: idField('bst'),
  unverified_client_name: z
    .string()
    .meta({ description: "The caller's own word.", example: 'Release agent' }),
  scopes: z.array(z.enum(SCOPES)),
})

/** What a delivery can hold. */
export const sentType = z.enum([...EVENT_TYPES, 'callback']).meta({ id: 'SentType' })

const troubleFacts = z.object({
  platform: z.enum(['slack', 'teams']),
  tenant: z.string().nullable().meta({ description: 'The workspace; null until the platform names it.' }),
  channel: z.string().optional().meta({ description: 'Present if only one connected channel is affected.' }),
  reason: z.string().meta({ description: "The platform's code.", example: 'token_revoked' }),
  since: timeField,
})

const DATA = {
  'approval.created': z.object({
    ...aboutRequest,
    action: actionField,
    created_at: timeField,
    expires_at: timeField,
    requires_individual_decision: z.boolean().meta({ description: 'High impact.' }),
    sandbox,
  }),
  'approval.approved': callbackBody,
  'approval.rejected': callbackBody,
  'approval.expired': z.object({
    ...aboutRequest,
    expires_at: timeField,
    cancelled: z
      .literal(true)
      .optional()
      .meta({ description: 'By its caller, or by the owner of the account.' }),
    sandbox,
  }),
  'approval.reminded': z.object({
    ...aboutRequest,
    automatic: z.literal(true).optional().meta({ description: 'By the policy, not by a caller.' }),
    sandbox,
  }),
  'bootstrap.requested': consentFacts.extend({
    requested_from: z.string().meta({ description: 'Address of the caller.', example: '203.0.113.7' }),
    created_at: timeField,
    expires_at: timeField,
    review_url: z
      .url()
      .meta({ description: 'The page where the signed-in owner consents. It contains no secret.' }),
  }),
  'bootstrap.approved': consentFacts.extend({ approved_at: timeField }),
  'key.created': keyFacts.extend({
    consent_id: idField('bst').optional().meta({ description: 'It was made by a bootstrap.' }),
    collected_from: z.string().optional().meta({ description: 'The address from which it was collected.' }),
  }),
  'key.revoked': keyFacts,
  'delivery.exhausted': z.object({
    delivery_id: idField('dlv'),
    target: z.enum(['callback', 'webhook']),
    webhook_id: idField('whk').optional(),
    request_id: idField('req').optional(),
    event_id: idField('evt'),
    event_type: sentType,
    attempts: z.int().min(1),
    last_outcome: z.string().meta({ example: 'http_503' }),
  }),
  'chat.unavailable': troubleFacts,
  'chat.restored': troubleFacts.extend({ restored_at: timeField }),
  'webhook.test': z.object({ webhook_id: idField('whk') }),
} satisfies Record<EventType, z.ZodType>

/** Returns the schema of the body of an event of this type. */
export function eventBody(type: EventType): z.ZodType {
  return z
    .object({
      id: idField('evt'),
      type: z.literal(type),
      created_at: timeField,
      data: DATA[type],
    })
    .meta({ id: componentName(type) })
}

/** `approval.created` → `ApprovalCreatedEvent`. */
function componentName(type: EventType): string {
  const words = type.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Event`
}

const time = z.string().regex(/^\d+$/)

const timeFacts = {
  description: 'When this attempt was made, Unix seconds. Refuse a time that is more than 300 s away.',
  example: '1772616600',
}

/** The headers of every attempt: the interface's own, and those of Standard Webhooks 1.0.0. */
const signed = z.object({
  'X-Service-Signature': z
    .string()
    .regex(/^sha256=[0-9a-f]{64}$/)
    .meta({
      description:
        'HMAC-SHA256 over `<X-Service-Timestamp>.<raw body>`; the key is the ASCII of the secret as shown. Compare in constant time.',
      param: { id: 'X-Service-Signature' },
    }),
  'X-Service-Timestamp': time.meta({ ...timeFacts, param: { id: 'X-Service-Timestamp' } }),
  'webhook-id': idField('evt').meta({
    description: 'The same for all attempts: store it, and ignore repeats.',
    param: { id: 'webhook-id' },
  }),
  'webhook-timestamp': time.meta({ ...timeFacts, param: { id: 'webhook-timestamp' } }),
  'webhook-signature': z
    .string()
    .regex(/^v1,[A-Za-z0-9+/]{43}=(?: v1,[A-Za-z0-9+/]{43}=)*$/)
    .meta({
      description:
        'HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<raw body>` with the same key. For 24 hours after a rotation there are two signatures, the new secret first; one match is enough.',
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
  'approval.expired': 'A request expired or was withdrawn',
  'approval.reminded': 'The approvers were reminded',
  'bootstrap.requested': 'An agent asks for an API key of the account',
  'bootstrap.approved': 'The owner consented; the key is made when it is collected',
  'key.created': 'An API key was made',
  'key.revoked': 'An API key was revoked',
  'delivery.exhausted': 'A delivery was given up after its last try',
  'chat.unavailable': 'A chat workspace or a channel refuses cards of the account',
  'chat.restored': 'It accepts them again, and gets the waiting ones',
  'webhook.test': 'A test of the webhook',
}

function event(type: EventType): ZodOpenApiOperationObject {
  const words = type.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return {
    operationId: `on${words.join('')}`,
    tags: ['Events'],
    summary: SUMMARIES[type],
    security: [],
    requestParams: { header: signed },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: eventBody(type), ...exampleOf(type) } },
    },
    responses: {
      '2XX': TAKEN,
      '410': SWITCHES_OFF,
      default: TRIED_AGAIN,
    },
  }
}

const TAKEN = {
  id: 'Accepted',
  description: 'Accepted. Any other answer, or none within the time limit, is a failure.',
}
const SWITCHES_OFF = { id: 'SwitchesOff', description: 'Switches the webhook off.' }
const TRIED_AGAIN = {
  id: 'TriedAgain',
  description: 'Tried again after 1 s, 5 s, 30 s and 5 min; `Retry-After` can lengthen that.',
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
  security: [],
  requestParams: { header: signed },
  requestBody: { required: true, content: { 'application/json': { schema: callbackBody } } },
  responses: {
    '2XX': TAKEN,
    default: { description: 'Tried again after exactly 1 s, 5 s, 30 s and 5 min.' },
  },
}

/** The requests that receivers get: the section `webhooks` of the document. */
export const WEBHOOKS: ZodOpenApiPathsObject = {
  callback: { post: callback },
  ...Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: event(type) }])),
}
