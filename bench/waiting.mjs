// How soon those who wait hear of a change, and what waiting costs the store: two services on one embedded store, over real
// HTTP. Times run from sending the change, which includes making it, and from its answer; "at once" is one write of all.
// Bounded: a fixed number of samples each. Usage: npm run build && node bench/waiting.mjs [waiters, at most 10000] [wait | events | mcp]
// With more than 1000 only changes among all of them are measured; both processes need as many file descriptors (ulimit -n).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { drawId } from '../dist/src/domain/identifier.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { createRequest } from '../dist/src/flow/requests/create-request.js'
import { serve } from '../dist/src/serve.js'
import { drawSecrets, monitored, silent, startStore } from './support/set-up.mjs'

const SAMPLES = 60
const PORTS = [3973, 3974]
const PER_KEY = 8
const COUNT_MS = 3_000
const LOOK_MS = 20
/** Connections opened at once: fewer than a listening socket holds back for its process. */
const OPENED_AT_ONCE = process.argv[3] === 'mcp' ? 50 : 250
const FEW = 1_000
const GOALS = { ms: 500, mb: 300 }
/** A wait, a stream of events, and a call of an MCP tool that waits. */
const WAYS = { wait: 'wait?timeout=60', events: 'events', mcp: 'mcp' }
const SOME = process.argv[3] === undefined ? Object.values(WAYS) : [WAYS[process.argv[3]]]

/** In the final state as each way words it. */
const CLOSED = /"cancelled":true|"status":"withdrawn"/

const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
}

if (process.argv[2] === 'serve') await runService()
else await runBench(Math.min(10_000, Number(process.argv[2] ?? 600)))

/** One of the two services: tells on demand how many commands it has sent to the store and how many wait. */
async function runService() {
  const { connection, deps } = (await serve(readConfig(process.env), { log: silent })).composition
  const seen = { commands: 0, waiting: 0 }
  connection.getClient().on('commandStarted', () => {
    seen.commands += 1
  })
  const { watch } = deps.changes
  deps.changes.watch = (...ids) => {
    const watched = watch(...ids)
    const next = async (...limits) => {
      seen.waiting += 1
      return watched.next(...limits).finally(() => {
        seen.waiting -= 1
      })
    }
    return { ...watched, next }
  }
  const tell = () => process.send({ ...seen, mb: process.memoryUsage().rss / 1e6 })
  process.on('message', tell)
  process.on('disconnect', () => process.exit(0))
  tell()
}

async function runBench(many) {
  const store = await startStore()
  const env = {
    ...drawSecrets(),
    PATH: process.env.PATH,
    DATA_DIR: store.dataDir,
    MONGODB_URI: monitored(store.uri),
    BASE_URL: `http://localhost:${PORTS[0]}`,
  }
  const services = []
  try {
    for (const port of PORTS) services.push(await startService({ ...env, PORT: String(port) }))
    // One write of 10,000 requests may take the store a while.
    const parent = await compose(readConfig({ ...env, STORE_TIMEOUT_MS: '90000' }), { log: silent })
    const callers = await makeCallers(parent.deps, Math.ceil(many / PER_KEY))
    await measure({ ...parent, callers, services, many })
    await parent.close()
  } finally {
    for (const service of services) service.disconnect()
    await store.stop()
  }
}

async function startService(env) {
  // As `npm start` has it.
  const execArgv = ['--max-semi-space-size=4']
  const service = fork(fileURLToPath(import.meta.url), ['serve'], { env, execArgv })
  await once(service, 'message')
  return service
}

/** Owners with as many keys as an account may have, until there are enough. */
async function makeCallers(deps, count) {
  const callers = []
  for (let index = 0; callers.length < count; index += 1) {
    const { user } = await inviteUser(deps, { email: `bench-${index}@example.com` }, { kind: 'cli' })
    const many = Math.min(100, count - callers.length)
    const made = await Promise.all(
      Array.from({ length: many }, (_, key) => {
        const input = { accountId: user.account_id, name: `bench ${key}`, sandbox: false }
        return createApiKey(deps, input, { kind: 'cli' })
      }),
    )
    callers.push(
      ...made.map(({ raw_key, key }) => ({
        token: raw_key,
        caller: { key, scopes: key.scopes, address: '127.0.0.1' },
      })),
    )
  }
  return callers
}

async function measure(bench) {
  const latencies = []
  const costs = [{ 'open waits': 0, ...(await commandsPerSecond(bench)) }]
  const memory = []
  for (const path of SOME) {
    for (const waiters of bench.many > FEW ? [bench.many] : [1, bench.many]) {
      for (const [place, port] of [
        ['same process', PORTS[0]],
        ['other process', PORTS[1]],
      ]) {
        const run = waiters === 1 ? oneByOne : amongMany
        const { times, cost, mb } = await run(bench, path, port)
        if (mb !== undefined && place === 'same process')
          memory.push({ waiting: path, waiters, ...judge(mb, GOALS.mb) })
        latencies.push({ waiting: path, waiters, changed: place, ...summary(times) })
        if (path === SOME[0] && place === 'same process') costs.push({ 'open waits': waiters, ...cost })
      }
    }
    const times = await allAtOnce(bench, path)
    latencies.push({
      waiting: path,
      waiters: bench.many,
      changed: 'all at once, elsewhere',
      ...summary(times),
    })
  }
  const heard = latencies.filter(
    ({ waiters, changed }) => waiters === bench.many && changed === 'same process',
  )
  console.log('Milliseconds until the waiter heard:')
  console.table(latencies)
  console.table(
    heard.map((row) => ({
      waiting: row.waiting,
      waiters: row.waiters,
      'p99 from answer': row['p99 from answer'],
      goal: GOALS.ms,
    })),
  )
  console.log('Megabytes more of the waiting service:')
  console.table(memory)
  console.log('Commands of the waiting service to the store:')
  console.table(costs)
}

/** Each waits alone. */
async function oneByOne(bench, path, port) {
  const times = []
  let cost
  for (let turn = 0; turn < SAMPLES; turn += 1) {
    const asked = await ask(bench, turn)
    const waiting = open(asked, path)
    await untilWaiting(bench, 1)
    if (turn === 0) cost = await commandsPerSecond(bench)
    times.push(await change(asked, waiting, port))
  }
  return { times, cost }
}

/** Some of many who wait hear of a change; the others go on waiting until all is measured. */
async function amongMany(bench, path, port) {
  const asked = await askAll(bench)
  const { mb } = await report(bench.services[0])
  const waiting = await openAll(bench, asked, path)
  const held = (await report(bench.services[0])).mb - mb
  const cost = await commandsPerSecond(bench)
  const times = []
  for (const [turn, one] of asked.slice(0, SAMPLES).entries())
    times.push(await change(one, waiting[turn], port))
  for (const one of waiting) one.close()
  await untilWaiting(bench, 0)
  return { times, cost, mb: held }
}

/** Another process writes all of them in one go. */
async function allAtOnce(bench, path) {
  const asked = await askAll(bench)
  const waiting = await openAll(bench, asked, path)
  const ids = asked.map((one) => one.id)
  const withdrawn = {
    $set: { status: 'expired', cancelled: true },
    $inc: { version: 1 },
    $currentDate: { moved_at: true },
  }
  await bench.connection.collection('requests').updateMany({ _id: { $in: ids } }, withdrawn)
  const written = performance.now()
  return Promise.all(waiting.map(async (one) => ({ answered: (await one.heard) - written })))
}

async function ask({ deps, callers }, turn) {
  const { caller, token } = callers[turn % callers.length]
  const input = {
    action: `Bench ${turn}`,
    context: {},
    requires_individual_decision: false,
    ttl_seconds: 600,
  }
  return { id: (await createRequest(deps, caller, input)).request.id, token }
}

/** In every account one is asked for as an agent does; the others are copies of it under the account's other keys. */
async function askAll(bench) {
  const requests = bench.connection.collection('requests')
  const originals = new Map()
  const copies = []
  for (let turn = 0; turn < bench.many; turn += 1) {
    const { caller, token } = bench.callers[turn % bench.callers.length]
    const { id, account_id } = caller.key
    const original =
      originals.get(account_id) ?? (await requests.findOne({ _id: (await ask(bench, turn)).id }))
    originals.set(account_id, original)
    const { outbox_token, ...rest } = original
    const copy = { ...rest, _id: drawId(bench.deps, 'req'), api_key_id: id, audit: [], outbox: [] }
    copies.push({ copy, token })
  }
  for (let first = 0; first < copies.length; first += FEW)
    await requests.insertMany(copies.slice(first, first + FEW).map(({ copy }) => copy))
  return copies.map(({ copy, token }) => ({ id: copy._id, token }))
}

/** Waits for all of them at the first service, and until it knows. */
async function openAll(bench, asked, path) {
  const waiting = []
  for (let first = 0; first < asked.length; first += OPENED_AT_ONCE) {
    waiting.push(...asked.slice(first, first + OPENED_AT_ONCE).map((one) => open(one, path)))
    await untilWaiting(bench, waiting.length)
  }
  return waiting
}

/** Withdraws it through the service at `port`. @returns milliseconds until the waiter heard, from sending and from the answer */
async function change({ id, token }, waiting, port) {
  const sent = performance.now()
  const headers = { Authorization: `Bearer ${token}` }
  const path = `/api/v1/approvals/${id}/cancel`
  const done = new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', path, headers, agent: false })
    request.on('response', (response) => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(performance.now())
          : reject(new Error(`${response.statusCode}`)),
      )
    })
    request.on('error', reject)
    request.end()
  })
  const [heard, answered] = await Promise.all([waiting.heard, done])
  return { sent: heard - sent, answered: Math.max(0, heard - answered) }
}

/** Waits at the first service, again where a wait ends without news. `heard`: when the final state came. */
function open({ id, token }, path) {
  const isMcp = path === WAYS.mcp
  const options = {
    host: '127.0.0.1',
    port: PORTS[0],
    method: isMcp ? 'POST' : 'GET',
    path: isMcp ? '/mcp' : `/api/v1/approvals/${id}/${path}`,
    headers: { Authorization: `Bearer ${token}`, ...(isMcp && MCP_HEADERS) },
    agent: false,
  }
  const params = { name: 'wait_for_decision', arguments: { request_id: id } }
  const body = isMcp ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) : ''
  let request
  const heard = new Promise((resolve, reject) => {
    const ask = () => {
      request = http.request(options, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} on ${path}`))
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
          if (CLOSED.test(text)) resolve(performance.now())
        })
        response.on('error', () => undefined)
        // With 10,000 of them on a slow machine the first are over before the last are open.
        response.on('end', () => CLOSED.test(text) || ask())
      })
      request.on('error', reject)
      request.end(body)
    }
    ask()
  })
  heard.catch(() => undefined)
  return { heard, close: () => request.destroy() }
}

/** What the first service asks of the store meanwhile, whatever for. */
async function commandsPerSecond({ services: [service] }) {
  const before = await report(service)
  await pause(COUNT_MS)
  const { commands } = await report(service)
  return { 'commands per second': Math.round(((commands - before.commands) * 1000) / COUNT_MS) }
}

async function untilWaiting({ services: [service] }, count) {
  while ((await report(service)).waiting !== count) await pause(LOOK_MS)
}

async function report(service) {
  const answer = once(service, 'message')
  service.send('report')
  return (await answer)[0]
}

function judge(mb, goal) {
  return { 'MB more': Math.round(mb), goal, verdict: mb <= goal ? 'met' : 'MISSED' }
}

function summary(times) {
  const answered = percentiles(times.map((one) => one.answered))
  const sent = percentiles(times.flatMap((one) => one.sent ?? []))
  return {
    samples: times.length,
    'p50 from sending': sent(0.5),
    'p99 from sending': sent(0.99),
    'p50 from answer': answered(0.5),
    'p99 from answer': answered(0.99),
  }
}

function percentiles(times) {
  times.sort((a, b) => a - b)
  return (share) => {
    const time = times[Math.min(times.length - 1, Math.floor(times.length * share))]
    return time === undefined ? '' : Number(time.toFixed(1))
  }
}
