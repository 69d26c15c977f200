import { CommanderError } from 'commander'
import { StoreLockedError } from 'embedded-mongo'
import { redact } from '../compose/log.ts'
import { DataDirInUseError } from '../compose/open-store.ts'
import { ConfigError } from '../config/config.ts'
import { Refusal } from '../domain/errors.ts'
import { createProgram } from './program.ts'
import { CliError, EXIT, runOn, setExitCode, type Terminal, terminal } from './terminal.ts'

/**
 * Runs one command, on the process's own environment and streams unless it is given others. Never throws.
 * @returns the exit code: 0 = it worked, 1 = it did not, 2 = it was called wrongly
 */
export function runCli(arguments_: readonly string[], on?: Terminal): Promise<number> {
  const json = arguments_.includes('--json')
  return runOn(on, async () => {
    try {
      await createProgram(json).parseAsync([...arguments_], { from: 'user' })
    } catch (error) {
      tellError(error, json)
    }
  })
}

interface Told {
  error: string
  message: string
  exitCode: number
}

/** Writes an error to stderr, for people or (with `--json`) as `{error, message}`, and sets the exit code. */
function tellError(error: unknown, json: boolean): void {
  if (error instanceof CommanderError && error.exitCode === 0) return
  const { exitCode, ...told } = describeError(error)
  setExitCode(exitCode)
  if (json) terminal().stderr.write(`${JSON.stringify(told)}\n`)
  // Commander has told people already what it did not understand.
  else if (!(error instanceof CommanderError)) terminal().stderr.write(`${told.message}\n`)
}

function describeError(error: unknown): Told {
  if (error instanceof CliError)
    return { error: error.code, message: error.message, exitCode: error.exitCode }
  if (error instanceof CommanderError) return { error: 'usage', message: usage(error), exitCode: EXIT.usage }
  const exitCode = EXIT.failed
  if (error instanceof Refusal) return { error: error.code, message: refusalText(error), exitCode }
  if (error instanceof ConfigError) return { error: 'config_invalid', message: error.message, exitCode }
  if (error instanceof DataDirInUseError || error instanceof StoreLockedError)
    return { error: 'data_dir_in_use', message: error.message, exitCode }
  if (error instanceof Error && /^Mongo(ose)?ServerSelectionError$/.test(error.name)) {
    const message = `The store does not answer: ${redact(error.message)}. Check MONGODB_URI.`
    return { error: 'store_unreachable', message, exitCode }
  }
  if (error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES'))
    return { error: 'not_permitted', message: error.message, exitCode }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { error: 'internal_error', message: String(redact(text)), exitCode }
}

/** The interface tells field and detail apart; a terminal shows one sentence. */
function refusalText({ publicMessage, details }: Refusal): string {
  return details.detail === undefined ? publicMessage : `${details.field ?? 'The input'} ${details.detail}.`
}

function usage(error: CommanderError): string {
  return error.message.replace(/^error: /, '')
}
