import { join } from 'node:path'
import { type Config, ConfigError } from '../config/config.ts'
import { buildInfo } from '../config/package-path.ts'
import { loadSecrets, otherSetting, rememberedOf } from '../config/secrets.ts'
import type { OutcomeClass } from '../domain/retry.ts'
import { ensureLog } from '../flow/audit/log.ts'
import { createVerificationLog } from '../flow/audit/verification-log.ts'
import type { AuthenticatorModels, FlowDeps, KeyKeeper } from '../flow/deps.ts'
import { createKeyKeeper, createSigner, KEY_RELOAD_MS } from '../flow/keys/keep-keys.ts'
import { NO_MODELS, readAuthenticatorModels } from '../flow/people/authenticator-models.ts'
import { createOverviews } from '../flow/requests/overview.ts'
import { isTakenUp, takeUpCopy } from '../flow/restore/restored-store.ts'
import { createPushKeyKeeper } from '../flow/tell/push-secrets.ts'
import { createPushSender, createWebhookSender } from '../outbound/guarded-post.ts'
import { createMailSender } from '../outbound/mail-sender.ts'
import { createTargetUrls } from '../outbound/target-url.ts'
import type { ChatPort, Clock, Log, RateLimiter, Vault } from '../ports/ports.ts'
import { NO_TRACING, type Tracing } from '../ports/tracing.ts'
import { warnSeldom } from '../ports/warn-seldom.ts'
import { createRandom } from '../signing/random.ts'
import { createSessionTokens } from '../signing/session-token.ts'
import { createVault } from '../signing/vault.ts'
import { refuseUnfinished } from '../store/archive/import-note.ts'
import { createAuditTrail } from '../store/audit/audit-trail.ts'
import { createStoreClock } from '../store/clock.ts'
import { createPushKeyStore } from '../store/delivery/push-keys.ts'
import { doOnce } from '../store/lease.ts'
import { connectStore, ping, type StoreConnection } from '../store/mongo/connect.ts'
import { isUnavailable } from '../store/mongo/failures.ts'
import { createOutboxSources, type Wake, type Written } from '../store/mongo/outbox.ts'
import { checkServer, EmptyStoreError, embeddedInWords, inWords, type Server } from '../store/mongo/server.ts'
import { createRateLimiter } from '../store/rate-limits.ts'
import { createChangeSignal } from '../store/requests/change-signal.ts'
import { createInboxStore } from '../store/requests/inbox.ts'
import { createInboxSignal } from '../store/requests/inbox-signal.ts'
import { createKeySignal } from '../store/requests/key-signal.ts'
import {
  prepareSchema,
  readSchema,
  refuseEarlierVersions,
  watchSchema,
} from '../store/schema/prepare-schema.ts'
import { createSigningKeyStore, type SigningKeyStore } from '../store/signing-keys.ts'
import { createStores, type Stores } from '../store/stores.ts'
import { type ConnectedChat, composeChat } from './compose-chat.ts'
import { composeWitnesses } from './compose-witnesses.ts'
import { tellTroubleOnce } from './log.ts'
import { type OpenStore, openStore } from './open-store.ts'

/** The service put together; `close` flushes pending writes and closes the store. */
export interface Composition {
  deps: FlowDeps
  limiter: RateLimiter
  connection: StoreConnection
  /** The chat platforms of the configuration. */
  chats: readonly ConnectedChat[]
  /** Resolves when the embedded store ends unexpectedly, or a newer version changes the store: nothing can be served any more. */
  storeFailed: Promise<Error>
  /** Adds a listener that relays outbox entries: called after each write that left one. */
  onWritten(listener: (written: Written) => void): void
  /** Adds a listener that sends cards: called after each write that made cards due without leaving an outbox entry. */
  onCardsDue(listener: () => void): void
  /** Answers every caller that waits for a decision, at shutdown. */
  stopWaiting(): void
  close(): Promise<void>
}

export interface ComposeOptions {
  log: Log
  /** A command may use the store of a running service. */
  shareStore?: boolean
  /** `read` makes no indexes or keys; `write` makes those of a new store; `serve` (default) also those that an old one lacks. */
  use?: 'read' | 'write' | 'serve'
  /** Secrets may differ from those that the store was made with: a new signing key will record that this is meant. */
  newSecrets?: boolean
  /** A store that `openStore` is already opening: that takes as long as loading the service does. */
  store?: Promise<OpenStore>
  /** Milliseconds of the local clock; tests set it wrong. */
  localTime?: () => number
  /** More chat platforms to send cards to than the configuration names. */
  chats?: readonly ChatPort[]
}

const random = createRandom()

/**
 * Composition root: configuration → store → adapters → verbs. Shared by the service and the command line, so neither can
 * step around policy, audit or limits.
 * @throws ConfigError, DataDirInUseError, EmptyStoreError, StoreUnreachableError, UnsuitableStoreError
 */
export async function compose(config: Config, options: ComposeOptions): Promise<Composition> {
  const store = await (options.store ?? openStore(config, options.shareStore ?? false, options.log))
  const opened: (() => Promise<void>)[] = [() => store.close()]
  const close = () => undoAll(opened.splice(0).reverse())
  try {
    const connection = await connectStore(store.uri, config.storeTimeoutMs)
    opened.push(() => connection.close())
    const watched = {
      store: nameOf(config, store, connection),
      own: store.own,
      ping: () => ping(connection),
    }
    const log = tellTroubleOnce(options.log, watched)
    opened.push(async () => log.stop())
    await refuseUnfinished(connection)
    const keys = connection.collection('signing_keys')
    const made = (await keys.findOne({}, { projection: { _id: 1 } })) !== null
    // Secrets made for a store that is only read would keep a service from starting beside them.
    if (!made && options.use === 'read') throw new EmptyStoreError(config)
    const vault = createVault(await loadSecrets(config, !made, (told) => log.warn({}, told)))
    return await assemble(config, { ...options, log }, { vault, connection, store, opened, close })
  } catch (error) {
    // The first error matters more than a failure to clean up after it.
    await close().catch(() => undefined)
    throw config.mongodbUri === undefined ? embeddedInWords(error, store.own) : inWords(error)
  }
}

/** Runs all steps, even if some fail. @throws the error of the first step that failed */
export async function undoAll(undos: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const undo of undos) await undo().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

interface Opened {
  vault: Vault
  connection: StoreConnection
  store: OpenStore
  /** The steps that undo what was opened; run at the end, last first. */
  opened: (() => Promise<void>)[]
  close(): Promise<void>
}

async function assemble(
  config: Config,
  { log, localTime, chats = [], use = 'serve', newSecrets = false }: ComposeOptions,
  parts: Opened,
): Promise<Composition> {
  const { vault, connection, opened, store } = parts
  const written = createSignal<Written>()
  const cardsDue = createSignal<void>()
  const server = await checkServer(connection)
  warnOfSingle(config, server, log)
  const clock = await createStoreClock(connection, log, localTime)
  const keyStore = createSigningKeyStore(connection, written.tell)
  const keys = composeKeys(config, keyStore, { vault, clock, log })
  const stores = createStores(connection, clock, written.tell, cardsDue.tell, config.sessions)
  const signals = composeSignals(connection, stores, clock, log)
  written.listen(signals.wake)
  const connected = await composeChat(config, connection, { ...stores, vault, clock, log })
  const deps: FlowDeps = {
    ...stores,
    ...composeDelivery(config, connection, { wake: written.tell, vault, clock, random, log }),
    chats: [...chats, ...connected.map(({ port }) => port)],
    models: await loadAuthenticators(config, clock, log),
    ...(await composeWitnesses(config)),
    verifications: createVerificationLog(stores.audit, log),
    tracing: await loadTracing(),
    ...stateOf(stores, clock),
    storeIsDown: isUnavailable,
    ...signals.ports,
    signer: createSigner(keys, clock),
    keys,
    vault,
    tokens: createSessionTokens(keys, config.baseUrl),
    clock,
    random,
    log,
    ...settingsOf(config),
  }
  opened.push(
    async () => clock.stop(),
    () => flushVerifications(deps),
    async () => signals.stop(),
    async () => [deps.sender, deps.offers, deps.pusher, deps.mailer].forEach((one) => void one?.close()),
    keepReloading(deps),
  )
  const limiter = createRateLimiter(connection, clock, log, !store.own)
  await prepareStore(connection, server, deps, { use, newSecrets })
  return {
    deps,
    limiter,
    connection,
    chats: connected,
    storeFailed: watchStore(store, connection, opened),
    onWritten: written.listen,
    onCardsDue: cardsDue.listen,
    stopWaiting: signals.stop,
    close: parts.close,
  }
}

/** What a process remembers between calls; losing it costs time alone. */
function stateOf({ figures }: Stores, clock: Clock): Pick<FlowDeps, 'creating' | 'overviews'> {
  return { creating: new Map(), overviews: createOverviews({ figures, clock }) }
}

/** Takes up the OpenTelemetry SDK that was loaded into this process before the service, if there is one. */
async function loadTracing(): Promise<Tracing> {
  if (!(Symbol.for('opentelemetry.js.api.1') in globalThis)) return NO_TRACING
  const { createTracing } = await import('./tracing.ts')
  return createTracing(buildInfo().version)
}

function composeKeys(
  config: Config,
  store: SigningKeyStore,
  { vault, clock, log }: Pick<FlowDeps, 'vault' | 'clock' | 'log'>,
): KeyKeeper {
  return createKeyKeeper({ store, vault, clock, random, log, madeWith: rememberedOf(vault, config) })
}

/** Returns the location of the store, for people, without credentials. */
function nameOf({ dataDir }: Config, { own }: OpenStore, connection: StoreConnection): string {
  if (own) return join(dataDir, 'store.db')
  return connection.getClient().options.hosts.map(String).join(',')
}

/** Reads the authenticator metadata. @throws ConfigError when a file cannot be read, or is not signed as it must be */
async function loadAuthenticators(
  { authenticators: { file, rootsFile } }: Config,
  clock: Clock,
  log: Log,
): Promise<AuthenticatorModels> {
  if (file === undefined) return NO_MODELS
  return readAuthenticatorModels({ file, rootsFile }, clock, log).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`FIDO_METADATA_FILE: cannot be used: ${reason}`])
  })
}

function warnOfSingle({ production }: Config, { kind }: Server, log: Log): void {
  if (!production || kind !== 'single server') return
  log.warn({}, 'MONGODB_URI names a single server, which can lose acknowledged writes; use a replica set')
}

/** @throws ConfigError when other secrets would make the contents of the store void: the usual mistake with a backup. */
function refuseOtherSecrets({ keys, log }: Pick<FlowDeps, 'keys' | 'log'>): void {
  const changed = keys.changed()
  for (const name of changed.filter((name) => name === 'BASE_URL')) log.warn({}, otherSetting(name))
  const secrets = changed.filter((name) => name !== 'BASE_URL')
  if (secrets.length > 0) throw new ConfigError(secrets.map(otherSetting))
}

/** Loads the keys and, unless the store is only read, makes missing indexes and keys (see `use`). @throws ConfigError */
async function prepareStore(
  connection: StoreConnection,
  { kind }: Server,
  deps: FlowDeps,
  { use, newSecrets }: Pick<ComposeOptions, 'use' | 'newSecrets'>,
): Promise<void> {
  const { keys, pushKey, clock, log } = deps
  await readSchema(connection)
  await keys.reload()
  if (use === 'read') return
  if (!newSecrets) refuseOtherSecrets({ keys, log })
  const replicated = kind === 'replica set' || kind === 'mongos'
  await prepareSchema(connection, { log, clock, replicated, thorough: use === 'serve' })
  await keys.ensure()
  await pushKey.ensure()
  await takeUpOnce(connection, deps)
  await ensureLog(deps)
}

/** Takes up a copy, if the store is one, in one process: a command may come to the store of a service that is starting. */
async function takeUpOnce(connection: StoreConnection, deps: FlowDeps): Promise<void> {
  const isDone = () => isTakenUp(deps)
  const takeUp = async () => {
    await refuseEarlierVersions(connection)
    await takeUpCopy(deps)
    return {}
  }
  const onWait = () =>
    deps.log.info({}, 'another process takes up the copy that this store is; waiting for it')
  await doOnce(connection, deps.clock, { id: 'restore', isDone, onWait, work: takeUp })
}

/** Makes a function that tells the stores' news to every listener. */
function createSignal<News>() {
  const listeners: ((news: News) => void)[] = []
  return {
    tell: (news: News): void => listeners.forEach((listener) => void listener(news)),
    listen: (listener: (news: News) => void): void => void listeners.push(listener),
  }
}

/** Makes the signals that wake waiting callers and inbox streams. */
function composeSignals(
  connection: StoreConnection,
  stores: Pick<FlowDeps, 'requests' | 'apiKeys' | 'sessions'>,
  clock: Clock,
  log: Log,
) {
  const changes = createChangeSignal(stores, clock, log)
  const watched = { inbox: createInboxStore(connection), sessions: stores.sessions }
  const inbox = createInboxSignal(watched, clock, log)
  const stop = (): void => {
    changes.stop()
    inbox.stop()
    keyChanges.stop()
  }
  const keyChanges = createKeySignal(stores, clock, log)
  return { ports: { changes, inbox, keyChanges }, wake: inbox.wake, stop }
}

function settingsOf(config: Config): Pick<FlowDeps, 'party' | 'settings'> {
  const { baseUrl, rpId, production, noteSameAddress, callbackTimeoutMs, retention, transparency } = config
  return {
    party: { origin: baseUrl, rpId, name: 'Countersign' },
    settings: {
      baseUrl,
      production,
      noteSameAddress,
      retention,
      logEntries: transparency.entries,
      attemptMs: callbackTimeoutMs,
    },
  }
}

/** Writes the verification log at the very end; a failure is logged, but does not keep the service from stopping. */
async function flushVerifications({
  verifications,
  log,
}: Pick<FlowDeps, 'verifications' | 'log'>): Promise<void> {
  await verifications
    .flush()
    .catch((error: unknown) => log.error({ error }, 'writing the verification log failed'))
}

/** Returns `storeFailed` of the composition. */
function watchStore(
  { failed }: OpenStore,
  connection: StoreConnection,
  opened: Opened['opened'],
): Promise<Error> {
  const { changed, stop } = watchSchema(connection)
  opened.push(async () => stop())
  return failed === undefined ? changed : Promise.race([failed, changed])
}

/** Reads the signing keys and the restores again and again. @returns what ends that */
function keepReloading(deps: Pick<FlowDeps, 'keys' | 'restores' | 'log'>): () => Promise<void> {
  const timer = setInterval(() => {
    Promise.all([deps.keys.reload(), deps.restores.all()]).catch((error: unknown) =>
      deps.log.warn({ error }, 'reloading the signing keys or the restores failed'),
    )
  }, KEY_RELOAD_MS).unref()
  return async () => clearInterval(timer)
}

/** The dependencies of the senders and of the push keys. */
type Given = Pick<FlowDeps, 'vault' | 'clock' | 'random' | 'log'> & { wake: Wake }

/** Makes the guarded senders and their dependencies. Called last: the collections with an outbox must have their models. */
function composeDelivery(config: Config, connection: StoreConnection, { wake, ...given }: Given) {
  const { baseUrl, production, callbackAllowPrivate: allowPrivate, callbackPorts: ports } = config
  const rules = { baseUrl, production, allowPrivate, ports }
  const sending = { ...rules, timeoutMs: config.callbackTimeoutMs, version: buildInfo().version }
  const pusher = createPushSender({ ...sending, subject: contactOf(baseUrl) })
  const pushKey = createPushKeyKeeper({
    ...given,
    store: createPushKeyStore(connection, wake),
    sender: pusher,
  })
  return {
    pushKey,
    pusher,
    mailer:
      config.smtp && createMailSender({ ...config.smtp, ...sending, onAttempt: mailTrouble(given.log) }),
    trail: createAuditTrail(connection),
    outbox: createOutboxSources(connection),
    sender: createWebhookSender(sending),
    targets: createTargetUrls(rules),
  }
}

/** Makes a function that warns of a mail relay that accepts nothing: nobody may be there to miss the mails. */
function mailTrouble(log: Log): (outcome: OutcomeClass) => void {
  const trouble = warnSeldom(log, 'the mail relay accepts no mails')
  return (outcome) => {
    if (outcome === 'smtp_250' || outcome === 'bounced') trouble.worked()
    else if (outcome !== 'interrupted') trouble.failed(outcome)
  }
}

/**
 * Returns the contact for push services (RFC 8292 §2.1): the service's own address. During local trials, when that is not a
 * public https: address, returns one that belongs to no one.
 */
function contactOf(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl)
  return protocol === 'https:' && hostname !== 'localhost' ? baseUrl : 'mailto:countersign@example.com'
}
