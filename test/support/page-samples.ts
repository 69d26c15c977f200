import { createHash } from 'node:crypto'
import type { Key } from '../../dashboard/keys/key-shapes.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import type { Factors, PendingRequest, Review, User } from '../../webauthn-page/kit/api/contract.ts'

export const SAMPLE_USER: User & { account_id: string } = {
  id: 'usr_3V9K2M7Q4R8S1T6W5X0YZABCDE',
  email: 'ana@example.com',
  name: 'Ana Pereira',
  approver: '7f3a09c2d41be865',
  account_id: 'acc_3V9K2M7Q4R8S1T6W5X0YZABCDE',
  role: 'owner',
  has_passkey: true,
  has_totp: true,
  has_suspended_passkey: false,
  default_ttl_seconds: 3600,
  delegate: null,
}

export const SAMPLE_SESSIONS = [
  {
    id: 'ses_1',
    current: true,
    created_at: '2026-11-20T08:00:00.000Z',
    last_seen_at: '2026-11-21T09:30:00.000Z',
    expires_at: '2026-12-20T08:00:00.000Z',
    user_agent:
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  },
]

export const SAMPLE_CONTEXT = {
  agent_name: 'ops-agent',
  agent_purpose: 'Keeps the billing database small.',
  tool: 'postgres.execute',
  reason: 'Invoices older than ten years may be deleted by law.',
  tool_arguments: {
    database: 'billing',
    statements: ["DELETE FROM invoices WHERE issued < '2015-01-01'", 'VACUUM invoices'],
    options: { dry_run: false, timeout_seconds: 120, note: null, tags: [] },
  },
  tool_arguments_fingerprint: '9c1e77ab03f2',
  risk_arg_findings: [
    { detector: 'destructive-sql', severity: 'high', snippet: 'DELETE FROM invoices' },
    { detector: 'long-running', severity: 'medium', snippet: 'VACUUM invoices' },
    { detector: 'house-style', severity: 'low', snippet: "'2015-01-01'" },
  ],
  source: 'scheduler',
  ticket: 'OPS-4411',
  rows_affected: 18204,
}

/** A pending request that one approver may decide; `context` sets the context in all its forms. */
export function sampleReview(changes: Partial<Review> = {}, context: object = SAMPLE_CONTEXT): Review {
  const now = Date.now()
  const contextJson = canonicalize(context)
  return {
    id: 'req_7K2M9Q4R8S1T6W5X0YZABCDEFG',
    status: 'pending',
    cancelled: undefined,
    action: 'Delete 18 204 invoices older than ten years from the billing database',
    context_json: contextJson,
    context_sha256: createHash('sha256').update(contextJson).digest('hex'),
    created_at: new Date(now - 40_000).toISOString(),
    expires_at: new Date(now + 3_560_000).toISOString(),
    server_time: new Date(now).toISOString(),
    high_impact: true,
    sandbox: undefined,
    requested_by: { key_name: 'ops-agent-prod', account_name: 'Example Ltd', key_revoked: undefined },
    requester: { key: `key_${'0'.repeat(26)}`, account: `acc_${'0'.repeat(26)}` },
    policy: {
      approvers: [SAMPLE_USER.approver],
      passkey_only: false,
      confirmed_only: undefined,
      authenticators: undefined,
    },
    audience: undefined,
    use_within_seconds: undefined,
    attachments: undefined,
    reversibility: undefined,
    quorum: { needed: 1, approved: 0 },
    approver: SAMPLE_USER.approver,
    on_behalf_of: undefined,
    may_decide: true,
    why_not: undefined,
    methods: ['passkey', 'totp'],
    outcome_goes_to: undefined,
    not_reachable: [],
    same_address: undefined,
    votes: [],
    seen: [],
    decision: undefined,
    verify_qr: undefined,
    names: {},
    ...changes,
  }
}

/** That request as the list of waiting ones shows it. */
export function samplePending(changes: Partial<PendingRequest> = {}): PendingRequest {
  const { id, action, high_impact, requested_by, created_at, expires_at, quorum, methods } = sampleReview()
  const { account_id } = SAMPLE_USER
  const asked = { id, action, high_impact, account_id, requested_by, created_at, expires_at }
  return { ...asked, on_behalf_of: null, quorum, may_decide: true, methods, ...changes }
}

export const SAMPLE_FACTORS: Factors = {
  passkeys: [
    {
      id: 'pky_1',
      name: 'Chrome on Linux',
      created_at: '2026-10-02T08:00:00.000Z',
      last_used_at: '2026-11-20T09:30:00.000Z',
      synced: false,
      suspended: false,
      suspended_at: null,
    },
    {
      id: 'pky_2',
      name: 'Phone',
      created_at: '2026-10-03T08:00:00.000Z',
      last_used_at: null,
      synced: true,
      suspended: true,
      suspended_at: '2026-10-05T08:00:00.000Z',
    },
  ],
  totp: { enabled: true, since: '2026-10-02T08:05:00.000Z' },
  backup_codes_left: 8,
}

export const SAMPLE_KEYS: Key[] = [
  {
    id: 'key_1',
    name: 'ops-agent-prod',
    key_prefix: 'sa_live_4f9Kq2',
    sandbox: false,
    scopes: ['approval:create', 'approval:read', 'approval:verify'],
    source_control: false,
    policy: null,
    created_at: '2026-10-02T08:10:00.000Z',
    last_used_at: '2026-11-20T11:00:00.000Z',
    revoked_at: null,
  },
  {
    id: 'key_2',
    name: 'try-out',
    key_prefix: 'sa_test_81bZx0',
    sandbox: true,
    scopes: ['approval:create'],
    source_control: false,
    policy: null,
    created_at: '2026-10-04T08:10:00.000Z',
    last_used_at: null,
    revoked_at: '2026-10-05T08:10:00.000Z',
  },
]
