import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ObjectId } from 'bson'
import { MongoClient } from 'mongodb'
import { expect, inject, it, onTestFinished } from 'vitest'
import { proveGrowth } from '../../src/flow/audit/read-log.ts'
import { hashOnNode } from '../../src/signing/digest.ts'
import { consistencyHolds } from '../../src/signing/log/merkle.ts'
import { cli } from '../support/cli.ts'
import { assertWith, codeAt, enrolWithTotp, expectStatus } from '../support/enrolled.ts'
import { createHttpClient } from '../support/http-client.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { described, logNews } from '../support/logs.ts'
import { databaseUri, freePort, startService, TEST_SECRETS, type TestService } from '../support/service.ts'

/** Signs in with the passkey in a browser that knows nothing yet. */
async function signIn({ service, owner, key }: LiveSetting): Promise<LiveSetting> {
  const browser = createHttpClient(service.url)
  const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(owner, service, options)
  const { token } = expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
  return { service, owner: { ...owner, browser, token }, key }
}

const read = async (setting: LiveSetting, path: string): Promise<Record<string, unknown>> =>
  Object(await (await callWithKey(setting.service, setting.key, path)).json())

it('moves everything from the embedded store to MongoDB and back: who was there signs in and decides what waited', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-move-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const database = `move_${new ObjectId().toHexString()}`
  const mongo = databaseUri(inject('storeUri'), database)
  onTestFinished(async () => {
    const client = await new MongoClient(mongo).connect()
    await client.db().dropDatabase()
    await client.close()
  })
  let later = 0
  const port = await freePort()
  const serveOn = (env: Record<string, string>): Promise<TestService> =>
    startService({ port, database, env, work: true, localTime: () => Date.now() + later })
  const [old, latest] = [join(folder, 'old'), join(folder, 'latest')]
  const BASE_URL = `http://localhost:${port}`
  const move = async (
    from: Record<string, string>,
    to: Record<string, string>,
    name: string,
    words: string[],
  ) => {
    const file = join(folder, name)
    const stdin = 'a passphrase that is long enough\n'
    for (const [command, env] of [
      [['export', ...words], from],
      [['import', '--move'], to],
    ] as const) {
      const [verb = '', ...more] = command
      const run = await cli([verb, file, '--json', ...more], { env: { BASE_URL, ...env }, stdin })
      expect([verb, run.code, run.stderr]).toEqual([verb, 0, ''])
    }
  }

  const first = await serveOn({ MONGODB_URI: '', DATA_DIR: old })
  const setting = await setUpOwner(first)
  const coder = await enrolWithTotp(first, 'codes@example.com')
  const approved = await ask(setting)
  expectStatus(await decideByPasskey(setting, approved, 'approved'), 200)
  const before = await read(setting, `/${approved}`)
  const verified = { ...(await read(setting, `/${approved}/verify`)), verified_at: expect.any(String) }
  expect(verified).toMatchObject({ valid: true })
  const attachments = [{ name: 'plan', base64: Buffer.from([0, 255, 10]).toString('base64') }]
  const waiting = [await ask(setting), await ask(setting, { attachments })] as const
  const log = await logNews(first)
  const { vkey } = await described(first)
  /** It is the same log, and has only grown. */
  const goesOn = async (service: TestService) => {
    const { note, ...head } = await logNews(service)
    expect(await described(service)).toMatchObject({ vkey, origin: log.origin, former: [] })
    const growth = await proveGrowth(service.composition.deps, log.size)
    expect(growth?.checkpoint).toBe(note)
    expect(hashOnNode(consistencyHolds(log, head, growth?.path ?? []))).toBe(true)
    expect(head.size).toBeGreaterThan(log.size)
  }
  await first.close()

  await move(
    { ...TEST_SECRETS, DATA_DIR: old },
    { ...TEST_SECRETS, MONGODB_URI: mongo, DATA_DIR: folder },
    'there',
    [],
  )
  const second = await serveOn({ MONGODB_URI: mongo })
  const there = await signIn({ ...setting, service: second })
  expect(await read(there, `/${approved}`)).toEqual(before)
  expect(await read(there, `/${approved}/verify`)).toEqual(verified)
  expect(await read(there, `/${waiting[0]}`)).toMatchObject({ status: 'pending' })
  expectStatus(await decideByPasskey(there, waiting[0], 'rejected'), 200)
  await goesOn(second)
  await second.close()
  await quieten(mongo)

  // The new place has no secrets: they come with the archive.
  await move({ ...TEST_SECRETS, MONGODB_URI: mongo, DATA_DIR: folder }, { DATA_DIR: latest }, 'back', [
    '--encrypt',
  ])
  expect(JSON.parse(await readFile(join(latest, 'secrets.json'), 'utf8'))).toEqual(TEST_SECRETS)
  const none = Object.fromEntries(Object.keys(TEST_SECRETS).map((name) => [name, '']))
  const third = await serveOn({ ...none, MONGODB_URI: '', DATA_DIR: latest })
  const back = await signIn({ ...setting, service: third })
  expect(await read(back, `/${approved}/verify`)).toEqual(verified)
  expect(await read(back, `/${waiting[0]}/verify`)).toMatchObject({ valid: true })
  const attached = `${third.url}/api/v1/approvals/${waiting[1]}/attachments/0`
  const authorization = `Bearer ${back.owner.token}`
  const bytes = await (await fetch(attached, { headers: { authorization } })).arrayBuffer()
  expect([...new Uint8Array(bytes)]).toEqual([0, 255, 10])
  expectStatus(await decideByPasskey(back, waiting[1], 'approved'), 200)
  await goesOn(third)
  const placed = await (await callWithKey(third, setting.key, `/${approved}/receipt?log=logged`)).json()
  expect(Object(placed).log.proof).toContain(log.origin)
  // The code of now was used up by the enrolment.
  later = 60_000
  const code = codeAt(coder.secret, third.composition.deps.clock.now())
  // On the browser that is known since the enrolment.
  expectStatus(await coder.browser.post('/api/v1/session/totp', { email: 'codes@example.com', code }), 200)
  await third.close()
  const checked = await cli(['audit', 'check', '--json'], { env: { DATA_DIR: latest } })
  expect(checked.json()).toMatchObject({ ok: true, found: 0 })
})

/** Lets the last sweep have been long ago, as a command would otherwise wait for. */
async function quieten(uri: string): Promise<void> {
  const client = await new MongoClient(uri).connect()
  await client
    .db()
    .collection('jobs')
    .updateMany({}, { $set: { lastRunAt: new Date(0) } })
  await client.close()
}
