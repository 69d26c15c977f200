import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { checkNode, judgeSpace } from '../../src/cli/doctor/machine.ts'
import { SECRET_NAMES } from '../../src/config/config.ts'
import { cli, useDataDir } from '../support/cli.ts'
import { databaseUri, freePort, startService, TEST_SECRETS } from '../support/service.ts'

interface Check {
  name: string
  status: string
  detail: string
  fix?: string
}

async function examine(env: Record<string, string>) {
  const run = await cli(['doctor', '--json'], { env })
  const checks: Check[] = run.json().checks
  return { run, ok: run.json().ok, of: (name: string) => checks.find((check) => check.name === name) }
}

describe('countersign doctor', () => {
  it('finds a fresh machine usable and changes nothing on it', async () => {
    const { env } = await useDataDir()
    const port = await freePort()
    const { run, ok, of } = await examine({ ...env, PORT: String(port) })
    expect([run.code, ok, run.stderr]).toEqual([0, true, ''])
    expect(of('Node.js')).toMatchObject({ status: 'ok', detail: process.versions.node })
    expect(of('Configuration')).toMatchObject({
      status: 'warn',
      detail: 'suitable for development, not for production',
    })
    for (const name of ['BASE_URL', 'TRUST_PROXY', ...SECRET_NAMES])
      expect(of('Configuration')?.fix).toContain(`- ${name}: `)
    expect(of('Store')).toMatchObject({ status: 'ok', detail: expect.stringContaining('at the first start') })
    expect(of('Port')).toMatchObject({ status: 'ok' })
    expect(of('Service')).toMatchObject({
      status: 'warn',
      detail: `nothing answers at http://localhost:${port}: the connection is refused`,
    })
    await expect(stat(env.DATA_DIR ?? '')).rejects.toThrow('ENOENT')
  })

  it('tells people line by line what to do', async () => {
    const { env } = await useDataDir()
    // Small enough for any machine's limit of open files.
    const few = { ...env, MAX_OPEN_WAITS: '9', PORT: String(await freePort()) }
    const run = await cli(['doctor'], { env: few })
    expect(run.stdout).toMatch(
      /\nok {4}Disk {12}\d+ MiB free for \S+\nok {4}Descriptors {5}a process may open /,
    )
    expect(run.stdout).toMatch(/^ok {4}Node\.js {9}\d/)
    expect(run.stdout).toMatch(
      /\nwarn {2}Service {9}nothing answers at \S+: the connection is refused\n +If it should run, start it: npm start\n/,
    )
    expect(run.stdout).toMatch(/\nUsable, with 2 warnings\.\n$/)
  })

  it('finds a running service, its store, clock and keys in order', async () => {
    const database = 'test_doctor'
    const service = await startService({ database })
    onTestFinished(async () => {
      await service.composition.connection.db?.dropDatabase()
      await service.close()
    })
    const { env: data } = await useDataDir()
    const env = {
      ...data,
      ...TEST_SECRETS,
      MONGODB_URI: databaseUri(inject('storeUri'), database),
      BASE_URL: service.url,
      PORT: String(service.port),
    }
    const { run, of } = await examine(env)
    expect(run.code).toBe(0)
    expect(of('Secrets')).toMatchObject({ status: 'ok', detail: 'all from the environment' })
    expect(of('Store')).toMatchObject({ status: 'ok', detail: expect.stringMatching(/^MONGODB_URI answers/) })
    expect(of('Clock')).toMatchObject({ status: 'ok' })
    expect(of('Signing keys')).toMatchObject({ status: 'ok', detail: 'active for every purpose' })
    expect(of('BASE_URL')?.status).toBe('ok')
    expect(of('Port')).toBeUndefined()
    expect(of('Service')).toMatchObject({ status: 'ok', detail: `answers at ${service.url} and is ready` })
    const { MONGODB_URI: _, ...elsewhere } = env
    expect((await examine(elsewhere)).of('Service')).toMatchObject({
      status: 'warn',
      detail: `the service at ${service.url} uses another store`,
    })

    const other = { ...env, SEALING_KEY: Buffer.from(SECRET_NAMES.join('')).toString('base64') }
    const wrong = await examine(other)
    expect(wrong.run.code).toBe(1)
    expect(wrong.of('Signing keys')).toMatchObject({
      status: 'fail',
      detail: 'cannot be opened: The stored signing keys cannot be decrypted with this SEALING_KEY.',
      fix: expect.stringMatching(/^Set the one that this store was made with\./),
    })
  })

  it('asks first for the secrets that the service has in its environment, and promises no others', async () => {
    const { env } = await useDataDir()
    const ready = { ...env, PORT: String(await freePort()) }
    await cli(['user', 'invite', 'ann@example.com'], { env: { ...ready, ...TEST_SECRETS } })
    const { run, of } = await examine(ready)
    expect([run.code, of('Secrets')]).toEqual([1, undefined])
    expect(of('Signing keys')).toEqual({
      name: 'Signing keys',
      status: 'fail',
      detail: `cannot be opened: ${env.DATA_DIR}/secrets.json is missing, and the store was sealed with secrets.`,
      fix: expect.stringMatching(
        /^If the service has API_KEY_PEPPER, .* in its environment, set them here too; if not, restore .*: rm /,
      ),
    })
    const { env: elsewhere } = await useDataDir()
    const uri = databaseUri(inject('storeUri'), 'test_doctor_none')
    const none = await examine({ ...ready, ...elsewhere, MONGODB_URI: uri })
    expect([none.of('Secrets'), none.of('Signing keys')]).toMatchObject([
      undefined,
      { status: 'ok', detail: 'will be made at the first start' },
    ])
  })

  it('fails on secrets that others can read, and on damaged ones', async () => {
    const { folder } = await useDataDir()
    const env = { DATA_DIR: join(folder, "Ann's data") }
    // What is advised deletes or opens nothing else where a path has a blank.
    const quoted = (name: string) => `'${join(folder, "Ann'\\''s data", name)}'`
    await cli(['user', 'invite', 'ann@example.com'], { env })
    const path = join(env.DATA_DIR ?? '', 'secrets.json')
    await chmod(path, 0o644)
    const open = await examine(env)
    expect(open.run.code).toBe(1)
    expect(open.run.error()).toEqual({
      error: 'doctor_failed',
      message: expect.stringMatching(/^1 of \d+ checks failed\.$/),
    })
    expect(open.of('Data directory')).toEqual({
      name: 'Data directory',
      status: 'fail',
      detail: 'others can read secrets.json',
      fix: `Run: chmod 600 ${quoted('secrets.json')}`,
    })
    const whole = await readFile(path, 'utf8')
    await writeFile(path, '{}')
    await chmod(path, 0o600)
    const damaged = await examine(env)
    expect(damaged.of('Secrets')).toMatchObject({ status: 'fail', fix: expect.stringContaining('Restore ') })
    expect(damaged.of('Signing keys')).toMatchObject({
      fix: 'See the lines about the secrets and the store.',
    })
    await writeFile(path, whole)
    await chmod(env.DATA_DIR ?? '', 0o755)
    const wide = await examine(env)
    const fix = `Run: chmod 700 ${quoted('')}`
    expect(wide.of('Data directory')).toMatchObject({
      status: 'warn',
      detail: `others can look into ${env.DATA_DIR}`,
      fix,
    })
    await chmod(env.DATA_DIR ?? '', 0o777)
    expect((await examine(env)).of('Data directory')).toMatchObject({
      status: 'warn',
      detail: `others can write into ${env.DATA_DIR}`,
      fix,
    })
  })

  it('names everything that keeps production from starting', async () => {
    const { env } = await useDataDir()
    const run = await cli(['doctor'], { env: { ...env, NODE_ENV: 'production', TRUST_PROXY: 'true' } })
    expect(run.code).toBe(1)
    expect(run.stdout).toContain('FAIL  Configuration   BASE_URL: must be set in production')
    expect(run.stdout).toContain('FAIL  Configuration   TRUST_PROXY: must be a number of hops')
    for (const name of SECRET_NAMES)
      expect(run.stdout).toContain(`FAIL  Configuration   ${name}: must be set`)
  })

  it('warns of an internal token that is too short to count, and refuses a misspelt NODE_ENV', async () => {
    const { env } = await useDataDir()
    const warned = await cli(['doctor'], {
      env: { ...env, PORT: String(await freePort()), INTERNAL_SERVICE_TOKEN: 'hunter2hunter2' },
    })
    expect(warned.code).toBe(0)
    expect(warned.stdout).toContain(
      'warn  Configuration   INTERNAL_SERVICE_TOKEN: has fewer than 32 characters, so the internal token is switched off\n' +
        `${' '.repeat(22)}Change INTERNAL_SERVICE_TOKEN in the environment or in .env, or leave it unset.\n`,
    )
    expect(warned.stdout).not.toContain('hunter2')
    const refused = await cli(['doctor'], { env: { ...env, NODE_ENV: 'prod' } })
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain(
      'FAIL  Configuration   NODE_ENV: must be production, development or test\n',
    )
  })

  it('notices that something else answers at BASE_URL', async () => {
    const server = createServer((_request, response) => void response.end('<h1>It works!</h1>'))
    onTestFinished(() => void server.close())
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const address = server.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    const { env } = await useDataDir()
    const free = String(await freePort())
    const { of } = await examine({ ...env, BASE_URL: `http://localhost:${port}`, PORT: free })
    expect(of('Service')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('something else answers'),
    })
    expect(of('BASE_URL')).toMatchObject({
      status: 'warn',
      fix: expect.stringContaining(`http://localhost:${free}`),
    })
    const production = {
      ...env,
      ...TEST_SECRETS,
      NODE_ENV: 'production',
      TRUST_PROXY: '1',
      PORT: free,
      STORE: 'embedded',
    }
    const proxied = await examine({ ...production, BASE_URL: `https://localhost:${port}` })
    expect(proxied.of('BASE_URL')).toMatchObject({
      status: 'ok',
      detail: `https://localhost:${port} (a proxy on this machine leads to PORT ${free})`,
    })
    const trial = { ...env, BASE_URL: `http://localhost:${port}`, PORT: free, TRUST_PROXY: '1' }
    expect((await examine(trial)).of('BASE_URL')?.status).toBe('ok')
    const taken = await examine({ ...env, PORT: String(port) })
    expect([taken.run.code, taken.of('Port')]).toEqual([
      1,
      {
        name: 'Port',
        status: 'fail',
        detail: `PORT: port ${port} of 127.0.0.1 is in use`,
        fix: 'stop the program that uses it, or set PORT to a free port.',
      },
    ])
    const figures = await examine({ ...env, PORT: free, METRICS_PORT: String(port) })
    expect([figures.run.code, figures.of('Metrics port')?.detail]).toEqual([
      1,
      `METRICS_PORT: port ${port} of 127.0.0.1 is in use`,
    ])
  })

  it('says why nothing answers', async () => {
    const { env } = await useDataDir()
    const elsewhere = { ...env, PORT: String(await freePort()) }
    const unknown = await examine({ ...elsewhere, BASE_URL: 'https://countersign.invalid' })
    expect(unknown.of('Service')).toMatchObject({
      status: 'warn',
      detail: 'nothing answers at https://countersign.invalid: the name countersign.invalid is not found',
      fix: expect.stringContaining('DNS'),
    })
    const BASE_URL = `http://localhost:${await freePort()}`
    expect((await examine({ ...elsewhere, BASE_URL, TRUST_PROXY: '1' })).of('Service')?.fix).toContain(
      'let the proxy at localhost forward to it',
    )
  })

  it('finds what is wrong with the metadata of authenticators, which would keep the service from starting', async () => {
    const { env, folder } = await useDataDir()
    const FIDO_METADATA_FILE = join(folder, 'blob.jwt')
    const { run, of } = await examine({ ...env, PORT: String(await freePort()), FIDO_METADATA_FILE })
    expect([run.code, of('FIDO metadata')]).toMatchObject([
      1,
      {
        status: 'fail',
        detail: expect.stringMatching(/^FIDO_METADATA_FILE: cannot be used: ENOENT.*blob\.jwt/),
      },
    ])
  })

  it('fails where nothing can be kept in the data directory, and blames no backup', async () => {
    const { env, folder } = await useDataDir()
    await writeFile(join(folder, 'taken'), '')
    const { run, of } = await examine({ ...env, DATA_DIR: join(folder, 'taken', 'data') })
    expect([run.code, of('Data directory')]).toEqual([
      1,
      {
        name: 'Data directory',
        status: 'fail',
        detail: `${join(folder, 'taken')} is a file`,
        fix: 'Set DATA_DIR to a folder that the user of the service may write, or give it that right.',
      },
    ])
    expect(of('Store')).toMatchObject({ status: 'warn', fix: 'See the line about the data directory.' })
  })

  it('advises no backup for a store that is whole: revoked keys and used approvals would come back', async () => {
    const { env } = await useDataDir()
    await mkdir(String(env.DATA_DIR))
    await writeFile(join(String(env.DATA_DIR), 'store.db'), '')
    await writeFile(join(String(env.DATA_DIR), 'run'), '')
    const { run, of } = await examine({ ...env, ...TEST_SECRETS, PORT: String(await freePort()) })
    expect([run.code, of('Store')]).toEqual([
      1,
      {
        name: 'Store',
        status: 'fail',
        detail: `${env.DATA_DIR}/run is not a directory of the user that runs the store; remove it`,
        fix: 'Follow these steps; do not restore a backup: used approvals and revoked keys would be valid again.',
      },
    ])
  })

  it.each([
    [64 * 2 ** 20 - 1, 'fail', '63 MiB free for /data'],
    [64 * 2 ** 20, 'warn', '64 MiB free for /data'],
    [2 ** 30 - 1, 'warn', '1023 MiB free for /data'],
    [2 ** 30, 'ok', '1024 MiB free for /data'],
  ])('of %i bytes free on the disk says %s', (free, status, detail) => {
    expect(judgeSpace('/data', free)).toMatchObject({ name: 'Disk', status, detail })
  })

  it('knows which Node.js is too old', () => {
    expect(checkNode('20.18.9')).toMatchObject({ status: 'fail', fix: 'Install Node.js 20.19 or newer.' })
    expect(['20.19.0', '22.0.0', '24.1.0'].map((version) => checkNode(version).status)).toEqual([
      'ok',
      'ok',
      'ok',
    ])
  })
})
