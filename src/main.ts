import { setTimeout as delay } from 'node:timers/promises'
import { warnOfDescriptors } from './compose/descriptors.ts'
import { checkPlace } from './compose/listen.ts'
import { createLog } from './compose/log.ts'
import { hasStore, openStore } from './compose/open-store.ts'
import { operatorWords } from './compose/operator-words.ts'
import { outliveOutput } from './compose/outlive-output.ts'
import { type Config, loadConfig } from './config/config.ts'
import { buildInfo } from './config/package-path.ts'
import type { Log } from './ports/ports.ts'
import type { RunningService } from './serve.ts'

/**
 * Starts the service, logs its address, and stops cleanly on SIGINT or SIGTERM. Exit code 1 if it could not start.
 * @param options.json writes one JSON object per line to stdout, also in development
 */
export async function main(options: { json?: boolean } = {}): Promise<void> {
  const config = loadConfig()
  const json = options.json ?? false
  const log = createLog({ production: config.production || json, logLevel: config.logLevel })
  const starting = start(config, log)
  // Set before anything is held or answered: a signal during the start waits until the service runs, then closes it cleanly.
  const stopping = stopOnSignal(starting, log)
  const service = await starting
  if (stopping()) return
  log.info(
    {
      ...buildInfo(),
      url: config.baseUrl,
      store: config.mongodbUri === undefined ? config.dataDir : 'MONGODB_URI',
    },
    'Countersign is running',
  )
  for (const warning of config.warnings) log.warn({}, warning)
  if (config.production) warnOfDescriptors(config.maxOpenWaits, log)
  for (const { port } of service.composition.chats) {
    log.info({ platform: port.platform }, 'cards in chat are switched on')
    // A first call to the platform, so that wrong settings are reported now, not with the first request.
    port.tenantsOf('').catch((error: unknown) => log.warn({ error }, 'checking a chat platform failed'))
  }
  if (service.setupUrl !== undefined) announceSetup(service.setupUrl, json)
  else if (service.isNew)
    log.info({}, 'nobody has signed up yet; run: countersign user owner-link, which prints the sign-in link')
  service.composition.storeFailed.then(async (error) => {
    log.error(
      { reason: operatorWords(error).message },
      'the store cannot be used any more, so the service stops',
    )
    await delay(LAST_ANSWERS_MS)
    process.exit(1)
  })
}

/** How long calls under way, and a probe of readiness, may take to be told that the store is away. */
const LAST_ANSWERS_MS = 1_000

async function start(config: Config, log: Log): Promise<RunningService> {
  // Checked first, so that a service that cannot listen leaves no new store behind.
  if (!hasStore(config)) await checkPlaces(config)
  // The store opens in a thread of its own while this thread loads the rest.
  const store = openStore(config, false, log)
  store.catch(() => undefined)
  const { serve } = await import('./serve.ts')
  return serve(config, { log, store })
}

async function checkPlaces({ host, port, metricsPort }: Config): Promise<void> {
  await checkPlace({ setting: 'PORT', host, port })
  if (metricsPort !== undefined) await checkPlace({ setting: 'METRICS_PORT', host, port: metricsPort })
}

/** A terminal signals its whole process group, and npm forwards its own copy: within this time both count as one signal. */
const SAME_SIGNAL_MS = 2_000

/**
 * Stops cleanly on SIGINT or SIGTERM; a later second signal ends the process at once, with exit code 1.
 * @returns a function that tells whether there was a signal
 */
function stopOnSignal(starting: Promise<RunningService>, log: Log): () => boolean {
  let since: number | undefined
  const stop = (signal: string): void => {
    if (since !== undefined && performance.now() - since < SAME_SIGNAL_MS) return
    if (since !== undefined) {
      log.warn({ signal }, 'stopping at once, with unfinished work')
      process.exit(1)
    }
    since = performance.now()
    log.info({ signal }, 'stopping')
    starting.then(
      (service) =>
        service.close().then(
          () => {
            log.info({}, 'stopped')
            process.exit(0)
          },
          (error: unknown) => {
            log.error({ error }, 'stopping failed')
            process.exit(1)
          },
        ),
      // `main` throws the reason why the service could not start.
      () => undefined,
    )
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return () => since !== undefined
}

/** Bypasses the log on purpose: the log redacts such links. */
function announceSetup(url: string, json: boolean): void {
  process.stdout.write(
    json
      ? `${JSON.stringify({ setup_url: url })}\n`
      : `\nNo one has signed up yet. Open this one-time link to become the owner:\n\n  ${url}\n\n`,
  )
}

/** Runs `main`; an error is told in the operator's words. */
export async function runMain(): Promise<void> {
  outliveOutput()
  try {
    await main()
  } catch (error) {
    process.stderr.write(`${operatorWords(error).message}\n`)
    process.exit(1)
  }
}
