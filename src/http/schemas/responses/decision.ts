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
import { requestOptions } from '../../api/shared/proofs.ts'
import { quorumField } from './account-view.ts'

const signedPayload = z
  .string()
  .regex(/^[A-Za-z0-9_-]+$/)
  .meta({ description: 'The signed bytes, base64url: UTF-8 of the RFC 8785 JSON of the payload.' })

/** Set when a delegate acted: `approver` is whom the vote counts for. */
const delegateField = approverField.meta({
  description: 'Who acted, when a delegate stood in for `approver`.',
})

const principalAnswer = z
  .strictObject({ name: z.string(), approver: approverField, delegate: delegateField })
  .meta({ id: 'Principal', description: 'For whom the signed-in person would decide, as their delegate.' })

const comment = z.string().nullable().meta({ description: "The approver's comment; not signed." })

const intent = z.string().meta({
  description:
    'RFC 8785 text of the whole statement that was approved: action, SHA-256 of the context, expiry and more. The first 32 hex characters of its SHA-256 are the signed `nonce`, so it binds what is about to run to the receipt.',
})

const signedVote = z
  .strictObject({
    id: idField('dec'),
    decision: outcomeField,
    method: methodField,
    signed_payload: signedPayload.optional(),
    signature: signatureField.optional(),
    public_key_id: keyIdField.optional(),
    decided_at: timeField,
    approver: approverField,
    delegate: delegateField.optional(),
    comment,
    intent,
  })
  .meta({
    id: 'SignedVote',
    description:
      'One vote of several. Signed, and a receipt of its own, if it agrees with the outcome. Approvals of a request that was rejected are not signed and have no `signed_payload`, `signature` and `public_key_id`: such a receipt would pass for a permission wherever only its signature is checked.',
  })

/** The decision inside a request (interface, "Decision"). */
export const decisionAnswer = z
  .strictObject({
    id: idField('dec'),
    decision: outcomeField,
    method: methodField,
    signed_payload: signedPayload,
    signature: signatureField,
    public_key_id: keyIdField,
    decided_at: timeField,
    approver: approverField,
    delegate: delegateField.optional(),
    comment,
    intent,
    votes: z.array(signedVote).optional().meta({
      description:
        'Every vote, in the order in which they were cast. Only where more than one approval is needed.',
    }),
  })
  .meta({
    id: 'Decision',
    description: 'A signed receipt; check it with `countersign verify` or any Ed25519 library.',
  })

const vote = z
  .strictObject({
    approver: approverField,
    delegate: delegateField.optional(),
    decision: outcomeField,
    method: methodField,
    at: timeField,
  })
  .meta({ id: 'Vote' })

const votedMethods = z.array(z.enum(['passkey', 'totp']))

/** Who asked, by the names of that time. */
const askerAnswer = z.strictObject({
  key_name: z.string(),
  account_name: z.string(),
  key_revoked: z
    .literal(true)
    .optional()
    .meta({ description: 'The key was revoked after it asked; only while the request is pending.' }),
})

/** `GET /api/v1/approvals/:id/review`. */
export const reviewAnswer = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    cancelled: z.literal(true).optional(),
    action: actionField,
    context: contextField,
    context_json: z.string().meta({ description: 'The exact text whose SHA-256 is `context_sha256`.' }),
    context_sha256: z.string().regex(/^[0-9a-f]{64}$/),
    created_at: timeField,
    expires_at: timeField,
    server_time: timeField,
    high_impact: z.boolean(),
    sandbox: sandboxMark.optional(),
    requested_by: askerAnswer,
    quorum: quorumField,
    approver: approverField.nullable(),
    on_behalf_of: principalAnswer.nullable(),
    may_decide: z.boolean(),
    why_not: z
      .enum([
        'not_found',
        'not_pending',
        'sandbox_request',
        'already_voted',
        'passkey_required',
        'method_not_enrolled',
      ])
      .optional()
      .meta({ description: 'Why the signed-in person cannot decide.' }),
    methods: votedMethods.meta({ description: 'Ways in which this person may prove presence here.' }),
    not_reachable: z.array(approverField).meta({
      description:
        'Approvers whom no configured chat platform could take a message to, while the request is pending. They can decide on this page all the same.',
    }),
    votes: z.array(vote.extend({ mine: z.boolean(), comment }).meta({ id: 'ReviewedVote' })),
    decision: decisionAnswer.optional(),
  })
  .meta({ id: 'Review', description: 'A request as one of its approvers sees it.' })

/** `POST /api/v1/approvals/:id/decision/options`. */
export const decisionOptionsAnswer = z
  .strictObject({
    intent: z
      .strictObject({
        typ: z.literal('human-approval/intent/v1'),
        aud: z.string(),
        rid: idField('req'),
        decision: outcomeField,
        approver: approverField,
        delegate: delegateField.optional(),
        action: actionField,
        context_sha256: z.string().regex(/^[0-9a-f]{64}$/),
        request_created_at: timeField,
        exp: z.int(),
        high_impact: z.boolean(),
        salt: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
      })
      .meta({ id: 'Intent', description: 'What the person consents to. Compare it with what you show.' }),
    options: requestOptions,
  })
  .meta({
    id: 'DecisionOptions',
    description: '`options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `intent`.',
  })

/** `POST /api/v1/approvals/:id/decision`. */
export const decidedAnswer = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    vote,
    decision: decisionAnswer.optional().meta({ description: 'Once the request is decided.' }),
  })
  .meta({ id: 'Decided' })

/** `GET /api/v1/me/pending`. */
export const pendingAnswer = pageOf(
  z
    .strictObject({
      id: idField('req'),
      action: actionField,
      high_impact: z.boolean(),
      requested_by: askerAnswer,
      created_at: timeField,
      expires_at: timeField,
      on_behalf_of: principalAnswer.nullable(),
      quorum: quorumField,
      may_decide: z.boolean().meta({ description: 'False: the person lacks the factor it takes.' }),
      methods: votedMethods.meta({ description: 'Ways in which this person may prove presence here.' }),
    })
    .meta({ id: 'PendingRequest' }),
).meta({ id: 'PendingRequests' })
