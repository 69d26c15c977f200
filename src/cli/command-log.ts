import { redact } from '../compose/log.ts'
import type { Log } from '../flow/ports.ts'
import { terminal } from './terminal.ts'

/** What goes wrong on the side, on stderr; silent with `--json`, where stderr is for the error alone. */
export function commandLog(json: boolean | undefined): Log {
  const at = (label: string) => (fields: Record<string, unknown>, message: string) => {
    const reason = fields.error instanceof Error ? `: ${fields.error.message}` : ''
    if (!json) terminal().stderr.write(`${label}: ${redact(`${message}${reason}`)}\n`)
  }
  const ignore = () => undefined
  return { debug: ignore, info: ignore, warn: at('warning'), error: at('error') }
}
