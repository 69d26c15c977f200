import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { redact } from '../domain/redact.ts'
import type { Log } from '../flow/ports.ts'

/** JSON lines in production, readable lines in development; both pass through `redact`. */
export function createLog(config: Pick<Config, 'production' | 'logLevel'>, destination?: Writable): Log {
  const stream = destination ?? (config.production ? process.stdout : readableLines())
  const logger = pino(
    {
      level: config.logLevel,
      base: null,
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
