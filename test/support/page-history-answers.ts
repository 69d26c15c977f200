import type { Delivery, RequestLog, RequestRow } from '../../dashboard/requests/request-shapes.ts'
import { refusal } from '../../src/domain/errors.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import type { similarAnswer } from '../../src/http/api/similar.ts'
import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { type PageArea, RawAnswer } from './page-area.ts'
import { sampleReview } from './page-samples.ts'

/** An entry of the audit log as the service tells it. */
export interface SampleEntry {
  seq: number
  id: string
  type: string
  at: string
  actor: { kind: string; id?: string; address?: string }
  subject: string
  detail: Record<string, string | number | boolean>
  hash: string
}

/** What the service says about the past; tests set it. */
export interface HistoryArea extends PageArea {
  rows: RequestRow[]
  entries: SampleEntry[]
  names: Record<string, string>
  actions: Record<string, string>
  log: RequestLog
  /** What the same key asked before. */
  similar: Answer<typeof similarAnswer>['data']
  /** How many come at once. */
  pageSize: number
  /** The filter that the service does not take, and its sentence. */
  refuse: { field: string; detail: string } | undefined
  /** Whether the page after the next one fails. */
  broken: boolean
  /** The queries of every call for a list or a file, in order. */
  asked: string[]
  /** The ids of every withdrawal, in order. */
  withdrawn: unknown[]
}

export const KEY_ID = 'key_3V9K2M7Q4R8S1T6W5X0YZABCDE'

/** A request as the history lists it. */
export function sampleRow(changes: Partial<RequestRow> = {}): RequestRow {
  const { id, action, high_impact, requested_by, created_at, expires_at, quorum } = sampleReview()
  return {
    id,
    status: 'pending',
    cancelled: undefined,
    action,
    high_impact,
    sandbox: undefined,
    requested_by,
    created_at,
    expires_at,
    decided_at: undefined,
    decision: undefined,
    quorum,
    ...changes,
  }
}

/** A row that somebody decided. */
export function decidedRow(decision: 'approved' | 'rejected', changes: Partial<RequestRow> = {}): RequestRow {
  return sampleRow({
    status: decision,
    decided_at: '2026-11-20T09:31:00.000Z',
    decision: {
      id: 'dec_7K2M9Q4R8S1T6W5X0YZABCDEFG',
      decision,
      method: 'passkey',
      approver: '7f3a09c2d41be865',
      delegate: undefined,
    },
    ...changes,
  })
}

/** An entry: a key made a request. */
export function sampleEntry(changes: Partial<SampleEntry> = {}): SampleEntry {
  return {
    seq: 41,
    id: 'evt_3V9K2M7Q4R8S1T6W5X0YZABCDE',
    type: 'approval.created',
    at: '2026-11-20T09:30:00.000Z',
    actor: { kind: 'api_key', id: KEY_ID, address: '203.0.113.7' },
    subject: sampleReview().id,
    detail: {},
    hash: 'ab'.repeat(32),
    ...changes,
  }
}

/** One delivery that arrived. */
export function sampleDelivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    id: 'dlv_3V9K2M7Q4R8S1T6W5X0YZABCDE',
    target: 'callback',
    event_id: 'evt_3V9K2M7Q4R8S1T6W5X0YZABCDE',
    event_type: 'callback',
    url: 'https://example.com/hook',
    state: 'delivered',
    next_attempt_at: null,
    attempts: [{ at: '2026-11-20T09:31:01.000Z', outcome: 'http_200', duration_ms: 84 }],
    created_at: '2026-11-20T09:31:00.000Z',
    ...changes,
  }
}

/** Requests, the audit log and what was sent, cut into pages by the cursor. */
export function historyArea(): HistoryArea {
  const area: HistoryArea = {
    rows: [],
    entries: [],
    names: {},
    actions: {},
    similar: [],
    log: { data: [], next_cursor: null, cards: [], notifications: [], quiet: [] },
    pageSize: 20,
    refuse: undefined,
    broken: false,
    asked: [],
    withdrawn: [],
    reset: () => {
      Object.assign(area, { ...historyArea(), reset: area.reset, routes: area.routes })
    },
    routes: ({ query, signedIn, body }) => ({
      'POST /account/requests/withdraw': () => {
        area.withdrawn.push(body.ids)
        return { withdrawn: [] }
      },
      'GET /account/requests': () => ({ ...listed(area, area.rows, query, signedIn), names: area.names }),
      'GET /account/audit': () => ({
        ...listed(area, area.entries, query, signedIn),
        names: area.names,
        actions: area.actions,
      }),
      'GET /account/audit/export': () => {
        area.asked.push(query.toString())
        return new RawAnswer('{}\n', {
          'Content-Type': 'application/x-ndjson',
          'Content-Disposition': 'attachment; filename="audit-2026-11-21.ndjson"',
        })
      },
      'GET /approvals/:id/deliveries': () => ({
        ...area.log,
        ...listed(area, area.log.data, query, signedIn),
      }),
      'GET /approvals/:id/similar': () => ({ data: area.similar, reject_reasons: [], names: area.names }),
    }),
  }
  return area
}

function listed<T>(
  area: HistoryArea,
  all: readonly T[],
  query: URLSearchParams,
  signedIn: boolean,
): { data: T[]; next_cursor: string | null } {
  if (!signedIn) throw refusal('not_signed_in')
  area.asked.push(query.toString())
  if (area.refuse !== undefined && query.has(area.refuse.field)) throw refusal('invalid_field', area.refuse)
  const start = Number(query.get('cursor') ?? 0)
  if (area.broken && start > 0) throw refusal('internal_error')
  const end = start + area.pageSize
  return { data: all.slice(start, end), next_cursor: end < all.length ? String(end) : null }
}

const VOTE: Review['votes'][number] = {
  approver: '7f3a09c2d41be865',
  delegate: undefined,
  decision: 'approved',
  method: 'passkey',
  at: '2026-11-20T09:30:30.000Z',
  mine: true,
  comment: 'Backup is there.',
}

/** A request that two people approved, one of them through a delegate, with its decision. */
export function sampleDecided(changes: Partial<Review> = {}): Review {
  const { id } = sampleReview()
  const delegated = {
    ...VOTE,
    approver: 'aa11bb22cc33dd44',
    delegate: '0011223344556677',
    method: 'totp' as const,
    at: '2026-11-20T09:31:00.000Z',
    mine: false,
    comment: null,
  }
  const signed = {
    signed_payload: Buffer.from(JSON.stringify({ decision: 'approved', rid: id, v: 1 })).toString(
      'base64url',
    ),
    signature: Buffer.alloc(64, 7).toString('base64'),
    public_key_id: 'k'.repeat(43),
  }
  const decision: NonNullable<Review['decision']> = {
    id: 'dec_7K2M9Q4R8S1T6W5X0YZABCDEFG',
    decision: 'approved',
    method: 'totp',
    decided_at: delegated.at,
    comment: null,
    approver: delegated.approver,
    delegate: delegated.delegate,
    ...signed,
    intent: '{}',
    votes: [VOTE, delegated].map(({ at, mine: _, ...vote }, index) => ({
      ...vote,
      ...signed,
      id: `dec_7K2M9Q4R8S1T6W5X0YZABCDEF${index}`,
      decided_at: at,
      intent: '{}',
    })),
  }
  return sampleReview({
    status: 'approved',
    may_decide: false,
    quorum: { needed: 2, approved: 2 },
    votes: [VOTE, delegated],
    decision,
    ...changes,
  })
}
