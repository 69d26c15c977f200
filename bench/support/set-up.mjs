// What several benchmarks begin with: a store, processes of the package, secrets, a log that tells errors alone.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const silent = { debug() {}, info() {}, warn() {}, error: console.error }

/** What services on one store must have in common. */
export function drawSecrets() {
  const names = ['API_KEY_PEPPER', 'TOKEN_SECRET', 'SEALING_KEY', 'WEBHOOK_MASTER_SECRET']
  return Object.fromEntries(names.map((name) => [name, randomBytes(32).toString('base64')]))
}

/** Lets the driver tell of its commands. */
export function monitored(uri) {
  return `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`
}

/** `countersign store` in a process and a folder of its own; `stop` ends both. */
export async function startStore() {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  const store = startProcess(['bin/countersign.mjs', 'store'], { DATA_DIR: dataDir })
  const [, uri] = await store.says(/MONGODB_URI=(.*)\n/)
  return {
    dataDir,
    uri,
    pid: store.pid,
    async stop() {
      await store.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** A process of the package. It is listened to until its end: one whose output goes nowhere ends with its first warning. */
export function startProcess([file, ...words], its, flags = []) {
  const child = spawn(process.execPath, [...flags, join(root, file), ...words], {
    env: { PATH: process.env.PATH, ...its },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  // However the benchmark ends, nothing goes on running.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  const fail = () => {
    throw new Error(`${file} ended:\n${said}`)
  }
  return {
    pid: child.pid,
    async says(pattern) {
      while (!pattern.test(said)) await Promise.race([once(child.stdout, 'data'), ended.then(fail)])
      return pattern.exec(said)
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
