import { readdirSync, readFileSync } from 'node:fs'

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
