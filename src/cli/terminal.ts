import { AsyncLocalStorage } from 'node:async_hooks'
import { inEnvironment } from '../config/config.ts'

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
  exitCode: number
}

const current = new AsyncLocalStorage<Current>()

/** The terminal of the command under way. */
export function terminal(): Omit<Terminal, 'env'> {
  return current.getStore()?.terminal ?? process
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
  const store: Current = { terminal: on ?? process, exitCode: 0 }
  const run = () => current.run(store, command)
  await (on === undefined ? run() : inEnvironment(on.env, run))
  return store.exitCode
}
