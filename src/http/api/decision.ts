import { z } from 'zod'
import type { SignedReceipt } from '../../domain/receipt.ts'
import type { ApprovalRequest, Decision, Vote } from '../../domain/request.ts'
import { toBase64Url } from '../../signing/base64.ts'
import {
  type Answer,
  approverField,
  idField,
  keyIdField,
  methodField,
  outcomeField,
  present,
  signatureField,
  timeField,
} from './shared/fields.ts'

const signedPayload = z
  .string()
  .regex(/^[A-Za-z0-9_-]+$/)
  .meta({ description: 'The signed bytes, base64url: UTF-8 of the RFC 8785 JSON of the payload.' })

/** The delegate who acted, if any; `approver` is then the person for whom the vote counts. */
export const delegateField = approverField.meta({
  description: 'The delegate, if one acted for `approver`.',
})

export const commentField = z.string().nullable().meta({ description: "The approver's comment; not signed." })

const intent = z.string().meta({
  description:
    'RFC 8785 text of the whole statement that was approved: action, SHA-256 of the context, expiry and more. The first 32 hex characters of its SHA-256 are the signed `nonce`, so it binds what is about to run to the receipt. Absent once it was erased.',
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
    comment: commentField,
    intent: intent.optional(),
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
    comment: commentField,
    intent: intent.optional(),
    votes: z.array(signedVote).optional().meta({
      description:
        'Every vote, in the order in which they were cast. Only where more than one approval is needed.',
    }),
  })
  .meta({
    id: 'Decision',
    description: 'A signed receipt; check it with `countersign verify` or any Ed25519 library.',
  })

/** The number of people who must approve, and of those who have. */
export const quorumField = z
  .strictObject({ needed: z.int().min(1), approved: z.int().min(0) })
  .meta({ id: 'Quorum', description: 'How many must approve, and how many have.' })

const encoder = new TextEncoder()

/** Presents the decision of a decided request; with a quorum above one, also every vote. */
export function presentDecision(request: ApprovalRequest): Answer<typeof decisionAnswer> {
  const decision = decisionOf(request)
  const closing = request.votes.find((vote) => vote.decision_id === decision.id)
  if (closing === undefined) throw new Error(`${request.id} lacks the vote that closed it`)
  return present(decisionAnswer, decision, {
    ...presentReceipt(decision.receipt),
    intent: closing.intent_json || undefined,
    votes: request.requirement.quorum > 1 ? request.votes.map(presentSignedVote) : undefined,
  })
}

/** Returns the decision of a decided request; one write sets both, so none is missing. @throws Error if it is not decided */
export function decisionOf({ id, decision }: ApprovalRequest): Decision {
  if (decision === undefined) throw new Error(`${id} is not decided`)
  return decision
}

function presentReceipt({ canonical_payload, signature, public_key_id }: SignedReceipt) {
  return { signed_payload: toBase64Url(encoder.encode(canonical_payload)), signature, public_key_id }
}

/** Presents a vote; an approval of a rejected request has no receipt. */
function presentSignedVote(vote: Vote): Answer<typeof signedVote> {
  return present(signedVote, vote, {
    id: vote.decision_id,
    decided_at: vote.at.toISOString(),
    intent: vote.intent_json || undefined,
    ...UNSIGNED,
    ...(vote.receipt && presentReceipt(vote.receipt)),
  })
}

const UNSIGNED = { signed_payload: undefined, signature: undefined, public_key_id: undefined }

/** Counts how many must approve, and for how many people there is an approval. */
export function presentQuorum({ requirement, votes }: ApprovalRequest): Answer<typeof quorumField> {
  const approved = votes.filter(({ decision }) => decision === 'approved')
  return {
    needed: requirement.quorum,
    approved: new Set(approved.map(({ on_behalf_of }) => on_behalf_of)).size,
  }
}
