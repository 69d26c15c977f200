import type { Config } from '../config/config.ts'
import { loadSecrets, rememberedOf } from '../config/secrets.ts'
import type { ChatPlatform } from '../domain/chat.ts'
import type { ChatTrouble } from '../domain/chat-trouble.ts'
import type { ApprovalRequest } from '../domain/request.ts'
import type { Restore } from '../domain/restore.ts'
import type { TrailDeps } from '../flow/audit/check-states.ts'
import { type LogState, readLogState } from '../flow/audit/read-log.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createKeyKeeper, KEY_PURPOSES } from '../flow/keys/keep-keys.ts'
import { findHeld, type Held, listHeld } from '../flow/restore/restored-store.ts'
import type { KeyPurpose } from '../signing/key-record.ts'
import { createRandom } from '../signing/random.ts'
import { createVault } from '../signing/vault.ts'
import { refuseUnfinished } from '../store/archive/import-note.ts'
import { createAuditTrail } from '../store/audit/audit-trail.ts'
import { createLogStore } from '../store/audit/log.ts'
import { createStateSurvey } from '../store/audit/state-survey.ts'
import { type ConversationCounts, createChatConversationStores } from '../store/chat/chat-conversations.ts'
import { createChatInstallationStore } from '../store/chat/chat-installations.ts'
import { readHello } from '../store/clock.ts'
import { connectStore, type StoreConnection } from '../store/mongo/connect.ts'
import { checkServer, EmptyStoreError, embeddedInWords, type Server } from '../store/mongo/server.ts'
import { createAccountStore } from '../store/people/accounts.ts'
import { createRequestHistory, type RequestHistory } from '../store/requests/request-history.ts'
import { createRequestStore } from '../store/requests/requests.ts'
import { createRestoreStore } from '../store/restores.ts'
import { SCHEMA_VERSION } from '../store/schema/migrations.ts'
import { readPending, readSchema } from '../store/schema/prepare-schema.ts'
import { createSigningKeyStore } from '../store/signing-keys.ts'
import { composeWitnesses } from './compose-witnesses.ts'
import { openStore } from './open-store.ts'

type StoreSettings = Pick<Config, 'mongodbUri' | 'dataDir' | 'secrets' | 'storeTimeoutMs'>

/**
 * Lets a command look at the store of a running service, or else open the store itself, without a write: no index is made.
 * @throws when the store cannot be opened or does not answer
 */
async function lookAt<Result>(
  config: StoreSettings,
  look: (connection: StoreConnection) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(config, true)
  try {
    const connection = await connectStore(store.uri, config.storeTimeoutMs)
    try {
      await refuseUnfinished(connection)
      return await look(connection)
    } finally {
      await connection.close()
    }
  } catch (error) {
    throw config.mongodbUri === undefined ? embeddedInWords(error, store.own) : error
  } finally {
    await store.close()
  }
}

/** The state of a store. */
export interface StoreReport {
  /** Milliseconds the store's clock is ahead of this machine's. */
  skewMs: number
  server: Server
  /** Signing keys by purpose, or why they cannot be opened. */
  keys: { purpose: KeyPurpose; active: string | undefined; next: Date | undefined }[] | Error
  /** Settings that differ from those the store was made with. */
  changed: string[]
  /** Why the audit trail takes no entries; undefined if it does. */
  trail: Error | undefined
  /** Undefined while there is none, or if the trail cannot be read. */
  log: LogState | undefined
}

/** Looks at the store as `compose` would open it. @throws what `lookAt` throws */
export function inspectStore(config: Config): Promise<StoreReport> {
  return lookAt(config, async (connection) => {
    const server = await checkServer(connection)
    await readSchema(connection)
    const { skewMs } = await readHello(connection)
    const trail = await createAuditTrail(connection)
      .head()
      .then(() => undefined, asError)
    // doctor says so by itself.
    const { witnesses } = await composeWitnesses(config).catch(() => ({ witnesses: [] }))
    const log = await lookAtLog(connection, witnesses).catch(() => undefined)
    return { server, skewMs, ...(await inspectKeys(config, connection, skewMs)), trail, log }
  })
}

/** Looks at the log of a store; undefined while there is none. @throws what `lookAt` throws */
export async function inspectLog(config: Config): Promise<LogState | undefined> {
  const { witnesses } = await composeWitnesses(config)
  return lookAt(config, (connection) => lookAtLog(connection, witnesses))
}

async function lookAtLog(
  connection: StoreConnection,
  witnesses: FlowDeps['witnesses'],
): Promise<LogState | undefined> {
  const store = createRestoreStore(connection)
  // The first start on a copy stops the log.
  const copies = await store.all()
  const times = () => copies.map(({ copied_at, restored_at = copied_at }) => ({ copied_at, restored_at }))
  return readLogState({
    logs: createLogStore(connection),
    trail: createAuditTrail(connection),
    restores: { ...store, times },
    witnesses,
  })
}

/** What the first start of this version would change in a store. */
export interface SchemaReport {
  /** The store's schema version, and the one of this build. */
  from: number
  to: number
  pending: { version: number; title: string; documents: number }[]
}

/** Counts what is to be migrated, without a write. @throws UnsuitableStoreError for a newer store, and what `lookAt` throws */
export function inspectSchema(config: StoreSettings): Promise<SchemaReport> {
  return lookAt(config, async (connection) => {
    const from = await readSchema(connection)
    const pending = await readPending(connection)
    const counted = pending.map(async ({ version, title, count }) => ({
      version,
      title,
      documents: await count(connection),
    }))
    return { from, to: SCHEMA_VERSION, pending: await Promise.all(counted) }
  })
}

/** Looks whether the secrets of the configuration open the store. @param skewMs of the store's clock */
export async function inspectKeys(
  config: Config,
  connection: StoreConnection,
  skewMs: number,
): Promise<Pick<StoreReport, 'keys' | 'changed'>> {
  return readKeys(config, connection, skewMs).catch((error: unknown) => ({
    keys: asError(error),
    changed: [],
  }))
}

async function readKeys(config: Config, connection: StoreConnection, skewMs: number) {
  const clock = { now: () => new Date(Date.now() + skewMs), steady: () => performance.now() }
  const random = createRandom()
  const store = createSigningKeyStore(connection)
  if ((await store.all()).length === 0)
    return {
      keys: KEY_PURPOSES.map((purpose) => ({ purpose, active: undefined, next: undefined })),
      changed: [],
    }
  const vault = createVault(await loadSecrets(config, false))
  const madeWith = rememberedOf(vault, config)
  const keeper = createKeyKeeper({ store, vault, clock, random, log: silent, madeWith })
  const ring = await keeper.reload()
  const now = clock.now()
  const keys = KEY_PURPOSES.map((purpose) => {
    const coming = ring.publicRecords().filter((key) => key.purpose === purpose && key.notBefore > now)
    const next = coming.map((key) => key.notBefore).sort((a, b) => a.getTime() - b.getTime())[0]
    return { purpose, active: ring.active(purpose, now)?.kid, next }
  })
  return { keys, changed: keeper.changed() }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** How long a read of the trail may take: its pages are large, no caller waits for them, and a busy machine must not end a check. */
const READING_MS = 30_000

/**
 * Lets the work read the audit trail. Needs no secret and checks nothing first, so that a tampered store can be examined too.
 * @param mayBeEmpty a trail is known to have been there, so that an empty store is a finding
 * @throws EmptyStoreError, and what `lookAt` and the work throw
 */
export function withTrail<Result>(
  config: StoreSettings,
  work: (deps: TrailDeps & Pick<RequestHistory, 'madeWith'>) => Promise<Result>,
  mayBeEmpty = false,
): Promise<Result> {
  return lookAt(
    { ...config, storeTimeoutMs: Math.max(config.storeTimeoutMs, READING_MS) },
    async (connection) => {
      const holds = async (name: string) => (await connection.collection(name).findOne()) !== null
      if (!mayBeEmpty && !(await holds('signing_keys')) && !(await holds('audit_log')))
        throw new EmptyStoreError(config)
      return work({
        trail: createAuditTrail(connection),
        logs: createLogStore(connection),
        survey: createStateSurvey(connection),
        madeWith: createRequestHistory(connection, { now: () => new Date() }).madeWith,
      })
    },
  )
}

/** Lists the restores of a store, and the marks of a copy that was not started yet. @throws what `lookAt` throws */
export function inspectRestores(config: StoreSettings): Promise<readonly Restore[]> {
  return lookAt(config, (connection) => createRestoreStore(connection).all())
}

/** Requests of each kind that are listed. */
export const HELD_LISTED = 50

/** What the last restore holds, and what may have been taken away after its copy, of which the store does not know. */
export interface HoldReport extends Held {
  /** The first requests of each kind that are held. */
  requests: ApprovalRequest[]
  keys: { id: string; name: string }[]
  /** E-mail addresses of people with a passkey or codes. */
  people: string[]
}

/**
 * Looks at the hold of a store, or at what the first start on a copy will hold; undefined if there is none.
 * @throws what `lookAt` throws
 */
export function inspectHold(config: StoreSettings): Promise<HoldReport | undefined> {
  return lookAt(config, async (connection) => {
    const deps = { restores: createRestoreStore(connection), requests: createRequestStore(connection) }
    const held = await findHeld(deps)
    if (held === undefined) return undefined
    const listed = await Promise.all(
      (['pending', 'approved'] as const).map((kind) => listHeld(deps, held, kind, HELD_LISTED)),
    )
    const keys = connection.collection<{ _id: string; name: string }>('api_keys')
    const live = { revoked_at: null, internal: { $ne: true } }
    const active = await keys.find(live, { projection: { name: 1 } }).toArray()
    const users = connection.collection<{ _id: string; email: string }>('users')
    const enrolled = { $or: [{ 'passkeys.0': { $exists: true } }, { totp: { $exists: true } }] }
    const people = await users.find(enrolled, { projection: { email: 1 } }).toArray()
    return {
      ...held,
      requests: listed.flat(),
      keys: active.map(({ _id: id, name }) => ({ id, name })),
      people: people.map(({ email }) => email),
    }
  })
}

/** Counts the people and channels of a Teams tenant that can be written to. @throws what `lookAt` throws */
export function inspectConversations(config: Config, tenant: string): Promise<ConversationCounts> {
  return lookAt(config, (connection) => createChatConversationStores(connection)('teams', tenant).count())
}

/** Lists a platform's workspaces, then channels, that take no cards of some account, oldest trouble first. @throws as `lookAt` */
export function inspectTroubles(config: Config, platform: ChatPlatform): Promise<ChatTrouble[]> {
  return lookAt(config, async (connection) => {
    const accounts = await createAccountStore(connection).inTrouble()
    return accounts
      .flatMap(({ chat_troubles = [] }) => chat_troubles)
      .filter((one) => one.platform === platform)
      .sort((a, b) => Number('channel' in a) - Number('channel' in b) || +a.since - +b.since)
  })
}

/** A workspace with the Slack app in it. */
export interface InstalledToken {
  tenant: string
  name: string
  /** Undefined when it cannot be opened: it was sealed under another key. */
  token: string | undefined
}

/** Lists the workspaces that installed the Slack app, with their tokens. @throws what `lookAt` throws */
export async function inspectInstallations(config: Config): Promise<InstalledToken[]> {
  // Slack's library is loaded only when its workspaces are asked for.
  const { createInstalledWorkspaces } = await import('../../adapters/slack/workspaces.ts')
  const vault = createVault(await loadSecrets(config, false))
  return lookAt(config, async (connection) => {
    const installations = createChatInstallationStore(connection)
    const parts = { installations, vault, log: silent }
    const workspaces = createInstalledWorkspaces(config.slack?.apiUrl ?? '', parts)
    const listed = await installations.list('slack')
    return Promise.all(
      listed.map(async ({ tenant, workspace_name }) => {
        const found = await workspaces.find(tenant)
        return { tenant, name: workspace_name, token: found?.token }
      }),
    )
  })
}

/** A log that drops everything: whatever cannot be opened is already in the result. */
const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
