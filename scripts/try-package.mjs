// Packs the service as `npm pack` does, installs that in an empty folder, and starts it there: part of `npm run check`, since it
// asks the npm registry. Fails when the package is larger than it may be, or does not answer.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** Bytes of the unpacked package, and of it with all that is installed for it. */
const MOST = { unpacked: 10e6, installed: 60e6 }
const INSTALL_MS = 300_000
const START_MS = 120_000

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'countersign-package-'))
try {
  const tarball = pack()
  install(tarball)
  await start(join(folder, 'app/node_modules/countersign'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function npm(cwd, ...args) {
  return execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    timeout: INSTALL_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function pack() {
  const [{ filename, unpackedSize }] = JSON.parse(
    npm(root, 'pack', '--ignore-scripts', '--silent', '--json', '--pack-destination', folder),
  )
  within('the package', unpackedSize, MOST.unpacked)
  return join(folder, filename)
}

function install(tarball) {
  const app = join(folder, 'app')
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{"private":true}')
  // The packages are in npm's cache since this checkout was installed.
  npm(app, 'install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent', tarball)
  within('the installation', sizeOf(app), MOST.installed)
}

/** Starts it as its users do, asks for what the package must have, and stops it. */
async function start(cwd) {
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
  }
  const service = spawn('npm', ['start'], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(service, 'exit')
  try {
    const until = performance.now() + START_MS
    while (!(await answers(port, '/readyz'))) {
      if (service.exitCode !== null || performance.now() > until) throw new Error('npm start: no answer')
      await delay(200)
    }
    for (const path of ['/signin', '/requests', '/docs', '/openapi.json', '/healthz'])
      if (!(await answers(port, path))) throw new Error(`${path} is missing`)
  } finally {
    service.kill('SIGTERM')
    const [code] = await ended
    process.stdout.write(`npm start: ended with ${code}\n`)
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** Whether that path answers 200. */
function answers(port, path) {
  return fetch(`http://127.0.0.1:${port}${path}`).then(
    ({ status }) => status === 200,
    () => false,
  )
}

function sizeOf(path) {
  const status = statSync(path)
  if (!status.isDirectory()) return status.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

function within(what, bytes, most) {
  const megabytes = (bytes / 1e6).toFixed(1)
  process.stdout.write(`${what}: ${megabytes} MB, at most ${most / 1e6}\n`)
  if (bytes > most) throw new Error(`${what} is too large`)
}
