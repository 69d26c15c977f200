import { mongo } from 'mongoose'
import { expect, it } from 'vitest'
import type { Push } from '../../src/domain/push.ts'
import { createRelay } from '../../src/flow/delivery/relay.ts'
import { revokeApiKey } from '../../src/flow/manage-api-keys.ts'
import { connectStore, isUnreachable } from '../../src/store/connect.ts'
import { createPushStore } from '../../src/store/pushes.ts'
import { createQuotaStore } from '../../src/store/quotas.ts'
import { createRequestStore } from '../../src/store/requests.ts'
import { failuresOf, shareTrips } from '../../src/store/shared-trips.ts'
import { newCaller, stored } from '../support/caller.ts'
import { type TestService, useService } from '../support/service.ts'
import { commandsOf, toldDatabase } from '../support/store-commands.ts'

/** A service whose writes are carried on at once, and by nothing else: no sweep asks the store anything meanwhile. */
async function useRelayedService(): Promise<TestService> {
  const service = await useService({ env: { MONGODB_URI: toldDatabase() }, work: false })
  const { deps, onOutbox } = service.composition
  const nothing = (): void => undefined
  const relay = createRelay(deps, { deliveries: nothing, cards: nothing, pushes: nothing })
  onOutbox((written) => {
    if (written !== 'cards') relay.wake(written.outboxOf, written.document)
  })
  return service
}

/** Every outbox of a request was carried on. */
const untilCarriedOn = (service: TestService): Promise<void> =>
  expect.poll(() => stored(service, 'requests').countDocuments({ outbox_token: { $gt: '' } })).toBe(0)

/** Without those by which the test looks, and the rate limit, which a process with a store of its own counts in memory. */
const ofTheService = (commands: readonly string[]): string[] =>
  commands.filter((command) => !command.startsWith('aggregate') && !command.endsWith(' rate_limits'))

it('a live create and all that follows it is eleven store commands', async () => {
  const service = await useRelayedService()
  const caller = await newCaller(service)
  const create = async (): Promise<void> => {
    await caller.createdId()
    await untilCarriedOn(service)
  }
  // Notes the use of the key, which the next minute's calls do not.
  await create()
  expect(ofTheService(await commandsOf(service, create))).toEqual([
    'find api_keys',
    'find accounts',
    'find users',
    'update reservations',
    'update quotas',
    'insert requests',
    'find webhooks',
    'find push_devices',
    'find audit_log',
    'insert audit_log',
    'update requests',
  ])
})

it('64 who ask at once share their commands', async () => {
  const service = await useRelayedService()
  const caller = await newCaller(service)
  await caller.createdId()
  const { deps } = service.composition
  const account = caller.user.account_id
  const commands = await commandsOf(service, () =>
    Promise.all(
      Array.from({ length: 64 }, () =>
        Promise.all([deps.accounts.find(account), deps.quotas.take(oneOf(account, 0))]),
      ),
    ),
  )
  // Which of the 64 were asked before the first command went is all that may differ.
  expect(ofTheService(commands).length).toBeLessThanOrEqual(4)
  expect(await deps.quotas.used(account, '2026-11')).toBeGreaterThanOrEqual(64)
})

it('T54: in a burst, no request that comes after a revocation was acknowledged gets in', async () => {
  const service = await useService()
  const caller = await newCaller(service)
  const id = await caller.createdId()
  let revoked = false
  const late: number[] = []
  const client = async (): Promise<void> => {
    for (let more = 3; more > 0; ) {
      const after = revoked
      const { status } = await caller.read(id)
      if (!after) continue
      late.push(status)
      more -= 1
    }
  }
  const clients = Array.from({ length: 24 }, client)
  await revokeApiKey(service.composition.deps, caller.keyId, undefined, { kind: 'cli' })
  revoked = true
  await Promise.all(clients)
  expect(late.filter((status) => status !== 401)).toEqual([])
  expect(late).toHaveLength(72)
})

it.each([61, 7, 1])(
  'a quota of %i that 90 take from at once, in two processes, is used up exactly',
  async (quota) => {
    const { composition } = await useService()
    // Each gathers its own callers, as two processes do.
    const quotas = [composition.deps.quotas, createQuotaStore(composition.connection)] as const
    const takes = Array.from({ length: 90 }, (_, n) =>
      quotas[n % 2 === 0 ? 0 : 1].take(oneOf('acc_1', quota)),
    )
    const taken = await Promise.all(takes)
    expect(taken.filter(({ usedUp }) => !usedUp)).toHaveLength(quota)
    expect(await quotas[0].used('acc_1', '2026-11')).toBe(quota)
  },
)

it('of two requests under one id, one is made and the other is told so, whoever else is on the way', async () => {
  const service = await useService()
  const caller = await newCaller(service)
  const { requests } = service.composition.deps
  const made = await requests.find(await caller.createdId())
  if (made === undefined) return expect.unreachable()
  const others = Array.from({ length: 20 }, (_, n) => ({ ...made, id: `${made.id.slice(0, -2)}${n + 10}` }))
  const inserted = await Promise.all([made, ...others, others[0] ?? made].map((one) => requests.insert(one)))
  expect(inserted).toEqual([false, ...others.map(() => true), false])
  expect(await requests.find(others[7]?.id ?? '')).toEqual(others[7])
})

it('a command that never comes back holds up only those whom it carries', async () => {
  const trips: (readonly number[])[] = []
  const ask = shareTrips(async (asks: readonly number[]) => {
    trips.push(asks)
    return trips.length === 1 ? new Promise<readonly number[]>(() => undefined) : asks
  })
  void ask(1)
  await expect.poll(() => trips.length).toBe(1)
  const answered: number[] = []
  await expect
    .poll(() => {
      void ask(2).then((answer) => answered.push(answer))
      return answered.length
    })
    .toBeGreaterThan(0)
  expect(new Set(answered)).toEqual(new Set([2]))
})

it('a connection that is lost is told as such, never as something written', async () => {
  const uri = toldDatabase()
  const caller = await newCaller(await useService({ env: { MONGODB_URI: uri } }))
  const connection = await connectStore(uri)
  const requests = createRequestStore(connection)
  const made = await requests.find(await caller.createdId())
  const pushes = createPushStore(connection)
  const quotas = createQuotaStore(connection)
  await connection.getClient().close()
  const results = await Promise.allSettled([
    requests.insert({ ...(made ?? expect.unreachable()), id: 'req_00000000000000000000000000' }),
    quotas.take(oneOf('acc_1', 0)),
    pushes.insertNew([newPushOf('evt_1')]),
  ])
  const reasons = results.map((result) =>
    result.status === 'rejected' ? isUnreachable(result.reason) : result,
  )
  expect(reasons).toEqual([true, true, true])
})

it('what ends a whole bulk write is no list of writes without a refusal, though the driver says it as one', () => {
  const gone = new mongo.MongoNetworkError('gone')
  const result = { getWriteConcernError: () => undefined }
  const wrapped: unknown = Reflect.construct(mongo.MongoBulkWriteError, [gone, result])
  expect(wrapped).toMatchObject({ writeErrors: [] })
  expect(() => failuresOf(wrapped)).toThrow(gone)
})

/** One request that reserves no attention. */
const oneOf = (accountId: string, quota: number) => ({
  accountId,
  month: '2026-11',
  quota,
  people: [],
  reservation: { id: 'req_1', at: new Date() },
})

const newPushOf = (event_id: string): Push => ({
  id: 'psh_1',
  account_id: 'acc_1',
  user_id: 'usr_1',
  device_id: 'dev_1',
  event_id,
  about: { kind: 'request', request_id: 'req_1' },
  host: 'push.example.com',
  state: 'due',
  next_at: new Date(),
  expires_at: new Date(),
  tries: 0,
  fence: 0,
  attempts: [],
  created_at: new Date(),
  audit: [],
})
