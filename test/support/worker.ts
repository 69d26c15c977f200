import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { type Composition, compose } from '../../src/compose/compose.ts'
import { startWork, type Work } from '../../src/compose/start-work.ts'
import { readConfig } from '../../src/config/config.ts'
import type { Caller } from '../../src/flow/keys/authenticate-caller.ts'
import { createApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import { newPerson } from '../../src/flow/people/person.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import type { ChatPort } from '../../src/ports/ports.ts'
import { collectingLog, databaseUri, stopFollowing, TEST_SECRETS, type TestService } from './service.ts'

/** A process of the service without its HTTP side: a composition, and its background work when started. */
export interface Worker {
  deps: Composition['deps']
  composition: Composition
  database: string
  logged: TestService['logged']
  /** Starts the background work; it ends with the test. */
  start(): Promise<Work>
  /** A collection, for moving time and for looking. */
  stored(name: string): ReturnType<typeof stored>
}

export interface WorkerOptions {
  /** Shares this one's database. */
  beside?: Worker
  localTime?: () => number
  /** Another way to the store than the usual one. */
  storeUri?: string
  env?: Record<string, string>
  chats?: readonly ChatPort[]
}

/** A worker that ends with the test. */
export async function useWorker(options: WorkerOptions = {}): Promise<Worker> {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-worker-'))
  const database = options.beside?.database ?? `test_${randomBytes(6).toString('hex')}`
  const storeUri = options.storeUri ?? databaseUri(inject('storeUri'), database)
  const own = { DATA_DIR: dataDir, MONGODB_URI: storeUri, STORE_TIMEOUT_MS: '90000' }
  const config = readConfig({ ...own, CALLBACK_ALLOW_PRIVATE: '1', ...TEST_SECRETS, ...options.env })
  const logged: Worker['logged'] = []
  const log = collectingLog(logged)
  const composition = await compose(config, {
    log,
    ...(options.localTime && { localTime: options.localTime }),
    ...(options.chats && { chats: options.chats }),
  })
  stopFollowing(composition.deps.clock)
  let work: Work | undefined
  onTestFinished(async () => {
    await work?.stop()
    if (options.beside === undefined) await composition.connection.db?.dropDatabase()
    await composition.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  return {
    deps: composition.deps,
    composition,
    database,
    logged,
    async start() {
      work = await startWork(config, composition)
      return work
    },
    stored: (name) => stored(composition, name),
  }
}

function stored({ connection }: Composition, name: string) {
  return connection.collection<{ _id: string; [field: string]: unknown }>(name)
}

interface RequestFields {
  context?: Record<string, unknown>
  ttl_seconds?: number
  callback_url?: string
  notify?: { channel: string } | { member: string }
}

/** Somebody who makes requests. */
export async function newRequester({ deps }: Worker, sandbox = false) {
  const { user, account } = newPerson(deps, {
    email: `${randomBytes(6).toString('hex')}@example.com`,
    name: 'P',
  })
  await deps.accounts.insert(account)
  await deps.users.insert(user)
  const input = { accountId: account.id, name: 'key', sandbox }
  const { key } = await createApiKey(deps, input, { kind: 'cli' })
  const caller: Caller = { key, scopes: key.scopes, address: '127.0.0.1' }
  return {
    caller,
    account,
    user,
    /** Makes a request. @returns its id */
    async request(fields: RequestFields = {}, at: Worker['deps'] = deps): Promise<string> {
      const body = { action: 'Deploy', context: {}, requires_individual_decision: false, ...fields }
      return (await createRequest(at, caller, body)).request.id
    },
  }
}
