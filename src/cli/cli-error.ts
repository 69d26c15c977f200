/** Exit codes: it worked, it did not, it was called wrongly. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const

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

/** The command was called wrongly: exit code 2. */
export function usageError(message: string): CliError {
  return new CliError('usage', message, EXIT.usage)
}
