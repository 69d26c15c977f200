import type { Bootstrap } from '../../src/domain/bootstrap.ts'

const CREATED = new Date('2026-09-14T13:15:00Z')

/** A bootstrap of a known account that waits. */
export function sampleBootstrap(more: Partial<Bootstrap> = {}): Bootstrap {
  return {
    id: 'bst_7h3k9m2p5q8r1s4t6v0w2x5y8z',
    version: 1,
    secret_hash: 'a'.repeat(64),
    account_id: 'acc_x',
    status: 'pending',
    client_name: 'Release agent',
    code: 'BDWPHQPK',
    scopes: ['approval:create', 'approval:read'],
    requester: { address: '203.0.113.7', user_agent: 'curl/8.5.0' },
    wrong_codes: 0,
    created_at: CREATED,
    expires_at: new Date(CREATED.getTime() + 600_000),
    outbox: [],
    audit: [],
    ...more,
  }
}

const consent = {
  method: 'passkey' as const,
  at: new Date('2026-09-14T13:17:00Z'),
  user_id: 'usr_x',
  intent_json: '{}',
  evidence: { type: 'totp' as const, step: 1 },
}

/** One of each state that a card can show. */
export function everyBootstrap(more: Partial<Bootstrap> = {}): Bootstrap[] {
  const approved = { status: 'approved' as const, consent: { ...consent, decision: 'approved' as const } }
  const at = new Date('2026-09-14T13:18:00Z')
  return [
    sampleBootstrap(more),
    sampleBootstrap({ ...approved, ...more }),
    sampleBootstrap({ status: 'rejected', consent: { ...consent, decision: 'rejected' }, ...more }),
    sampleBootstrap({ status: 'rejected', wrong_codes: 3, ...more }),
    sampleBootstrap({ status: 'expired', ...more }),
    sampleBootstrap({ ...approved, collected: { at, address: '198.51.100.4' }, ...more }),
    sampleBootstrap({ ...approved, collected: { at }, ...more }),
  ]
}
