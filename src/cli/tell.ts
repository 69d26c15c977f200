import { EXIT } from './cli-error.ts'
import { setExitCode, terminal } from './terminal.ts'

/** What a command found out. */
export interface CommandResult {
  /** For `--json`: one value on stdout. */
  value: unknown
  /** `value` is a list of unknown length: one line of JSON for each of its items. */
  rows?: true
  /** For people. */
  text: string
  /** The command worked, and its answer is no: exit code 1. */
  failure?: { error: string; message: string }
}

/**
 * Writes a result to stdout and sets the exit code. With `--json` a failure is also told on stderr as
 * `{error, message}`, as every error is.
 */
export function tell(result: CommandResult, json: boolean | undefined): void {
  terminal().stdout.write(json ? jsonText(result) : `${result.text}\n`)
  if (result.failure === undefined) return
  if (json) terminal().stderr.write(`${JSON.stringify(result.failure)}\n`)
  setExitCode(EXIT.failed)
}

function jsonText({ value, rows }: CommandResult): string {
  if (rows && Array.isArray(value)) return value.map((item) => `${JSON.stringify(item)}\n`).join('')
  return `${JSON.stringify(value, null, 2)}\n`
}
