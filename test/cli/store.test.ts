import { existsSync } from 'node:fs'
import { rename, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { newCaller, send } from '../support/caller.ts'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { freePort, useService } from '../support/service.ts'
import { spoil } from '../support/spoil.ts'
import { startStopwatch } from '../support/stopwatch.ts'

it('runs the store as a process of its own, which several commands share', async () => {
  const { env } = await useDataDir()
  const store = startCli(['store'], { env })
  const [, MONGODB_URI = ''] = await store.line(/^MONGODB_URI=(mongodb:\/\/\S+)$/m)
  const elsewhere = await useDataDir()
  const trail = await cli(['audit', 'list'], { env: { ...env, MONGODB_URI } })
  expect([trail.code, trail.stdout]).toEqual([0, 'Nothing has happened yet.\n'])
  const people = await cli(['user', 'list'], { env: { ...env, MONGODB_URI } })
  expect(people.stdout).toBe('No one yet. Invite a person: countersign user invite <email>\n')
  const secrets = await cli(['user', 'list', '--json'], { env: { ...env, MONGODB_URI } })
  expect([secrets.code, secrets.json()]).toEqual([0, { data: [], next_cursor: null }])
  const invited = await cli(['user', 'invite', 'a@example.com', '--json'], { env: { ...env, MONGODB_URI } })
  expect(invited.code).toBe(0)

  const second = await cliProcess(['store', '--json'], { env })
  expect([second.code, second.stdout]).toEqual([1, ''])
  expect(second.error()).toEqual({
    error: 'data_dir_in_use',
    message: expect.stringMatching(/is held by the store of process \d+$/),
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
  const [store, secrets] = ['store.db', 'secrets.json'].map((name) => join(env.DATA_DIR ?? '', name))
  const without = async (path = '') => {
    await rename(path, `${path}.away`)
    const run = await invite()
    const made = existsSync(path)
    await rename(`${path}.away`, path)
    return { ...run.error(), made }
  }
  const begin = 'Restore .* from a backup; or begin anew, .*: rm '
  expect(await without(store)).toEqual({
    error: 'config_invalid',
    message: expect.stringMatching(new RegExp(`store\\.db is missing, and .*${begin}.*secrets\\.json`)),
    made: false,
  })
  expect(await without(secrets)).toEqual({
    error: 'config_invalid',
    message: expect.stringMatching(new RegExp(`secrets\\.json is missing, and .*${begin}.*store\\.\\*`)),
    made: false,
  })
  expect((await cli(['user', 'list', '--json'], { env })).json().data).toHaveLength(1)

  await truncate(store ?? '', 20_000)
  const damaged = await cli(['user', 'list', '--json'], { env })
  expect(damaged.error()).toEqual({
    error: 'store_unusable',
    message: expect.stringMatching(/store\.db is damaged: page \d+ .*put a backup of the file in its place$/),
  })
  const doctor = await cli(['doctor'], { env })
  expect(doctor.stdout).toMatch(/FAIL {2}Store .*store\.db is damaged/)
})

it('names what is damaged, where a command reads it and where the service starts with it, without a stack', async () => {
  const { env } = await useDataDir()
  const dataDir = env.DATA_DIR ?? ''
  const ready = { ...env, PORT: String(await freePort()) }
  const { user_id } = (await cli(['user', 'invite', 'a@example.com', '--json'], { env })).json()
  const rotated = await cli(['keys', 'rotate', '--purpose', 'session', '--now', '--json'], { env })
  const [{ kid = '' } = {}] = rotated.json().keys
  const sentence = (what: string) =>
    new RegExp(`^the store file .*store\\.db is damaged: document "${what}" of .* in its place\n?$`)
  await spoil(dataDir, [user_id])
  const list = await cli(['user', 'list', '--json'], { env })
  expect(list.error()).toEqual({ error: 'store_unusable', message: expect.stringMatching(sentence(user_id)) })
  await spoil(dataDir, [kid])
  const service = await cliProcess(['serve'], { env: ready })
  expect([service.code, service.stderr]).toEqual([1, expect.stringMatching(sentence(kid))])
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
