import { createServer, type RequestListener, type Server } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { type ComposeOptions, type Composition, compose, undoAll } from './compose/compose.ts'
import type { ChatReceiver } from './compose/compose-chat.ts'
import { composeHttp } from './compose/compose-http.ts'
import { watchDescriptors } from './compose/descriptors.ts'
import { listen } from './compose/listen.ts'
import type { Metrics } from './compose/metrics.ts'
import { startWork, type Work } from './compose/start-work.ts'
import { type TimeWatch, watchTime } from './compose/watch-time.ts'
import type { Config } from './config/config.ts'
import { buildInfo } from './config/package-path.ts'
import { inviteFirstOwner } from './flow/joining/invite-user.ts'

/** A service that answers requests. */
export interface RunningService {
  composition: Composition
  port: number
  /** The port of the metrics, if they are switched on. */
  metricsPort: number | undefined
  /** Nobody has signed up yet. */
  isNew: boolean
  /** The set-up link for the first owner, while nobody has signed up; never issued in production, whose log others may read. */
  setupUrl: string | undefined
  /** Delivery and timed work; undefined when switched off. */
  work: Work | undefined
  /**
   * Stops taking requests, answers those under way and those in chat, finishes attempts under way (`Work.stop`) and closes the
   * store. The supervisor of the process must allow more than the sum of these steps: 6 s, 5 s, and `CALLBACK_TIMEOUT_SECONDS`
   * plus 12 s.
   */
  close(): Promise<void>
}

export interface ServeOptions extends ComposeOptions {
  /** false: only answers requests; the outbox entries of its writes wait for a process with `work`. */
  work?: boolean
}

/** Slow or silent clients must not hold connections (T8, T67); a wait of 60 s must fit. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000 }

/** How often Node.js looks for connections whose time is up: its default of 30 s would let each last that much longer. */
const LOOK_EVERY_MS = 1_000

/**
 * Makes a server that ends slow clients on time.
 * @param keepAliveTimeout milliseconds after which an idle connection is closed. The time-outs of slow clients count from the start
 * of a request, so they may be shorter.
 */
export function createTimelyServer(
  app: RequestListener,
  keepAliveTimeout: number,
  timeouts = TIMEOUTS,
): Server {
  return createServer({ ...timeouts, keepAliveTimeout, connectionsCheckingInterval: LOOK_EVERY_MS }, app)
}

/** How long open requests may take at shutdown before their connections are cut. */
const DRAIN_MS = 5_000
const LET_GO_MS = 50
/** The longest that connections are still accepted at shutdown. */
const TAKE_MS = 1_000

/** Puts the service together and listens. @throws what `compose` throws, and ListenError */
export async function serve(config: Config, options: ServeOptions): Promise<RunningService> {
  const composition = await compose(config, options)
  const time = watchTime(composition.deps.log, options.localTime)
  const running: Running = { composition, servers: [], receivers: [], work: undefined, time }
  try {
    const metrics = config.metricsPort === undefined ? undefined : await measure(config, composition, time)
    running.receivers = composition.chats.map((chat) => chat.receive(composition.deps))
    const mounts = running.receivers.flatMap(({ mount }) => mount ?? [])
    const app = composeHttp(config, composition, { mounts, onAnswered: metrics?.onAnswered })
    const server = createTimelyServer(app, config.keepAliveMs)
    running.servers.push(server)
    const port = await listen(server, { setting: 'PORT', host: config.host, port: config.port })
    const metricsPort = await listenFor(metrics, config, running.servers)
    running.unwatch = watchDescriptors(running.servers, composition.deps.log)
    const isNew = !(await composition.deps.users.any())
    const link = isNew && !config.production ? await inviteFirstOwner(composition.deps) : undefined
    if (options.work !== false) running.work = await startWork(config, composition)
    await Promise.all(running.receivers.map((receiver) => receiver.start()))
    let closed: Promise<void> | undefined
    const close = () => {
      closed ??= shutDown(running, DRAIN_MS)
      return closed
    }
    return { composition, port, metricsPort, isNew, setupUrl: link?.url, work: running.work, close }
  } catch (error) {
    // The error that kept the service from starting matters more than a failure to clean up after it.
    await shutDown(running, 0).catch(() => undefined)
    throw error
  }
}

/** Makes the metrics, and counts what this process does from here on. */
async function measure(config: Config, composition: Composition, time: TimeWatch): Promise<Metrics> {
  const { createMetrics } = await import('./compose/metrics.ts')
  const { deps, connection } = composition
  const metrics = createMetrics(deps, { config, connection, time, build: buildInfo() })
  deps.trail = metrics.count(deps.trail)
  composition.onWritten(metrics.onWritten)
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
  /** The servers made so far. */
  servers: Server[]
  receivers: readonly ChatReceiver[]
  work: Work | undefined
  time: TimeWatch
  /** Ends the watch for descriptors. */
  unwatch?: () => void
}

/** Takes every step even if one fails: an open store would outlive the service. @throws the error of the first that failed */
async function shutDown(running: Running, drainMs: number): Promise<void> {
  const { servers, composition, receivers, work } = running
  await undoAll([
    async () => {
      running.unwatch?.()
      running.time.stop()
      composition.stopWaiting()
      await Promise.all(servers.map((server) => stopAnswering(server, drainMs)))
    },
    ...receivers.map((receiver) => () => receiver.stop()),
    async () => work?.stop(),
    () => composition.close(),
  ])
}

/** Takes no further request; after `drainMs` cuts the connections of requests that are still open. */
async function stopAnswering(server: Server, drainMs: number): Promise<void> {
  await takeWaiting(server)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Kept-alive connections become idle after their answers; no client may delay the shutdown with one.
  const letGo = setInterval(() => server.closeIdleConnections(), LET_GO_MS)
  const cut = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearInterval(letGo)
  clearTimeout(cut)
}

/**
 * Accepts the connections that wait in the backlog until a whole turn of the event loop brings none. Closing the server earlier
 * would reset them with the requests they brought: in a busy process, all that were just made.
 */
async function takeWaiting(server: Server): Promise<void> {
  const until = performance.now() + TAKE_MS
  let taken = true
  server.on('connection', () => {
    taken = true
  })
  while (taken && performance.now() < until) {
    taken = false
    // Twice: the first resolves at the end of the current turn, which may already have polled the network.
    await turn()
    await turn()
  }
}
