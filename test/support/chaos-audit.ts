import type { AuditType } from '../../src/domain/audit.ts'
import { isDelivered } from '../../src/domain/retry.ts'
import { flawOf, GENESIS } from '../../src/signing/audit-chain.ts'
import type { Ledger } from './chaos-ledger.ts'

/** `some`: the document tells that it happened, but not how often. */
type Expect = (subject: string, type: AuditType, times?: number | 'some') => void

/** Documents that are never deleted: the trail must tell nothing of them but what they bear out. */
const KEPT = /^(req|dlv|key|whk)_/

/** What leaves no mark in its document, or not one for each time. */
const UNCOUNTED: ReadonlySet<string> = new Set([
  'approval.reminded',
  'approval.verified',
  'delivery.replayed',
  'key.secret_read',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.rotated',
  'webhook.tested',
])

/** Differences between what the documents say happened and what the audit trail says (T86). */
export function auditGaps(ledger: Ledger): string[] {
  const expected = expectations(ledger)
  const told = new Map<string, number>()
  for (const { entry } of ledger.trail) {
    const key = `${entry?.subject} ${entry?.type}`
    told.set(key, (told.get(key) ?? 0) + 1)
  }
  const gaps = [...expected].filter(([key, times]) => {
    const seen = told.get(key) ?? 0
    return times === 'some' ? seen === 0 : seen !== times
  })
  const inventions = [...told].filter(
    ([key]) => KEPT.test(key) && !expected.has(key) && !UNCOUNTED.has(key.slice(key.indexOf(' ') + 1)),
  )
  return [
    ...gaps.map(([key, times]) => `${key}: ${times} by the documents, ${told.get(key) ?? 0} in the trail`),
    ...inventions.map(([key, times]) => `${key}: never by the documents, ${times} in the trail`),
  ]
}

function expectations(ledger: Ledger): Map<string, number | 'some'> {
  const expected = new Map<string, number | 'some'>()
  const expect: Expect = (subject, type, times = 1) => {
    if (times !== 0) expected.set(`${subject} ${type}`, times)
  }
  for (const request of ledger.requests) expectRequest(request, expect)
  for (const delivery of ledger.deliveries) expectDelivery(delivery, expect)
  for (const { _id, revoked_at } of ledger.keys) {
    expect(_id, 'key.created')
    expect(_id, 'key.revoked', revoked_at === null ? 0 : 1)
  }
  for (const { _id, state } of ledger.webhooks) {
    expect(_id, 'webhook.created')
    expect(_id, 'webhook.deleted', state === 'deleted' ? 1 : 0)
  }
  for (const { _id, ended_at } of ledger.sessions) {
    expect(_id, 'session.created')
    expect(_id, 'session.ended', ended_at === null ? 0 : 1)
  }
  for (const { _id } of ledger.users) expect(_id, 'user.enrolled')
  for (const { _id } of ledger.signingKeys) expect(_id, 'signing_key.created')
  return expected
}

function expectRequest(request: Ledger['requests'][number], expect: Expect): void {
  const { _id, status, votes, cancelled, consumed_at, reminded_at } = request
  expect(_id, 'approval.created')
  expect(_id, 'approval.voted', votes.length)
  if (status === 'approved' || status === 'rejected') expect(_id, `approval.${status}`)
  if (status === 'expired') expect(_id, cancelled ? 'approval.cancelled' : 'approval.expired')
  expect(_id, 'approval.consumed', consumed_at === undefined ? 0 : 1)
  expect(_id, 'approval.reminded', reminded_at === undefined ? 0 : 'some')
}

function expectDelivery({ _id, state, attempts }: Ledger['deliveries'][number], expect: Expect): void {
  const failed = attempts.filter(({ outcome }) => outcome !== 'interrupted' && !isDelivered(outcome)).length
  expect(_id, 'delivery.failed', failed)
  if (state === 'delivered') expect(_id, 'delivery.delivered')
  if (state === 'dead') expect(_id, 'delivery.exhausted')
  if (state === 'dropped') expect(_id, 'delivery.dropped')
}

/** The first record that the chain does not hold, if any. */
export function chainFlaw({ trail }: Ledger): string | undefined {
  let head = GENESIS
  for (const record of trail) {
    const flaw = flawOf(head, record)
    if (flaw !== undefined) return `record ${record.seq}: ${flaw}`
    head = record
  }
  return undefined
}
