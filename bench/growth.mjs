// What the embedded store costs as it grows: start, memory, and the statements of the product, at several sizes and as ratios.
// Run: npx tsc -p tsconfig.build.json && node bench/growth.mjs [requests…=1000 10000 100000 300000]
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedStore } from 'embedded-mongo'
import { kindOf } from '../dist/src/domain/likeness.js'
import { departuresFrom, MOST_PRECEDENTS } from '../dist/src/domain/precedents.js'
import { createAuditTrail } from '../dist/src/store/audit/audit-trail.js'
import { connectStore } from '../dist/src/store/mongo/connect.js'
import { createRequestHistory } from '../dist/src/store/requests/request-history.js'
import { createRequestStore } from '../dist/src/store/requests/requests.js'
import { makeIndexes } from '../dist/src/store/schema/indexes.js'
import { kindSha256 } from '../dist/src/store/schema/note-kinds.js'

// No two have a factor in common, nor with the 100 of `statusOf`.
const ACCOUNTS = 3
const KEYS = 11
const PEOPLE = 7
const OPERATIONS = Number(process.env.OPERATIONS ?? 300)
const BATCH = 500
const START = Date.UTC(2026, 0, 1)

/** The store in a process of its own, which says what it costs. */
async function serve(dataDir) {
  const store = await startEmbeddedStore({ dataDir })
  const report = () => {
    const { user, system } = process.cpuUsage()
    process.send({ uri: store.uri, cpu: (user + system) / 1000, rss: process.memoryUsage.rss() / 1e6 })
  }
  process.on('message', async (message) => {
    if (message === 'close') {
      await store.close()
      process.exit(0)
    }
    report()
  })
  report()
}

async function start(dataDir) {
  const child = fork(fileURLToPath(import.meta.url), ['serve', dataDir])
  const heard = () => new Promise((done) => child.once('message', done))
  const { uri, cpu } = await heard()
  return {
    uri,
    startCpu: cpu,
    cost() {
      child.send('cost')
      return heard()
    },
    async close() {
      const gone = new Promise((done) => child.once('exit', done))
      child.send('close')
      await gone
    },
  }
}

const hex = (bytes) => randomBytes(bytes).toString('hex')
const padded = (n) => String(n).padStart(12, '0')

/** Ten wait, however many there are. Of 100 others 9 are rejected, 5 expired, the rest approved. */
function statusOf(n) {
  const place = n % 100
  if (place === 50 && n < 1000) return 'pending'
  return place < 9 ? 'rejected' : place < 14 ? 'expired' : 'approved'
}

const contextOf = (n) =>
  JSON.stringify({
    tool: `pay ${n % 10}`,
    invoice: n,
    amount: '125.00',
    currency: 'EUR',
    text: 'x'.repeat(200),
  })
const kindOfRequest = (n) =>
  kindOf({ api_key_id: `key_${n % KEYS}`, sandbox: false, context_json: contextOf(n) })

function request(n, status = statusOf(n)) {
  const at = new Date(START + n * 1000)
  const person = n % PEOPLE
  const decided = status === 'approved' || status === 'rejected'
  const receipt = { canonical_payload: hex(250), signature: hex(64), public_key_id: 'key_0123456789' }
  const vote = {
    decision_id: `dec_${padded(n)}`,
    user_id: `usr_${person}`,
    on_behalf_of: `usr_${person}`,
    approver: `person${person}@example.com`,
    decision: status,
    method: 'passkey',
    at,
    comment: null,
    intent_json: JSON.stringify({ intent: hex(150) }),
    evidence: {
      type: 'passkey',
      credential_id: hex(16),
      client_data_json: hex(100),
      authenticator_data: hex(37),
      signature: hex(64),
    },
    receipt,
  }
  return {
    version: 1,
    status,
    account_id: `acc_${n % ACCOUNTS}`,
    api_key_id: `key_${n % KEYS}`,
    requested_by: { key_name: 'deploy bot', account_name: 'Example' },
    sandbox: false,
    action: `Pay invoice ${n}`,
    context_json: contextOf(n),
    ...(decided ? { kind_sha256: kindSha256(kindOfRequest(n)) } : {}),
    context_sha256: hex(32),
    high_impact: n % 7 === 0,
    requirement: {
      approvers: [{ user_id: `usr_${person}`, approver: `person${person}@example.com` }],
      quorum: 1,
      passkey_only: false,
    },
    created_at: at,
    expires_at: status === 'pending' ? new Date(Date.now() + 864e5) : new Date(at.getTime() + 36e5),
    votes: decided ? [vote] : [],
    ...(decided
      ? {
          decision: {
            id: vote.decision_id,
            decision: status,
            method: 'passkey',
            approver: vote.approver,
            decided_at: at,
            comment: null,
          },
        }
      : {}),
    outbox: [],
    audit: [],
  }
}

function entries(n) {
  const at = new Date(START + n * 1000)
  return ['approval.created', 'approval.viewed', 'approval.decided'].map((type, index) => ({
    _id: n * 3 + index + 1,
    entry: {
      eid: `evt_${padded(n * 3 + index)}`,
      type,
      at,
      actor: { kind: 'user', id: `usr_${n % PEOPLE}` },
      account_id: `acc_${n % ACCOUNTS}`,
      subject: `req_${padded(n)}`,
      detail: { result: 'ok', text: 'y'.repeat(60) },
    },
    salt: randomBytes(32),
    content_sha256: randomBytes(32),
    hash: randomBytes(32),
  }))
}

async function fill(connection, from, to) {
  const requests = connection.collection('requests')
  const trail = connection.collection('audit_log')
  for (let first = from; first < to; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, to - first) }, (_, index) => first + index)
    await requests.insertMany(numbers.map((n) => ({ _id: `req_${padded(n)}`, ...request(n) })))
    await trail.insertMany(numbers.flatMap(entries))
  }
}

/** The statements of the product, as its stores send them. */
function statements({ connection, requests, history, trail }, size) {
  const any = (count) => Math.floor(Math.random() * count)
  const id = () => `req_${padded(any(size))}`
  const list =
    (status, limit = 50) =>
    () =>
      requests.list({ api_key_id: `key_${any(KEYS)}`, status, limit })
  const who = () => ({ user_id: `usr_${any(PEOPLE)}`, principals: [], accounts: [] })
  const account = () => `acc_${any(ACCOUNTS)}`
  let made = 0
  return {
    create: () => {
      made += 1
      return requests.insert({ id: `new_${size}_${made}`, ...request(size + made, 'approved') })
    },
    'read by id': () => requests.find(id()),
    'list 50': list(),
    'list pending': list('pending'),
    'list approved': list('approved'),
    // As many as a key has among 1,000.
    'list rejected': list('rejected', 4),
    'list expired': list('expired', 4),
    inbox: () => requests.pendingFor(who(), 50),
    'inbox count': () => requests.countPendingFor(who()),
    'history page': () => history.page({ account_id: account(), limit: 50 }),
    'history of a person': () =>
      history.page({ account_id: account(), person_id: `usr_${any(PEOPLE)}`, limit: 50 }),
    'pending of a person': () =>
      history.page({ account_id: account(), person_id: `usr_${any(PEOPLE)}`, status: 'pending', limit: 50 }),
    precedents: async () => {
      const n = any(size)
      const found = await history.decidedOfKind(kindOfRequest(n), `req_${padded(n)}`, MOST_PRECEDENTS)
      departuresFrom(found, JSON.parse(contextOf(n)))
    },
    'audit page': () => trail.list({ account_id: account(), limit: 50 }),
    'audit page by time': () => trail.list({ account_id: account(), from: new Date(0), limit: 50 }),
    'conditional write': () =>
      connection
        .collection('requests')
        .findOneAndUpdate(
          { _id: id() },
          { $inc: { version: 1 }, $currentDate: { moved_at: true } },
          { returnDocument: 'after' },
        ),
    'lapsed (sweep)': () => requests.lapsed(new Date(), 50),
  }
}

async function measure(store, run) {
  // As often again first: what the compiler costs belongs to no statement, and would all be the first one's.
  for (let n = 0; n < OPERATIONS; n += 1) await run()
  const times = []
  const before = await store.cost()
  for (let n = 0; n < OPERATIONS; n += 1) {
    const began = performance.now()
    await run()
    times.push(performance.now() - began)
  }
  const after = await store.cost()
  times.sort((a, b) => a - b)
  return { cpu: (after.cpu - before.cpu) / OPERATIONS, p50: times[Math.floor(times.length / 2)] }
}

/** Start, memory and every statement, with that many requests. */
async function measureSize(dataDir, size) {
  const store = await start(dataDir)
  const { rss: idle } = await store.cost()
  const connection = await connectStore(store.uri)
  const stores = {
    connection,
    requests: createRequestStore(connection),
    history: createRequestHistory(connection, { now: () => new Date() }),
    trail: createAuditTrail(connection),
  }
  const results = {}
  for (const [name, run] of Object.entries(statements(stores, size)))
    results[name] = await measure(store, run)
  const { rss } = await store.cost()
  await connection.close()
  await store.close()
  return {
    size,
    startCpu: store.startCpu,
    idle,
    rss,
    file: statSync(join(dataDir, 'store.db')).size / 1e6,
    results,
  }
}

async function grow(dataDir, from, to) {
  const store = await start(dataDir)
  const connection = await connectStore(store.uri)
  createRequestStore(connection)
  createAuditTrail(connection)
  await makeIndexes(connection)
  const began = performance.now()
  await fill(connection, from, to)
  const { cpu } = await store.cost()
  console.log(
    `filled to ${to} requests: ${Math.round(((to - from) * 4000) / (performance.now() - began))} documents/s, ${((cpu - store.startCpu) / ((to - from) * 4)).toFixed(3)} ms of CPU each`,
  )
  await connection.close()
  await store.close()
}

function print(all) {
  const [first] = all
  const row = (name, values) =>
    console.log(name.padEnd(22), values.map((value) => String(value).padStart(18)).join(''))
  row(
    'requests',
    all.map(({ size }) => size),
  )
  row(
    'file MB',
    all.map(({ file }) => file.toFixed(1)),
  )
  row(
    'start, s of CPU',
    all.map(({ startCpu }) => (startCpu / 1000).toFixed(2)),
  )
  row(
    'RSS idle / after',
    all.map(({ idle, rss }) => `${idle.toFixed(0)} / ${rss.toFixed(0)}`),
  )
  console.log('\nms of store CPU and p50 of the client, each with its ratio to the first size')
  for (const name of Object.keys(first.results)) {
    const base = first.results[name]
    row(
      name,
      all.map(({ results }) => {
        const { cpu, p50 } = results[name]
        return `${cpu.toFixed(2)} (${(cpu / base.cpu).toFixed(1)}) ${p50.toFixed(1)} (${(p50 / base.p50).toFixed(1)})`
      }),
    )
  }
}

if (process.argv[2] === 'serve') await serve(process.argv[3])
else {
  const given = process.argv.slice(2).map(Number)
  const sizes = given.length > 0 ? given : [1000, 10_000, 100_000, 300_000]
  const dataDir = mkdtempSync(join(tmpdir(), 'cs-bench-'))
  const all = []
  let made = 0
  for (const size of sizes) {
    await grow(dataDir, made, size)
    made = size
    all.push(await measureSize(dataDir, size))
  }
  print(all)
  rmSync(dataDir, { recursive: true, force: true })
}
