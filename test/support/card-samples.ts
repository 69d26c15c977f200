import { createHash } from 'node:crypto'
import type { BatchView } from '../../src/domain/card-view.ts'
import type { ApprovalRequest, Vote } from '../../src/domain/request.ts'
import { type CardAudience, viewBatch, viewCard } from '../../src/flow/tell/view-card.ts'
import { canonicalize } from '../../src/signing/canonical.ts'

const ANA = { user_id: 'usr_0000000000000000000000000a', approver: '7f3a09c2d41be865', name: 'Ana Pereira' }
const BEN = { user_id: 'usr_0000000000000000000000000b', approver: '20c4be11f7a59d3e', name: 'Ben Okafor' }

/** For whom samples are drawn: Ana, one of the approvers. */
export const TO_ANA: CardAudience = {
  audience: 'approver',
  personId: ANA.user_id,
  names: new Map([ANA, BEN].map(({ user_id, name }) => [user_id, name])),
  baseUrl: 'https://approve.example.com',
}

export const TO_BEN: CardAudience = { ...TO_ANA, personId: BEN.user_id }

/** The channel of the account. */
export const TO_CHANNEL: CardAudience = {
  audience: 'channel',
  names: TO_ANA.names,
  baseUrl: TO_ANA.baseUrl,
}

const CREATED = new Date('2026-09-14T13:15:00.000Z')

const CONTEXT = {
  agent_name: 'ops-agent',
  reason: 'Invoices older than ten years may be deleted by law.',
  tool: 'postgres.execute',
  tool_arguments: {
    database: 'billing',
    statements: ["DELETE FROM invoices WHERE issued < '2015-01-01'"],
    dry_run: false,
  },
  tool_arguments_fingerprint: '9c1e77ab03f2',
  risk_arg_findings: [
    { detector: 'destructive-sql', severity: 'high', snippet: 'DELETE FROM invoices' },
    { detector: 'house-style', severity: 'low', snippet: "'2015-01-01'" },
  ],
  ticket: 'OPS-4411',
  rows_affected: 18204,
}

/** What a usual request brings along: four facts, three arguments, one finding. */
export const USUAL_CONTEXT = {
  agent_name: 'ops-agent',
  reason: 'Invoices older than ten years may be deleted by law.',
  tool: 'postgres.execute',
  source: 'pipeline 4411 of billing-jobs',
  tool_arguments: {
    database: 'billing',
    statement: "DELETE FROM invoices WHERE issued < '2015-01-01'",
    dry_run: false,
  },
  risk_arg_findings: [{ detector: 'destructive-sql', severity: 'high', snippet: 'DELETE FROM invoices' }],
}

/** A pending request of two approvers, as it is stored; `context` in all its forms. */
export function sampleRequest(
  changes: Partial<ApprovalRequest> = {},
  context: object = CONTEXT,
): ApprovalRequest {
  const contextJson = canonicalize(context)
  return {
    id: 'req_7k2m9q4r8s1t6w5x0yzabcdefg',
    version: 1,
    status: 'pending',
    account_id: 'acc_0000000000000000000000000a',
    api_key_id: 'key_0000000000000000000000000a',
    requested_by: { key_name: 'ops-agent-prod', account_name: 'Example Ltd' },
    sandbox: false,
    action: 'Delete 18 204 invoices older than ten years from the billing database',
    context_json: contextJson,
    context_sha256: createHash('sha256').update(contextJson).digest('hex'),
    high_impact: true,
    requirement: {
      approvers: [ANA, BEN].map(({ user_id, approver }) => ({ user_id, approver })),
      quorum: 1,
      passkey_only: false,
    },
    created_at: CREATED,
    expires_at: new Date(CREATED.getTime() + 3_600_000),
    votes: [],
    outbox: [],
    audit: [],
    ...changes,
  }
}

/** Ben's vote on the sample, four minutes after it was made. */
export function sampleVote(changes: Partial<Vote> = {}): Vote {
  return {
    decision_id: 'dec_3b8n5v2c7x1z9m4k6j0hgfdsaq',
    user_id: BEN.user_id,
    on_behalf_of: BEN.user_id,
    approver: BEN.approver,
    decision: 'approved',
    method: 'passkey',
    at: new Date(CREATED.getTime() + 240_000),
    comment: null,
    intent_json: '{}',
    evidence: { type: 'sandbox' },
    ...changes,
  }
}

/** The sample decided by that vote. */
export function decidedRequest(vote: Vote = sampleVote(), changes: Partial<ApprovalRequest> = {}) {
  return sampleRequest({
    version: 2,
    status: vote.decision,
    votes: [vote],
    decision: {
      id: vote.decision_id,
      decision: vote.decision,
      method: vote.method,
      approver: vote.approver,
      decided_at: vote.at,
      comment: vote.comment,
      receipt: { canonical_payload: '{}', signature: '', public_key_id: '' },
    },
    ...changes,
  })
}

const TWO = { ...sampleRequest().requirement, quorum: 2 }

/** Ana's card in its six states. */
const SIX_STATES: readonly { name: string; request: ApprovalRequest }[] = [
  { name: 'pending', request: sampleRequest() },
  {
    name: 'partly-approved',
    request: sampleRequest({ requirement: TWO, votes: [sampleVote()], version: 2 }),
  },
  { name: 'approved', request: decidedRequest() },
  {
    name: 'rejected',
    request: decidedRequest(
      sampleVote({
        decision: 'rejected',
        comment: 'The audit of 2014 is still open. Ask again when it is closed.',
      }),
    ),
  },
  { name: 'expired', request: sampleRequest({ status: 'expired', version: 2 }) },
  { name: 'withdrawn', request: sampleRequest({ status: 'expired', cancelled: true, version: 2 }) },
]

/** The six states as Ana sees them. */
export const SIX_VIEWS = SIX_STATES.map(({ name, request }) => ({ name, view: viewCard(request, TO_ANA) }))

const BATCH_ID = 'bat_7k2m9q4r8s1t6w5x0yzabcdefg'

/** A batch of requests with these actions, or changes of the sample; no context, and not high impact. */
export function sampleBatch(
  requests: readonly (string | Partial<ApprovalRequest>)[],
  to: CardAudience = TO_ANA,
): BatchView {
  const members = requests.map((one, place) =>
    sampleRequest(
      {
        high_impact: false,
        id: `req_${String(place).padStart(26, '0')}`,
        batch: { id: BATCH_ID, place },
        ...(typeof one === 'string' ? { action: one } : one),
      },
      {},
    ),
  )
  const pending = members.some(({ status }) => status === 'pending')
  const batch = {
    id: BATCH_ID,
    account_id: 'acc_0000000000000000000000000a',
    version: members.length,
    status: pending ? ('pending' as const) : ('over' as const),
    expires_at: CREATED,
    members,
  }
  const views = members.map((request) => viewCard(request, to))
  return viewBatch(batch, views, to.baseUrl)
}

const PAYMENTS = [
  'ACME, invoice 4711: 120.00 EUR',
  'Globex, invoice 88: 9 310.50 EUR',
  'Initech, invoice 3: 77.10 EUR',
]
const decided = (action: string, changes: Partial<Vote> = {}) => ({
  ...decidedRequest(sampleVote(changes)),
  action,
})

/** A batch in the middle of its life, and after it. */
export const BATCH_VIEWS = [
  { name: 'batch-pending', view: sampleBatch(PAYMENTS.map((one) => `Pay ${one}`)) },
  {
    name: 'batch-over',
    view: sampleBatch(
      PAYMENTS.map((one, at) => ({
        ...decided(`Pay ${one}`, at === 2 ? { decision: 'rejected' } : {}),
        high_impact: false,
      })),
    ),
  },
]
