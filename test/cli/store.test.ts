import { expect, it } from 'vitest'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'

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
