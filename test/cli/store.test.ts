import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, rename, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { expect, it, onTestFinished } from 'vitest'
import { newCaller, send } from '../support/caller.ts'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { freePort, TEST_SECRETS, useService } from '../support/service.ts'
import { spawnService, startServiceProcess } from '../support/service-process.ts'
import { spoil } from '../support/spoil.ts'
import { startStopwatch } from '../support/stopwatch.ts'

it('runs the store as a process of its own, which several commands share', async () => {
  const { env } = await useDataDir()
  const store = startCli(['store'], { env })
  const [, MONGODB_URI = ''] = await store.line(/^MONGODB_URI=(mongodb:\/\/\S+)$/m)
  const elsewhere = await useDataDir()
  for (const reading of [
    ['audit', 'list'],
    ['user', 'list'],
  ]) {
    const empty = await cli([...reading, '--json'], { env: { ...env, MONGODB_URI } })
    expect([empty.code, empty.error().error]).toEqual([1, 'no_store'])
  }
  const invited = await cli(['user', 'invite', 'a@example.com', '--json'], { env: { ...env, MONGODB_URI } })
  expect(invited.code).toBe(0)

  const second = await cliProcess(['store', '--json'], { env })
  expect([second.code, second.stdout]).toEqual([1, ''])
  expect(second.error()).toEqual({
    error: 'data_dir_in_use',
    message: expect.stringMatching(/is held by the store of process \d+: stop it, or use another directory$/),
  })
  const other = await cli(['user', 'list', '--json'], { env: elsewhere.env })
  expect([other.code, other.error().error]).toEqual([1, 'no_store'])

  expect(await store.stop('SIGTERM')).toBe(0)
  const kept = await cli(['user', 'list', '--json'], { env })
  expect(kept.json().data).toMatchObject([{ email: 'a@example.com' }])
})

it('takes neither half of a data directory for a new one, and says what to do', async () => {
  const { env } = await useDataDir()
  const invite = () => cli(['user', 'invite', 'a@example.com', '--json'], { env })
  expect((await invite()).code).toBe(0)
  const [store = '', secrets = '', seal = ''] = ['store.db', 'secrets.json', 'store.seal'].map((name) =>
    join(env.DATA_DIR ?? '', name),
  )
  const list = () => cli(['user', 'list', '--json'], { env })
  const without = async (paths: string[], act = invite) => {
    for (const path of paths) await rename(path, `${path}.away`)
    const run = await act()
    const made = paths.some((path) => existsSync(path))
    for (const path of paths) await rename(`${path}.away`, path)
    return { ...run.error(), made }
  }
  const begin = '[Rr]estore .* from a backup; or start over, .*: rm '
  const lost = (left: string[]) =>
    new RegExp(`store\\.db is missing, and .* MONGODB_URI, .*${begin}${left.join(' ')}$`)
  const refused = (message: RegExp) => ({
    error: 'config_invalid',
    message: expect.stringMatching(message),
    made: false,
  })
  for (const act of [invite, list])
    expect(await without([store], act)).toEqual(refused(lost([secrets, seal])))
  expect(await without([store, seal])).toEqual(refused(lost([secrets])))
  expect(await without([store], () => cli(['store', '--json'], { env }))).toEqual(
    refused(
      /store\.db is missing, and .* a MongoDB\. For a new store set another DATA_DIR; .* from a backup$/,
    ),
  )
  const elsewhere = { ...env, ...TEST_SECRETS }
  expect(await without([store], () => cli(['user', 'list', '--json'], { env: elsewhere }))).toMatchObject({
    error: 'store_unusable',
    message: expect.stringMatching(
      /store\.db is missing, and .*store\.seal shows that there was one: put the whole folder/,
    ),
    made: false,
  })
  for (const [given, gone] of [
    [env, [store]],
    [env, [store, seal]],
    [elsewhere, [store]],
  ] as const)
    await without([...gone], async () => {
      const examined = await cli(['doctor', '--json'], { env: given })
      const found = {
        name: 'Store',
        status: 'fail',
        detail: expect.stringMatching(/^\S.*store\.db is missing/),
        fix: 'docs/deploy.md says how to restore a backup of the embedded store.',
      }
      expect(examined.json().checks).toContainEqual(expect.objectContaining(found))
      return examined
    })
  expect(await without([secrets])).toEqual({
    error: 'config_invalid',
    message: expect.stringMatching(new RegExp(`secrets\\.json is missing, and .*${begin}.*store\\.\\*`)),
    made: false,
  })
  expect((await list()).json().data).toHaveLength(1)

  await truncate(store, 20_000)
  const damaged = await cli(['user', 'list', '--json'], { env })
  expect(damaged.error()).toEqual({
    error: 'store_unusable',
    message: expect.stringMatching(
      /store\.db is damaged: page \d+ .*put a backup of the file in its place; without a backup, .*whole$/,
    ),
  })
  const ill = await cli(['doctor'], { env })
  expect(ill.stdout).toMatch(/FAIL {2}Store .*store\.db is damaged.*\n +docs\/deploy\.md says how to restore/)
})

/** A sandbox key on a data directory of its own, and the service as a process, as often as it is started. */
async function useSandbox() {
  const { env: made, folder } = await useDataDir()
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const env: Record<string, string> = { ...made, PORT: port, BASE_URL: url }
  await cli(['user', 'invite', 'a@example.com'], { env })
  const words = ['key', 'create', '--owner', 'a@example.com', '--name', 'k', '--sandbox', '--json']
  const { raw_key } = (await cli(words, { env })).json()
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${raw_key}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}${path}`, { ...init, headers })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  return {
    env,
    folder,
    call,
    async start() {
      const service = await startServiceProcess(env)
      onTestFinished(() => service.end('SIGKILL'))
      return service
    },
    /** Makes a request that is approved when it is read. @returns its id */
    async create(context: Record<string, string> = {}): Promise<string> {
      const body = JSON.stringify({ action: 'pay', context, sandbox_auto_decide_seconds: 0 })
      return String((await call('/api/v1/approvals/request', { method: 'POST', body })).body.request_id)
    },
  }
}

it.each(['a call', 'a command beside it'])(
  'a byte that the disk changes under a service ends it when %s meets it, with one sentence that every later start repeats',
  async (how) => {
    const { env: ready, folder, start, create, call } = await useSandbox()
    const dataDir = ready.DATA_DIR ?? ''
    const first = await start()
    // Longer than a page of the file, which is read only with its own document.
    const note = `${'x'.repeat(8_000)}the account 4711${'x'.repeat(8_000)}`
    const request_id = await create({ note })
    const read = () => call(`/api/v1/approvals/${request_id}`)
    await expect.poll(async () => (await read()).body.status).toBe('approved')
    await first.end('SIGTERM')

    const second = await start()
    const ended = once(second.child, 'close')
    await spoil(dataDir, 'the account 4711')
    const sentence = (what: string) =>
      `the store file ${join(dataDir, 'store.db')} is damaged: ${what}. Stop the store, keep a copy of its directory, delete ${join(dataDir, 'store.seal')} and ${join(dataDir, 'store.db-wal')}, and put a backup of the file in its place; without a backup, countersign export --salvage saves the documents that are whole`
    const lost = '1 of 1 documents of test.requests'
    const told = sentence(`a document of test.requests does not match its checksum (${lost})`)
    if (how === 'a call') {
      expect((await read()).body).toMatchObject({ error: 'storage_unavailable' })
    } else {
      const checked = await cli(['audit', 'check', '--json'], { env: ready })
      expect([checked.code, checked.error()]).toEqual([1, { error: 'store_unusable', message: told }])
    }
    expect(await ended).toEqual([1, null])
    const lines = second
      .output()
      .split('\n')
      .filter((line) => /damage|error/i.test(line))
    expect(lines).toEqual([expect.stringContaining(told)])

    if (how !== 'a call') return
    for (const _start of [1, 2]) {
      const again = spawnService(ready)
      await once(again.child, 'close')
      expect([again.child.exitCode, again.output()]).toEqual([1, `${sentence(lost)}\n`])
    }
    for (const command of [
      ['user', 'list'],
      ['audit', 'check'],
      ['signing-keys', 'list'],
    ]) {
      const run = await cli([...command, '--json'], { env: ready })
      expect([run.code, run.error()]).toEqual([1, { error: 'store_unusable', message: sentence(lost) }])
    }
    const examined = (await cli(['doctor', '--json'], { env: ready })).json()
    expect(examined.checks).toContainEqual({
      name: 'Store',
      status: 'fail',
      detail: sentence(lost),
      fix: 'docs/deploy.md says how to restore a backup of the embedded store.',
    })
    const copy = join(folder, 'copy')
    const backup = await cli(['backup', '--to', copy, '--json'], { env: ready })
    const removed = expect.stringContaining(`is damaged: ${lost}. The copy was removed`)
    expect([backup.code, backup.error()]).toEqual([1, { error: 'store_unusable', message: removed }])
    expect(await readdir(copy)).toEqual([])
  },
)

it('a signing key that does not open signs nothing, and stops neither the service nor what it signed before', async () => {
  const { env: ready, start, create, call } = await useSandbox()
  const purpose = 'decision-sandbox'
  const decided = async (id: string) => {
    const read = () => call(`/api/v1/approvals/${id}`)
    await expect.poll(async () => (await read()).body.status).toBe('approved')
    return call(`/api/v1/approvals/${id}/verify`)
  }
  const first = await start()
  const before = await create()
  expect(await decided(before)).toMatchObject({ body: { valid: true } })
  await first.end('SIGTERM')
  const store = startCli(['store'], { env: ready })
  const [, uri = ''] = await store.line(/^MONGODB_URI=(mongodb:\/\/\S+)$/m)
  const client = new MongoClient(uri)
  const keys = client.db().collection('signing_keys')
  const { matchedCount } = await keys.updateOne({ purpose }, { $set: { sealed_seed: 'v1.AAAA.AAAA' } })
  expect(matchedCount).toBe(1)
  await client.close()
  expect(await store.stop('SIGTERM')).toBe(0)

  const second = await start()
  await second.line(
    /a stored signing key cannot be decrypted.*countersign signing-keys rotate --purpose decision-sandbox/,
  )
  expect((await call(`/api/v1/approvals/${before}/verify`)).body).toMatchObject({ valid: true })
  const id = await create()
  const refused = { status: 500, body: { error: 'internal_error' } }
  await expect.poll(() => call(`/api/v1/approvals/${id}`)).toMatchObject(refused)
  await second.line(/no key can sign for decision-sandbox: .* Run: countersign signing-keys rotate/)
  expect(second.output()).not.toMatch(/\n\s+at /)
  const doctor = await cli(['doctor'], { env: ready })
  expect(doctor.stdout).toMatch(/FAIL {2}Signing keys +none is active for decision-sandbox/)
  expect((await cli(['signing-keys', 'rotate', '--purpose', purpose, '--now'], { env: ready })).code).toBe(0)
  await second.end('SIGTERM')

  await start()
  for (const one of [before, await create()])
    expect(await decided(one)).toMatchObject({ body: { valid: true } })
})

it('needs no other configuration than DATA_DIR, and tells its address as JSON', async () => {
  const { env } = await useDataDir()
  const store = startCli(['store', '--json'], { env: { ...env, NODE_ENV: 'production' } })
  const [line] = await store.line(/^\{.*\}$/m)
  expect(JSON.parse(line)).toEqual({
    mongodb_uri: expect.stringMatching(/^mongodb:\/\/.*store\.sock\/\?directConnection=true/),
    data_dir: env.DATA_DIR,
  })
  expect(await store.stop('SIGINT')).toBe(0)
})

it('a service tells that its store is frozen, and goes on when it is not any more', async () => {
  const { env } = await useDataDir()
  const store = startCli(['store'], { env })
  const [, uri = ''] = await store.line(/^MONGODB_URI=(mongodb:\/\/\S+)$/m)
  const MONGODB_URI = uri.replace('/?', '/frozen?')
  const service = await useService({ env: { MONGODB_URI, STORE_TIMEOUT_MS: '4000' }, work: true })
  const caller = await newCaller(service)
  const key = { 'idempotency-key': 'frozen' }
  onTestFinished(() => void store.child.kill('SIGCONT'))

  store.child.kill('SIGSTOP')
  const timed = async (asked: Promise<{ status: number }>) => {
    const stop = startStopwatch()
    return [(await asked).status, stop()] as const
  }
  const [ready, created] = await Promise.all([
    timed(send(service, '/readyz')),
    timed(caller.create({ action: 'x' }, key)),
  ])
  expect([ready[0], created[0]]).toEqual([503, 503])
  expect(ready[1]).toBeLessThan(2_000)
  expect(created[1]).toBeLessThan(6_000)

  store.child.kill('SIGCONT')
  await expect.poll(async () => (await caller.create({ action: 'x' }, key)).status).toBe(201)
  expect((await send(service, '/readyz')).status).toBe(200)
  expect((await caller.send('/api/v1/approvals')).body.data).toHaveLength(1)
})
