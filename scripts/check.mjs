// Everything CI runs besides the tests' own command, and the tests: types, style, dead code, the package, generated files, tests.
// --without-tests: all but the tests.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const steps = [
  ['types', ['tsc', '-p', 'tsconfig.json']],
  ['types of the embedded store', ['tsc', '-p', 'embedded-mongo/tsconfig.json']],
  ['types of the client', ['tsc', '-p', 'packages/client/tsconfig.json']],
  ['types of its command', ['tsc', '-p', 'packages/client/cli/tsconfig.json']],
  ['types of the pages', ['tsc', '-p', 'webauthn-page/tsconfig.json']],
  ['types of the dashboard', ['tsc', '-p', 'dashboard/tsconfig.json']],
  ['types of the service worker', ['tsc', '-p', 'dashboard/service-worker/tsconfig.json']],
  ['style', ['biome', 'check', '--error-on-warnings', '.']],
  ['unused code', ['knip']],
  ['build', [process.execPath, 'scripts/build.mjs']],
  ['the package installs and starts', [process.execPath, 'scripts/try-package.mjs']],
  ['the client installs and runs', [process.execPath, 'scripts/try-client.mjs']],
  ['the client for Python installs and runs', [process.execPath, 'scripts/try-python.mjs']],
  ['the gateway works in front of public servers', [process.execPath, 'scripts/try-gateway.mjs']],
  ['a release (dry run)', [process.execPath, 'scripts/release.mjs', '--dry-run']],
  ['openapi.json is current', [process.execPath, 'scripts/openapi.mjs', '--check']],
  ['vectors are current', [process.execPath, 'scripts/vectors.mjs', '--check']],
  ['docs are current', [process.execPath, 'scripts/docs.mjs', '--check']],
]
if (!process.argv.includes('--without-tests'))
  steps.push(['tests', ['npm', 'test']], ['tests of the clients', ['npm', 'run', 'test:packages']])

let failed = 0
for (const [name, [tool, ...args]] of steps) {
  const command = [process.execPath, 'npm'].includes(tool) ? tool : `${root}node_modules/.bin/${tool}`
  const started = Date.now()
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  process.stdout.write(`${status === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`)
  if (status !== 0) failed += 1
}
process.exit(failed === 0 ? 0 : 1)
