import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedStore } from 'embedded-mongo'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { FetchFailure } from '../../adapters/teams/fetch-json.ts'
import { isUnavailable } from '../../src/store/mongo/failures.ts'
import { type Answer, callerWith, newCaller, send, signIn, type TestCaller } from '../support/caller.ts'
import { openEvents } from '../support/event-source.ts'
import { watchInbox } from '../support/inbox-stream.ts'
import { ask, callWithKey, proofFor, setUpOwner } from '../support/live.ts'
import { databaseUri, startService, type TestService } from '../support/service.ts'
import { spoil } from '../support/spoil.ts'
import { startStopwatch } from '../support/stopwatch.ts'
import { type Line, type Part, type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'
import { startWaits } from '../support/waiting.ts'

const READY_MS = 2_000
const ANSWER_MS = 8_000

/** On the same database: beside the proxy, and behind it. */
let beside: TestService
let service: TestService
let proxy: StoreProxy

beforeAll(async () => {
  beside = await startService()
  proxy = await startStoreProxy(inject('storeUri'))
  const database = beside.composition.connection.name
  const env = { MONGODB_URI: proxy.uri(database), STORE_TIMEOUT_MS: '5000' }
  service = await startService({ env, database, work: true })
})
afterAll(async () => {
  proxy.line('open')
  await service.close()
  await proxy.close()
  await beside.close()
})

/** A caller known to the service behind the proxy; nothing of theirs has passed it. */
async function useCaller(): Promise<{ caller: TestCaller; direct: TestCaller }> {
  const direct = await newCaller(beside)
  return { direct, caller: callerWith(service, direct.user, direct.token, direct.keyId) }
}

function takeLine(line: Line): void {
  onTestFinished(() => proxy.line('open'))
  proxy.line(line)
}

function play(part: Part): void {
  onTestFinished(() => proxy.play({}))
  proxy.play(part)
}

async function timed(answer: Promise<Answer>): Promise<Answer & { ms: number }> {
  const stop = startStopwatch()
  const answered = await answer
  return { ...answered, ms: stop() }
}

function expectAway(answer: Answer & { ms: number }, mostMs: number): void {
  const { status, body, headers, ms } = answer
  expect([status, body]).toEqual([
    503,
    { error: 'storage_unavailable', message: expect.any(String), retry_after: 3 },
  ])
  expect(headers.get('retry-after')).toBe('3')
  expect(ms).toBeLessThan(mostMs)
}

const AWAY = 'error: the store does not answer'
const NO_WRITES = 'error: the store accepts no writes'
const OVER = 'info: the store is available again'

/** What an operator is shown from now on, once what was before is over. */
async function toldFromNow(): Promise<() => string[]> {
  const news = ({ message }: TestService['logged'][number]): boolean => message.startsWith('the store ')
  const last = () => service.logged.findLast(news)?.level ?? 'info'
  await expect.poll(last).toBe('info')
  const from = service.logged.length
  const shown = ({ level, message }: TestService['logged'][number]): string => {
    const line = `${level}: ${message.split(';')[0]}`
    // A sweep that the store holds for longer than its lock is true news of the scheduler's, which a slow machine brings.
    if (line === 'warn: the job scheduler reported an error; it continues') return ''
    return level === 'warn' || level === 'error' || line === OVER ? line : ''
  }
  return () => service.logged.slice(from).map(shown).filter(Boolean)
}

// Refused first: on a young pool a command meets a socket that breaks while it is written.
describe.each<Line>(['refused', 'frozen', 'lost'])('a store whose line is %s', (line) => {
  it('is told in time, keeps waits and streams open, and everything goes on when it is back', async () => {
    const { caller, direct } = await useCaller()
    const id = await direct.createdId()
    const [wait] = await startWaits(service, [() => caller.send(`/api/v1/approvals/${id}/wait?timeout=60`)])
    const stream = await openEvents(caller, service.url, id)
    expect([await stream.next(), (await stream.next())?.data?.status]).toEqual([{ retry: '3000' }, 'pending'])
    const inbox = await watchInbox(service, await signIn(service, direct.user))
    const key = { 'idempotency-key': `away-${line}` }
    const told = await toldFromNow()

    takeLine(line)
    const sent = [...proxy.sent.values()].reduce((sum, count) => sum + count, 0)
    const [ready, ...answers] = await Promise.all([
      timed(send(service, '/readyz')),
      timed(caller.read(id)),
      timed(caller.create({ action: 'x' })),
      timed(caller.create({ action: 'x' }, key)),
      timed(send(service, `/api/v1/approvals/${id}/verify`)),
      timed(send(service, '/api/v1/session/passkey/options', { method: 'POST', json: {} })),
    ])
    expectAway(ready, READY_MS)
    for (const answer of answers) expectAway(answer, ANSWER_MS)
    expect((await send(service, '/healthz')).status).toBe(200)
    const meanwhile = [...proxy.sent.values()].reduce((sum, count) => sum + count, 0) - sent
    expect(meanwhile).toBeLessThan(60)

    proxy.line('open')
    await expect.poll(async () => (await send(service, '/readyz')).status).toBe(200)
    await expect.poll(() => told().at(-1)).toBe(OVER)
    // A call that began before may fail after, and is news then: but no line for each of them.
    expect([told()[0], [...new Set(told())]]).toEqual([AWAY, [AWAY, OVER]])
    expect(told().length).toBeLessThan(answers.length)
    await expect.poll(async () => (await caller.create({ action: 'x' }, key)).status).toBe(201)
    expect((await direct.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST', json: {} })).status).toBe(
      200,
    )
    expect((await wait)?.body).toMatchObject({ id, status: 'expired' })
    expect((await stream.rest()).at(-1)).toMatchObject({ event: 'status', data: { status: 'expired' } })
    expect(await inbox.next()).toEqual({ event: 'changed', data: {} })
    inbox.close()
  })
})

const CODES = { NotWritablePrimary: 10107, InterruptedDueToReplStateChange: 11602, OutOfDiskSpace: 14031 }
const refused = (codeName: keyof typeof CODES) => ({
  ok: 0,
  code: CODES[codeName],
  codeName,
  errmsg: codeName,
})

/** One command of that name that goes wrong, while `now` says so. `done`: the store has carried it out all the same. */
const FAULTS: [string, { done: boolean; part: (is: string, now: () => boolean) => Part }][] = [
  [
    'refused in an election',
    {
      done: false,
      part: (is, now) => ({
        before: (_command, name) => (name === is && now() ? refused('NotWritablePrimary') : undefined),
      }),
    },
  ],
  [
    'interrupted after it was done',
    {
      done: true,
      part: (is, now) => ({
        after: (_reply, name) =>
          name === is && now() ? refused('InterruptedDueToReplStateChange') : undefined,
      }),
    },
  ],
  [
    'whose answer breaks off',
    {
      done: true,
      part: (is, now) => ({ after: (_reply, name) => (name === is && now() ? 'torn' : undefined) }),
    },
  ],
  [
    'that is never answered',
    {
      done: false,
      part: (is, now) => ({ before: (_command, name) => (name === is && now() ? 'nothing' : undefined) }),
    },
  ],
  [
    'for which there is no room',
    {
      done: false,
      part: (is, now) => ({
        before: (_command, name) => (name === is && now() ? refused('OutOfDiskSpace') : undefined),
      }),
    },
  ],
]

describe('a command that the store did not, or may have done', () => {
  const once = (): (() => boolean) => {
    let left = 1
    return () => left-- > 0
  }
  it.each(FAULTS)('%s: 503, and the same call again makes the one request', async (what, { part }) => {
    const { caller, direct } = await useCaller()
    const key = { 'idempotency-key': what.replaceAll(' ', '-') }
    play(part('insert requests', once()))
    expectAway(await timed(caller.create({ action: what }, key)), ANSWER_MS)
    const again = await caller.create({ action: what }, key)
    expect([again.status, again.body]).toEqual([201, expect.objectContaining({ status: 'pending' })])
    const { data } = (await direct.send('/api/v1/approvals')).body
    expect(data).toEqual([expect.objectContaining({ action: what })])
  })

  it.each(FAULTS)('%s: 503, and a decision stands once', async (what, { done, part }) => {
    const setting = await setUpOwner(service, `${what.replaceAll(' ', '-')}@example.com`)
    const id = await ask(setting)
    const passkey = await proofFor(setting, id, 'approved')
    play(part('findAndModify requests', once()))
    const decision = { decision: 'approved', passkey }
    const lost = await setting.owner.browser.post(`/api/v1/approvals/${id}/decision`, decision)
    expect([lost.status, lost.body.error]).toEqual([503, 'storage_unavailable'])
    const read = async (): Promise<unknown> => (await callWithKey(beside, setting.key, `/${id}`)).json()
    const before = await read()
    expect(before).toMatchObject({ status: done ? 'approved' : 'pending' })
    const decide = async () => {
      const fresh = done
        ? decision
        : { decision: 'approved', passkey: await proofFor(setting, id, 'approved') }
      return setting.owner.browser.post(`/api/v1/approvals/${id}/decision`, fresh)
    }
    // Refused as no longer pending, or recorded now: either way the answer says what stands.
    await expect.poll(async () => (await decide()).body.status).toBe('approved')
    const after = await read()
    expect(after).toMatchObject({ status: 'approved' })
    if (done) expect(after).toEqual(before)
  })
})

it('a disk that is full is told once, with what the store says of it, and once when there is room again', async () => {
  const { caller, direct } = await useCaller()
  const id = await direct.createdId()
  const told = await toldFromNow()
  const errmsg = 'the disk of the store file /data/store.db is full (4 KiB free): make room there'
  const reply = { ...refused('OutOfDiskSpace'), errmsg }
  const writes = /^(?:insert|update|delete|findAndModify|ping)/
  play({ before: (_command, name) => (writes.test(name) ? reply : undefined) })
  expectAway(await timed(send(service, '/readyz')), READY_MS)
  for (const _again of [1, 2]) expectAway(await timed(caller.create({ action: 'x' })), ANSWER_MS)
  // Its limit is counted in the store, too.
  expect((await caller.read(id)).status).toBe(200)
  expect(told()).toContain(NO_WRITES)
  const full = ({ message }: TestService['logged'][number]) => message.startsWith('the store accepts no')
  expect(service.logged.findLast(full)?.fields).toEqual({
    store: expect.stringContaining('.sock'),
    reason: errmsg,
  })
  // It may be slow as well, now and then.
  for (const answer of [refused('NotWritablePrimary'), reply, refused('NotWritablePrimary'), reply]) {
    proxy.play({ before: (_command, name) => (writes.test(name ?? '') ? answer : undefined) })
    expectAway(await timed(caller.create({ action: 'x' })), ANSWER_MS)
  }
  proxy.play({})
  await expect.poll(() => told().at(-1)).toBe(OVER)
  expect(told().sort()).toEqual([NO_WRITES, AWAY, OVER])
  expect((await caller.create({ action: 'x' })).status).toBe(201)
})

it('a store that finds damage is away for good: nothing is shown from it, and it says why once', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-damage-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const open = async () => {
    const store = await startEmbeddedStore({ dataDir })
    onTestFinished(() => store.close())
    return { store, env: { MONGODB_URI: databaseUri(store.uri, 'damage'), STORE_TIMEOUT_MS: '5000' } }
  }
  const first = await open()
  const early = await startService({ env: first.env, database: 'damage', work: true })
  const caller = await newCaller(early)
  const note = `${'x'.repeat(8_000)}the account 4711${'x'.repeat(8_000)}`
  const [damaged, whole] = [
    await caller.createdId({ action: 'pay', context: { note } }),
    await caller.createdId({ action: 'y' }),
  ]
  await early.close()
  await first.store.close()

  const { store, env } = await open()
  const late = await startService({ env, database: 'damage' })
  onTestFinished(() => late.close())
  await spoil(dataDir, 'the account 4711')
  const again = callerWith(late, caller.user, caller.token, caller.keyId)
  expect((await again.read(whole)).body).toMatchObject({ id: whole, status: 'pending' })
  const calls = [
    () => again.read(damaged),
    () => send(late, `/api/v1/approvals/${damaged}/verify`),
    () => again.read(whole),
    () => again.send('/api/v1/approvals'),
    () => again.create({ action: 'z' }),
    () => send(late, '/readyz'),
  ]
  for (const call of calls) expectAway(await timed(call()), ANSWER_MS)
  const told = `${dataDir}/store.db is damaged: a document of damage.requests does not match its checksum (1 of 2 documents of damage.requests). Stop the store`
  expect((await store.failed).message).toContain(told)
  const errors = late.logged.filter(({ level }) => level === 'warn' || level === 'error')
  expect(errors.map(({ fields }) => fields.reason)).toEqual([expect.stringContaining(told)])
})

it.each<[string, Error, boolean]>([
  ['a command that could not be written', ofSocket('write', 'EPIPE'), true],
  ['a line that broke while a command was written', ofSocket('read', 'ECONNRESET'), true],
  ['a client that left a page', Object.assign(new Error('Request aborted'), { code: 'ECONNABORTED' }), false],
  [
    'another server that hung up',
    new TypeError('fetch failed', { cause: ofSocket('write', 'EPIPE') }),
    false,
  ],
  ['what Teams did not answer', new FetchFailure(0, 'ECONNRESET'), false],
])('%s: does it mean that the store is away?', (_what, error, away) => {
  expect(isUnavailable(error)).toBe(away)
})

function ofSocket(syscall: string, code: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { errno: -32, syscall, code })
}
