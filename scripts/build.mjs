// Compiles the embedded store to embedded-mongo/dist/, the sources to dist/src/, the client to packages/client/dist/, the service
// with all its packages and the page at /docs to dist/service/, the hosted pages to dist/webauthn-page/, the dashboard to
// dist/dashboard/ and its service worker to dist/service-worker/.
// --if-stale: only what changed since the last build.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandOf, parts } from './parts.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const ifStale = process.argv.includes('--if-stale')

// A package that `npm pack` made has no sources, and everything is built; `npm install` in it runs "prepare" all the same.
if (!existsSync(join(root, 'src'))) process.exit(0)

let failed = 0
for (const part of parts) {
  const { name, sources, output = 'dist' } = part
  const stamp = join(root, output, `.${name}-built`)
  const started = new Date()
  if (ifStale && existsSync(stamp) && newest(sources) < statSync(stamp).mtimeMs) continue
  // `npm run check` looks at the types, which takes eight times as long and changes nothing of what is written.
  const [tool, ...args] = commandOf(part, ...(part.tsc === undefined ? [] : ['--noCheck']))
  if (!existsSync(join(root, 'node_modules', '.bin', tool))) {
    if (existsSync(stamp)) continue // `npm ci --omit=dev` over a finished build: nothing to do
    process.stderr.write(
      `Building takes the development dependencies (${tool} is missing): run npm ci --include=dev\n`,
    )
    process.exit(1)
  }
  const { status } = spawnSync(join(root, 'node_modules', '.bin', tool), args, {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) {
    rmSync(stamp, { force: true })
    failed = status ?? 1
    continue
  }
  mkdirSync(join(root, output), { recursive: true })
  writeFileSync(stamp, started.toISOString())
  // What was edited while it was being compiled may not be in the build.
  utimesSync(stamp, started, started)
}
noteCommit()
process.exitCode = failed

/** Notes which commit this is: a package and an image have no `.git`. Outside of git, COMMIT in the environment names it. */
function noteCommit() {
  const git = (...args) => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
    return status === 0 ? stdout.trim() : undefined
  }
  // Sources unpacked within another repository are none of its commits.
  const top = git('rev-parse', '--show-toplevel')
  const own = top !== undefined && realpathSync(top) === realpathSync(root)
  const commit = own ? git('describe', '--always', '--abbrev=12', '--exclude=*', '--dirty') : undefined
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(
    join(root, 'dist', 'build.json'),
    JSON.stringify({ commit: commit || process.env.COMMIT || 'unknown' }),
  )
}

function newest(paths) {
  return Math.max(0, ...paths.map((path) => newestIn(join(root, path))))
}

function newestIn(path) {
  if (!existsSync(path)) return 0
  const { mtimeMs } = statSync(path)
  if (!statSync(path).isDirectory()) return mtimeMs
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))))
}
