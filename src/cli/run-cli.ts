import { createProgram } from './program.ts'
import { tellError } from './tell-error.ts'

/** Runs one command. Sets the exit code and never throws: 0 = it worked, 1 = it did not, 2 = it was called wrongly. */
export async function runCli(arguments_: readonly string[]): Promise<void> {
  const json = arguments_.includes('--json')
  try {
    await createProgram(json).parseAsync([...arguments_], { from: 'user' })
  } catch (error) {
    tellError(error, json)
  }
}
