import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Bootstrap } from '../../src/domain/bootstrap.ts'
import { Refusal } from '../../src/domain/errors.ts'
import { giveConsent, startConsent } from '../../src/flow/bootstrap/give-consent.ts'
import { handOutKey } from '../../src/flow/bootstrap/poll-bootstrap.ts'
import { settleBootstrap, settleBootstraps } from '../../src/flow/bootstrap/settle-bootstrap.ts'
import { startBootstrap } from '../../src/flow/bootstrap/start-bootstrap.ts'
import { type Racing, startRacing } from '../support/racing.ts'

const ROUNDS = 10
const AT_ONCE = 20

let racing: Racing
let names = 0
beforeAll(async () => {
  racing = await startRacing(`bootstrap_races_${process.pid}`)
})
afterAll(() => racing.close())

function depsAt(index: number) {
  return racing.at(index).composition.deps
}

/** A bootstrap of the owner's account, under an e-mail address of its own: the hourly limit is not what is tried here. */
async function begun(): Promise<Bootstrap> {
  names += 1
  const deps = depsAt(0)
  const { findByEmail } = deps.users
  const input = {
    email: `race${names}@example.com`,
    clientName: 'Agent',
    requester: { address: '192.0.2.1', user_agent: '' },
  }
  const users = { ...deps.users, findByEmail: () => findByEmail(racing.decider.person.email) }
  return (await startBootstrap({ ...deps, users }, input)).bootstrap
}

async function proven({ id, code }: Bootstrap, decision: 'approved' | 'rejected') {
  const deps = depsAt(0)
  const input = { id, decision, code, address: '127.0.0.1' }
  const { options } = await startConsent(deps, racing.decider, input)
  const response = racing.decider.person.authenticator.authenticate(options, { origin: deps.party.origin })
  return { input, proof: { method: 'passkey' as const, response } }
}

async function answer(index: number, { input, proof }: Awaited<ReturnType<typeof proven>>): Promise<string> {
  try {
    return (await giveConsent(depsAt(index), racing.decider, input, proof)).status
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

async function stored({ id }: Bootstrap): Promise<Bootstrap> {
  return (await depsAt(0).bootstraps.find(id)) ?? expect.unreachable('gone')
}

describe('bootstraps under races over 4 services', () => {
  it(`are answered once by tabs that approve and reject at once, in each of ${ROUNDS} rounds`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const bootstrap = await begun()
      const tabs = []
      for (let tab = 0; tab < 4; tab += 1)
        tabs.push(await proven(bootstrap, (tab + round) % 2 === 0 ? 'approved' : 'rejected'))
      const results = await Promise.all(tabs.map((tab, index) => answer(index, tab)))
      const after = await stored(bootstrap)
      expect(results.filter((result) => result === after.status)).toHaveLength(1)
      expect(results.filter((result) => result === 'not_pending')).toHaveLength(3)
      expect(after.version).toBe(2)
      expect(after.key_id !== undefined).toBe(after.status === 'approved')
    }
  })

  it('are approved or expired, never both, when the owner answers as the time runs out', async () => {
    const seen = new Set<string>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const bootstrap = await begun()
      const tab = await proven(bootstrap, 'approved')
      const { connection } = racing.at(0).composition
      const expires_at = new Date(Date.now() + round)
      await connection
        .collection<{ _id: string }>('bootstraps')
        .updateOne({ _id: bootstrap.id }, { $set: { expires_at } })
      const [result] = await Promise.all([
        answer(1, tab),
        ...[0, 2, 3].map((index) => settleBootstraps(depsAt(index))),
      ])
      while ((await settleBootstrap(depsAt(0), await stored(bootstrap))).status === 'pending');
      const after = await stored(bootstrap)
      seen.add(after.status)
      expect(['approved', 'expired']).toContain(after.status)
      expect(result === 'approved').toBe(after.status === 'approved')
      const ends = after.audit.filter(({ type }) => /approved|expired/.test(type))
      expect(ends.map(({ type }) => type)).toEqual([`bootstrap.${after.status}`])
    }
    expect(seen.size).toBeGreaterThan(0)
  })

  it(`give one key to ${AT_ONCE} polls at once over 4 services, in each of ${ROUNDS} rounds`, async () => {
    const before = (await depsAt(0).apiKeys.list(racing.decider.user.account_id)).length
    for (let round = 0; round < ROUNDS; round += 1) {
      const bootstrap = await begun()
      expect(await answer(round, await proven(bootstrap, 'approved'))).toBe('approved')
      const approved = await stored(bootstrap)
      const keys = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => handOutKey(depsAt(index), approved, '192.0.2.1')),
      )
      expect(keys.filter((key) => key !== undefined)).toHaveLength(1)
    }
    const after = await depsAt(0).apiKeys.list(racing.decider.user.account_id)
    expect(after.length - before).toBe(ROUNDS)
  })

  it('replace a lost key for one of many callers with the verifier at once; all other secrets are dead', async () => {
    const bootstrap = { ...(await begun()), code_challenge: 'x' }
    await answer(0, await proven(bootstrap, 'approved'))
    const approved = { ...(await stored(bootstrap)), code_challenge: 'x' }
    const first = await handOutKey(depsAt(0), approved, '192.0.2.1')
    const more = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => handOutKey(depsAt(index), approved, '192.0.2.1')),
    )
    const all = [first, ...more].filter((key) => key !== undefined)
    const { vault, apiKeys } = depsAt(0)
    const live = await Promise.all(all.map((key) => apiKeys.findActiveByHash(vault.hash('api-key', key))))
    expect(all.length).toBeGreaterThan(1)
    expect(live.filter((key) => key !== undefined)).toHaveLength(1)
  })
})
