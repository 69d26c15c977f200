import { mongo } from 'mongoose'
import { expect, it, onTestFinished } from 'vitest'
import type { Push } from '../../src/domain/push.ts'
import { authenticateApiKey } from '../../src/flow/keys/authenticate-caller.ts'
import { revokeApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import { createRelay, NO_LOOPS } from '../../src/flow/relay/relay.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import { createWebhook, deleteWebhook } from '../../src/flow/webhooks/manage-webhooks.ts'
import { createDeliveryLoop } from '../../src/flow/webhooks/send-deliveries.ts'
import { createPushStore } from '../../src/store/delivery/pushes.ts'
import { outcomesOf } from '../../src/store/mongo/bulk-writes.ts'
import { connectStore } from '../../src/store/mongo/connect.ts'
import { isUnavailable } from '../../src/store/mongo/failures.ts'
import { shareCommands } from '../../src/store/mongo/shared-commands.ts'
import { createQuotaStore } from '../../src/store/requests/quotas.ts'
import { createRequestStore } from '../../src/store/requests/requests.ts'
import { decidedId, newCaller, send, stored, type TestCaller } from '../support/caller.ts'
import { codeAt, enrolWithTotp, expectStatus } from '../support/enrolled.ts'
import { ask, keyOf, proofFor, setUpOwner } from '../support/live.ts'
import { startReceiver } from '../support/receiver.ts'
import { type TestService, useService } from '../support/service.ts'
import { commandsOf, toldDatabase } from '../support/store-commands.ts'

/** A service whose writes are carried on at once, and by nothing else: no sweep asks the store anything meanwhile. */
async function useRelayedService(): Promise<TestService> {
  const env = { MONGODB_URI: toldDatabase(), CALLBACK_ALLOW_PRIVATE: '1' }
  const service = await useService({ env, work: false })
  const { deps, onWritten } = service.composition
  const limits = { total: 4, perHost: 4, perAccount: 4, leaseMs: 60_000 }
  const relay = createRelay(deps, { ...NO_LOOPS, deliveries: createDeliveryLoop(deps, limits) })
  onWritten(relay.wake)
  return service
}

/** Every outbox was carried on. */
async function untilCarriedOn(service: TestService): Promise<void> {
  const waiting = { outbox_token: { $gt: '' } }
  for (const name of ['requests', 'deliveries', 'webhooks', 'users', 'api_keys', 'sessions'])
    await expect.poll(() => stored(service, name).countDocuments(waiting)).toBe(0)
}

/** Without those by which the test looks, and the rate limit, which a process with a store of its own counts in memory. */
const ofTheService = (commands: readonly string[]): string[] =>
  commands.filter((command) => !command.startsWith('aggregate') && !command.endsWith(' rate_limits'))

const isTrail = (command: string): boolean => command.endsWith(' audit_log')

it('a live create and all that follows it is eight store commands', async () => {
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
    'update quotas',
    'insert requests',
    'find audit_log',
    'insert audit_log',
    'update requests',
  ])
})

it('a request looks for webhooks and browsers as soon as there ever was one', async () => {
  const service = await useRelayedService()
  const { deps } = service.composition
  const [one, two] = [await newCaller(service), await newCaller(service)]
  const looked = async (caller: TestCaller): Promise<string[]> => {
    const commands = await commandsOf(service, async () => {
      await caller.createdId()
      await untilCarriedOn(service)
    })
    // Once for the event, and once more for its delivery.
    return [...new Set(ofTheService(commands).filter((command) => /webhooks|push_devices/.test(command)))]
  }
  await untilCarriedOn(service)
  expect(await looked(one)).toEqual([])
  const owner = { accountId: one.user.account_id, actor: { kind: 'cli' } } as const
  const { webhook } = await createWebhook(deps, owner, { url: 'https://hooks.example.com/' })
  await untilCarriedOn(service)
  expect(await looked(one)).toEqual(['find webhooks', 'find push_devices'])
  expect(await deps.deliveries.list({ account_id: one.user.account_id, limit: 9 })).toMatchObject([
    { event_type: 'approval.created', target: { webhook_id: webhook.id } },
  ])
  await deleteWebhook(deps, owner, webhook.id)
  await untilCarriedOn(service)
  expect(await looked(one)).toEqual(['find webhooks', 'find push_devices'])
  await deps.users.willHaveBrowser(two.user.id)
  expect(await looked(two)).toEqual(['find webhooks', 'find push_devices'])
})

it('what a caller asks for otherwise is few store commands', async () => {
  const service = await useRelayedService()
  const caller = await newCaller(service, { sandbox: true })
  // Left to their usual five seconds, they would fall due meanwhile on a slow machine, and the list would decide them.
  const later = { sandbox_auto_decide_seconds: 300 }
  await decidedId(service, caller)
  // Appends alone, as far as it can tell.
  for (let n = 0; n < 4; n += 1) {
    await caller.createdId(later)
    await untilCarriedOn(service)
  }
  const id = await caller.createdId({ sandbox_auto_decide_seconds: 0 })
  await untilCarriedOn(service)
  const counted = async (work: () => Promise<unknown>): Promise<number> => {
    const commands = await commandsOf(service, async () => {
      await work()
      await untilCarriedOn(service)
    })
    const asked = ofTheService(commands)
    const trail = asked.filter(isTrail)
    // On a slow machine the trail takes in two steps what comes together on a quick one.
    return asked.length - trail.length + Math.min(trail.length, 1)
  }
  const path = `/api/v1/approvals/${id}`
  const keyed = () => caller.create({ action: 'Deploy', ...later }, { 'Idempotency-Key': 'once' })
  expect({
    'create in the sandbox': await counted(() => caller.createdId(later)),
    'create under a key of its own': await counted(keyed),
    'read that decides and signs': await counted(() => caller.read(id)),
    read: await counted(() => caller.read(id)),
    list: await counted(() => caller.send('/api/v1/approvals?limit=5')),
    verify: await counted(() => send(service, `${path}/verify`)),
  }).toEqual({
    'create in the sandbox': 7,
    // The look for an earlier request.
    'create under a key of its own': 8,
    'read that decides and signs': 6,
    read: 2,
    list: 2,
    verify: 1,
  })
})

it.each([
  ['passkey', ['findAndModify challenges', 'update users']],
  ['code', ['findAndModify attempts', 'findAndModify users']],
])(
  'a decision by %s, until its callback is delivered and all is at rest, is twelve store commands',
  async (method, proving) => {
    const service = await useRelayedService()
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const { owner, key, prove } = await ownerWith(service, method)
    for (let n = 0; n < 4; n += 1) {
      await ask({ service, key })
      await untilCarriedOn(service)
    }
    const id = await ask({ service, key }, { callback_url: receiver.url('/in') })
    const proof = await prove(id)
    await untilCarriedOn(service)
    const commands = await commandsOf(service, async () => {
      const path = `/api/v1/approvals/${id}/decision`
      expectStatus(await owner.browser.post(path, { decision: 'approved', ...proof }), 200)
      await expect
        .poll(() => stored(service, 'deliveries').countDocuments({ state: 'delivered', outbox_token: null }))
        .toBe(1)
      await untilCarriedOn(service)
    })
    expect(
      ofTheService(commands)
        .filter((command) => !isTrail(command))
        .sort(),
    ).toEqual(
      [
        'find sessions',
        'find users',
        'find requests',
        ...proving,
        'findAndModify requests',
        'find webhooks',
        'insert deliveries',
        'update deliveries',
        'update deliveries',
        'update requests',
      ].sort(),
    )
    // One, unless the machine was so slow that the callback came after the moment the trail waits.
    expect(commands.filter(isTrail).length).toBeLessThanOrEqual(2)
  },
)

/** An owner with this factor alone, a key of theirs, and how they prove presence for approving a request. */
async function ownerWith(service: TestService, method: string) {
  if (method === 'passkey') {
    const setting = await setUpOwner(service)
    const prove = async (id: string) => ({ passkey: await proofFor(setting, id, 'approved') })
    return { ...setting, prove }
  }
  const owner = await enrolWithTotp(service, 'owner@example.com')
  const prove = async () => {
    // The code by which they enrolled is the one of now.
    await stored(service, 'users').updateOne({ _id: owner.userId }, { $set: { 'totp.last_step': 0 } })
    return { totp: codeAt(owner.secret, service.composition.deps.clock.now()) }
  }
  return { owner, key: await keyOf(service, owner.userId), prove }
}

it('64 requests made at once share every command of theirs', async () => {
  const service = await useRelayedService()
  const { deps } = service.composition
  const caller = await newCaller(service)
  await caller.createdId()
  await untilCarriedOn(service)
  const credential = { token: caller.token, email: undefined, address: '127.0.0.1' }
  const input = { action: 'Pay', context: {}, requires_individual_decision: false }
  const create = async () => {
    const who = await authenticateApiKey({ ...deps, internalTokenHash: undefined }, credential)
    return createRequest(deps, who, input)
  }
  const commands = await commandsOf(service, async () => {
    await Promise.all(Array.from({ length: 64 }, create))
    await untilCarriedOn(service)
  })
  // Which of them were asked before the first command of a kind went is all that may differ.
  expect(ofTheService(commands).length).toBeLessThanOrEqual(24)
})

it('64 who ask at once share their commands', async () => {
  const service = await useRelayedService()
  const caller = await newCaller(service)
  await caller.createdId()
  await untilCarriedOn(service)
  const { deps } = service.composition
  const account = caller.user.account_id
  const commands = await commandsOf(service, () =>
    Promise.all(
      Array.from({ length: 64 }, () =>
        Promise.all([deps.accounts.find(account), deps.quotas.take(oneOf(account, 0))]),
      ),
    ),
  )
  expect(ofTheService(commands)).toEqual(['find accounts', 'update quotas'])
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
  const stem = `${made.id.slice(0, -3)}${made.id.at(-3) === '0' ? 1 : 0}`
  const others = Array.from({ length: 20 }, (_, n) => ({ ...made, id: `${stem}${n + 10}` }))
  const inserted = await Promise.all([made, ...others, others[0] ?? made].map((one) => requests.insert(one)))
  expect(inserted).toEqual([false, ...others.map(() => true), false])
  expect(await requests.find(others[7]?.id ?? '')).toEqual(others[7])
})

it('a command that never comes back holds up only those whom it carries', async () => {
  const sent: (readonly number[])[] = []
  const ask = shareCommands(async (asks: readonly number[]) => {
    sent.push(asks)
    return sent.length === 1 ? new Promise<readonly number[]>(() => undefined) : asks
  })
  void ask(1)
  await expect.poll(() => sent.length).toBe(1)
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
    result.status === 'rejected' ? isUnavailable(result.reason) : result,
  )
  expect(reasons).toEqual([true, true, true])
})

it('what ends a whole bulk write is no list of writes without a refusal, though the driver says it as one', async () => {
  const gone = new mongo.MongoNetworkError('gone')
  const result = { getWriteConcernError: () => undefined }
  const wrapped: unknown = Reflect.construct(mongo.MongoBulkWriteError, [gone, result])
  expect(wrapped).toMatchObject({ writeErrors: [] })
  await expect(outcomesOf(1, () => Promise.reject(wrapped))).rejects.toBe(gone)
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
