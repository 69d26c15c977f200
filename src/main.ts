import { ConfigError, loadConfig } from './config.ts'
import { WrongSealingKeyError } from './flow/keep-keys.ts'
import { createLog } from './log.ts'
import { DataDirInUseError } from './open-store.ts'
import { serve } from './serve.ts'

/**
 * Starts the service, tells where it is, and stops cleanly on SIGINT or SIGTERM. Exit code 1: it could not start.
 * @param options.json one JSON object a line on stdout, also in development
 */
export async function main(options: { json?: boolean } = {}): Promise<void> {
  const config = loadConfig()
  const json = options.json ?? false
  const log = createLog({ production: config.production || json, logLevel: config.logLevel })
  const service = await serve(config, { log })
  log.info(
    { url: config.baseUrl, store: config.mongodbUri === undefined ? config.dataDir : 'MONGODB_URI' },
    'Countersign is running',
  )
  if (config.mongodbUri === undefined && config.production) {
    log.warn(
      {},
      'the embedded store is meant for one machine; set MONGODB_URI to a replica set in production',
    )
  }
  if (service.setupUrl !== undefined) announceSetup(service.setupUrl, json)
  const stop = (signal: string): void => {
    log.info({ signal }, 'stopping')
    service.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error }, 'stopping failed')
        process.exit(1)
      },
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

/** Past the log on purpose: the log redacts such links. */
function announceSetup(url: string, json: boolean): void {
  process.stdout.write(
    json
      ? `${JSON.stringify({ setup_url: url })}\n`
      : `\nNobody has signed up yet. Open this one-time link to become the owner:\n\n  ${url}\n\n`,
  )
}

/** Runs `main`; what a person can mend is told in plain words, everything else with its stack. */
export async function runMain(): Promise<void> {
  try {
    await main()
  } catch (error) {
    const plain = MENDABLE.some((type) => error instanceof type) || portTaken(error)
    const text =
      error instanceof Error ? (plain ? error.message : (error.stack ?? error.message)) : String(error)
    process.stderr.write(`${text}\n`)
    process.exit(1)
  }
}

/** Errors whose message alone tells the operator what to do. */
const MENDABLE = [ConfigError, DataDirInUseError, WrongSealingKeyError]

function portTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES')
}
