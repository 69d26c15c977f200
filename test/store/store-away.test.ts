import { BSON } from 'mongodb'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { FetchFailure } from '../../adapters/teams/fetch-json.ts'
import { isUnavailable } from '../../src/store/mongo/failures.ts'
import { type Answer, callerWith, newCaller, send, signIn, type TestCaller } from '../support/caller.ts'
import { openEvents } from '../support/event-source.ts'
import { watchInbox } from '../support/inbox-stream.ts'
import { ask, callWithKey, proofFor, setUpOwner } from '../support/live.ts'
import { patienceFor } from '../support/patience.ts'
import { startService, type TestService } from '../support/service.ts'
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

const DAMAGED = {
  ok: 0,
  code: 366,
  codeName: 'DataCorruptionDetected',
  errmsg: 'the store file /data/store.db is damaged: a document. Put a backup of the file in its place',
}

it('a damaged document is refused and told once; others asked for at the same moment are shown', async () => {
  const { caller, direct } = await useCaller()
  const ids = await Promise.all(['a', 'b', 'c', 'd'].map((action) => direct.createdId({ action })))
  const [damaged = ''] = ids
  const told = await toldFromNow()
  play({
    before: (command, name) =>
      name === 'find requests' && JSON.stringify(command.filter).includes(damaged) ? DAMAGED : undefined,
  })
  const answers = await Promise.all([...ids, damaged].map((id) => caller.read(id)))
  expect(answers.map(({ status }) => status)).toEqual([503, 200, 200, 200, 503])
  const { body, headers } = answers[0] ?? expect.unreachable()
  const request_id = headers.get('x-request-id')
  expect(body).toEqual({ error: 'storage_damaged', message: expect.any(String), request_id })
  expect(told()).toEqual(['error: a damaged part of the store is left out of answers'])
  expect(service.logged.findLast(({ level }) => level === 'error')?.fields.error).toBe(DAMAGED.errmsg)
})

it('a damaged document of one person keeps the waits, the inboxes and the events of no other', async () => {
  const [theirs, mine] = [await useCaller(), await useCaller()]
  const [damaged, id] = [await theirs.direct.createdId(), await mine.direct.createdId()]
  const starts = [theirs, mine].map(
    ({ caller }, index) =>
      () =>
        caller.send(`/api/v1/approvals/${index === 0 ? damaged : id}/wait?timeout=60`),
  )
  const waits = await startWaits(service, starts)
  const inboxes = await Promise.all(
    [theirs, mine].map(async ({ direct }) => watchInbox(service, await signIn(service, direct.user))),
  )
  const { user } = theirs.direct
  const needed = [damaged, user.id, user.account_id]
  play({
    before: ({ filter, pipeline, allowPartialResults }, name) => {
      if (name === 'find requests' && allowPartialResults === true) return undefined
      const asked = JSON.stringify(filter ?? pipeline ?? '')
      const reads = /^(?:find (?:requests|webhooks)|aggregate requests)$/.test(name ?? '')
      return reads && needed.some((part) => asked.includes(part)) ? DAMAGED : undefined
    },
  })
  expect(
    (await mine.direct.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST', json: {} })).status,
  ).toBe(200)
  expect((await waits[1])?.body).toMatchObject({ id, status: 'expired', cancelled: true })
  await expect.poll(() => inboxes[1]?.next()).toEqual({ event: 'changed', data: {} })
  const carried = async () => {
    const trail = beside.composition.connection.collection('audit_log')
    return trail.countDocuments({ 'entry.subject': id, 'entry.type': 'approval.cancelled' })
  }
  // By the sweep, if not before.
  await expect.poll(carried, { timeout: patienceFor(10_000) }).toBe(1)
  for (const inbox of inboxes) inbox.close()
  proxy.play({})
  await theirs.direct.send(`/api/v1/approvals/${damaged}/cancel`, { method: 'POST', json: {} })
  expect((await waits[0])?.status).toBe(200)
})

it('a document that is full of what waits for the trail takes no more, and says so', async () => {
  const { direct } = await useCaller()
  const token = await signIn(service, direct.user)
  const keys = beside.composition.connection.collection<{ _id: string }>('api_keys')
  const filled = async (size: number) => {
    const entry = {
      eid: 'evt_0',
      type: 'key.changed',
      at: new Date(),
      actor: { kind: 'cli' },
      subject: direct.keyId,
    }
    const audit = [{ ...entry, detail: { filler: 'x'.repeat(size) } }]
    await keys.updateOne({ _id: direct.keyId }, { $set: { audit }, $unset: { outbox_token: 1 } })
    return BSON.calculateObjectSize((await keys.findOne({ _id: direct.keyId })) ?? {})
  }
  const most = 16 * 1024 * 1024
  expect(await filled(most - (await filled(0)))).toBe(most)
  const told = await toldFromNow()
  const revoke = () => send(service, `/api/v1/account/api-keys/${direct.keyId}`, { method: 'DELETE', token })
  // Sixteen megabytes may take a busy machine longer than a call waits; the caller sends the same again then.
  const refused = async () => {
    const { status, body } = await revoke()
    return [status, body?.error]
  }
  await expect.poll(refused).toEqual([503, 'storage_damaged'])
  expect(told()).toContain('error: a damaged part of the store is left out of answers')
  expect(service.logged.findLast(({ level }) => level === 'error')?.fields.error).toMatch(
    /^a document is full .* Run: countersign audit check$/,
  )
  await filled(0)
  await expect.poll(async () => (await revoke()).status).toBe(200)
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
