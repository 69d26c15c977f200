import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { loadsWhatIsBuilt } from './test/support/compiled.ts'
import { Durations } from './test/support/durations.ts'
import { PATIENCE_MS } from './test/support/patience.ts'
import { Mixed, readSuite } from './test/support/projects.ts'

const suite = readSuite(import.meta.dirname)
const full = process.env.TEST_SIZE === 'full'
/** The clients have a suite of their own (`npm run test:packages`): they drive the service from outside, and wait much. */
const PACKAGES = ['packages/client/test/**/*.test.ts', 'test/python/**/*.test.ts', 'test/agents/**/*.test.ts']
const ofPackages = process.env.SUITE === 'packages'
// The long run is of the files that have a size: the others do the same in either.
const include = full ? suite.sized : ofPackages ? PACKAGES : ['{,embedded-mongo/}test/**/*.test.ts']
const others = full || ofPackages ? [] : PACKAGES
const alone = suite.alone.filter((path) => !full || suite.sized.includes(path))
// Only what hangs meets it, however busy the machine is.
const LIMIT_MS = full ? 1_800_000 : 600_000

export default defineConfig({
  plugins: [loadsWhatIsBuilt(import.meta.dirname)],
  test: {
    // Node loads these; no test is written in JavaScript.
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
    // Half of a test's time is waiting: for a browser, a process, a lease. Six on two cores take as long as four, and more CPU.
    maxWorkers: Number(process.env.VITEST_MAX_WORKERS ?? 2 * availableParallelism()),
    reporters: ['default', new Durations()],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: Mixed },
    projects: [
      {
        extends: true,
        test: {
          name: 'alone',
          include: ofPackages ? [] : alone,
          isolate: true,
          setupFiles: ['test/support/fixed-seed.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include,
          exclude: ['**/node_modules/**', ...alone, ...others],
          // Loading the service costs more than most files' tests, so those that change no global state share one process.
          isolate: false,
          setupFiles: ['test/support/fixed-seed.ts', 'test/support/leaves-no-trace.ts'],
        },
      },
    ],
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    pool: 'forks',
  },
})
