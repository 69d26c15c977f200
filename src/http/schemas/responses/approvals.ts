import { z } from 'zod'
import {
  actionField,
  approverField,
  contextField,
  idField,
  keyIdField,
  methodField,
  outcomeField,
  pageOf,
  sandboxMark,
  signatureField,
  statusField,
  timeField,
} from '../../api/shared/fields.ts'
import { decisionAnswer } from './decision.ts'

/** `POST /api/v1/approvals/request` with a live key. */
export const createdAnswer = z
  .strictObject({
    id: idField('req'),
    status: z.literal('pending'),
    action: actionField,
    metadata: contextField,
    created_at: timeField,
    expires_at: timeField,
  })
  .meta({ id: 'CreatedRequest', description: 'Answer to a live key; `metadata` is the supplied `context`.' })

/** The same with a sandbox key. */
export const sandboxCreatedAnswer = z
  .strictObject({
    request_id: idField('req'),
    status: z.literal('pending'),
    sandbox: sandboxMark,
    verify_url: z.string().meta({ description: 'Where the receipt can be verified once it is decided.' }),
  })
  .meta({
    id: 'CreatedSandboxRequest',
    description: 'Answer to a sandbox key. The id is named `request_id` here.',
  })

const head = { id: idField('req'), action: actionField }
const times = { created_at: timeField, expires_at: timeField }
const mark = { sandbox: sandboxMark.optional() }

/** Expired or withdrawn. */
export const expiredAnswer = z
  .strictObject({
    ...head,
    status: z.literal('expired'),
    ...times,
    cancelled: z.literal(true).optional().meta({ description: 'The caller withdrew it.' }),
    ...mark,
  })
  .meta({
    id: 'ExpiredApproval',
    description: 'The time ran out, or the caller withdrew it: nothing was signed, so no `decision`.',
  })

/** `GET /api/v1/approvals/:id`: which fields there are depends on the status (interface, endpoint 2). */
export const requestAnswer = z
  .union([
    z
      .strictObject({ ...head, status: z.literal('pending'), context: contextField, ...times, ...mark })
      .meta({ id: 'PendingApproval', description: 'Nobody has decided yet.' }),
    z
      .strictObject({
        ...head,
        status: z.literal('approved'),
        context: contextField,
        ...times,
        decision: decisionAnswer,
        consumed_at: timeField.optional().meta({ description: 'When it was used up; absent until then.' }),
        ...mark,
      })
      .meta({ id: 'ApprovedApproval', description: 'Approved, with its receipt.' }),
    z
      .strictObject({ ...head, status: z.literal('rejected'), decision: decisionAnswer, ...mark })
      .meta({ id: 'RejectedApproval', description: 'Rejected, with its receipt; no context and no times.' }),
    expiredAnswer,
  ])
  .meta({ id: 'Approval', description: 'A request; its fields depend on its status.' })

/** `GET /api/v1/approvals`. */
export const requestListAnswer = pageOf(requestAnswer).meta({ id: 'ApprovalList' })

/** `POST /api/v1/approvals/:id/remind`. */
export const reminderAnswer = z
  .strictObject({
    ok: z.literal(true),
    request_id: idField('req'),
    push_sent: z.boolean().meta({
      description:
        'True: a chat platform accepted a message of this reminder for at least one approver within three seconds. False: none did yet, or nobody can be reached; approvers can still decide on the web page.',
    }),
    reminded_at: timeField,
    ...mark,
  })
  .meta({ id: 'Reminder' })

/** `POST /api/v1/approvals/:id/consume`. */
export const consumedAnswer = z
  .strictObject({
    request_id: idField('req'),
    status: z.literal('approved'),
    decision_id: idField('dec'),
    consumed_at: timeField,
    ...mark,
  })
  .meta({ id: 'ConsumedApproval', description: 'In production, do not go ahead when `sandbox` is there.' })

/** The signed payload, format 1 (interface, "Signed payload"). */
const payloadAnswer = z
  .strictObject({
    v: z.literal(1),
    rid: idField('req').meta({ description: 'Request id.' }),
    did: idField('dec').meta({ description: 'Decision id.' }),
    approver: approverField,
    action: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .meta({ description: 'First 16 hex characters of the SHA-256 of the action text.' }),
    decision: outcomeField,
    method: methodField,
    ts: z.int().meta({ description: 'Decision time, Unix seconds.' }),
    exp: z.int().meta({ description: 'Expiry of the request, Unix seconds.' }),
    nonce: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .meta({
        description: 'First 32 hex characters of the SHA-256 of the intent: binds action and context.',
      }),
    sandbox: sandboxMark.optional(),
  })
  .meta({ id: 'Payload', description: 'What is signed; `sandbox` lies inside the signed bytes.' })

/** `GET /api/v1/approvals/:id/verify`. */
export const verdictAnswer = z
  .union([
    z
      .strictObject({
        valid: z.literal(true),
        decision: outcomeField,
        method: methodField,
        verified_at: timeField,
        public_key: z
          .string()
          .regex(/^[A-Za-z0-9+/]{43}=$/)
          .meta({ description: 'Raw Ed25519 public key, standard base64.' }),
        public_key_id: keyIdField,
        signature: signatureField,
        payload: payloadAnswer,
        ...mark,
      })
      .meta({ id: 'ValidReceipt' }),
    z
      .strictObject({
        valid: z.literal(false),
        error: z.string().meta({ example: 'request not decided yet' }),
        message: z.string(),
        status: statusField.optional().meta({ description: 'Missing when there is no such request.' }),
      })
      .meta({ id: 'InvalidReceipt' }),
  ])
  .meta({ id: 'Verdict' })

/** `GET /.well-known/jwks.json`. */
export const jwksAnswer = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
        kid: keyIdField,
        purpose: z.enum(['decision', 'decision-sandbox']).meta({
          description: 'A key signs one kind of receipt only.',
        }),
        nbf: z.int().meta({ description: 'Signs from this Unix time on; may lie in the future.' }),
        exp: z.int().optional(),
        revoked_at: z.int().optional().meta({ description: 'Receipts from this Unix time on do not count.' }),
      }),
    ),
  })
  .meta({
    id: 'JsonWebKeySet',
    description: 'RFC 7517 key set. Old keys stay: old receipts verify for ever.',
  })
