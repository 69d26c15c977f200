import { type Logger, LogLevel } from '@slack/oauth'
import type { Log } from '../../src/flow/ports.ts'

/**
 * Slack's libraries, talking into our log. Their debug lines are left out: they print whole calls, and what they redact
 * does not include the client secret.
 */
export function createSlackLog(log: Log): Logger {
  const told = (parts: unknown[]): string => parts.map(String).join(' ')
  const warn = (...parts: unknown[]) => log.warn({ said: told(parts) }, 'slack library')
  return {
    debug: () => undefined,
    info: (...parts) => log.debug({ said: told(parts) }, 'slack library'),
    warn,
    error: warn,
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  }
}
