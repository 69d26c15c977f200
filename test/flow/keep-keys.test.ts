import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { createKeyKeeper, KEY_PURPOSES } from '../../src/flow/keys/keep-keys.ts'
import { newSigningKey } from '../../src/signing/keys.ts'
import { createVault } from '../../src/signing/vault.ts'
import type { SealedKey, SigningKeyStore } from '../../src/store/signing-keys.ts'
import { newCaller, send, signIn } from '../support/caller.ts'
import { cli } from '../support/cli.ts'
import { ask, decideByPasskey, setUpOwner } from '../support/live.ts'
import { databaseUri, startService, TEST_SECRETS, type TestService, useService } from '../support/service.ts'

const CLI = { kind: 'cli' } as const

/** Two keepers as two processes have them, on one store that counts how often it is read. */
async function twoKeepers(draw: (length: number) => Uint8Array = randomBytes) {
  const stored: SealedKey[] = []
  const state = { reads: 0, now: Date.now(), set: 0, broken: false }
  const store: SigningKeyStore = {
    async all() {
      state.reads += 1
      if (state.broken) throw new Error('the store is gone')
      return [...stored]
    },
    async insert(key) {
      stored.push(key)
      return true
    },
    revoke: () => expect.unreachable(),
  }
  const secret = () => Uint8Array.from(randomBytes(32))
  const vault = createVault({
    API_KEY_PEPPER: secret(),
    TOKEN_SECRET: secret(),
    SEALING_KEY: secret(),
    WEBHOOK_MASTER_SECRET: secret(),
  })
  const silent = () => undefined
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  const random = { bytes: (length: number) => Uint8Array.from(draw(length)) }
  const deps = {
    store,
    vault,
    clock: { now: () => new Date(state.now + state.set), steady: () => state.now },
    random,
    log,
    madeWith: {},
  }
  const [here, elsewhere] = [createKeyKeeper(deps), createKeyKeeper(deps)]
  await here.ensure()
  await elsewhere.ensure()
  return { here, elsewhere, state }
}

it('makes no key whose id a command would take for an option', async () => {
  // The ids of the keys of these seeds begin with "-".
  const taken = [7, 12, 18, 183].map((byte) => new Uint8Array(32).fill(byte))
  expect(
    taken.map((seed) => {
      const at = new Date(0)
      return newSigningKey({ purpose: 'decision', seed, createdAt: at, notBefore: at }).kid[0]
    }),
  ).toEqual(['-', '-', '-', '-'])
  const drawn = [...taken]
  const { here } = await twoKeepers((length) => (length === 32 && drawn.shift()) || randomBytes(length))
  const ids = here
    .ring()
    .publicRecords()
    .map(({ kid }) => kid)
  expect([drawn.length, ids.length, ids.filter((kid) => kid.startsWith('-'))]).toEqual([
    0,
    KEY_PURPOSES.length,
    [],
  ])
})

it('T73: a session token signed after a rotation by another process is taken at once', async () => {
  const service = await useService()
  const database = service.composition.connection.name
  const other = await startService({ database, env: { BASE_URL: service.url } })
  try {
    const { user } = await newCaller(service)
    const { deps } = other.composition
    const key = await deps.keys.rotate('session', deps.clock.now(), CLI)
    const token = await signIn(other, user)
    const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8'))
    expect(header.kid).toBe(key.kid)
    const answer = await send(service, '/api/v1/session', { token })
    expect([answer.status, answer.body.user]).toEqual([200, expect.objectContaining({ id: user.id })])
  } finally {
    await other.close()
  }
})

it('T73: a receipt signed after a rotation by another process verifies at once', async () => {
  const service = await useService()
  const other = await startService({ database: service.composition.connection.name })
  try {
    const setting = await setUpOwner(other)
    const { deps } = other.composition
    const { keys } = service.composition.deps
    // Not with the next reading of the keys either, which may come at any moment.
    keys.reload = async () => keys.ring()
    const key = await deps.keys.rotate('decision', deps.clock.now(), CLI)
    const id = await ask(setting)
    expect((await decideByPasskey(setting, id, 'approved')).status).toBe(200)
    expect(keys.ring().find(key.kid)).toBeUndefined()
    const verdict = await send(service, `/api/v1/approvals/${id}/verify`)
    expect(verdict.body).toMatchObject({ valid: true, public_key_id: key.kid })
  } finally {
    await other.close()
  }
})

describe('a restored store beside other settings', () => {
  const other = randomBytes(32).toString('base64')
  const startBeside = (service: TestService, env: Record<string, string>) =>
    startService({ database: service.composition.connection.name, env: { BASE_URL: service.url, ...env } })

  it.each([
    ['API_KEY_PEPPER', 'no API key would be accepted'],
    ['TOKEN_SECRET', 'sessions, links and backup codes would be void'],
    ['WEBHOOK_MASTER_SECRET', 'callbacks would be signed with secrets that no receiver knows'],
  ] as const)('%s: is not served, until a new signing key says that it is meant', async (name, told) => {
    const service = await useService()
    const problem = `${name}: differs from the one that this store was made with; ${told}`
    await expect(startBeside(service, { [name]: other })).rejects.toThrow(problem)
    const { connection } = service.composition
    const env = {
      ...TEST_SECRETS,
      MONGODB_URI: databaseUri(inject('storeUri'), connection.name),
      BASE_URL: service.url,
      [name]: other,
    }
    const refused = await cli(['user', 'invite', 'new@example.com'], { env })
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(problem)])
    const examined = (await cli(['doctor', '--json'], { env })).json()
    expect(examined.checks).toContainEqual({
      name,
      status: 'fail',
      detail: expect.stringContaining(told),
      fix: expect.stringContaining(
        'countersign signing-keys rotate --purpose session --now --accept-settings',
      ),
    })
    const rotate = ['signing-keys', 'rotate', '--purpose', 'session', '--now']
    // In another shell's settings by mistake, a rotation teaches the store nothing.
    expect((await cli(rotate, { env })).stderr).toContain(problem)
    const right = { ...env, [name]: TEST_SECRETS[name] }
    expect((await cli(rotate, { env: { ...right, BASE_URL: 'https://elsewhere.example' } })).code).toBe(0)
    await (await startBeside(service, {})).close()
    expect((await cli([...rotate, '--accept-settings'], { env })).code).toBe(0)
    await (await startBeside(service, { [name]: other })).close()
    await expect(startBeside(service, {})).rejects.toThrow(problem)
  })

  it('BASE_URL: is served, and the log says whose passkeys there are', async () => {
    const service = await useService({ env: { BASE_URL: 'https://approve.example' } })
    const warnings = async (base: string) => {
      const moved = await startBeside(service, { BASE_URL: base })
      await moved.close()
      return moved.logged.filter(({ level }) => level === 'warn').map(({ message }) => message)
    }
    const told = 'BASE_URL: differs from the one that this store was made with; passkeys belong'
    expect(await warnings('https://approvals.example.com')).toEqual([expect.stringContaining(told)])
    expect(await warnings('https://approve.example')).toEqual([])
  })
})

it('a known key is found without a look at the store', async () => {
  const { here, state } = await twoKeepers()
  const known = here.ring().active('session', new Date(state.now))
  const reads = state.reads
  expect((await here.find(known?.kid ?? ''))?.kid).toBe(known?.kid)
  expect(state.reads).toBe(reads)
})

it('a flood of unknown ids reads the store once a second', async () => {
  const { here, elsewhere, state } = await twoKeepers()
  const reads = state.reads
  const flood = () =>
    Promise.all(Array.from({ length: 200 }, () => here.find(randomBytes(32).toString('base64url'))))
  expect(new Set(await flood())).toEqual(new Set([undefined]))
  expect(state.reads).toBe(reads + 1)
  state.now += 999
  await flood()
  expect(state.reads).toBe(reads + 1)
  const rotated = await elsewhere.rotate('session', new Date(state.now), CLI)
  const before = state.reads
  expect(await here.find(rotated.kid)).toBeUndefined()
  state.now += 1
  const [found, ...others] = await Promise.all([here.find(rotated.kid), here.find(rotated.kid), flood()])
  expect(found?.kid).toBe(rotated.kid)
  expect(others[0]).toEqual(found)
  expect(state.reads).toBe(before + 1)
})

it('the first keys sign although the clock is set back after they were made', async () => {
  const { here, state } = await twoKeepers()
  state.set = -14 * 3_600_000
  const { kid } = here.ring().active('decision', new Date(state.now + state.set)) ?? expect.unreachable()
  expect(kid).toBe(here.ring().active('decision', new Date(state.now))?.kid)
})

it('the clock set back does not keep new keys away', async () => {
  const { here, elsewhere, state } = await twoKeepers()
  await here.find('unknown')
  state.now += 1_000
  state.set = -3_600_000
  const rotated = await elsewhere.rotate('session', new Date(state.now + state.set), CLI)
  expect((await here.find(rotated.kid))?.kid).toBe(rotated.kid)
})

it('a store that does not answer is an error, not an unknown key', async () => {
  const { here, state } = await twoKeepers()
  state.broken = true
  await expect(here.find('unknown')).rejects.toThrow('the store is gone')
})
