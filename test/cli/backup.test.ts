import {
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, useDataDir } from '../support/cli.ts'
import { TEST_SECRETS } from '../support/service.ts'

it('says what it holds, and what is wrong with its name or its place', async () => {
  const { env } = await useDataDir()
  const dataDir = env.DATA_DIR ?? ''
  const backup = async (name: string, more: Record<string, string> = {}) => {
    const run = await cli(['backup', name && join(dataDir, '..', name), '--json'], {
      env: { ...env, ...more },
    })
    return run.code === 0 ? run.json() : { code: run.code, ...run.error() }
  }
  const none = {
    code: 1,
    error: 'no_store',
    message: `There is no store in ${dataDir}. Set DATA_DIR to the directory of the service, or start the service here first: npm start`,
  }
  expect(await backup('early')).toEqual(none)
  await cli(['user', 'invite', 'a@example.com'], { env })
  expect(await backup('whole')).toMatchObject({ secrets: true, secrets_missing: [] })
  const file = join(dataDir, 'store.db')
  const name = 'n'.repeat(300)
  await symlink('nowhere', join(dataDir, '..', 'link'))
  expect([
    await backup(''),
    await backup('data/secrets.json'),
    await backup(name),
    await backup('link'),
  ]).toEqual([
    {
      code: 2,
      error: 'usage',
      message: 'Name one place for the copy, with --to: a folder, or a .db file.',
    },
    {
      code: 1,
      error: 'store_unusable',
      message: `${join(dataDir, 'secrets.json')} is not a directory; name a new one`,
    },
    {
      code: 1,
      error: 'store_unusable',
      message: expect.stringMatching(/^ENAMETOOLONG: .* Choose a shorter name\.$/),
    },
    {
      code: 1,
      error: 'store_unusable',
      message: expect.stringMatching(/^EEXIST: .*link'\. Choose another name\.$/),
    },
  ])
  await rename(join(dataDir, 'secrets.json'), join(dataDir, '..', 'elsewhere.json'))
  const missing = Object.keys(TEST_SECRETS)
  expect(await backup('bare')).toMatchObject({ secrets: false, secrets_missing: missing })
  const words = await cli(['backup', join(dataDir, '..', 'words')], { env })
  // A job that runs it shows only stderr to anyone, if that.
  expect([words.code, words.stderr]).toEqual([
    0,
    `warning: the copy is useless without the secrets that the store was made with, and these are neither in ${dataDir} nor set here: ${missing.join(', ')}\n`,
  ])
  const given = JSON.parse(await readFile(join(dataDir, '..', 'elsewhere.json'), 'utf8'))
  expect(await backup('given', given)).toMatchObject({
    secrets: false,
    secrets_missing: [],
    secrets_open: true,
  })
  const socket = (path: string) => ({
    MONGODB_URI: `mongodb://${encodeURIComponent(path)}/?directConnection=true`,
  })
  expect(await backup('stopped', socket(join(dataDir, 'run', 'store.sock')))).toMatchObject({
    secrets: false,
  })
  expect(await backup('other', socket('/run/other/run/store.sock'))).toMatchObject({
    error: 'not_embedded',
    message: `MONGODB_URI names a store other than the one in ${dataDir}: set DATA_DIR to the folder of that store.`,
  })
  await rename(file, join(dataDir, '..', 'elsewhere.db'))
  await symlink('../elsewhere.db', file)
  expect(await backup('linked')).toMatchObject({
    error: 'store_unusable',
    message: expect.stringMatching(/store\.db is a symbolic link, .* link the folder .* instead/),
  })
})

it('tries the secrets that would count on the copy, and says when a service would not start with them', async () => {
  const { folder, env } = await useDataDir()
  const secrets = join(env.DATA_DIR ?? '', 'secrets.json')
  await cli(['user', 'invite', 'a@example.com'], { env })
  let made = 0
  const backup = async (more: Record<string, string> = {}) => {
    made += 1
    const run = await cli(['backup', join(folder, `copy${made}`), '--json'], { env: { ...env, ...more } })
    const { secrets: held, secrets_open: open } = run.json()
    return { code: run.code, held, open, ...(run.stderr === '' ? {} : run.error()) }
  }
  const good = { code: 0, held: true, open: true }
  const wrong = (why: RegExp) => ({
    code: 1,
    held: true,
    open: false,
    error: 'secrets_wrong',
    message: expect.stringMatching(why),
  })
  expect(await backup({ BASE_URL: 'http://localhost:1' })).toEqual(good)
  expect(await backup(TEST_SECRETS)).toEqual(wrong(/cannot be decrypted with this SEALING_KEY/))
  const { API_KEY_PEPPER = '' } = TEST_SECRETS
  expect(await backup({ API_KEY_PEPPER })).toEqual(wrong(/API_KEY_PEPPER: differs from the one/))
  const whole = JSON.parse(await readFile(secrets, 'utf8'))
  await truncate(secrets, 100)
  expect(await backup(whole)).toEqual(good)
  expect(await backup()).toEqual(wrong(/secrets\.json is damaged/))
  await writeFile(secrets, JSON.stringify(TEST_SECRETS))
  const words = await cli(['backup', join(folder, 'words')], { env })
  expect(words).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/ and its secrets\.json\.\n$/),
    stderr: expect.stringMatching(/^error: no service would start from the copy .* this SEALING_KEY/),
  })
})

it('keeps the newest of a series, removes what interrupted ones left, and touches nothing else', async () => {
  const { folder, env } = await useDataDir()
  await cli(['user', 'invite', 'a@example.com'], { env })
  const run = async (to: string, ...more: string[]) => {
    const { code, stdout, stderr } = await cli(['backup', '--to', join(folder, to), ...more, '--json'], {
      env,
    })
    return code === 0 ? JSON.parse(stdout) : { code, ...JSON.parse(stderr) }
  }
  expect(await run('x', '--keep', '0')).toMatchObject({ code: 2, error: 'usage' })
  expect(await run('one.db')).toMatchObject({ file: join(folder, 'one.db'), secrets: false })
  expect(await run('one.db')).toMatchObject({ code: 1, error: 'backup_exists' })
  expect((await readdir(folder)).sort()).toEqual(['data', 'one.db'])

  const series = join(folder, 'series')
  const old = ['20260101T000000Z', '20260102T000000Z'].map((time) => `countersign-${time}`)
  for (const name of [
    ...old,
    'countersign-20250101T000000Z',
    'countersign-20250102T000000Z',
    'countersign-mine',
  ])
    await mkdir(join(series, name), { recursive: true })
  for (const name of [...old, 'countersign-mine']) await writeFile(join(series, name, 'store.db'), '')
  // Interrupted two days ago, while the other of its kind may be one that is being made.
  const then = new Date(Date.now() - 2 * 86_400_000)
  await utimes(join(series, 'countersign-20250101T000000Z'), then, then)
  const made = await run('series', '--keep', '2')
  expect(made.removed).toEqual([old[0], 'countersign-20250101T000000Z'])
  expect(made.folder).toMatch(/series\/countersign-\d{8}T\d{6}Z$/)
  const left = await readdir(series)
  expect(left).toHaveLength(4)
  expect(left).toEqual(expect.arrayContaining([old[1], 'countersign-20250102T000000Z', 'countersign-mine']))

  await writeFile(join(folder, 'one-20260101T000000Z.db'), '')
  const file = await run('one.db', '--keep', '1')
  expect(file).toMatchObject({ removed: ['one-20260101T000000Z.db'], secrets: false })
  expect((await readdir(folder)).filter((name) => name.startsWith('one'))).toHaveLength(2)
})

it('verify reads a whole backup without a change in it, and names what is wrong with it', async () => {
  const { folder, env } = await useDataDir()
  await cli(['user', 'invite', 'a@example.com'], { env })
  const copy = join(folder, 'copy')
  await cli(['backup', '--to', copy], { env })
  const file = join(folder, 'one.db')
  await cli(['backup', '--to', file], { env })
  const verify = async (path: string, more: Record<string, string> = {}) => {
    const run = await cli(['backup', 'verify', path, '--json'], { env: { ...env, ...more } })
    return run.code === 0 ? run.json() : { code: run.code, ...run.error() }
  }
  const before = await readFile(join(copy, 'store.db'))
  const whole = {
    ok: true,
    copied_at: expect.stringMatching(/^\d{4}-.*Z$/),
    copied_on: expect.stringMatching(/^.+@.+$/),
    head: expect.stringMatching(/^0:[0-9a-f]{64}$/),
    secrets_open: true,
  }
  expect(await verify(copy)).toMatchObject(whole)
  expect(await verify(file)).toMatchObject({ ...whole, secrets_open: null })
  expect(await verify(file, TEST_SECRETS)).toMatchObject({ code: 1, error: 'secrets_wrong' })
  expect((await readFile(join(copy, 'store.db'))).equals(before)).toBe(true)
  expect((await verify(join(env.DATA_DIR ?? '', 'store.db'))).copied_at).toBeNull()
  expect(await verify(join(folder, 'nothing'))).toMatchObject({ code: 1, error: 'no_backup' })

  const drill = await cli(['backup', 'drill', copy, '--json'], { env })
  expect([drill.code, drill.json()]).toEqual([
    0,
    expect.objectContaining({ ok: true, pending: 0, approved: 0 }),
  ])
  // A copy by other means has no mark, so nothing would be held.
  const bare = await cli(['backup', 'drill', env.DATA_DIR ?? '', '--json'], { env })
  expect([bare.code, bare.error()]).toEqual([
    1,
    {
      error: 'drill_failed',
      message: expect.stringMatching(
        /^The drill failed: nothing is held, since the backup has no mark\. Keep /,
      ),
    },
  ])
  expect((await readFile(join(copy, 'store.db'))).equals(before)).toBe(true)
  expect((await cli(['backup', 'drill', file, '--json'], { env })).error().error).toBe('secrets_missing')

  const written = await open(join(copy, 'store.db'), 'r+')
  await written.write(Buffer.from([255, 255, 255, 255]), 0, 4, 3 * 8192 + 4096)
  await written.close()
  expect(await verify(copy)).toMatchObject({
    code: 1,
    error: 'backup_damaged',
    message: expect.stringContaining('page 4 does not match its checksum'),
  })
})
