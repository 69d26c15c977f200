import { AsyncLocalStorage } from 'node:async_hooks'
import { inEnvironment } from '../config/config.ts'
import { Refusal, type RefusalCode } from '../domain/errors.ts'
import { redact } from '../domain/redact.ts'
import { visibleString } from '../domain/text.ts'
import type { Log } from '../flow/ports.ts'

/** What a command reads from and writes to. */
export interface Terminal {
  /** The whole environment; `.env` is not read. */
  env: Record<string, string>
  stdin: AsyncIterable<Uint8Array | string>
  stdout: Sink
  stderr: Sink
}

interface Sink {
  write(text: string): unknown
}

interface Current {
  terminal: Omit<Terminal, 'env'>
  json: boolean
  exitCode: number
}

const current = new AsyncLocalStorage<Current>()

/** The terminal of the command under way. */
export function terminal(): Omit<Terminal, 'env'> {
  return current.getStore()?.terminal ?? process
}

/** Does the command under way answer machines (`--json`)? */
export function inJson(): boolean {
  return current.getStore()?.json ?? false
}

/** From here on it does. */
export function answerInJson(): void {
  const command = current.getStore()
  if (command !== undefined) command.json = true
}

/** What the command under way will end with. */
export function setExitCode(exitCode: number): void {
  const command = current.getStore()
  if (command !== undefined) command.exitCode = exitCode
}

/**
 * Runs a command on a terminal; several may run in one process at once, each on its own.
 * @param on the process's own unless given
 * @returns the exit code that was set; 0 if none
 */
export async function runOn(on: Terminal | undefined, command: () => Promise<void>): Promise<number> {
  const store: Current = { terminal: on ?? process, json: false, exitCode: 0 }
  if (on === undefined) {
    outliveOutput(() => {
      store.exitCode ||= EXIT.failed
      process.exitCode ||= EXIT.failed
    })
  }
  const run = () => current.run(store, command)
  await (on === undefined ? run() : inEnvironment(on.env, run))
  return store.exitCode
}

/**
 * From here on a line that cannot be written is lost, and nothing else with it. That the reader is gone (`| head`) is not
 * worth a word; a disk that is full is said once.
 */
export function outliveOutput(onLost: () => void = () => undefined): void {
  let told = false
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (told || error.code === 'EPIPE') return
    told = true
    process.stderr.write(`what was to be said could not be written: ${error.message}\n`)
    onLost()
  })
}

/** What a command found out. */
export interface CommandResult {
  /** For `--json`: one value on stdout, without what is undefined in it. */
  value: unknown
  /** `value` is a list of unknown length: one line of JSON for each of its items. */
  rows?: true
  /** For people. */
  text: string
  /** The command worked, and its answer is no: exit code 1. */
  failure?: { error: string; message: string }
  /** Of a failure, where it is another than 1. */
  exitCode?: number
}

/**
 * Writes a result to stdout and sets the exit code. With `--json` a failure is also told on stderr as
 * `{error, message}`, as every error is.
 */
export function tell(result: CommandResult): void {
  const json = inJson()
  terminal().stdout.write(json ? jsonText(result) : `${result.text}\n`)
  if (result.failure === undefined) return
  if (json) terminal().stderr.write(`${JSON.stringify(result.failure)}\n`)
  setExitCode(result.exitCode ?? EXIT.failed)
}

function jsonText({ value, rows }: CommandResult): string {
  if (rows && Array.isArray(value)) return value.map((item) => `${JSON.stringify(item)}\n`).join('')
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Lines up columns. Cells may hold what others typed, so nothing in them reaches the terminal as a control character. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(oneLine))
  const widths = head.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)))
  return lines
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One text on one line, with hidden and control characters shown by name. */
export function oneLine(text: string): string {
  return visibleString(text).replace(/[\n\t]+/g, ' ')
}

/** Exit codes: it worked, it did not, it was called wrongly; of a valid receipt, what it does not say. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unproven: 3, rejected: 4 } as const

/** A failure of a command, told in words that say what to do. `code` is stable, for scripts. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: number

  constructor(code: string, message: string, exitCode: number = EXIT.failed) {
    super(message)
    this.code = code
    this.exitCode = exitCode
  }
}

/**
 * Errors whose message alone tells the operator what to do, with the code that `--json` gives them. By name: their classes belong
 * to what a command may not have loaded.
 */
export const KNOWN_ERRORS: Partial<Record<string, string>> = {
  ConfigError: 'config_invalid',
  DamagedKeyError: 'store_unusable',
  DataDirInUseError: 'data_dir_in_use',
  ListenError: 'not_permitted',
  StoreLockedError: 'data_dir_in_use',
  StoreFileError: 'store_unusable',
  StoreUnreachableError: 'store_unreachable',
  UnsuitableStoreError: 'store_unsuitable',
  WrongSealingKeyError: 'sealing_key_wrong',
}

/** The command was called wrongly: exit code 2. */
export function usageError(message: string): CliError {
  return new CliError('usage', message, EXIT.usage)
}

/** What goes wrong on the side, on stderr; silent with `--json`, where stderr is for the error alone. */
export function commandLog(): Log {
  const json = inJson()
  const at = (label: string) => (fields: Record<string, unknown>, message: string) => {
    const reason = fields.error instanceof Error ? `: ${fields.error.message}` : ''
    if (!json) terminal().stderr.write(`${label}: ${redact(`${message}${reason}`)}\n`)
  }
  const ignore = () => undefined
  return { debug: ignore, info: ignore, warn: at('warning'), error: at('error') }
}

/** One of these words. @throws CliError that names them all */
export function oneOf<Word extends string>(words: readonly Word[], text: string, what: string): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw usageError(`${JSON.stringify(text)} is not a ${what}; choose among ${words.join(', ')}.`)
}

/** For `catch`: what these refusals mean to an operator; every other error as it is. */
export function inWords(words: Partial<Record<RefusalCode, readonly [code: string, message: string]>>) {
  const known: Partial<Record<string, readonly [code: string, message: string]>> = words
  return (error: unknown): never => {
    const told = error instanceof Refusal ? known[error.code] : undefined
    throw told === undefined ? error : new CliError(...told)
  }
}
