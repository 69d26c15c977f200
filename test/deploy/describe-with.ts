import { existsSync } from 'node:fs'
import { describe } from 'vitest'

/** Makes a `describe` for tests that need this program: skipped with a loud notice where there is none. @param setting names another path */
export function describeWith(setting: string, program: string): (name: string, suite: () => void) => void {
  return (name, suite) => {
    if (existsSync(program)) return void describe(name, suite)
    console.warn(`\n*** ${program} is missing; "${name}" is SKIPPED. Set ${setting}. ***\n`)
    describe.skip(name, suite)
  }
}
