// How late the service does what is due at a moment: expiry, automatic reminders, retries, and its jobs themselves. The built service runs as a
// process on an embedded store of its own; what it did is seen from outside, in the store and at the receiver, by one clock.
// Needs a quiet machine for a minute. Usage: npm run build && node bench/punctual.mjs
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { createRequest } from '../dist/src/flow/requests/create-request.js'
import { autoDecideSandbox } from '../dist/src/flow/requests/settle-request.js'
import { createJobs } from '../dist/src/jobs/start-jobs.js'
import { drawSecrets, silent, startProcess, startStore } from './support/set-up.mjs'

const COUNT = 240
/** Of what is due at a moment; a sweep looks at least every 20 s, and so knows of the first by then. */
const FIRST_MS = 22_000
const SPREAD_MS = 8_000
/** How exactly the store is looked at. */
const LOOK_MS = 10
/** As many retries as go to one host at once, at each of these. */
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
const AT_ONCE = 4
const RETRIES_MS = [1_000, 5_000]
const WAKE_UPS = 40

const store = await startStore()
const env = {
  ...drawSecrets(),
  PORT: '3975',
  BASE_URL: 'http://localhost:3975',
  CALLBACK_ALLOW_PRIVATE: '1',
  DATA_DIR: store.dataDir,
  MONGODB_URI: store.uri,
}
const service = startProcess(['bin/start.mjs'], env)
await service.says(/Countersign is running/)
const bench = await compose(readConfig(env), { log: silent })
try {
  const retries = await measureRetries()
  const wakeUps = await measureWakeUps()
  // One after the other, prepared together.
  const [expiry, reminders] = await Promise.all([
    measureDue('expires_at', { status: 'expired' }, FIRST_MS),
    measureDue('remind_at', { reminder_count: 1 }, FIRST_MS + SPREAD_MS + 2_000),
  ])
  report([
    { what: 'job', late: wakeUps, share: 0 },
    { what: 'job', late: wakeUps, share: 0.5, goal: 250 },
    { what: 'job', late: wakeUps, share: 1 },
    { what: 'expiry', late: expiry, share: 0.5 },
    { what: 'expiry', late: expiry, share: 0.99, goal: 200 },
    { what: 'automatic reminder', late: reminders, share: 0.5 },
    { what: 'automatic reminder', late: reminders, share: 0.99 },
    ...retries.map((late, index) => ({
      what: `retry after ${RETRIES_MS[index]} ms`,
      late,
      share: 0.5,
      goal: 100,
    })),
  ])
} finally {
  await bench.close()
  await service.stop()
  await store.stop()
}

async function newCaller(sandbox) {
  const { user } = await inviteUser(
    bench.deps,
    { email: `${randomBytes(6).toString('hex')}@example.com` },
    { kind: 'cli' },
  )
  const input = { accountId: user.account_id, name: 'bench', sandbox }
  const { key } = await createApiKey(bench.deps, input, { kind: 'cli' })
  return { key, scopes: key.scopes, address: '127.0.0.1' }
}

async function ask(caller, more) {
  const input = {
    action: 'Bench',
    context: {},
    requires_individual_decision: false,
    ttl_seconds: 86_400,
    ...more,
  }
  return (await createRequest(bench.deps, caller, input)).request
}

/** Sets that time of many requests, one after the other. @returns by how many milliseconds each was late */
async function measureDue(field, done, firstMs) {
  const caller = await newCaller(false)
  const ids = []
  for (let made = 0; made < COUNT; made += 1) ids.push((await ask(caller)).id)
  const requests = bench.connection.collection('requests')
  const first = Date.now() + firstMs
  const due = new Map(ids.map((id, index) => [id, first + Math.floor((index * SPREAD_MS) / COUNT)]))
  const writes = [...due].map(([_id, time]) => ({
    updateOne: { filter: { _id }, update: { $set: { [field]: new Date(time) } } },
  }))
  await requests.bulkWrite(writes)
  const late = []
  while (due.size > 0) {
    const found = await requests
      .find({ _id: { $in: [...due.keys()] }, ...done }, { projection: { _id: 1 } })
      .toArray()
    for (const { _id } of found) {
      late.push(Date.now() - due.get(_id))
      due.delete(_id)
    }
    await pause(LOOK_MS)
  }
  return late
}

/** Callbacks to receivers that fail. @returns for each retry how late it came, measured from the arrival before */
async function measureRetries() {
  const arrivals = new Map()
  const servers = await Promise.all(HOSTS.map((host) => listen(host, arrivals)))
  const caller = await newCaller(true)
  for (const { host, port } of servers) {
    for (let one = 0; one < AT_ONCE; one += 1) {
      const callback_url = `http://${host}:${port}/${one}`
      const request = await ask(caller, { callback_url, sandbox_auto_decide_seconds: 0 })
      await autoDecideSandbox(bench.deps, request)
    }
  }
  const wanted = HOSTS.length * AT_ONCE
  const arrived = () => [...arrivals.values()].filter((times) => times.length > RETRIES_MS.length)
  while (arrived().length < wanted) await pause(LOOK_MS)
  for (const { server } of servers) server.close()
  return RETRIES_MS.map((planned, retry) =>
    arrived().map((times) => times[retry + 1] - times[retry] - planned),
  )
}

/** Jobs in a database of their own, of which one is due again at an odd moment. @returns how late it was each time */
async function measureWakeUps() {
  const db = bench.connection.getClient().db('wake_ups')
  const jobs = createJobs(db, { clock: { now: () => new Date() }, log: silent })
  const asked = []
  const runs = []
  const between = { least: 100, most: 3_600_000 }
  const idle = { run: async () => undefined, between }
  const run = async () => {
    runs.push(Date.now())
    const next = Date.now() + 300 + asked.length * 37
    asked.push(next)
    return new Date(next)
  }
  await jobs.start({ relay: idle, deliver: { run, between }, expire: idle, remind: idle, 'clean-up': idle })
  while (runs.length <= WAKE_UPS) await pause(LOOK_MS)
  await jobs.stop()
  await db.dropDatabase()
  return runs.slice(1).map((time, index) => time - asked[index])
}

function listen(host, arrivals) {
  const server = createServer((request, response) => {
    const key = host + request.url
    arrivals.set(key, [...(arrivals.get(key) ?? []), Date.now()])
    request.resume()
    response.writeHead(500).end()
  })
  return new Promise((resolve) =>
    server.listen(0, host, () => resolve({ server, host, port: server.address().port })),
  )
}

function report(rows) {
  const table = rows.map(({ what, late, share, goal }) => {
    const sorted = late.toSorted((a, b) => a - b)
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
    const verdict = goal === undefined ? '' : value <= goal ? 'met' : 'MISSED'
    return {
      what,
      samples: late.length,
      percentile: `p${share * 100}`,
      'ms late': value,
      goal: goal ?? '',
      verdict,
    }
  })
  console.table(table)
}
