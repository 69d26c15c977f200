import { createServer, type RequestListener, type Server } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { type ComposeOptions, type Composition, compose, undoAll } from './compose/compose.ts'
import type { ChatReceiver } from './compose/compose-chat.ts'
import { composeHttp } from './compose/compose-http.ts'
import { listen } from './compose/listen.ts'
import type { Metrics } from './compose/metrics.ts'
import { startWork, type Work } from './compose/start-work.ts'
import type { Config } from './config/config.ts'
import { inviteFirstOwner } from './flow/people/invite-user.ts'
import { ping } from './store/connect.ts'

/** A service that answers requests. */
export interface RunningService {
  composition: Composition
  port: number
  /** Where figures are read, if they are. */
  metricsPort: number | undefined
  /** Link for the first owner, while there is no user. */
  setupUrl: string | undefined
  /** Delivery and everything timed; undefined when switched off. */
  work: Work | undefined
  /**
   * Stops taking requests, answers those under way, and what was asked in chat, finishes attempts under way (`Work.stop`),
   * closes the store. The supervisor of the process must give it longer than all together may take: 6 s, another 5 s, and
   * `CALLBACK_TIMEOUT_SECONDS` with 12 s.
   */
  close(): Promise<void>
}

export interface ServeOptions extends ComposeOptions {
  /** false: only answers requests; what its writes leave behind waits for a process that works. */
  work?: boolean
}

/** Slow or silent clients must not hold connections (T8, T67); a wait of 60 s must fit. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000 }

/** How often Node.js looks for connections whose time is up: its own 30 s would let each hold on for so much longer. */
const LOOK_EVERY_MS = 1_000

/** A server that ends slow clients on time. */
export function createTimelyServer(app: RequestListener, timeouts = TIMEOUTS): Server {
  return createServer({ ...timeouts, connectionsCheckingInterval: LOOK_EVERY_MS }, app)
}

/** How long open requests may take at shutdown before their connections are cut. */
const DRAIN_MS = 5_000
const LET_GO_MS = 50
/** How long connections are still taken at shutdown. */
const TAKE_MS = 1_000

/** Puts the service together and listens. @throws what `compose` throws, and ListenError */
export async function serve(config: Config, options: ServeOptions): Promise<RunningService> {
  const composition = await compose(config, options)
  const running: Running = { composition, servers: [], receivers: [], work: undefined }
  try {
    const metrics = config.metricsPort === undefined ? undefined : await measure(composition)
    running.receivers = composition.chats.map((chat) => chat.receive(composition.deps))
    const mounts = running.receivers.flatMap(({ mount }) => mount ?? [])
    const app = composeHttp(config, composition, { mounts, onAnswered: metrics?.onAnswered })
    const server = createTimelyServer(app)
    running.servers.push(server)
    const port = await listen(server, { setting: 'PORT', host: config.host, port: config.port })
    const metricsPort = await listenFor(metrics, config, running.servers)
    const link = await inviteFirstOwner(composition.deps)
    if (options.work !== false) running.work = await startWork(config, composition)
    await Promise.all(running.receivers.map((receiver) => receiver.start()))
    let closed: Promise<void> | undefined
    const close = () => {
      closed ??= shutDown(running, DRAIN_MS)
      return closed
    }
    return { composition, port, metricsPort, setupUrl: link?.url, work: running.work, close }
  } catch (error) {
    // What cannot be closed then is of less interest than what kept the service from starting.
    await shutDown(running, 0).catch(() => undefined)
    throw error
  }
}

/** From here on, what this process does is counted. */
async function measure(composition: Composition): Promise<Metrics> {
  const { createMetrics } = await import('./compose/metrics.ts')
  const { deps, connection } = composition
  const metrics = createMetrics(deps, () => ping(connection))
  deps.trail = metrics.count(deps.trail)
  return metrics
}

async function listenFor(
  metrics: Metrics | undefined,
  { host, metricsPort }: Config,
  servers: Server[],
): Promise<number | undefined> {
  if (metrics === undefined || metricsPort === undefined) return undefined
  servers.push(metrics.server)
  return listen(metrics.server, { setting: 'METRICS_PORT', host, port: metricsPort })
}

interface Running {
  composition: Composition
  /** Those that were made. */
  servers: Server[]
  receivers: readonly ChatReceiver[]
  work: Work | undefined
}

/** Every step is taken, whichever fails: an open store would outlive the service. @throws what the first that failed threw */
async function shutDown({ servers, composition, receivers, work }: Running, drainMs: number): Promise<void> {
  await undoAll([
    async () => {
      composition.stopWaiting()
      await Promise.all(servers.map((server) => stopAnswering(server, drainMs)))
    },
    ...receivers.map((receiver) => () => receiver.stop()),
    async () => work?.stop(),
    () => composition.close(),
  ])
}

/** Takes no further request; after `drainMs` the connections of those still open are cut. */
async function stopAnswering(server: Server, drainMs: number): Promise<void> {
  await takeWaiting(server)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Connections kept alive fall idle as their answers go out; no client may hold up the end with one.
  const letGo = setInterval(() => server.closeIdleConnections(), LET_GO_MS)
  const cut = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearInterval(letGo)
  clearTimeout(cut)
}

/**
 * Connections that wait to be taken are reset when nothing listens any more, with the requests they brought: of a process with
 * much to do all that were just made. Closed where a whole turn of the event loop brings none, they are answered.
 */
async function takeWaiting(server: Server): Promise<void> {
  const until = performance.now() + TAKE_MS
  let taken = true
  server.on('connection', () => {
    taken = true
  })
  while (taken && performance.now() < until) {
    taken = false
    // Twice: the first comes at the end of the turn that is under way, whose look at the network may be over.
    await turn()
    await turn()
  }
}
