import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { buildInfo } from '../config/package-path.ts'
import { redact } from '../domain/redact.ts'
import type { Log } from '../ports/ports.ts'
import { diskTrouble, hasEnded, isUnavailable } from '../store/mongo/failures.ts'

/** Makes a log of JSON lines in production, readable lines in development; both pass through `redact`. */
export function createLog(config: Pick<Config, 'production' | 'logLevel'>, destination?: Writable): Log {
  const stream = destination ?? (config.production ? process.stdout : readableLines())
  const logger = pino(
    {
      level: config.logLevel,
      // In a log of several processes, each line says which build wrote it.
      base: config.production ? { build: buildInfo().commit } : null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  )
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') => (fields: Record<string, unknown>, message: string) => {
      if (!logger.isLevelEnabled(level)) return
      const safe = redact(fields)
      logger[level](safe !== null && typeof safe === 'object' ? safe : {}, String(redact(message)))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function readableLines(): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      process.stdout.write(readable(String(chunk)))
      done()
    },
  })
}

function readable(line: string): string {
  const entry: unknown = JSON.parse(line)
  if (entry === null || typeof entry !== 'object') return line
  const { level, time, msg, ...rest } = { level: '', time: '', msg: '', ...entry }
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${String(msg)}${fields.length > 0 ? `  ${fields.join(' ')}` : ''}\n`
}

/** A log that reports trouble with the store once. */
export interface TroubleLog extends Log {
  /** Stops checking whether the trouble is over. */
  stop(): void
}

/** The store that the log watches. */
interface Watched {
  /** Address or file of the store, for people. */
  store: string
  /** Whether this process runs it. */
  own: boolean
  /** Fails while the store cannot do its work. */
  ping(): Promise<unknown>
}

/** Milliseconds between two checks whether the trouble is over. */
const LOOK_EVERY_MS = 1_000

/**
 * While the store is unreachable, or its disk is full, every call and every sweep fails. The log reports once when that begins and
 * once when it is over; the single failures appear only at `debug`, without their stacks.
 */
export function tellTroubleOnce(log: Log, watched: Watched): TroubleLog {
  const away = watchTrouble(log, watched)
  const at = (level: 'info' | 'warn' | 'error') => (fields: Record<string, unknown>, message: string) => {
    const reason = reasonOf(fields.error)
    if (reason === undefined) return log[level](fields, message)
    // `main` says why our own store has ended, and ends the process.
    if (!(watched.own && hasEnded(fields.error)))
      away.failed(diskTrouble(fields.error) === undefined ? 'away' : 'disk', reason)
    log.debug({ ...fields, error: reason }, message)
  }
  return { debug: log.debug, info: at('info'), warn: at('warn'), error: at('error'), stop: away.stop }
}

/** Describes trouble of the store itself; undefined for any other error. */
function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error && isUnavailable(error))) return undefined
  return diskTrouble(error) ?? `${error.name}: ${error.message}`
}

function watchTrouble(log: Log, { store, ping }: Watched) {
  let trouble: { kinds: Set<'away' | 'disk'>; since: Date; at: number } | undefined
  let lately = false
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    const quiet = !lately
    lately = false
    const answers = await ping().then(
      () => true,
      () => false,
    )
    if (timer === undefined || trouble === undefined) return
    if (answers && quiet && !lately) {
      const seconds = Math.round((performance.now() - trouble.at) / 1000)
      log.info({ store, since: trouble.since, seconds }, 'the store is available again')
      timer = trouble = undefined
    } else timer = setTimeout(look, LOOK_EVERY_MS).unref()
  }
  return {
    failed(kind: 'away' | 'disk', reason: string): void {
      lately = true
      // A store whose disk is full may be slow as well: each kind is reported once, however often they alternate.
      if (trouble?.kinds.has(kind)) return
      const first = trouble === undefined
      trouble ??= { kinds: new Set(), since: new Date(), at: performance.now() }
      trouble.kinds.add(kind)
      const what = kind === 'away' ? 'the store does not answer' : 'the store accepts no writes'
      log.error({ store, reason }, `${what}; callers get storage_unavailable until this log reports recovery`)
      if (first) timer = setTimeout(look, LOOK_EVERY_MS).unref()
    },
    stop(): void {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
