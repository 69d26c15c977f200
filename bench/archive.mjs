// How long `countersign export` and `import` take over many decided requests, how much memory, and how that compares with a plain copy.
// Run: npm run build && node bench/archive.mjs [requests=100000] [export words…]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedStore } from 'embedded-mongo'
import { createAuditTrail } from '../dist/src/store/audit/audit-trail.js'
import { connectStore } from '../dist/src/store/mongo/connect.js'
import { createRequestStore } from '../dist/src/store/requests/requests.js'
import { prepareSchema } from '../dist/src/store/schema/prepare-schema.js'
import { fillDecided } from './support/decided.mjs'
import { silent } from './support/set-up.mjs'

const [given = '100000', ...words] = process.argv.slice(2)
const count = Number(given)
/** Of 100,000 requests, on two cores that do nothing else. */
const GOALS = { export: 60, import: 120, memory: 200 }

const cli = fileURLToPath(new URL('../bin/countersign.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'cs-bench-'))
const [dataDir, target, archive] = ['old', 'new', 'archive'].map((name) => join(folder, name))

async function fill() {
  const store = await startEmbeddedStore({ dataDir })
  const connection = await connectStore(store.uri)
  createRequestStore(connection)
  createAuditTrail(connection)
  const clock = { now: () => new Date(), steady: () => performance.now() }
  await prepareSchema(connection, { log: silent, clock, replicated: false, thorough: true })
  await fillDecided(connection, count)
  await connection.close()
  await store.close()
}

/** Runs a command. @returns seconds, of CPU too, and the most memory it had */
async function run(dataDir, ...command) {
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir, STORE_TIMEOUT_MS: '90000' }
  const began = performance.now()
  const child = spawn(process.execPath, [cli, ...command, '--json'], {
    env,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  child.stdin.end('a passphrase that is long enough\n')
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += chunk
  })
  let [memory, cpu] = [0, 0]
  const look = setInterval(() => {
    try {
      const [, most = 0] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1')) ?? []
      memory = Math.max(memory, Number(most) / 1000)
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1].split(' ')
      cpu = (Number(fields[11]) + Number(fields[12])) / 100
    } catch {
      // It has just ended.
    }
  }, 100)
  const [code] = await once(child, 'close')
  clearInterval(look)
  if (code !== 0) throw new Error(told)
  return { seconds: (performance.now() - began) / 1000, cpu, memory }
}

function tell(name, { seconds, cpu, memory }, goal) {
  const wanted = (goal * count) / 100_000
  const verdict = (value, most) => (value <= most ? 'met' : 'MISSED')
  console.log(
    `${name}: ${seconds.toFixed(1)} s (goal ${wanted} s, ${verdict(seconds, wanted)}), ${cpu.toFixed(1)} s of CPU, ${memory.toFixed(0)} MB (goal ${GOALS.memory}, ${verdict(memory, GOALS.memory)}); load ${loadavg()[0].toFixed(1)}`,
  )
}

await fill()
const began = performance.now()
copyFileSync(join(dataDir, 'store.db'), join(folder, 'copy'))
const copied = (performance.now() - began) / 1000
rmSync(join(folder, 'copy'))
const megabytes = (path) => (statSync(path).size / 1e6).toFixed(0)
console.log(
  `${count} requests, ${megabytes(join(dataDir, 'store.db'))} MB; a plain copy takes ${copied.toFixed(1)} s`,
)
tell('export', await run(dataDir, 'export', archive, ...words), GOALS.export)
console.log(`the archive has ${megabytes(archive)} MB`)
rmSync(dataDir, { recursive: true })
tell('import', await run(target, 'import', archive), GOALS.import)
rmSync(folder, { recursive: true, force: true })
