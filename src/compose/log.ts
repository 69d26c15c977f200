import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { buildInfo } from '../config/package-path.ts'
import { redact } from '../domain/redact.ts'
import type { Log } from '../ports/ports.ts'
import { NoSigningKeyError } from '../signing/keys.ts'
import { damageTold, diskTrouble, isUnavailable } from '../store/mongo/failures.ts'

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
  /** Fails while the store cannot do its work. */
  ping(): Promise<unknown>
}

/** Milliseconds between two checks whether the trouble is over. */
const LOOK_EVERY_MS = 1_000

/** The most kinds of damage that are remembered as reported. */
const MOST_TOLD = 100

/**
 * While the store is unreachable, or its disk is full, every call and every sweep fails. The log reports once when that begins,
 * once when it is over, and each damaged document once; the single failures appear only at `debug`, without their stacks.
 */
export function tellTroubleOnce(log: Log, watched: Watched): TroubleLog {
  const away = watchTrouble(log, watched)
  const told = new Set<string>()
  const at = (level: 'info' | 'warn' | 'error') => (fields: Record<string, unknown>, message: string) => {
    const { error } = fields
    const damage = error instanceof NoSigningKeyError ? error.message : damageTold(error)
    const reason = damage ?? reasonOf(error)
    if (reason === undefined) return log[level](fields, message)
    if (damage === undefined) away.failed(diskTrouble(error) === undefined ? 'away' : 'disk', reason)
    else if (!told.has(damage)) {
      if (told.size >= MOST_TOLD) told.clear()
      told.add(damage)
      return log.error({ ...fields, error: damage }, 'a damaged part of the store is left out of answers')
    }
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
