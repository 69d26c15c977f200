import { readFile, rename, symlink, truncate, writeFile } from 'node:fs/promises'
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
  expect([await backup(''), await backup('data/store.db'), await backup(name), await backup('link')]).toEqual(
    [
      { code: 2, error: 'usage', message: 'Name the folder to copy into.' },
      { code: 1, error: 'store_unusable', message: `${file} is not a directory; name a new one` },
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
    ],
  )
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
