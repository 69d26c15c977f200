import { createHash, randomBytes } from 'node:crypto'
import { refusal } from '../../src/domain/errors.ts'
import { given } from '../../src/domain/given.ts'
import { buildBatchIntent, buildIntent, type DecisionIntent } from '../../src/domain/intent.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import type { PendingRequest, Review } from '../../webauthn-page/kit/api/contract.ts'
import { challengeOf, statedBy } from './page-answers.ts'
import type { PageArea, PageCall } from './page-area.ts'
import { SAMPLE_USER, sampleReview } from './page-samples.ts'

/** What the service says about several requests at once; tests set it. */
export interface PageBatch {
  reviews: Review[]
  /** The reasons for rejecting of each account, by its id. */
  reasons: Record<string, string[]>
  /** Ids that changed between looking and signing. */
  changed: string[]
  /** Ids whose race is lost while writing. */
  lost: string[]
  /** What was posted last. */
  posted: Record<string, unknown> | undefined
  lie(answer: BatchAnswer): unknown
}

export interface BatchAnswer {
  batch_id: string
  batch: ReturnType<typeof buildBatchIntent>
  intents: DecisionIntent[]
  methods: string[]
  options: Record<string, unknown>
}

function fresh(): PageBatch {
  const now = Date.now()
  const at = (minutes: number): string => new Date(now - minutes * 60_000).toISOString()
  const one = { key_name: 'ops-agent', account_name: 'Example Ltd', key_revoked: undefined }
  return {
    reviews: [
      sampleReview({ id: 'req_1', action: 'Send the newsletter', high_impact: false, created_at: at(9) }),
      sampleReview({ id: 'req_2', action: 'Restart the mail server', high_impact: false, created_at: at(8) }),
      sampleReview({ id: 'req_3', action: 'Drop the invoices table', created_at: at(7), requested_by: one }),
    ],
    reasons: {},
    changed: [],
    lost: [],
    posted: undefined,
    lie: (answer) => answer,
  }
}

/** Three requests that wait, the newest of high impact, and the part of the API that decides them together. */
export function batchArea(): PageArea & { state: PageBatch } {
  const area = {
    state: fresh(),
    reset: () => {
      area.state = fresh()
    },
    routes: (call: PageCall) => routes(area.state, call),
  }
  return area
}

function routes(state: PageBatch, { body, origin, signedIn }: PageCall): ReturnType<PageArea['routes']> {
  if (!signedIn) return {}
  return {
    'GET /me/pending': () => ({ data: waiting(state).map(pendingOf), next_cursor: null }),
    'GET /approvals/:id/review': ({ id }) => {
      const review = state.reviews.find((one) => one.id === id)
      if (review === undefined) throw refusal('not_found')
      return { ...review, server_time: new Date().toISOString() }
    },
    'GET /approvals/:id/similar': ({ id }) => {
      const account = state.reviews.find((one) => one.id === id)?.requester.account ?? ''
      return { data: [], reject_reasons: state.reasons[account] ?? [], names: {} }
    },
    'POST /approvals/decisions/options': () => state.lie(options(state, itemsOf(body), origin)),
    'POST /approvals/decisions': () => decide(state, body),
  }
}

function waiting({ reviews }: PageBatch): Review[] {
  return reviews.filter(({ status, may_decide }) => status === 'pending' && may_decide)
}

function pendingOf(review: Review): PendingRequest {
  const { id, action, high_impact, requested_by, created_at, expires_at } = review
  const { quorum, may_decide, methods, on_behalf_of = null } = review
  const head = { id, action, high_impact, account_id: 'acc_1', requested_by, created_at, expires_at }
  return { ...head, quorum, may_decide, methods, on_behalf_of }
}

let asked: { id: string; decision: 'approved' | 'rejected' }[] = []

function itemsOf({ items }: Record<string, unknown>): typeof asked {
  asked = Array.isArray(items)
    ? items.map(({ id, decision }) => ({
        id: String(id),
        decision: decision === 'approved' ? 'approved' : 'rejected',
      }))
    : []
  return asked
}

function options(state: PageBatch, items: typeof asked, origin: string): BatchAnswer {
  const intents = items.map(({ id, decision }) => {
    const review = state.reviews.find((one) => one.id === id)
    if (review === undefined) throw refusal('not_found')
    const principal = review.on_behalf_of ?? undefined
    return buildIntent({
      aud: origin,
      rid: id,
      decision,
      approver: principal?.approver ?? SAMPLE_USER.approver,
      ...given({ delegate: principal?.delegate }),
      action: review.action,
      context_sha256: review.context_sha256,
      request_created_at: review.created_at,
      exp: Math.floor(Date.parse(review.expires_at) / 1000),
      high_impact: review.high_impact,
      ...statedBy(review),
      salt: randomBytes(32).toString('base64url'),
    })
  })
  const batch = buildBatchIntent({
    aud: origin,
    approver: SAMPLE_USER.approver,
    items: intents.map((intent) => ({
      rid: intent.rid,
      decision: intent.decision,
      intent_sha256: createHash('sha256').update(canonicalize(intent)).digest('hex'),
    })),
    salt: randomBytes(32).toString('base64url'),
  })
  const request = { rpId: 'localhost', userVerification: 'required', allowCredentials: [], timeout: 60_000 }
  return {
    batch_id: 'b'.repeat(64),
    batch,
    intents,
    methods: ['passkey', 'totp'],
    options: { ...request, challenge: challengeOf(batch) },
  }
}

function decide(state: PageBatch, body: Record<string, unknown>): unknown {
  state.posted = body
  if (body.totp !== '123456') throw refusal('totp_refused')
  const ids = asked.map(({ id }) => id).filter((id) => state.changed.includes(id))
  if (ids.length > 0) {
    state.changed = []
    state.reviews = state.reviews.map((review) =>
      ids.includes(review.id) ? { ...review, status: 'expired', may_decide: false } : review,
    )
    throw refusal('batch_changed', { ids })
  }
  const data = asked.map(({ id, decision }) => {
    if (state.lost.includes(id))
      return { id, status: 'expired', error: { code: 'not_pending', message: 'It ran out meanwhile.' } }
    const review = state.reviews.find((one) => one.id === id)
    const status = review !== undefined && review.quorum.needed > 1 ? 'pending' : decision
    const at = new Date().toISOString()
    const vote = { approver: SAMPLE_USER.approver, decision, method: 'totp' as const, at }
    return { id, status, vote }
  })
  state.reviews = state.reviews.map((review) => {
    const item = data.find(({ id }) => id === review.id)
    if (item === undefined) return review
    const status = item.status === 'approved' || item.status === 'rejected' ? item.status : 'expired'
    const own = 'vote' in item ? [{ ...item.vote, delegate: undefined, mine: true, comment: null }] : []
    return { ...review, status, may_decide: false, votes: own }
  })
  return { data }
}
