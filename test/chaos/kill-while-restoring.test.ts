import { expect, inject, it, onTestFinished } from 'vitest'
import { drawCopyMark } from '../../src/cli/copy-mark.ts'
import { drawId } from '../../src/domain/identifier.ts'
import { startBootstrap } from '../../src/flow/bootstrap/start-bootstrap.ts'
import { inviteUser } from '../../src/flow/joining/invite-user.ts'
import { startSession } from '../../src/flow/people/sessions.ts'
import { createRelay, NO_LOOPS } from '../../src/flow/relay/relay.ts'
import { findHeld } from '../../src/flow/restore/restored-store.ts'
import { type CardSetting, useCardSetting, vote } from '../flow/chat/card-setting.ts'
import { sets } from '../support/chaos-points.ts'
import { cli } from '../support/cli.ts'
import { sampleDelivery } from '../support/sample-delivery.ts'
import { databaseUri, freePort, TEST_SECRETS } from '../support/service.ts'
import { type ServiceProcess, spawnService } from '../support/service-process.ts'
import { size } from '../support/size.ts'
import { startStoreProxy, type Trap } from '../support/store-proxy.ts'

const told = (type: string) => (command: object) => JSON.stringify(command).includes(`"type":"${type}"`)

/** The writes of the first start on a copy, in order. */
const WRITES: readonly Omit<Trap, 'side'>[] = [
  { command: 'insert', collection: 'schema' },
  { command: 'update', collection: 'restores', where: sets('restored_at') },
  { command: 'insert', collection: 'audit_log' },
  { command: 'update', collection: 'requests' },
  { command: 'update', collection: 'deliveries', where: sets('state', 'leased') },
  { command: 'update', collection: 'deliveries', where: sets('state', 'dropped') },
  { command: 'update', collection: 'cards', where: sets('state', 'leased') },
  { command: 'update', collection: 'cards', where: sets('state', 'idle') },
  { command: 'update', collection: 'sessions', where: sets('ended_at') },
  { command: 'delete', collection: 'enrollments' },
  { command: 'findAndModify', collection: 'bootstraps', where: sets('status', 'expired') },
  { command: 'insert', collection: 'signing_keys', nth: 2 },
  { command: 'insert', collection: 'audit_inbox' },
  { command: 'insert', collection: 'audit_log', where: told('store.restored') },
  { command: 'delete', collection: 'audit_inbox' },
  { command: 'update', collection: 'restores', where: sets('state', 'held') },
]
const POINTS = WRITES.flatMap((write): Trap[] => [
  { ...write, side: 'before' },
  { ...write, side: 'after' },
]).filter((_, index) => index % size(5, 1) === 0)

/** A copy with something of all that its first start ends, sets aside or holds, part of it not relayed yet. */
async function useCopy(): Promise<CardSetting> {
  const setting = await useCardSetting()
  const { worker, requester, people } = setting
  const { deps } = worker
  const [person] = people
  if (person === undefined) throw new Error('no approver')
  await requester.request()
  const unused = await requester.request()
  await vote(setting, unused, person, 'approved')
  await createRelay(deps, NO_LOOPS).run()
  await requester.request()
  const client = { address: '127.0.0.1', user_agent: 'test' }
  await startSession(deps, person, client, 'test', 'totp')
  await inviteUser(deps, { email: 'bob@example.com' }, { kind: 'cli' })
  const agent = { email: requester.user.email, clientName: 'Agent', requester: client }
  await startBootstrap(deps, agent)
  const by = { api_key_id: requester.caller.key.id, secret_version: 1 }
  const target = { kind: 'callback', request_id: unused, ...by } as const
  const [id, event_id, at] = [drawId(deps, 'dlv'), drawId(deps, 'evt'), deps.clock.now()]
  const due = { id, account_id: requester.account.id, target, event_id, url: 'http://127.0.0.1:9/' }
  await deps.deliveries.insertNew([sampleDelivery({ ...due, next_at: at })])
  await deps.restores.mark(drawCopyMark('backup', at))
  return setting
}

it(`kill -9 at ${POINTS.length} writes of the first start on a copy, one after the other: one history, and the hold stands`, async () => {
  const { worker } = await useCopy()
  const { deps, database } = worker
  const direct = { ...TEST_SECRETS, MONGODB_URI: databaseUri(inject('storeUri'), database) }
  const findings = async () => {
    const { findings } = (await cli(['audit', 'check', '--json'], { env: direct })).json()
    return findings.map(({ code, id }: Record<string, string>) => `${code} ${id}`).sort()
  }
  // The votes of this setting are not signed.
  const before = await findings()
  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const env = { ...direct, MONGODB_URI: proxy.uri(database), PORT: String(await freePort()) }
  let service: ServiceProcess | undefined
  onTestFinished(() => service?.end('SIGKILL'))
  for (const point of POINTS) {
    const started = spawnService(env)
    service = started
    await Promise.race([
      proxy.arm(point, () => started.child.kill('SIGKILL')),
      started
        .line(/Countersign is running/)
        .then(() => expect.unreachable(`not killed at ${JSON.stringify(point)}`)),
    ])
    await started.end('SIGKILL')
    expect(started.output()).not.toContain('Countersign is running')
    // The lease of the dead lapses after 30 s.
    await worker.stored('schema').updateOne({ _id: 'restore' }, { $set: { until: null } })
  }
  const last = spawnService(env)
  service = last
  await last.line(/Countersign is running/)
  const held = await findHeld(deps)
  expect(held).toMatchObject({ pending: 2, approved: 1, restore: { state: 'held', number: 1 } })
  expect(held?.set_aside).toEqual({ callbacks: 1, pushes: 0, cards: 1 })
  await last.end('SIGTERM')
  const entries = (await deps.trail.list({ limit: 500 })).map(
    ({ entry }) => `${entry?.type} ${entry?.subject}`,
  )
  expect(entries.filter((entry, index) => entries.indexOf(entry) !== index)).toEqual([])
  const count = (type: string) => entries.filter((entry) => entry.startsWith(`${type} `)).length
  const once = ['store.restored', 'session.ended', 'bootstrap.expired', 'delivery.dropped']
  expect(once.map(count)).toEqual([1, 1, 1, 1])
  // Each of five purposes had a first key, and got one more.
  expect(count('signing_key.created')).toBe(10)
  expect(await findings()).toEqual(before)
})
