import { AsyncLocalStorage } from 'node:async_hooks'
import { outliveOutput } from '../compose/outlive-output.ts'
import { inEnvironment } from '../config/config.ts'
import { Refusal, type RefusalCode } from '../domain/errors.ts'
import { redact } from '../domain/redact.ts'
import { visibleString } from '../domain/text.ts'
import type { Log } from '../ports/ports.ts'

/** The environment and the streams that a command reads from and writes to. */
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

/** Returns the terminal of the running command. */
export function terminal(): Omit<Terminal, 'env'> {
  return current.getStore()?.terminal ?? process
}

/** Checks whether the running command answers in JSON (`--json`). */
export function inJson(): boolean {
  return current.getStore()?.json ?? false
}

/** Makes the running command answer in JSON from here on. */
export function answerInJson(): void {
  const command = current.getStore()
  if (command !== undefined) command.json = true
}

/** Sets the exit code of the running command. */
export function setExitCode(exitCode: number): void {
  const command = current.getStore()
  if (command !== undefined) command.exitCode = exitCode
}

/**
 * Runs a command on a terminal. One process may run several commands at once, each on its own terminal.
 * @param on defaults to the process's own environment and streams
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

/** The result of a command. */
export interface CommandResult {
  /** For `--json`: one value on stdout; undefined fields are left out. */
  value: unknown
  /** `value` is a list of unknown length, written as one line of JSON for each item. */
  rows?: true
  /** For people. */
  text: string
  /** The command worked, and its answer is no: exit code 1, unless `exitCode` says otherwise. */
  failure?: { error: string; message: string }
  /** The exit code of a failure, if other than 1. */
  exitCode?: number
}

/**
 * Writes a result to stdout and sets the exit code. With `--json` a failure is also written to stderr as
 * `{error, message}`, like every error.
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

/** Aligns columns. Cells may hold text that others typed, so no control character in them reaches the terminal. */
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

/** Puts a text on one line, with hidden and control characters shown by name. */
export function oneLine(text: string): string {
  return visibleString(text).replace(/[\n\t]+/g, ' ')
}

/**
 * Exit codes: success, failure, wrong usage; of a valid receipt: its content is not proven, or it records a rejection; of a good
 * bundle: less is proven than the policy asks for. That is 2 as well: neither says that something is wrong with what was checked.
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, unmet: 2, unproven: 3, rejected: 4 } as const

/** The failure of a command. The message says what to do; `code` is stable, for scripts. */
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

/** Makes the error for a command that was called wrongly: exit code 2. */
export function usageError(message: string): CliError {
  return new CliError('usage', message, EXIT.usage)
}

/** Makes a log that writes warnings and errors to stderr; silent with `--json`, where stderr is for the command's error alone. */
export function commandLog(): Log {
  const json = inJson()
  const at = (label: string) => (fields: Record<string, unknown>, message: string) => {
    const { error } = fields
    const reason = error instanceof Error ? error.message : error
    const sentence = typeof reason === 'string' ? `${message}: ${reason}` : message
    if (!json) terminal().stderr.write(`${label}: ${redact(sentence)}\n`)
  }
  const ignore = () => undefined
  return { debug: ignore, info: ignore, warn: at('warning'), error: at('error') }
}

/** Returns the word that equals `text`. @throws CliError that names all words */
export function oneOf<Word extends string>(words: readonly Word[], text: string, what: string): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw usageError(`${JSON.stringify(text)} is not a ${what}; choose among ${words.join(', ')}.`)
}

/** Returns the number from 1 to `most` that an option was given. @throws CliError */
export function readCount(option: string, text: string, most: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= most) return number
  throw usageError(`${option} must be a whole number from 1 to ${most}.`)
}

/** Makes a handler for `catch` that throws these refusals in words for an operator, and every other error unchanged. */
export function inWords(words: Partial<Record<RefusalCode, readonly [code: string, message: string]>>) {
  const known: Partial<Record<string, readonly [code: string, message: string]>> = words
  return (error: unknown): never => {
    const told = error instanceof Refusal ? known[error.code] : undefined
    throw told === undefined ? error : new CliError(...told)
  }
}
