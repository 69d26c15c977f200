import { existsSync, readdirSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useDataDir } from '../../support/cli.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { openStream } from '../../support/event-source.ts'
import { type Answer, createHttpClient } from '../../support/http-client.ts'
import { PATIENCE_MS, patienceFor } from '../../support/patience.ts'
import { startReceiver } from '../../support/receiver.ts'
import { freePort } from '../../support/service.ts'
import { startServiceProcess } from '../../support/service-process.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const HOUR_S = 3_600
const WINDOW_MS = 60_000
const WAIT_S = 4

const libfaketime = readdirSync('/usr', { encoding: 'utf8' })
  .filter((name) => name.startsWith('lib'))
  .flatMap((lib) => ['.', ...readdirSync(join('/usr', lib))].map((name) => join('/usr', lib, name)))
  .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
  .find(existsSync)

/** @throws when it takes longer than it may */
async function soon<T>(answer: Promise<T>, ms = PATIENCE_MS): Promise<T> {
  const over = new AbortController()
  const late = pause(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error(`no answer within ${ms} ms`)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    over.abort()
    await late.catch(() => undefined)
  }
}

/** A service as a process of its own, on a machine whose clock the test sets. */
async function startWithClock(library: string) {
  const { folder, env } = await useDataDir()
  const file = join(folder, 'time')
  const set = async (seconds: number): Promise<void> => {
    // At once: half a file would be half a time.
    await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}`)
    await rename(`${file}.new`, file)
  }
  await set(0)
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const clock = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_DONT_FAKE_MONOTONIC: '1', FAKETIME_NO_CACHE: '1' }
  const open = { PORT: port, BASE_URL: url, CALLBACK_ALLOW_PRIVATE: '1', TRUST_PROXY: '1' }
  const service = await startServiceProcess({ ...env, ...open, ...clock, LD_PRELOAD: library })
  onTestFinished(() => service.end('SIGKILL'))
  const [, token = ''] = await service.line(/\/setup#([\w-]+)/)
  return { url, token, set }
}

/** Its owner at a browser, and a program with a key. */
async function startUse(library: string) {
  const { url, token, set } = await startWithClock(library)
  const browser = createHttpClient(url)
  const { register, authenticate } = createSoftAuthenticator()
  const origin = { origin: url }
  const person = { token, email: 'owner@example.com', name: 'Owner' }
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', person), 200)
  const credential = register(options, origin)
  const first = { token, passkey_name: 'laptop', credential }
  const session = expectStatus(await browser.post('/api/v1/enrollment/passkey', first), 201).token
  const makeKey = () => browser.post('/api/v1/account/api-keys', { name: 'program', sandbox: false })
  const bearer = { Authorization: `Bearer ${expectStatus(await makeKey(), 201).raw_key}` }
  const decision = 'approved'
  return {
    browser,
    set,
    makeKey,
    get: (path: string) => browser.get(`/api/v1/approvals/${path}`, { headers: bearer }),
    /** @returns the id of a new request */
    async create(more: object = {}): Promise<string> {
      const body = { action: 'Deploy build 1234', ttl_seconds: 24 * HOUR_S - 60, ...more }
      return expectStatus(await browser.post('/api/v1/approvals/request', body, { headers: bearer }), 201).id
    },
    /** @returns the call that sends a proof asked for now */
    async prove(id: string): Promise<() => Promise<Answer>> {
      const asked = await browser.post(`/api/v1/approvals/${id}/decision/options`, { decision })
      const passkey = authenticate(expectStatus(asked, 200).options, origin)
      return () => browser.post(`/api/v1/approvals/${id}/decision`, { decision, passkey })
    },
    async signIn(): Promise<Answer> {
      const asked = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
      return browser.post('/api/v1/session/passkey', { credential: authenticate(asked.options, origin) })
    },
    openInbox: () => openStream(`${url}/api/v1/me/pending/events`, { Authorization: `Bearer ${session}` }),
    openEvents: (id: string) => openStream(`${url}/api/v1/approvals/${id}/events`, bearer),
  }
}

type Use = Awaited<ReturnType<typeof startUse>>

/** Exports until that is refused. @returns a check that it is, and for no longer than a minute */
async function useUpExports({ browser }: Use): Promise<() => Promise<void>> {
  const began = performance.now()
  const takeOne = () => browser.get('/api/v1/account/requests/export?format=csv')
  let last = 200
  for (; last === 200; last = (await takeOne()).status);
  expect(last).toBe(429)
  return async () => {
    const { status, headers } = await takeOne()
    expect(status === 429 || performance.now() - began > WINDOW_MS, `${status}`).toBe(true)
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(WINDOW_MS / 1_000)
  }
}

/** A decision whose callback has failed once. @returns a check that it is retried soon */
async function failCallback({ create, prove }: Use): Promise<() => Promise<void>> {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  receiver.behave(({ attempt }) => ({ kind: 'answer', status: attempt === 1 ? 500 : 200 }))
  const decide = await prove(await create({ callback_url: receiver.url('/hook') }))
  expectStatus(await decide(), 200)
  await receiver.until('the first attempt', () => receiver.received.some(({ answered }) => answered))
  return () => receiver.until('the second one', () => receiver.received.length > 1, patienceFor(10_000))
}

describe.skipIf(libfaketime === undefined)(
  libfaketime === undefined
    ? 'is not tested: libfaketime is not installed'
    : 'T75: the clock of the machine is set',
  () => {
    it.each([
      ['back', -HOUR_S],
      ['on', HOUR_S],
    ])('%s by an hour: nothing lasts longer or shorter, and all goes on', async (_way, step) => {
      const use = await startUse(libfaketime ?? '')
      const { browser, create, get, prove } = use
      const id = await create()
      const begun = await prove(id)
      const isRetried = await failCallback(use)
      const isLimited = await useUpExports(use)
      const inbox = await use.openInbox()
      expect(await inbox.next()).toEqual({ retry: '3000' })
      const isTold = async () => expect(await soon(inbox.next())).toEqual({ event: 'changed', data: {} })
      await isTold()
      const started = performance.now()
      const wait = get(`${id}/wait?timeout=${WAIT_S}`).then(({ body }) => [
        body.status,
        performance.now() - started,
      ])
      const events = await use.openEvents(id)
      const opened = [await events.next(), await events.next()]
      expect(opened).toMatchObject([{ retry: '3000' }, { data: { status: 'pending' } }])
      await use.set(step)
      await isLimited()
      const [status, took] = await soon(wait, patienceFor(WAIT_S * 1_000))
      expect(status).toBe('pending')
      expect(took).toBeGreaterThan(WAIT_S * 1_000 - 50)
      // A challenge ends at a point in time.
      if (step > 0) expect((await begun()).body.error).toBe('challenge_invalid')
      expectStatus(await (step > 0 ? await prove(id) : begun)(), 200)
      expect((await soon(events.next()))?.data).toMatchObject({ status: 'approved' })
      await isTold()
      expect((await get(`${id}/verify`)).body).toMatchObject({ valid: true })
      const later = await create()
      await isTold()
      expectStatus(await (await prove(later))(), 200)
      await isTold()
      expect((await get(`${later}/verify`)).body).toMatchObject({ valid: true })
      expectStatus(await browser.get('/api/v1/session'), 200)
      expectStatus(await use.signIn(), 200)
      expectStatus(await use.makeKey(), 201)
      await isRetried()
      inbox.close()
    })
  },
)
