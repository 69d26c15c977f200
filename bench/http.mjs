// Requests a second of one service on this machine, over real HTTP, with the embedded store: create, read, verify. And whether
// time tells a known e-mail address from an unknown one when an agent asks for a key.
// Bounded: a fixed number of requests each. Usage: npm run build && node bench/http.mjs
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { createApiKey } from '../dist/src/flow/manage-api-keys.js'
import { inviteUser } from '../dist/src/flow/people/invite-user.js'

const REQUESTS = 1_500
const PORT = 3971
/** Five requests an hour are what each may get. */
const ADDRESSES = Array.from({ length: 40 }, (_, index) => `known${index}@example.com`)
const AN_HOUR = 5
const root = fileURLToPath(new URL('..', import.meta.url))
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const env = {
  PATH: process.env.PATH,
  DATA_DIR: dataDir,
  PORT: String(PORT),
  LOG_LEVEL: 'warn',
  TRUST_PROXY: '1',
}
const service = spawn(process.execPath, [join(root, 'bin/start.mjs')], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  await listening()
  const keys = await makeKeys()
  const rows = []
  for (const clients of [1, 16]) {
    const ids = []
    const create = (turn) =>
      call('POST', '/api/v1/approvals/request', keys[turn % keys.length], {
        action: `Bench ${turn}`,
        sandbox_auto_decide_seconds: 0,
      })
    rows.push(
      await measure('create (sandbox)', clients, create, (body, turn) => {
        ids[turn] = body.request_id
      }),
    )
    const read = (turn) => call('GET', `/api/v1/approvals/${ids[turn]}`, keys[turn % keys.length])
    rows.push(
      await measure('read that decides and signs', clients, read, (body) =>
        expect(body.status === 'approved'),
      ),
    )
    rows.push(await measure('read', clients, read, (body) => expect(body.status === 'approved')))
    const verify = (turn) => call('GET', `/api/v1/approvals/${ids[turn]}/verify`, undefined, undefined, turn)
    rows.push(await measure('verify', clients, verify, (body) => expect(body.valid)))
  }
  console.table(rows)
  console.table([await compareAddresses()])
} finally {
  service.kill('SIGTERM')
  await once(service, 'exit')
  await rm(dataDir, { recursive: true, force: true })
}

async function measure(name, clients, run, look) {
  const times = []
  let next = 0
  const started = performance.now()
  const client = async () => {
    while (next < REQUESTS) {
      const turn = next++
      const before = performance.now()
      look(await run(turn), turn)
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - started) / 1000
  times.sort((a, b) => a - b)
  const at = (share) => Number(times[Math.floor(times.length * share)].toFixed(2))
  return {
    name,
    clients,
    'per second': Math.round(REQUESTS / seconds),
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
  }
}

/** Within a pair, what else the machine does hits both alike. */
async function compareAddresses() {
  const times = { known: [], unknown: [] }
  const timed = async (kind, email) => {
    const before = performance.now()
    await call('POST', '/api/v1/bootstrap', undefined, { email, client_name: 'Bench' }, times[kind].length)
    times[kind].push(performance.now() - before)
  }
  for (let round = 0; round < AN_HOUR; round += 1) {
    for (const [index, email] of ADDRESSES.entries()) {
      const pair = [() => timed('known', email), () => timed('unknown', `un${email}`)]
      for (const ask of index % 2 === 0 ? pair : pair.reverse()) await ask()
    }
  }
  const differences = times.known.map((time, index) => time - times.unknown[index])
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
  const [known, unknown, difference] = [times.known, times.unknown, differences].map(median)
  const goal = Math.max(1, 0.2 * Math.min(known, unknown))
  return {
    pairs: differences.length,
    'known, p50 ms': known.toFixed(2),
    'unknown, p50 ms': unknown.toFixed(2),
    'difference, p50 ms': difference.toFixed(2),
    goal: `less than ${goal.toFixed(2)}`,
    verdict: Math.abs(difference) < goal ? 'met' : 'MISSED',
  }
}

/** One address per turn: the limits per address are not what is measured here. */
function call(method, path, key, body, turn = 0) {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(key ? { Authorization: `Bearer ${key}` } : {}),
    ...(text ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) } : {}),
    'X-Forwarded-For': `10.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}`,
  }
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: '127.0.0.1', port: PORT, method, path, agent, headers },
      (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () => {
          const answer = JSON.parse(Buffer.concat(chunks).toString())
          if (response.statusCode >= 300)
            reject(new Error(`${response.statusCode} ${JSON.stringify(answer)}`))
          else resolve(answer)
        })
      },
    )
    request.on('error', reject)
    request.end(text)
  })
}

/** Enough sandbox keys that none meets its limit of 60 creates a minute. */
async function makeKeys() {
  const silent = { debug() {}, info() {}, warn() {}, error: console.error }
  const config = readConfig({ DATA_DIR: dataDir, PORT: String(PORT) })
  const { deps, close } = await compose(config, { log: silent, shareStore: true })
  const { user } = await inviteUser(deps, { email: 'bench@example.com' }, { kind: 'cli' })
  for (const email of ADDRESSES) await inviteUser(deps, { email }, { kind: 'cli' })
  const keys = []
  for (let index = 0; index < (2 * REQUESTS) / 50; index += 1) {
    const input = { accountId: user.account_id, name: `bench ${index}`, sandbox: true }
    keys.push((await createApiKey(deps, input, { kind: 'cli' })).raw_key)
  }
  await close()
  return keys
}

async function listening() {
  let output = ''
  await new Promise((resolve) => {
    // Listened to until the end: a service whose output goes nowhere ends with its first warning.
    service.stdout.on('data', (chunk) => {
      output += chunk
      if (output.includes('/setup#')) resolve()
    })
  })
}

function expect(condition) {
  if (!condition) throw new Error('an answer is not what it should be')
}
