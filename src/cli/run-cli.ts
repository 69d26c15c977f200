import { createProgram } from './program.ts'
import { tellError } from './tell-error.ts'
import { runOn, type Terminal } from './terminal.ts'

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
