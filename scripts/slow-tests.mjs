// The twenty slowest test files of the last run, and how much of the whole each folder takes; runs the tests if none is known.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = `${root}node_modules/.cache/test-durations.json`
if (!existsSync(file)) spawnSync(`${root}node_modules/.bin/vitest`, ['run'], { cwd: root, stdio: 'inherit' })

const durations = JSON.parse(readFileSync(file, 'utf8'))
const line = (seconds, cases, name) =>
  `${seconds.toFixed(1).padStart(8)} s ${String(cases).padStart(5)} tests  ${name}\n`

process.stdout.write('The slowest files of the last run:\n')
for (const { file: name, cases, seconds } of durations.sort((a, b) => b.seconds - a.seconds).slice(0, 20))
  process.stdout.write(line(seconds, cases, name))

const folders = new Map()
for (const { file: name, cases, seconds } of durations) {
  const folder = name.split('/').slice(0, 2).join('/')
  const sum = folders.get(folder) ?? { seconds: 0, cases: 0 }
  folders.set(folder, { seconds: sum.seconds + seconds, cases: sum.cases + cases })
}
process.stdout.write('\nBy folder:\n')
for (const [name, { seconds, cases }] of [...folders].sort(([, a], [, b]) => b.seconds - a.seconds))
  process.stdout.write(line(seconds, cases, name))
