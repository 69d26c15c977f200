// Requests a second of one service on this machine, over real HTTP, with the embedded store: create, read, verify. Beside them, in
// the same run, what there is to reach: a floor that does the least a create can do, and the platform's own signature checks.
// On Linux each row also says what it costs: CPU of the service, of its store's thread, of all there is.
// And whether time tells a known e-mail address from an unknown one when an agent asks for a key.
// Bounded: a fixed number of requests each. Usage: npm run build && node bench/http.mjs [--live]
// --live: only creates of live requests, without a chat platform, and reads of them.
import { fork } from 'node:child_process'
import { generateKeyPairSync, sign, verify as verifyNatively } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedStore } from 'embedded-mongo'
import express from 'express'
import { MongoClient } from 'mongodb'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { silent, startProcess } from './support/set-up.mjs'

const CREATE = '/api/v1/approvals/request'
const REQUESTS = 1_500
const PORT = 3971
const FLOOR_PORT = 3972
/** Before anything counts: a service runs for weeks, its first 2,000 requests run code that is not compiled yet. */
const WARM_UP = 3_000
/** Create and floor take turns, so that what else the machine does hits both alike. */
const ROUNDS = 3
/** Five requests an hour are what each may get. */
const ADDRESSES = Array.from({ length: 40 }, (_, index) => `known${index}@example.com`)
const AN_HOUR = 5
const GOALS = { 'create, of the floor': 0.6, 'verify, of native checks of one core': 0.15 }
const live = process.argv.includes('--live')
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
/** Whose CPU counts: the service, the floor, and this process with its clients. */
const pids = [process.pid]

if (process.argv[2] === 'floor') await runFloor()
else await runBench()

/** The least that a create is: JSON in and out, one signature, one durable insert, which those who come together share. */
async function runFloor() {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-floor-'))
  const store = await startEmbeddedStore({ dataDir })
  const client = new MongoClient(store.uri, { writeConcern: { w: 'majority', journal: true } })
  const documents = client.db('floor').collection('documents')
  const { privateKey } = generateKeyPairSync('ed25519')
  let waiting = []
  let writing = false
  const write = async () => {
    for (; waiting.length > 0; ) {
      const batch = waiting
      waiting = []
      await documents.insertMany(batch.map(({ document }) => document))
      for (const { resolve } of batch) resolve()
    }
    writing = false
  }
  const insert = (document) =>
    new Promise((resolve) => {
      waiting.push({ document, resolve })
      if (!writing) setImmediate(write)
      writing = true
    })
  const app = express()
  app.post('*path', express.json(), async (request, response) => {
    const text = JSON.stringify(request.body)
    const signature = sign(null, Buffer.from(text), privateKey).toString('base64')
    await insert({ ...request.body, signature, created_at: new Date() })
    response.status(201).json({ ...request.body, signature })
  })
  await new Promise((resolve) => app.listen(FLOOR_PORT, '127.0.0.1', resolve))
  process.on('disconnect', async () => {
    await client.close()
    await store.close()
    await rm(dataDir, { recursive: true, force: true })
    process.exit(0)
  })
  process.send('ready')
}

async function runBench() {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  const env = { DATA_DIR: dataDir, PORT: String(PORT), LOG_LEVEL: 'warn', TRUST_PROXY: '1' }
  // As `npm start` has it.
  const flags = process.env.BENCH_NODE_OPTIONS?.split(' ') ?? ['--max-semi-space-size=4']
  const service = startProcess(['bin/start.mjs'], env, flags)
  const floor = fork(fileURLToPath(import.meta.url), ['floor'])
  pids.push(service.pid, floor.pid)
  try {
    await Promise.all([service.says(/\/setup#/), once(floor, 'message')])
    const keys = await makeKeys(dataDir)
    const rows = []
    const judged = []
    await warmUp(keys)
    for (const clients of [1, 16]) judged.push(...(await measureAll(keys, clients, rows)))
    console.table(rows)
    console.table(judged)
    if (!live) console.table([await compareAddresses()])
  } finally {
    floor.disconnect()
    await Promise.all([service.stop(), once(floor, 'exit')])
    await rm(dataDir, { recursive: true, force: true })
  }
}

function body(turn) {
  const dry = live ? {} : { sandbox_auto_decide_seconds: 0 }
  return { action: `Bench ${turn}`, context: { build: turn }, ...dry }
}

function insert(turn) {
  return call('POST', '/', { port: FLOOR_PORT, body: body(turn) })
}

/** Everything that is measured, for a while. */
async function warmUp(keys) {
  const key = (turn) => ({ key: keys[turn % keys.length] })
  const round = async (turn) => {
    await insert(turn)
    const { id, request_id } = await call('POST', CREATE, { ...key(turn), body: body(turn) })
    await call('GET', `/api/v1/approvals/${id ?? request_id}`, key(turn))
    if (!live) await call('GET', `/api/v1/approvals/${id ?? request_id}/verify`, { turn })
  }
  // Turns of its own, and with them addresses of its own: each has its limits.
  await measure('', { first: REQUESTS, count: WARM_UP, clients: 16 }, round, () => undefined)
}

/** Adds to `rows`. @returns the ratios */
async function measureAll(keys, clients, rows) {
  const ids = []
  const create = (turn) => call('POST', CREATE, { key: keys[turn % keys.length], body: body(turn) })
  const made = []
  const floors = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = (REQUESTS / ROUNDS) * round
    const part = { first, count: REQUESTS / ROUNDS, clients }
    floors.push(await measure('floor: one insert, one signature', part, insert, () => undefined))
    made.push(
      await measure(`create (${live ? 'live' : 'sandbox'})`, part, create, (answer, turn) => {
        ids[turn] = answer.id ?? answer.request_id
      }),
    )
  }
  const whole = { first: 0, count: REQUESTS, clients }
  const state = live ? 'pending' : 'approved'
  const read = (turn) => call('GET', `/api/v1/approvals/${ids[turn]}`, { key: keys[turn % keys.length] })
  const reads = (name) => measure(name, whole, read, (answer) => expect(answer.status === state))
  const [floor, created] = [floors, made].map(middle)
  rows.push(floor, created)
  const judged = [judge('create, of the floor', clients, created['per second'] / floor['per second'])]
  if (!live) rows.push(await reads('read that decides and signs'))
  rows.push(await reads('read'))
  if (live) return judged
  const verify = (turn) => call('GET', `/api/v1/approvals/${ids[turn]}/verify`, { turn })
  const verified = await measure('verify', whole, verify, (answer) => expect(answer.valid))
  const native = nativeChecks()
  rows.push(verified, { name: 'native signature checks of one core', clients: '', 'per second': native })
  return [...judged, judge('verify, of native checks of one core', clients, verified['per second'] / native)]
}

/** The round in the middle. */
function middle(rounds) {
  return rounds.toSorted((a, b) => a['per second'] - b['per second'])[Math.floor(rounds.length / 2)]
}

function judge(what, clients, ratio) {
  // What takes turns waits for the disk; only under load does the work show.
  const goal = clients === 1 ? '' : GOALS[what]
  return {
    what,
    clients,
    ratio: ratio.toFixed(2),
    goal,
    verdict: goal === '' ? '' : ratio >= goal ? 'met' : 'MISSED',
  }
}

/** Ed25519 signatures that node:crypto checks a second, with a key it has read, of a message as long as a receipt's. */
function nativeChecks() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const message = Buffer.alloc(300, 'x')
  const signature = sign(null, message, privateKey)
  const started = performance.now()
  let checks = 0
  for (; performance.now() - started < 1_000; checks += 1) verifyNatively(null, message, publicKey, signature)
  return checks
}

async function measure(name, { first, count, clients }, run, look) {
  const times = []
  let next = first
  const before = cpuTimes()
  const started = performance.now()
  const client = async () => {
    while (next < first + count) {
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
    'per second': Math.round(count / seconds),
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
    ...cpuOf(before, cpuTimes(), count),
  }
}

/** Milliseconds of CPU of each thread so far, those of one process together: its own first. Nothing where there is no /proc. */
function cpuTimes() {
  const spent = (path) => Number(readFileSync(`${path}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  try {
    return pids.map((pid) => readdirSync(`/proc/${pid}/task`).map((tid) => spent(`/proc/${pid}/task/${tid}`)))
  } catch {
    return []
  }
}

/** What each of `count` took: the busiest process's own thread, its next (the store's), and all, helpers and clients too. */
function cpuOf(before, after, count) {
  const used = after.map((threads, at) =>
    threads.map((time, thread) => (time - (before[at]?.[thread] ?? 0)) / count),
  )
  const whole = (threads) => threads.reduce((sum, time) => sum + time, 0)
  const [busiest] = used.toSorted((a, b) => whole(b) - whole(a))
  if (busiest === undefined) return {}
  const [own, ...others] = busiest
  const shown = (time) => Number(time.toFixed(2))
  return {
    'CPU ms, service': shown(own),
    store: shown(Math.max(...others)),
    all: shown(whole(used.map(whole))),
  }
}

/** Within a pair, what else the machine does hits both alike. */
async function compareAddresses() {
  const times = { known: [], unknown: [] }
  const timed = async (kind, email) => {
    const before = performance.now()
    const body = { email, client_name: 'Bench' }
    await call('POST', '/api/v1/bootstrap', { body, turn: times[kind].length })
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
function call(method, path, { key, body, turn = 0, port = PORT }) {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(key ? { Authorization: `Bearer ${key}` } : {}),
    ...(text ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) } : {}),
    'X-Forwarded-For': `10.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}`,
  }
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method, path, agent, headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const answer = JSON.parse(Buffer.concat(chunks).toString())
        if (response.statusCode >= 300) reject(new Error(`${response.statusCode} ${JSON.stringify(answer)}`))
        else resolve(answer)
      })
    })
    request.on('error', reject)
    request.end(text)
  })
}

/** Enough keys that none meets its limit of 60 creates a minute, of as many accounts as a hundred keys each need. */
async function makeKeys(dataDir) {
  const config = readConfig({ DATA_DIR: dataDir, PORT: String(PORT) })
  const { deps, close } = await compose(config, { log: silent, shareStore: true })
  for (const email of ADDRESSES) await inviteUser(deps, { email }, { kind: 'cli' })
  const keys = []
  for (let index = 0; index < (2 * REQUESTS + WARM_UP) / 50; index += 1) {
    const { user } = await inviteUser(deps, { email: `bench${index}@example.com` }, { kind: 'cli' })
    const input = { accountId: user.account_id, name: `bench ${index}`, sandbox: !live }
    keys.push((await createApiKey(deps, input, { kind: 'cli' })).raw_key)
  }
  await close()
  return keys
}

function expect(condition) {
  if (!condition) throw new Error('an answer is not what it should be')
}
