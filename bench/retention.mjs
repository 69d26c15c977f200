// What a caller feels of the sweep that erases old requests: p99 of a create without it and while it goes on, in pairs.
// Run: npm run build && node bench/retention.mjs [old requests=100000]
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { fillDecided } from './support/decided.mjs'
import { silent, startProcess } from './support/set-up.mjs'

const count = Number(process.argv[2] ?? 100_000)
const PORT = 3973
const GOAL = 1.5
const CREATES = 600
const A_SECOND = 30
const PAIRS = 2
const DAY_MS = 86_400_000
const agent = new http.Agent({ keepAlive: true })

const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const env = { DATA_DIR: dataDir, PORT: String(PORT), LOG_LEVEL: 'info' }

/** Enough keys that none meets its limit of 60 creates a minute. */
async function prepare() {
  const { deps, connection, close } = await compose(readConfig(env), { log: silent, shareStore: true })
  const { user } = await inviteUser(deps, { email: 'bench@example.com' }, { kind: 'cli' })
  const keys = []
  for (let index = 0; index < (2 * PAIRS * CREATES) / 50; index += 1) {
    const input = { accountId: user.account_id, name: `bench ${index}`, sandbox: true }
    keys.push((await createApiKey(deps, input, { kind: 'cli' })).raw_key)
  }
  await fillDecided(connection, count, new Date(Date.now() - 30 * DAY_MS), user.account_id)
  return { keys, close }
}

function create(key, turn) {
  const text = JSON.stringify({ action: `Bench ${turn}`, context: { build: turn } })
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  }
  return new Promise((resolve, reject) => {
    const path = '/api/v1/approvals/request'
    const request = http.request(
      { host: '127.0.0.1', port: PORT, method: 'POST', path, agent, headers },
      (answer) => {
        answer.resume()
        answer.on('end', () =>
          answer.statusCode === 201 ? resolve() : reject(new Error(`${answer.statusCode}`)),
        )
      },
    )
    request.on('error', reject)
    request.end(text)
  })
}

/** As callers come: at a steady rate, whether the one before was answered or not. */
async function measure(keys, first) {
  const times = []
  const sent = []
  const began = performance.now()
  for (let turn = first; turn < first + CREATES; turn += 1) {
    const due = began + ((turn - first) * 1000) / A_SECOND
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())))
    const before = performance.now()
    sent.push(create(keys[turn % keys.length], turn).then(() => times.push(performance.now() - before)))
  }
  await Promise.all(sent)
  times.sort((a, b) => a - b)
  return { p50: times[Math.floor(times.length / 2)], p99: times[Math.floor(times.length * 0.99)] }
}

async function run(more, keys, first) {
  const service = startProcess(['bin/start.mjs'], { ...env, ...more }, ['--max-semi-space-size=4'])
  await service.says(/Countersign is running/)
  const times = await measure(keys, first)
  return { times, stop: () => service.stop() }
}

const made = startProcess(['bin/start.mjs'], env)
await made.says(/Countersign is running/)
const { keys, close } = await prepare()
await close()
await made.stop()
const ratios = []
for (let pair = 0; pair < PAIRS; pair += 1) {
  const without = await run({}, keys, 2 * pair * CREATES)
  await without.stop()
  const during = await run({ RETENTION_DAYS: '1' }, keys, (2 * pair + 1) * CREATES)
  await during.stop()
  ratios.push(during.times.p99 / without.times.p99)
  for (const [name, { times }] of Object.entries({ without, during }))
    console.log(`${name.padEnd(8)} p50 ${times.p50.toFixed(1)} ms  p99 ${times.p99.toFixed(1)} ms`)
}
const ratio = ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / 2)]
console.log(
  `p99 during a sweep of ${count}: ${ratio.toFixed(2)} of that without; goal ${GOAL}, ${ratio <= GOAL ? 'met' : 'MISSED'}`,
)
await rm(dataDir, { recursive: true, force: true })
