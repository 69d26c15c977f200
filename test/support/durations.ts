import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Where `npm run test:slow` looks. */
const FILE = 'node_modules/.cache/test-durations.json'

/** Writes down how long each file took, with its imports and hooks: the JSON reporter counts neither. */
export class Durations implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const durations = modules.map((module) => {
      const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
        module.diagnostic()
      return {
        file: relative(process.cwd(), module.moduleId),
        cases: [...module.children.allTests()].length,
        seconds:
          (environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration) / 1000,
      }
    })
    mkdirSync(dirname(FILE), { recursive: true })
    writeFileSync(FILE, JSON.stringify(durations))
  }
}
