import { describe, expect, it, vi } from 'vitest'
import type { Bootstrap } from '../../src/domain/bootstrap.ts'
import { handOutKey } from '../../src/flow/bootstrap/poll-bootstrap.ts'
import { startBootstrap } from '../../src/flow/bootstrap/start-bootstrap.ts'
import { cleanUp } from '../../src/jobs/clean-up.ts'
import { PATIENCE_MS } from '../support/patience.ts'
import { newRequester, useWorker, type Worker } from '../support/worker.ts'
import { feelPulse } from './pulse.ts'

const requester = { address: '192.0.2.1', user_agent: '' }

async function begin({ deps }: Worker, email: string): Promise<Bootstrap> {
  return (await startBootstrap(deps, { email, clientName: 'Agent', requester })).bootstrap
}

/** As the owner's consent leaves it, without the ceremony. */
async function approve({ deps }: Worker, { id }: Bootstrap, key_id: string): Promise<Bootstrap> {
  const at = new Date()
  const evidence = { type: 'totp' as const, step: 1 }
  const said = { decision: 'approved' as const, method: 'totp' as const, at, user_id: 'usr_x' }
  const approved = await deps.bootstraps.settle(id, {
    consent: { ...said, intent_json: '{}', evidence },
    key_id,
    collect_by: new Date(at.getTime() + 60_000),
    events: [],
    audit: [],
  })
  return approved ?? expect.unreachable('not pending')
}

describe('bootstraps in the background', () => {
  it('expire at the moment and not with the next look, decoys too, once each and with an entry', async () => {
    const worker = await useWorker()
    const { user } = await newRequester(worker)
    const begun = [await begin(worker, user.email), await begin(worker, 'nobody@example.com')]
    const end = new Date(Date.now() + 1_500)
    await worker.stored('bootstraps').updateMany({}, { $set: { expires_at: end } })
    const pulse = feelPulse(worker)
    const done: { at: number; late: number }[] = []
    const { bootstraps } = worker.deps
    const { expire } = bootstraps
    bootstraps.expire = async (...args) => {
      const expired = await expire(...args)
      // Expiry goes by the database's clock, which is this machine's. The service's estimate of it moves by milliseconds.
      if (expired !== undefined) done.push({ at: Date.now(), late: Date.now() - end.getTime() })
      return expired
    }
    await worker.start()
    await vi.waitFor(() => expect(done).toHaveLength(2), { timeout: PATIENCE_MS, interval: 20 })
    for (const { at, late } of done) {
      expect(late).toBeGreaterThanOrEqual(0)
      // The start may still be under way then. Left to the sweep of every 20 s, it would be 18 s.
      expect(late - pulse.heldUp(at - late, at)).toBeLessThanOrEqual(5_000)
    }
    await vi.waitFor(
      async () => {
        const told = await worker.deps.trail.list({ type: 'bootstrap.expired', limit: 10 })
        expect(told.map(({ entry }) => entry?.subject).sort()).toEqual(begun.map(({ id }) => id).sort())
        expect(told.map(({ entry }) => entry?.account_id).sort()).toEqual([user.account_id, undefined])
      },
      { timeout: PATIENCE_MS, interval: 50 },
    )
  })

  it('note a key that a process made before it died, once', async () => {
    const worker = await useWorker()
    const { user } = await newRequester(worker)
    const approved = await approve(worker, await begin(worker, user.email), 'key_of_the_test')
    expect(await handOutKey(worker.deps, approved, '192.0.2.9')).toMatch(/^sa_live_/)
    await worker.start()
    await vi.waitFor(
      async () => {
        const told = await worker.deps.trail.list({ type: 'bootstrap.collected', limit: 10 })
        expect(told.map(({ entry }) => entry?.subject)).toEqual([approved.id])
      },
      { timeout: PATIENCE_MS, interval: 50 },
    )
    const key = await worker.deps.apiKeys.find('key_of_the_test')
    expect((await worker.deps.bootstraps.find(approved.id))?.collected).toEqual({ at: key?.created_at })
  })

  it('are deleted a week after their end, and only once the trail has their entries', async () => {
    const worker = await useWorker()
    const old = await begin(worker, 'old@example.com')
    const untold = await begin(worker, 'untold@example.com')
    const fresh = await begin(worker, 'fresh@example.com')
    const pending = await begin(worker, 'pending@example.com')
    const week = 7 * 86_400_000
    const set = (id: string, $set: Record<string, unknown>, $unset: { outbox_token?: 1 } = {}) =>
      worker.stored('bootstraps').updateOne({ _id: id }, { $set, $unset })
    const past = { status: 'expired', expires_at: new Date(Date.now() - week - 1_000) }
    await set(old.id, past, { outbox_token: 1 })
    await set(untold.id, past)
    await set(
      fresh.id,
      { status: 'expired', expires_at: new Date(Date.now() - week + 60_000) },
      { outbox_token: 1 },
    )
    await set(pending.id, { expires_at: past.expires_at }, { outbox_token: 1 })
    await cleanUp(worker.deps)
    const left = await worker.stored('bootstraps').find({}).toArray()
    expect(left.map(({ _id }) => _id).sort()).toEqual([untold.id, fresh.id, pending.id].sort())
  })
})
