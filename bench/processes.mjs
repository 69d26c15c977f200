// What more service processes on one store bring: requests a second of 1, 2 and 4 services behind the same clients, on one
// `countersign store` and, where MONGODB_URI is set, on that server, in a database of its own that is dropped in the end.
// Bounded: a fixed number of requests each. Usage: npm run build && [MONGODB_URI=…] node bench/processes.mjs
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { drawSecrets, silent, startProcess, startStore } from './support/set-up.mjs'

const COUNTS = [1, 2, 4]
const REQUESTS = 900
const CLIENTS = 32
const FIRST_PORT = 3976
/** Of a key's 60 creates a minute. */
const PER_KEY = 50
const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS })

const store = await startStore()
const rows = []
try {
  await measureOn('countersign store', store.uri)
  if (process.env.MONGODB_URI) {
    const own = new URL(process.env.MONGODB_URI)
    own.pathname = `/bench_${randomBytes(6).toString('hex')}`
    await measureOn('MONGODB_URI', String(own))
  }
  console.table(rows)
} finally {
  await store.stop()
}

async function measureOn(name, uri) {
  const base = { BASE_URL: `http://localhost:${FIRST_PORT}`, LOG_LEVEL: 'info' }
  const env = { ...drawSecrets(), ...base, DATA_DIR: store.dataDir, MONGODB_URI: uri }
  const bench = await compose(readConfig(env), { log: silent })
  try {
    for (const count of COUNTS) {
      const keys = await makeKeys(bench.deps, REQUESTS / PER_KEY)
      const ports = Array.from({ length: count }, (_, index) => FIRST_PORT + index)
      const services = ports.map((port) => startProcess(['bin/start.mjs'], { ...env, PORT: String(port) }))
      try {
        for (const service of services) await service.says(/Countersign is running/)
        rows.push({ store: name, services: count, ...(await measure(keys, ports)) })
      } finally {
        await Promise.all(services.map((service) => service.stop()))
      }
    }
    if (name === 'MONGODB_URI') await bench.connection.db.dropDatabase()
  } finally {
    await bench.close()
  }
}

async function makeKeys(deps, count) {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const email = `${randomBytes(6).toString('hex')}@example.com`
      const { user } = await inviteUser(deps, { email }, { kind: 'cli' })
      const input = { accountId: user.account_id, name: `bench ${index}`, sandbox: false }
      return (await createApiKey(deps, input, { kind: 'cli' })).raw_key
    }),
  )
}

async function measure(keys, ports) {
  const ids = []
  const of = (turn) => ({ port: ports[turn % ports.length], key: keys[turn % keys.length] })
  const made = await spread(async (turn) => {
    const body = { action: `Bench ${turn}`, context: { build: turn } }
    ids[turn] = (await call('POST', '/api/v1/approvals/request', { ...of(turn), body })).id
  })
  // At another process than the one that made it.
  const read = await spread((turn) =>
    call('GET', `/api/v1/approvals/${ids[turn]}`, { ...of(turn), port: ports[(turn + 1) % ports.length] }),
  )
  return {
    'creates a second': made.rate,
    'p99 ms': made.p99,
    'reads a second': read.rate,
    'p99 ms of reads': read.p99,
  }
}

async function spread(work) {
  const times = []
  let next = 0
  const started = performance.now()
  const client = async () => {
    while (next < REQUESTS) {
      const before = performance.now()
      await work(next++)
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const rate = Math.round((REQUESTS * 1000) / (performance.now() - started))
  times.sort((a, b) => a - b)
  return { rate, p99: Number(times[Math.floor(times.length * 0.99)].toFixed(1)) }
}

function call(method, path, { port, key, body }) {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = { Authorization: `Bearer ${key}`, ...(text && { 'Content-Type': 'application/json' }) }
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method, path, agent, headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const answer = String(Buffer.concat(chunks))
        if (response.statusCode >= 300) reject(new Error(`${response.statusCode} ${answer}`))
        else resolve(JSON.parse(answer))
      })
    })
    request.on('error', reject)
    request.end(text)
  })
}
