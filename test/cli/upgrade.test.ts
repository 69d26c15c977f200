import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { SCHEMA_VERSION } from '../../src/store/schema/migrations.ts'
import { cli, startCli, useDataDir } from '../support/cli.ts'
import { freePort } from '../support/service.ts'
import { startServiceProcess, watchService } from '../support/service-process.ts'

/** Builds that differ from this one in their schema alone. */
const BUILDS = {
  /** The next one, which allows this one beside it. */
  next: { version: SCHEMA_VERSION + 1, oldest: SCHEMA_VERSION },
  /** A later one, whose documents this one would misread. */
  later: { version: SCHEMA_VERSION + 1, oldest: SCHEMA_VERSION + 1 },
}

let homes: string

beforeAll(() => {
  homes = mkdtempSync(join(tmpdir(), 'builds-'))
  for (const [name, { version, oldest }] of Object.entries(BUILDS)) {
    const home = join(homes, name)
    cpSync(packagePath('dist'), join(home, 'dist'), { recursive: true })
    cpSync(packagePath('package.json'), join(home, 'package.json'))
    symlinkSync(packagePath('node_modules'), join(home, 'node_modules'))
    const path = join(home, 'dist/src/store/schema/migrations.js')
    const code = readFileSync(path, 'utf8')
      .replace(/SCHEMA_VERSION = \d+;/, `SCHEMA_VERSION = ${version};`)
      .replace(/OLDEST_BESIDE = \d+;/, `OLDEST_BESIDE = ${oldest};`)
      .replace(/MIGRATIONS = \[.*\];/, 'MIGRATIONS = [];')
    writeFileSync(path, code)
  }
  return () => rmSync(homes, { recursive: true })
})

type Environment = Record<string, string>

function run(build: keyof typeof BUILDS, code: string, env: Environment): ChildProcessWithoutNullStreams {
  const home = join(homes, build)
  const script = `const load = (name) => import(${JSON.stringify(`${home}/dist/src/`)} + name); ${code}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', STORE_TIMEOUT_MS: '90000', ...env },
    stdio: 'pipe',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** A store that several processes use, as MongoDB would be, in which this build has made a person and a key. */
async function useStore() {
  const { env } = await useDataDir()
  const store = startCli(['store'], { env })
  onTestFinished(() => void store.stop('SIGKILL'))
  const [, MONGODB_URI = ''] = await store.line(/^MONGODB_URI=(mongodb:\/\/\S+)$/m)
  const on = async (): Promise<Environment> => {
    const port = String(await freePort())
    return { ...env, MONGODB_URI, PORT: port, BASE_URL: 'http://localhost:8000' }
  }
  const shared = await on()
  const made = async (...words: string[]) => (await cli([...words, '--json'], { env: shared })).json()
  await made('user', 'invite', 'ann@example.com')
  const { raw_key } = await made('key', 'create', '--owner', 'ann@example.com', '--name', 'a')
  return { on, shared, token: String(raw_key) }
}

async function call(env: Environment, token: string, path: string, body?: object) {
  const answer = await fetch(`http://localhost:${env.PORT}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

it('lets a later version that allows it run beside this one, and serve what either made', async () => {
  const { on, token } = await useStore()
  const [before, now] = [await on(), await on()]
  const service = await startServiceProcess(before)
  onTestFinished(() => service.end('SIGKILL'))
  const next = watchService(run('next', `await (await load('main.js')).runMain()`, now))
  await next.line(/Countersign is running/)
  for (const [made, read] of [
    [before, now],
    [now, before],
  ] as const) {
    const created = await call(made, token, '/api/v1/approvals/request', {
      action: 'Refund 12 EUR',
    })
    expect(created).toMatchObject({ status: 201 })
    const path = `/api/v1/approvals/${created.body.id}`
    expect(await call(read, token, path)).toMatchObject({ status: 200, body: { status: 'pending' } })
    expect(await call(read, token, `${path}/cancel`, {})).toMatchObject({ status: 200 })
    expect(await call(made, token, path)).toMatchObject({ body: { status: 'expired', cancelled: true } })
  }
  // The store has the next version by now.
  await service.end('SIGTERM')
  const again = await startServiceProcess(before)
  await again.end('SIGTERM')
})

it('ends, and starts no more, once a later version has changed documents that it would misread', async () => {
  const { on, shared } = await useStore()
  const now = await on()
  const service = await startServiceProcess(now)
  onTestFinished(() => service.end('SIGKILL'))
  const later = watchService(run('later', `await (await load('main.js')).runMain()`, await on()))
  await later.line(/Countersign is running/)
  const told = `its schema needs version ${SCHEMA_VERSION + 1} or later, and this Countersign has ${SCHEMA_VERSION}. Nothing was changed.`
  await service.line(new RegExp(told))
  await new Promise((ended) => service.child.once('close', ended))
  expect(service.child.exitCode).toBe(1)
  for (const words of [['user', 'list'], ['user', 'invite', 'b@example.com'], ['migrate']]) {
    const refused = await cli([...words, '--json'], { env: shared })
    expect([refused.code, refused.error()]).toEqual([
      1,
      { error: 'store_unsuitable', message: expect.stringContaining(told) },
    ])
  }
  expect((await cli(['doctor'], { env: shared })).stdout).toContain(told)
})

it('says before an upgrade what it will change, and changes only that', async () => {
  const { env } = await useDataDir()
  const migrate = async (...options: string[]) => {
    const done = await cli(['migrate', ...options], { env })
    expect(done.code).toBe(0)
    return done.stdout
  }
  expect((await cli(['user', 'invite', 'ann@example.com'], { env })).code).toBe(0)
  expect(await migrate('--dry-run')).toBe(
    `The store has schema version ${SCHEMA_VERSION}; nothing is to do.\n`,
  )
  const store = startCli(['store'], { env })
  const [, uri = ''] = await store.line(/^MONGODB_URI=(mongodb:\/\/\S+)$/m)
  const client = new MongoClient(uri)
  const old = client.db().collection<{ _id: string }>('idempotency')
  await old.insertMany(['a', 'b'].map((key) => ({ _id: key })))
  await client
    .db()
    .collection<{ _id: string }>('schema')
    .updateOne({ _id: 'indexes' }, { $set: { version: 9 } })
  const plan = await migrate('--dry-run')
  expect(plan).toContain(
    `The store has schema version 9; this version of Countersign changes it to ${SCHEMA_VERSION}:`,
  )
  expect(plan).toContain(
    '- drops the answers that stores of schema versions before 10 kept under an Idempotency-Key (2 documents)',
  )
  expect(await old.countDocuments()).toBe(2)
  expect(await migrate()).toContain(`The store now has schema version ${SCHEMA_VERSION} (before: 9).`)
  expect(await old.countDocuments()).toBe(0)
  expect(await migrate()).toContain('nothing is to do')
  await client.close()
  await store.stop('SIGTERM')
})
