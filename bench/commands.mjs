// Store commands of each operation, with all that follows it in the background until everything is at rest. What the clock brings
// (about 7 commands a second of an idle process, see CONTRIBUTING.md) is no operation's and not counted; the rate limit, which a
// process with a store of its own counts in memory, has a column of its own.
// Bounded: a fixed number of operations each. Usage: npm run build && node bench/commands.mjs [--list]
// --list: which commands.
import { createServer } from 'node:http'
import { readConfig } from '../dist/src/config/config.js'
import { createRelay, NO_LOOPS } from '../dist/src/flow/relay/relay.js'
import { createDeliveryLoop } from '../dist/src/flow/webhooks/send-deliveries.js'
import { serve } from '../dist/src/serve.js'
import { newPerson } from './support/person.mjs'
import { drawSecrets, monitored, silent, startStore } from './support/set-up.mjs'

const ALONE = 12
const TOGETHER = 64
const BURSTS = 10
/** Accounts that the burst spreads over: before one approver only 250 requests of an account wait. */
const ACCOUNTS = 20

const store = await startStore()
const origin = 'http://localhost:3972'
const config = readConfig({
  ...drawSecrets(),
  DATA_DIR: store.dataDir,
  BASE_URL: origin,
  PORT: '0',
  MONGODB_URI: monitored(store.uri),
  CALLBACK_ALLOW_PRIVATE: '1',
  TRUST_PROXY: '1',
})
const service = await serve(config, { log: { ...silent, warn: console.error }, work: false })
const { deps, connection } = service.composition
const commands = []
const rows = []
let address = 0
connection.getClient().on('commandStarted', ({ commandName, command }) => {
  commands.push(`${commandName} ${command[commandName]}`)
})
let arrived = 0
const receiver = createServer((request, response) => {
  request.resume().on('end', () => {
    arrived += 1
    response.end()
  })
})
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const callback_url = `http://127.0.0.1:${receiver.address().port}/in`
carryOn()
try {
  await run()
} finally {
  receiver.close()
  await service.close()
  await store.stop()
}

/** What follows a write, as `startWork` has it, without what the clock brings. */
function carryOn() {
  const loop = createDeliveryLoop(deps, { total: 64, perHost: 4, perAccount: 32, leaseMs: 60_000 })
  const relay = createRelay(deps, { ...NO_LOOPS, deliveries: loop })
  service.composition.onWritten(relay.wake)
}

async function run() {
  const people = []
  for (let n = 0; n < ACCOUNTS; n += 1) people.push(await newPerson(service.composition, n, origin))
  const [person] = people
  const live = people.map(({ live }) => live)
  const create = (turn, more = {}) =>
    call('POST', '/api/v1/approvals/request', live[turn % live.length], { action: `Bench ${turn}`, ...more })
  const sandbox = (turn) =>
    call('POST', '/api/v1/approvals/request', person.sandbox, {
      action: `Bench ${turn}`,
      sandbox_auto_decide_seconds: 0,
    })
  const keyed = (turn) =>
    call(
      'POST',
      '/api/v1/approvals/request',
      live[1],
      { action: `Bench ${turn}` },
      { 'Idempotency-Key': `bench-${turn}` },
    )
  await create(0)
  const made = await alone('create', () => create(0))
  await alone('create, Idempotency-Key', keyed)
  const dry = await alone('create in the sandbox', sandbox)
  const path = (turn) => `/api/v1/approvals/${dry[turn].request_id}`
  await alone('read that decides and signs', (turn) => call('GET', path(turn), person.sandbox))
  await alone('read', (turn) => call('GET', path(turn), person.sandbox))
  await alone('list', () => call('GET', '/api/v1/approvals?limit=5', person.sandbox))
  await alone('verify', (turn) => call('GET', `${path(turn)}/verify`))
  await decideAll(person, 'passkey', ALONE, create)
  await decideAll(person, 'totp', 1, create)
  if (made.length !== ALONE) throw new Error('not all were made')
  await together(`create, ${TOGETHER} clients`, live.length, create)
  console.table(rows)
}

/** Decisions of requests with a callback: from the POST until the callback has come and everything is at rest. */
async function decideAll(person, method, count, create) {
  const proofs = []
  for (let turn = 0; turn < count; turn += 1) {
    const { id } = await create(0, { callback_url })
    const asked = { decision: 'approved' }
    const path = `/api/v1/approvals/${id}/decision`
    if (method === 'totp') proofs.push({ path, body: { ...asked, totp: person.code() } })
    else {
      const { options } = await call('POST', `${path}/options`, person.session, asked)
      proofs.push({ path, body: { ...asked, passkey: person.assert(options) } })
    }
  }
  const before = arrived
  await alone(
    `decide by ${method}, callback delivered`,
    (turn) => call('POST', proofs[turn].path, person.session, proofs[turn].body),
    count,
  )
  if (arrived !== before + count) throw new Error('not every callback came')
}

/** One after the other, each until everything is at rest. */
async function alone(name, operation, count = ALONE) {
  await atRest()
  const answers = []
  const each = []
  for (let turn = 0; turn < count; turn += 1) {
    commands.length = 0
    answers.push(await operation(turn))
    each.push(await atRest())
  }
  const median = each.toSorted((a, b) => a.length - b.length)[Math.floor(each.length / 2)]
  report(name, median, 1, each)
  return answers
}

async function together(name, accounts, operation) {
  await atRest()
  commands.length = 0
  let turn = 0
  const client = async () => {
    for (let burst = 0; burst < BURSTS; burst += 1) await operation(turn++)
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: TOGETHER }, client))
  const seconds = (performance.now() - started) / 1000
  report(name, await atRest(), TOGETHER * BURSTS)
  console.log(`${Math.round((TOGETHER * BURSTS) / seconds)} creates a second in ${accounts} accounts`)
}

function report(name, all, operations, each = [all]) {
  const limits = all.filter((command) => command.endsWith(' rate_limits'))
  const counted = all.filter((command) => !command.endsWith(' rate_limits'))
  const most = Math.max(
    ...each.map((one) => one.filter((command) => !command.endsWith(' rate_limits')).length),
  )
  rows.push({
    operation: name,
    'store commands': Number((counted.length / operations).toFixed(2)),
    most: Number((most / operations).toFixed(2)),
    'rate limit': Number((limits.length / operations).toFixed(2)),
  })
  if (!process.argv.includes('--list')) return
  const byName = new Map()
  for (const command of counted) byName.set(command, (byName.get(command) ?? 0) + 1)
  console.log(name)
  for (const [command, count] of byName)
    console.log(`  ${command}: ${Number((count / operations).toFixed(2))}`)
}

/** Waits until no outbox waits, no delivery is open, and the store has not been asked for a while. @returns what it was asked */
async function atRest() {
  for (let tries = 0; tries < 400; tries += 1) {
    const asked = commands.length
    await new Promise((resolve) => setTimeout(resolve, 150))
    if (commands.length !== asked) continue
    const seen = [...commands]
    const open = await connection
      .collection('deliveries')
      .countDocuments({ state: { $in: ['due', 'leased'] } })
    const waiting = { outbox_token: { $gt: '' } }
    const entries = await Promise.all(
      ['requests', 'deliveries'].map((name) => connection.collection(name).countDocuments(waiting)),
    )
    commands.length = 0
    commands.push(...seen)
    if (open + entries[0] + entries[1] === 0) return seen
  }
  throw new Error('the service does not come to rest')
}

/** An address of its own each time: the limits are not what is measured here. */
async function call(method, path, token, body, headers = {}) {
  address += 1
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      ...headers,
      'X-Forwarded-For': `10.0.${address >> 8}.${address & 255}`,
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(answer)}`)
  return answer
}
