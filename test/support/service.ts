import { randomBytes, randomInt } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { readConfig, type SecretName } from '../../src/config/config.ts'
import type { ChatPort, Clock, Log } from '../../src/ports/ports.ts'
import { type RunningService, serve } from '../../src/serve.ts'

/** A whole service on 127.0.0.1, on a database of its own. */
export interface TestService extends RunningService {
  /** `http://localhost:<port>`, as browsers and clients reach it. */
  url: string
  /** Everything that was logged, as objects. */
  logged: { level: string; message: string; fields: Record<string, unknown> }[]
}

export interface ServiceOptions {
  env?: Record<string, string>
  /** What the machine's clock says; a test that moves it on finds the service's clock moved as far. */
  localTime?: () => number
  /** Use this database instead of a fresh one: for several processes' worth of services on one store. */
  database?: string
  /**
   * Also delivers, expires and reminds in the background. Off unless asked for: tests that look at what a write left, or set
   * times in the store, must not race with the sweeps.
   */
  work?: boolean
  chats?: readonly ChatPort[]
  /** Where to listen; a free port unless named. */
  port?: number
}

/** One set for all services of a test file, so that several can share a database. */
export const TEST_SECRETS: Readonly<Record<SecretName, string>> = {
  API_KEY_PEPPER: randomBytes(32).toString('base64'),
  TOKEN_SECRET: randomBytes(32).toString('base64'),
  SEALING_KEY: randomBytes(32).toString('base64'),
  WEBHOOK_MASTER_SECRET: randomBytes(32).toString('base64'),
}

/** Starts a service; close it yourself, or use `useService` inside a test. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const port = options.port ?? (await freePort())
  const url = `http://localhost:${port}`
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-service-'))
  const database = options.database ?? `test_${randomBytes(6).toString('hex')}`
  const config = readConfig({
    PORT: String(port),
    BASE_URL: url,
    DATA_DIR: dataDir,
    MONGODB_URI: databaseUri(inject('storeUri'), database),
    // All test files share one store: on a busy machine it may be slow, and is not away.
    STORE_TIMEOUT_MS: '90000',
    ...TEST_SECRETS,
    ...options.env,
  })
  const logged: TestService['logged'] = []
  const service = await serve(config, {
    log: collectingLog(logged),
    work: options.work ?? false,
    ...(options.localTime && { localTime: options.localTime }),
    ...(options.chats && { chats: options.chats }),
  })
  stopFollowing(service.composition.deps.clock)
  const close = async (): Promise<void> => {
    if (options.database === undefined) await service.composition.connection.db?.dropDatabase()
    await service.close()
    await rm(dataDir, { recursive: true, force: true })
  }
  return { ...service, url, logged, close }
}

/** A service that ends with the test. */
export async function useService(options: ServiceOptions = {}): Promise<TestService> {
  const service = await startService(options)
  onTestFinished(() => service.close())
  return service
}

/** The same store, another database. */
export function databaseUri(uri: string, database: string): string {
  const match = /^(mongodb(?:\+srv)?:\/\/[^/]+)(?:\/[^?]*)?(\?.*)?$/.exec(uri)
  if (match === null) throw new Error(`not a MongoDB address: ${uri}`)
  return `${match[1]}/${database}${match[2] ?? ''}`
}

/** Below those that the kernel gives to outgoing connections by itself, which could take a free port before it is used. */
const PORTS = { from: 20_000, to: 32_000 }

/** A port nobody listens on, which nobody else in this run is given. @throws the last error when 100 are not free */
export async function freePort(): Promise<number> {
  let last: unknown
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(PORTS.from, PORTS.to)
    last = (await whyGiven(port)) ?? (await whyTaken(port))
    if (last === undefined) return port
  }
  throw last
}

/** Workers draw at the same time, and none listens at once: the folder of the run remembers what each was given. */
function whyGiven(port: number): Promise<unknown> {
  return mkdir(join(tmpdir(), `port-${port}`)).then(
    () => undefined,
    (error: unknown) => error,
  )
}

function whyTaken(port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen(port, '127.0.0.1', () => probe.close(resolve))
  })
}

/**
 * The database is asked for its time again every 30 s. What a test moved on would be moved back on a slow machine, and what it
 * makes later could seem to be earlier: an answer that took its time moves the clock by milliseconds, backwards as well.
 */
export function stopFollowing(clock: Clock): void {
  if (!('stop' in clock) || typeof clock.stop !== 'function')
    throw new Error('a clock that cannot be stopped')
  clock.stop()
}

/** A log that can be looked at. */
export function collectingLog(lines: TestService['logged']): Log {
  const at = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void lines.push({ level, message, fields })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
