import { z } from 'zod'
import { SCOPES } from '../../domain/api-key.ts'
import { EVENT_TYPES, type EventType } from '../../domain/event.ts'
import {
  actionField,
  idField,
  keyIdField,
  outcomeField,
  signatureField,
  timeField,
} from '../api/shared/fields.ts'

/** What goes out to receivers. Objects are open: bodies may gain fields. */

const sandbox = z.literal(true).optional().meta({
  description: 'Only for requests made with a sandbox key: nobody was asked. Refuse it in production.',
})

const aboutRequest = { request_id: idField('req') }

/** Body of the per-request callback (interface, "Callback payload"). */
export const callbackBody = z
  .object({
    ...aboutRequest,
    decision: outcomeField,
    decided_at: timeField,
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
        description: 'Check it offline, with `countersign verify` or any Ed25519 library.',
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
    cancelled: z.literal(true).optional().meta({ description: 'The caller withdrew it.' }),
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
    review_url: z.url().meta({ description: 'Where the owner, signed in, consents. No secret is in it.' }),
  }),
  'bootstrap.approved': consentFacts.extend({ approved_at: timeField }),
  'key.created': keyFacts.extend({
    consent_id: idField('bst').optional().meta({ description: 'It was made by a bootstrap.' }),
    collected_from: z.string().optional().meta({ description: 'Address of whoever collected it.' }),
  }),
  'key.revoked': keyFacts,
  'delivery.exhausted': z.object({
    delivery_id: idField('dlv'),
    target: z.enum(['callback', 'webhook']),
    webhook_id: idField('whk').optional(),
    request_id: idField('req').optional(),
    event_id: idField('evt'),
    event_type: z.enum([...EVENT_TYPES, 'callback']),
    attempts: z.int().min(1),
    last_outcome: z.string().meta({ example: 'http_503' }),
  }),
  'webhook.test': z.object({ webhook_id: idField('whk') }),
} satisfies Record<EventType, z.ZodType>

/** Body of that event. */
export function eventBody(type: EventType): z.ZodType {
  return z
    .object({
      id: idField('evt').meta({
        description: 'The same in every delivery of this event; also the header `webhook-id`.',
      }),
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
