import type { Db } from 'mongodb'
import { expect, it, onTestFinished } from 'vitest'
import type { Caller } from '../../src/flow/keys/authenticate-caller.ts'
import { createApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import { autoDecideSandbox } from '../../src/flow/requests/settle-request.ts'
import { addProgram, enrolFleetOwner } from '../support/chaos-clients.ts'
import { useFleet } from '../support/chaos-fleet.ts'
import { readLedger, untilSettled, useDatabase } from '../support/chaos-ledger.ts'
import { decideOne } from '../support/chaos-load.ts'
import { didSomething, sets } from '../support/chaos-points.ts'
import {
  byIdentity,
  doubleIdentities,
  lostCallbacks,
  spoiltAttempts,
  unaccountedAttempts,
} from '../support/chaos-verdict.ts'
import { deciderOf, proveFor, setPolicy, tryDecide } from '../support/deciders.ts'
import { enrolWithPasskey } from '../support/enrolled.ts'
import { ask, keyOf } from '../support/live.ts'
import { addPerson } from '../support/people.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useService } from '../support/service.ts'
import { size } from '../support/size.ts'

const EVENTS = size(120, 500)
/** How many one process sends to one host at once. */
const ONE_PROCESS = 4
/** How long one of them waits for the other's, which may still start: far from the end of an attempt. */
const HELD_MS = 10_000

async function useReceiver(): Promise<Receiver> {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  return receiver
}

it(`T82: two processes that find ${EVENTS} events waiting send ${EVENTS} times`, async () => {
  const receiver = await useReceiver()
  const fleet = await useFleet({ CALLBACK_TIMEOUT_SECONDS: '30' })
  // Decided while nobody works, so that two others start on all of it at the same moment.
  await fleet.stop('SIGTERM')
  const env = { MONGODB_URI: fleet.storeUri, CALLBACK_ALLOW_PRIVATE: '1', BASE_URL: fleet.origin }
  const idle = await useService({ env, database: 'chaos' })
  const { deps } = idle.composition
  const person = await addPerson(idle, 'owner@example.com')
  const wanted = { accountId: person.account_id, name: 'many', sandbox: true }
  const { key } = await createApiKey(deps, wanted, { kind: 'cli' })
  const caller: Caller = { key, scopes: key.scopes, address: '127.0.0.1' }
  receiver.trust('/callback', deps.vault.webhookSecret(key.id, key.secret_version))
  const input = {
    action: 'Pay 10',
    context: {},
    requires_individual_decision: false,
    callback_url: receiver.url('/callback'),
    sandbox_auto_decide_seconds: 0,
  }
  const decideSome = async (): Promise<void> => {
    for (let index = 0; index < EVENTS / 20; index += 1)
      await autoDecideSandbox(deps, (await createRequest(deps, caller, input)).request)
  }
  await Promise.all(Array.from({ length: 20 }, decideSome))
  expect(receiver.received).toHaveLength(0)

  // One process alone has four under way. Each is answered once four more came after it, so both are at work to the end,
  // whichever started first or is faster; while there is only one, it goes on slowly.
  let arrived = 0
  receiver.behave(async () => {
    arrived += 1
    const wanted = Math.min(EVENTS, arrived + ONE_PROCESS)
    await receiver
      .until('both are at work', () => receiver.received.length >= wanted, HELD_MS)
      .catch(() => undefined)
    return { kind: 'answer', status: 200 }
  })
  await fleet.growTo(3)
  const database = await useDatabase(fleet.storeUri)
  await untilSettled(database)
  const ledger = await readLedger(database)
  const { received } = receiver
  // Claims and results.
  const writes = fleet.slots.slice(1).map(({ proxy }) => proxy.sent.get('update deliveries') ?? 0)
  console.log({ sends: received.length, connections: receiver.connections, writes })
  expect(received).toHaveLength(EVENTS)
  expect(receiver.connections).toBe(EVENTS)
  expect(byIdentity(received).size).toBe(EVENTS)
  expect(Math.min(...writes)).toBeGreaterThan(EVENTS / 20)
  expect(Math.max(...receiver.peak.values())).toBeLessThanOrEqual(2 * ONE_PROCESS)
  expect(lostCallbacks(ledger, received)).toEqual([])
  expect(doubleIdentities(ledger, received)).toEqual([])
  expect(spoiltAttempts(ledger, received)).toEqual([])
  expect(unaccountedAttempts(ledger, received)).toEqual([])
})

it('T80: however many approvers vote at once, the quorum makes one event and one callback', async () => {
  const receiver = await useReceiver()
  const service = await useService({ env: { CALLBACK_ALLOW_PRIVATE: '1' }, work: true })
  const people = []
  for (const name of ['ann', 'ben', 'cyd'])
    people.push(await enrolWithPasskey(service, `${name}@example.com`))
  const deciders = await Promise.all(people.map((person) => deciderOf(service, person)))
  const owner = deciders[0]?.user ?? expect.unreachable()
  await setPolicy(service, owner.account_id, { approvers: deciders.map(({ user }) => user.id), quorum: 2 })
  const key = await keyOf(service, owner.id)
  const { deps } = service.composition
  const ids: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const id = await ask({ service, key }, { callback_url: receiver.url('/callback') })
    const proofs = await Promise.all(deciders.map((decider) => proveFor(deps, decider, id, 'approved')))
    await Promise.all(
      deciders.map((decider, index) => tryDecide(deps, decider, proofs[index] ?? expect.unreachable())),
    )
    expect(await deps.requests.find(id)).toMatchObject({ status: 'approved' })
    ids.push(id)
  }
  const { db } = service.composition.connection
  await untilSettled(db ?? expect.unreachable())
  const told = receiver.received.map(({ body }) => JSON.parse(body.toString('utf8')).request_id)
  expect(told.sort()).toEqual(ids.sort())
  expect(byIdentity(receiver.received).size).toBe(ids.length)
})

const DEATHS = [
  ['after the decision', 'findAndModify', 'requests', 'after'],
  ['before the callback is handed over', 'insert', 'deliveries', 'before'],
  ['after the callback was handed over', 'insert', 'deliveries', 'after'],
] as const

it(`T81: killed ${DEATHS.map(([when]) => when).join(', ')}, the one process delivers after its restart under the id that the decision wrote`, async () => {
  const { receiver, fleet, program, database } = await useOneProcess()
  receiver.trust('/callback', program.secret)
  await untilSettled(database)
  for (const [index, [when, command, collection, side]] of DEATHS.entries()) {
    const died = fleet.slots[0].killAt({ command, collection, side })
    const leased = collection === 'deliveries' && side === 'after'
    const killed = leased ? died.then(() => endLeaseOfMaker(database)) : died
    const load = { programs: [program], callbackUrl: () => receiver.url('/callback') }
    const [id] = await Promise.all([decideOne(load, 1), killed])
    expect(fleet.kills(), when).toBe(index + 1)
    await freeSweeps(database)
    await untilSettled(database)

    const ledger = await readLedger(database)
    const request = ledger.requests.find(({ _id }) => _id === id) ?? expect.unreachable(when)
    expect(request, when).toMatchObject({ status: 'approved' })
    const [callback, ...more] = receiver.received.slice(index)
    expect(more, when).toEqual([])
    expect(callback?.eventId, when).toBe(request.callback?.event_id)
    expect(JSON.parse(String(callback?.body)), when).toMatchObject({
      request_id: id,
      signed_receipt: { decision_id: request.decision?.id },
    })
    expect(callback?.signed, when).toEqual({ service: true, standard: true })
  }
})

/** A fleet of one, with its owner's program. */
async function useOneProcess() {
  const receiver = await useReceiver()
  const fleet = await useFleet({ CALLBACK_TIMEOUT_SECONDS: '5' })
  const owner = await enrolFleetOwner(fleet)
  const program = await addProgram(fleet, owner, true)
  return { receiver, fleet, program, database: await useDatabase(fleet.storeUri) }
}

/** The lease of the dead ends only when it is ended, however long the next process takes to start. */
async function holdLeases(database: Db): Promise<void> {
  const next_at = new Date(Date.now() + 24 * 3_600_000)
  await database.collection('deliveries').updateOne({ state: 'leased' }, { $set: { next_at } })
}

/** The lease of the one that stored a delivery ends now instead of in twenty seconds; one that found it has a later fence. */
async function endLeaseOfMaker(database: Db): Promise<void> {
  const which = { state: 'leased', fence: 1 }
  const ended = await database.collection('deliveries').updateOne(which, { $set: { next_at: new Date(0) } })
  expect(ended.modifiedCount).toBe(1)
}

/** The lease of the dead ends now instead of in twenty seconds, and its hold on the sweeps, too. */
async function endLeases(database: Db): Promise<void> {
  await database.collection('deliveries').updateOne({ state: 'leased' }, { $set: { next_at: new Date(0) } })
  await freeSweeps(database)
}

/** The hold of the dead on the sweeps ends now instead of in ten seconds. */
async function freeSweeps(database: Db): Promise<void> {
  await database.collection('jobs').updateMany({}, { $set: { lockedAt: null, nextRunAt: new Date() } })
}

it('T81: attempts that died with their process, one after the other, are all logged and count for nothing', async () => {
  const { receiver, fleet, program, database } = await useOneProcess()
  const [slot] = fleet.slots
  // Leased to the process that stores it, and claimed by the ones that find it.
  const stored = { command: 'insert', collection: 'deliveries', side: 'after' } as const
  const claimed = {
    command: 'update',
    collection: 'deliveries',
    side: 'after',
    where: sets('state', 'leased'),
    answer: didSomething,
  } as const
  const load = { programs: [program], callbackUrl: () => receiver.url('/callback') }
  await Promise.all([decideOne(load, 1), slot.killAt(stored).then(() => holdLeases(database))])
  for (let death = 2; death <= 3; death += 1) {
    await slot.up()
    await Promise.all([slot.killAt(claimed), endLeases(database)])
    await holdLeases(database)
  }
  await endLeases(database)
  await untilSettled(database)
  const { deliveries } = await readLedger(database)
  expect(deliveries).toMatchObject([{ state: 'delivered', tries: 1, fence: 4 }])
  expect(deliveries[0]?.attempts.map(({ outcome }) => outcome)).toEqual([
    'interrupted',
    'interrupted',
    'interrupted',
    'http_200',
  ])
  expect(receiver.received).toHaveLength(1)
})
