import { readdirSync, readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What changes the state of a whole process: its clocks, its console, its environment. */
const GLOBAL_STATE =
  /\bvi\.(?:useFakeTimers\(\)|stub\w+\(|mock\(|spyOn\()|Object\.assign\(process\.env|process\.chdir\(/

/** Which test files run how, found by looking at them: a list would be forgotten. */
export function readSuite(root: string): {
  /** Change the state of their process, and so get one each. */
  alone: string[]
  /** Have a size (`test/support/size.ts`). */
  sized: string[]
} {
  const files = ['test', 'embedded-mongo/test', 'packages/client/test']
    .flatMap((folder) =>
      readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))
  return {
    alone: files.filter(({ text }) => GLOBAL_STATE.test(text)).map(({ path }) => path),
    sized: files
      .filter(({ text }) => /support\/size\.ts|image-rehearsal\.ts|TEST_SIZE/.test(text))
      .map(({ path }) => path),
  }
}

/**
 * Longest first, as Vitest has it, and every second one a file that draws in a browser: those need the CPU, while most of the
 * other long ones wait. One after the other, the first minutes would leave a core idle.
 */
export class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    // A process that is shared ends where the next file wants its own: those come first.
    const own = sorted.filter(({ project }) => project.config.isolate)
    const shared = sorted.filter(({ project }) => !project.config.isolate)
    const drawing = shared.filter(({ moduleId }) => moduleId.includes('/test/browser/'))
    const others = shared.filter((file) => !drawing.includes(file))
    const pairs = others.flatMap((file, at) => [file, ...drawing.slice(at, at + 1)])
    return [...own, ...pairs, ...drawing.slice(others.length)]
  }
}
