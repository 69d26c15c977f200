import { z } from 'zod'
import { statedAttachments } from '../../domain/attachment.ts'
import { shownPolicy } from '../../domain/policy.ts'
import { type ApprovalRequest, contextOf, REVERSIBILITIES, type Vote } from '../../domain/request.ts'
import { COMMENT_LENGTH, commentFault } from '../../domain/text-check.ts'
import type { User } from '../../domain/user.ts'
import type { Review } from '../../domain/views.ts'
import { attachmentFacts } from './approval.ts'
import {
  commentField,
  decisionAnswer,
  delegateField,
  presentDecision,
  presentQuorum,
  quorumField,
} from './decision.ts'
import { askerAnswer, presentAsker, presentPrincipal, principalAnswer, votedMethods } from './inbox.ts'
import { proofAnswer } from './receipts.ts'
import {
  type Answer,
  actionField,
  approverField,
  authenticatorsField,
  contextField,
  hexField,
  idField,
  methodField,
  namesField,
  outcomeField,
  present,
  sandboxMark,
  statusField,
  timeField,
  useWithinField,
} from './shared/fields.ts'
import { givenName, outcome, text } from './shared/input.ts'
import { DECISION_PROOF_REFUSALS, idInPath, operations } from './shared/operation.ts'
import { provenBy, requestOptions } from './shared/proofs.ts'
import { similarAnswer } from './similar.ts'

const comment = text
  .superRefine((text, context) => {
    const message = commentFault(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .meta({ maxLength: COMMENT_LENGTH })
  .nullish()
  .transform((text) => (text === undefined || text === null || text.trim() === '' ? null : text))

export const decisionOptionsBody = z.object({ decision: outcome }).meta({ id: 'DecisionOptionsRequest' })

/** `POST /api/v1/approvals/:id/decision`, without the proof, which has its own schema. */
export const decisionBody = z
  .object({
    decision: outcome,
    comment,
    reason: givenName.optional().meta({
      description: 'Of a rejection: the comment then begins with it. Usually one of `reject_reasons`.',
    }),
    approver: approverField.optional().meta({
      description:
        'Whose vote it is, as `review` shows it. Who decides for another person by a code must say it: a passkey signs it, a code does not.',
    }),
  })
  .meta({ id: 'DecisionRequest' })

const voteAnswer = z
  .strictObject({
    approver: approverField,
    delegate: delegateField.optional(),
    decision: outcomeField,
    method: methodField,
    at: timeField,
  })
  .meta({ id: 'Vote' })

/** The codes of the checks before a decision. */
const WHY_NOT = [
  'not_found',
  'not_pending',
  'sandbox_request',
  'held_after_restore',
  'already_voted',
  'not_confirmed',
  'passkey_required',
  'authenticator_refused',
  'method_not_enrolled',
] as const
const reversibilityField = z.enum(REVERSIBILITIES).meta({ description: 'As the caller says.' })

const attachmentsField = z
  .array(
    attachmentFacts.extend({
      opened: z.boolean().meta({ description: 'This person fetched it from the service.' }),
    }),
  )
  .meta({ id: 'StatedAttachments' })

export const reviewAnswer = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    cancelled: z.literal(true).optional(),
    action: actionField,
    context: contextField,
    context_json: z.string().meta({ description: 'The exact text whose SHA-256 is `context_sha256`.' }),
    context_sha256: hexField,
    created_at: timeField,
    expires_at: timeField,
    server_time: timeField,
    high_impact: z.boolean(),
    sandbox: sandboxMark.optional(),
    requested_by: askerAnswer,
    requester: z
      .strictObject({ key: idField('key'), account: idField('acc') })
      .meta({ description: 'How the intent names the caller, besides the name of its key.' }),
    policy: z
      .strictObject({
        approvers: z.array(approverField),
        passkey_only: z.boolean(),
        confirmed_only: z.literal(true).optional(),
        authenticators: authenticatorsField.optional(),
      })
      .meta({
        description:
          'The people who may decide. With `quorum`, `policy_sha256` of the intent is the SHA-256 of its RFC 8785 JSON.',
      }),
    audience: z
      .string()
      .optional()
      .meta({ description: 'For whom the decision is meant, as the caller said.' }),
    reversibility: reversibilityField.optional(),
    use_within_seconds: useWithinField.optional(),
    attachments: attachmentsField.optional(),
    quorum: quorumField,
    approver: approverField.nullable(),
    on_behalf_of: principalAnswer.nullable(),
    may_decide: z.boolean(),
    why_not: z.enum(WHY_NOT).optional().meta({ description: 'Why the signed-in person cannot decide.' }),
    held: z
      .literal(true)
      .optional()
      .meta({ description: 'Held after a restore (`held_after_restore`): neither decided nor used.' }),
    methods: votedMethods.meta({ description: 'Ways in which this person may prove presence here.' }),
    outcome_goes_to: z
      .strictObject({
        kind: z.enum(['channel', 'member']),
        name: z.string().meta({ example: 'deploys' }),
        platform: z.enum(['slack', 'teams']).optional().meta({ description: 'Of a channel.' }),
      })
      .optional()
      .meta({
        description: 'Who else is told the outcome in chat (`notify`), while the request is pending.',
      }),
    not_reachable: z.array(approverField).meta({
      description:
        'Approvers whom no configured chat platform could take a message to, while the request is pending. They can decide on this page all the same.',
    }),
    same_address: z.literal(true).optional().meta({
      description: 'The request came from the address you look at it from (`NOTE_SAME_ADDRESS`).',
    }),
    votes: z.array(
      voteAnswer.extend({ mine: z.boolean(), comment: commentField }).meta({ id: 'ReviewedVote' }),
    ),
    seen: z.array(z.strictObject({ approver: approverField, at: timeField })).meta({
      description: 'When each of those who are asked opened it first; the first 50, while it was pending.',
    }),
    decision: decisionAnswer.optional(),
    verify_qr: z
      .string()
      .regex(/^<svg/)
      .optional()
      .meta({ description: 'With `decision`: the address of `/verify` for it, as a QR code to be printed.' }),
    names: namesField,
  })
  .meta({ id: 'Review', description: 'A request as one of its approvers sees it.' })

export const decisionOptionsAnswer = z
  .strictObject({
    intent: z
      .strictObject({
        typ: z
          .string()
          .regex(/^human-approval\/intent\/v[234]$/)
          .meta({
            description: 'Version 4 with `attachments`, 3 with `use_within_seconds` alone.',
          }),
        aud: z.string(),
        rid: idField('req'),
        decision: outcomeField,
        approver: approverField,
        delegate: delegateField.optional(),
        action: actionField,
        context_sha256: hexField,
        request_created_at: timeField,
        exp: z.int(),
        high_impact: z.boolean(),
        requester: z.strictObject({ key: idField('key'), name: z.string(), account: idField('acc') }),
        policy_sha256: hexField,
        quorum: z.int(),
        audience: z.string().optional(),
        reversibility: reversibilityField.optional(),
        use_within_seconds: useWithinField.optional(),
        attachments: attachmentsField.optional(),
        salt: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
      })
      .meta({
        id: 'Intent',
        description: 'The statement that the person consents to. Compare it with what you show.',
      }),
    options: requestOptions,
  })
  .meta({
    id: 'DecisionOptions',
    description: '`options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `intent`.',
  })

export const decidedAnswer = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    vote: voteAnswer,
    decision: decisionAnswer.optional().meta({ description: 'Once the request is decided.' }),
  })
  .meta({ id: 'Decided' })

/** Presents everything that the page shows to one person; other people by reference, with those `names` that they may know. */
export function presentReview(
  review: Review,
  person: Pick<User, 'id' | 'approver'>,
  { names, verifyQr }: { names: Record<string, string>; verifyQr: string | undefined },
): Answer<typeof reviewAnswer> {
  const { request } = review
  const mine = request.requirement.approvers.find((approver) => approver.user_id === person.id)
  return present(reviewAnswer, request, {
    context: contextOf(request),
    server_time: review.serverTime.toISOString(),
    sandbox: request.sandbox || undefined,
    requested_by: presentAsker(review),
    requester: { key: request.api_key_id, account: request.account_id },
    attachments: statedAttachments(request, person.approver),
    policy: shownPolicy(request.requirement),
    quorum: presentQuorum(request),
    approver: mine?.approver ?? null,
    may_decide: review.mayDecide,
    why_not: WHY_NOT.find((code) => code === review.whyNot),
    held: review.held,
    methods: review.methods,
    on_behalf_of: presentPrincipal(review.onBehalfOf, person),
    outcome_goes_to: review.told,
    not_reachable: review.notReachable,
    same_address: review.sameAddress || undefined,
    votes: request.votes.map((vote) => ({
      ...presentVote(vote),
      mine: vote.user_id === person.id,
      comment: vote.comment,
    })),
    seen: (request.seen ?? []).map(({ approver, at }) => ({ approver, at: at.toISOString() })),
    decision: request.decision && presentDecision(request),
    verify_qr: verifyQr,
    names,
  })
}

/** Presents a vote with the request's new status and, once there is one, the decision. */
export function presentDecided({
  request,
  vote,
}: {
  request: ApprovalRequest
  vote: Vote
}): Answer<typeof decidedAnswer> {
  const decision = request.decision && presentDecision(request)
  return present(decidedAnswer, request, { vote: presentVote(vote), decision })
}

/** Presents a vote without its evidence and receipt. */
function presentVote(vote: Vote): Answer<typeof voteAnswer> {
  return present(voteAnswer, vote, {})
}

const path = idInPath('req', 'Request id.')

const attachmentIndex = z.string().regex(/^\d$/).meta({ description: 'Its place in `attachments`, from 0.' })

/** A decision with its proof, exactly one. */
const provenDecision = decisionBody.extend(provenBy).meta({ id: 'ProvenDecision' })

export const decisionOperations = operations('Deciding', {
  'get /api/v1/approvals/{id}/review': {
    id: 'reviewApproval',
    summary: 'Get the full content of a request',
    description:
      'For the approvers of the request, their delegates and people who voted on it, and for the owner and the auditors of the account. Reading decides nothing.',
    limited: false,
    parameters: { path },
    answers: { '200': { schema: reviewAnswer, description: 'The request.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/approvals/{id}/proof': {
    id: 'proveDecision',
    summary: 'Get how far the log has a decision, and its bundle',
    description: 'For whom `review` is.',
    limited: false,
    parameters: { path },
    answers: { '200': { schema: proofAnswer, description: 'The state and the bundle.' } },
    refusals: ['not_found', 'no_receipt'],
  },
  'get /api/v1/approvals/{id}/attachments/{index}': {
    id: 'openAttachment',
    summary: 'Get the bytes of an attachment',
    description:
      'For whom `review` is. While the request is pending, the attachment then counts as opened by this person.',
    parameters: { path: path.extend({ index: attachmentIndex }) },
    answers: {
      '200': {
        schema: z.string(),
        description: 'The bytes; texts as `text/plain`.',
        type: 'application/octet-stream',
      },
    },
    refusals: ['not_found'],
  },
  'get /api/v1/approvals/{id}/similar': {
    id: 'listSimilar',
    summary: 'List earlier requests of the same key for the same tool',
    description:
      'The last three, newest first, of those that the signed-in person may see, among the 50 requests that the key made before this one.',
    parameters: { path },
    answers: { '200': { schema: similarAnswer, description: 'Earlier requests.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/approvals/{id}/decision/options': {
    id: 'startDecision',
    summary: 'Start a decision by passkey',
    description:
      'The challenge commits to request, outcome, action and context; the answer to it counts once and for these only. Not needed for one-time codes.',
    parameters: { path },
    body: {
      schema: decisionOptionsBody,
    },
    answers: {
      '200': { schema: decisionOptionsAnswer, description: 'The challenge to confirm with the passkey.' },
    },
    refusals: WHY_NOT,
  },
  'post /api/v1/approvals/{id}/decision': {
    id: 'decide',
    summary: 'Approve or reject',
    description: 'By a signed-in person with a fresh proof of presence; never by an API key.',
    parameters: { path },
    body: {
      schema: provenDecision,
    },
    answers: { '200': { schema: decidedAnswer, description: 'The vote counts.' } },
    refusals: [
      'proof_required',
      'challenge_invalid',
      ...WHY_NOT,
      'vote_key_revoked',
      ...DECISION_PROOF_REFUSALS,
    ],
  },
})
