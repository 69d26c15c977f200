import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedStore, type PlanReport, startEmbeddedStore } from 'embedded-mongo'
import type { Document } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Card } from '../../src/domain/chat.ts'
import { EVENT_TYPES } from '../../src/domain/event.ts'
import { REQUEST_STATUSES } from '../../src/domain/request.ts'
import { dueNow } from '../../src/flow/queue/send-loop.ts'
import { createFigures } from '../../src/store/figures.ts'
import { send } from '../support/caller.ts'
import { expectStatus } from '../support/enrolled.ts'
import { NO_CARD_BUSY, NONE_BUSY } from '../support/first-claim.ts'
import { ask, askTogether, callWithKey, decideByPasskey, setUpOwner } from '../support/live.ts'
import { startService, type TestService } from '../support/service.ts'

/** A few keys, all of which are published; and, once a day, accounts that keep their requests for less time than the others. */
const READ_WHOLE = ['find signing_keys {}', 'find accounts {retention_days}']

const reports: PlanReport[] = []
/** Every `find` that was sent. */
const asked: Document[] = []
let dataDir: string
let store: EmbeddedStore
let service: TestService

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'plans-'))
  store = await startEmbeddedStore({ dataDir, onPlan: (report) => reports.push(report) })
  const uri = `${store.uri.replace('/?', '/plans?')}&monitorCommands=true`
  service = await startService({ env: { MONGODB_URI: uri }, work: true })
  const client = service.composition.connection.getClient()
  client.on('commandStarted', ({ command }) => void (command.find && asked.push(command)))
})
afterAll(async () => {
  await service.close()
  await store.close()
  await rm(dataDir, { recursive: true, force: true })
})

function scans(): string[] {
  const found = reports.filter(({ index }) => index === undefined)
  const names = found.map(({ command, namespace, fields }) => {
    return `${command} ${namespace.slice(namespace.indexOf('.') + 1)} {${fields.join(', ')}}`
  })
  return [...new Set(names)].sort()
}

it('finds by an index whatever it looks for, on every path of the service', async () => {
  const setting = await setUpOwner(service)
  const { owner, key } = setting
  const get = async (path: string) => expectStatus(await owner.browser.get(`/api/v1${path}`), 200)
  const url = 'https://example.com/hook'
  expectStatus(
    await owner.browser.post('/api/v1/account/webhooks', { url, events: EVENT_TYPES.slice(0, 1) }),
    201,
  )
  const ids: string[] = []
  for (let n = 0; n < 6; n += 1)
    ids.push(await ask(setting, { requires_individual_decision: n === 0, context: { tool: 'deploy' } }))
  const once = { method: 'POST', token: key, json: { action: 'x' }, headers: { 'idempotency-key': 'once' } }
  for (const _time of [1, 2])
    expect((await send(service, '/api/v1/approvals/request', once)).status).toBe(201)
  const { batch } = await askTogether(setting, [{ action: 'Pay 1' }, { action: 'Pay 2' }])
  expect(await service.composition.deps.requests.ofBatches([batch])).toHaveLength(2)
  expect(await service.composition.deps.trail.findErased('0'.repeat(64))).toBeUndefined()
  const [approved = '', rejected = '', cancelled = '', waiting = ''] = ids
  expectStatus(await decideByPasskey(setting, approved, 'approved'), 200)
  expectStatus(await decideByPasskey(setting, rejected, 'rejected'), 200)
  for (const path of [`/${cancelled}/cancel`, `/${approved}/consume`, `/${waiting}/remind`]) {
    expect((await callWithKey(service, key, path, {})).status).toBe(200)
  }
  for (const path of [
    '',
    ...REQUEST_STATUSES.map((status) => `?status=${status}`),
    `/${approved}`,
    `/${approved}/verify`,
  ]) {
    expect((await callWithKey(service, key, path)).status).toBe(200)
  }
  const lists = [
    '/account/requests',
    ...REQUEST_STATUSES.map((status) => `/account/requests?status=${status}`),
  ]
  const person = await service.composition.deps.users.find(owner.userId)
  const [{ id: keyId } = { id: '' }] = await service.composition.deps.apiKeys.list(person?.account_id)
  const account = [
    '',
    '/members',
    '/policy',
    '/api-keys',
    '/webhooks',
    '/audit',
    `/audit?key=${keyId}`,
    '/overview',
    '/dead-letters',
    '/chat-apps',
    '/channels',
  ]
  const me = ['/pending', '/factors', '/sessions', '/chat', '/push', '/delegate/candidates']
  for (const path of lists) await get(path)
  for (const path of account) await get(`/account${path}`)
  for (const path of me) await get(`/me${path}`)
  expect(await service.composition.deps.requests.withVoteOf(owner.userId, 1)).toEqual([])
  for (const path of ['review', 'similar', 'deliveries']) await get(`/approvals/${approved}/${path}`)
  expect(reports.filter(({ index }) => index !== undefined).length).toBeGreaterThan(100)
  expect(scans().filter((scan) => !READ_WHOLE.includes(scan))).toEqual([])
  const looks = reports.filter(({ index }) => index === 'decided_of_kind')
  expect(looks.map(({ command }) => command)).toEqual(['find'])
})

/** A card of another account, in the way. */
function cardInTheWay(n: number, more: Partial<Card>): Card {
  const recipient = { kind: 'approver', user_id: `usr_${n}` } as const
  const fields = {
    id: `crd_way_${n}`,
    account_id: 'acc_way',
    request_id: `req_way_${n}`,
    platform: 'slack',
  } as const
  return { ...dueNow(new Date(0)), ...fields, recipient, wanted: 2, shown: 1, replies: [], news: 0, ...more }
}

/** The most documents or entries that a look at the cards by this field has read. The store's thread may report it after its answer. */
async function mostRead(field: string): Promise<number> {
  const looks = () =>
    reports.filter(({ namespace, fields }) => namespace.endsWith('.cards') && fields.includes(field))
  await expect.poll(looks).not.toEqual([])
  return Math.max(...looks().map(({ examined }) => examined))
}

it('looks for cards never posted without reading the edits that are due', async () => {
  const { cards, clock } = service.composition.deps
  await cards.insertNew(Array.from({ length: 300 }, (_, n) => cardInTheWay(n, {})))
  const lease = { now: clock.now(), leaseEnds: clock.now(), limit: 1, choose: () => [] }
  reports.splice(0)
  await cards.claim({ ...lease, platforms: ['slack'], ...NO_CARD_BUSY })
  expect(await mostRead('shown')).toBeLessThan(20)
})

it("looks for an account's unreachable cards without reading those of others", async () => {
  const { cards, clock } = service.composition.deps
  const message = { tenant: 'T1', conversation: 'D1', message: 'm1' }
  const unreachable = { state: 'unreachable', message } as const
  await cards.insertNew(Array.from({ length: 300 }, (_, n) => cardInTheWay(1000 + n, unreachable)))
  reports.splice(0)
  await cards.hurry('acc_own', 'slack', clock.now())
  expect(await mostRead('recipient_key')).toBeLessThan(20)
})

it('asks a queue for its states in the very words of the partial index that is to answer', async () => {
  const { deliveries, pushes, cards, clock } = service.composition.deps
  const now = clock.now()
  const lease = { now, leaseEnds: now, limit: 1, choose: () => [] }
  asked.splice(0)
  reports.splice(0)
  await deliveries.claim({ ...lease, ...NONE_BUSY })
  await pushes.claim({ ...lease, ...NONE_BUSY })
  await cards.claim({ ...lease, platforms: ['slack'], ...NO_CARD_BUSY })
  for (const queue of [deliveries, pushes]) {
    await queue.nextDue()
    await queue.deleteRested(new Date(0))
  }
  await cards.nextDue(['slack'])
  const queues = ['cards', 'deliveries', 'pushes']
  const partial = new Map<string, unknown[]>()
  for (const name of queues) {
    const indexes = await service.composition.connection.collection(name).indexes()
    partial.set(
      name,
      indexes.flatMap(({ partialFilterExpression }) => partialFilterExpression?.state ?? []),
    )
  }
  const states = asked.filter(({ find, filter }) => queues.includes(find) && filter.state?.$in !== undefined)
  expect(states.length).toBeGreaterThanOrEqual(8)
  // MongoDB takes a partial index for a list of values only if the index was made for the same list.
  for (const { find, filter } of states)
    expect(partial.get(find)).toContainEqual({ $in: [...filter.state.$in] })
  // Other work of the service goes on meanwhile, and finds by id.
  const byState = reports.filter(({ fields }) => fields.includes('state') && !fields.includes('_id'))
  expect(byState.filter(({ index }) => index === undefined || index === '_id_')).toEqual([])
})

it('counts for the metrics by the index made for it, without one more', async () => {
  const { connection, deps } = service.composition
  const figures = createFigures(connection)
  const now = deps.clock.now()
  const pending = await connection.collection('requests').countDocuments({ status: 'pending' })
  reports.splice(0)
  expect(await figures.pending(now)).toBe(pending)
  await figures.oldestPending(now)
  await figures.deadLetters()
  expect(await figures.unsent('cards')).toBe(300)
  await figures.unsent('deliveries')
  const asked = ['count requests', 'find requests', 'count deliveries', 'count cards']
  const indexes = () => {
    const read = reports
      .map(({ command, namespace, index }) => ({
        look: `${command} ${namespace.replace('plans.', '')}`,
        index,
      }))
      .filter(({ look }) => asked.includes(look))
    return [...new Set(read.map(({ look, index }) => `${look}: ${index}`))].sort()
  }
  // A report may come after the answer.
  await expect
    .poll(indexes)
    .toEqual([
      'count cards: open_by_time',
      'count deliveries: open_by_time_and_receiver',
      'count deliveries: resting_by_time',
      'count requests: status_1_expires_at_1',
      'find requests: status_1_expires_at_1',
    ])
})
