// What the log costs a service, and how soon a decision is in it. The same process with the log and without it, in turns, so that what
// else the machine does hits both alike: without it, its head says that it was rolled back, and nothing is hashed, signed or stored.
// Then how long after a decision it is logged and witnessed, and what an idle service asks its store for.
// Run: npm run build && node bench/log-cost.mjs [pairs=12] [decisions=60]
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { createSequencer } from '../dist/src/flow/audit/log.js'
import { readLogState } from '../dist/src/flow/audit/read-log.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { serve } from '../dist/src/serve.js'
import { newPerson } from './support/person.mjs'
import { drawSecrets, monitored, silent, startProcess, startStore } from './support/set-up.mjs'

const PAIRS = Number(process.argv[2] ?? 12)
const DECISIONS = Number(process.argv[3] ?? 60)
const CREATES = 600
const CLIENTS = 16
/** Each key may make 60 requests a minute, and an account has 100 at most. */
const KEYS_EACH = 90
const PEOPLE = 8
const IDLE_S = 20
const GOALS = { create: 1.03, logged: 2, witnessed: 15 }
const PORT = 3974
const origin = `http://localhost:${PORT}`
let turn = 0

const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const env = {
  DATA_DIR: dataDir,
  PORT: String(PORT),
  LOG_LEVEL: 'info',
  TRUST_PROXY: '1',
  CALLBACK_ALLOW_PRIVATE: '1',
}
const start = async (more = {}) => {
  const service = startProcess(['bin/start.mjs'], { ...env, ...more }, ['--max-semi-space-size=4'])
  await service.says(/Countersign is running/)
  return service
}
console.log(`load ${loadavg()[0].toFixed(1)}`)
const first = await start()
const { keys, people, vkey } = await comparePairs(first)
await first.stop()
await measureDelays(people, vkey)
await rm(dataDir, { recursive: true, force: true })
await countIdle()
console.log(`load ${loadavg()[0].toFixed(1)}; ${keys.length} keys, ${turn} calls`)

async function comparePairs(service) {
  const composition = await compose(readConfig(env), { log: silent, shareStore: true })
  const { deps, connection } = composition
  const people = []
  const keys = []
  for (let n = 0; n < PEOPLE; n += 1) {
    people.push(await newPerson(composition, n, origin))
    const { account_id: accountId } = await deps.users.findByEmail(`bench${n}@example.com`)
    for (let key = 0; key < KEYS_EACH; key += 1) {
      const made = await createApiKey(deps, { accountId, name: `${key}`, sandbox: true }, { kind: 'cli' })
      keys.push(made.raw_key)
    }
  }
  const heads = connection.collection('log_head')
  const turnLog = async (on) => {
    await heads.updateOne(
      {},
      on ? { $unset: { rolled_back_at: 1 } } : { $set: { rolled_back_at: new Date() } },
    )
    if (on) await createSequencer(deps).run()
    while (on && (await readLogState(deps)).behind > 0) await pause(100)
  }
  const rows = []
  const ratios = { wall: [], cpu: [], decide: [] }
  await creates(service, keys)
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const order = pair % 2 === 0 ? [true, false] : [false, true]
    const found = {}
    for (const on of order) {
      await turnLog(on)
      found[on] = { ...(await creates(service, keys)), decide: await decisions(people, 8) }
    }
    const { true: on, false: off } = found
    ratios.wall.push(on.wall / off.wall)
    ratios.cpu.push(on.cpu / off.cpu)
    rows.push(found)
    console.log(
      `pair ${pair + 1}: wall ${ratios.wall.at(-1).toFixed(3)}, CPU ${ratios.cpu.at(-1).toFixed(3)}`,
    )
  }
  report('create, wall time', ratios.wall, GOALS.create)
  report('create, CPU of the service and its store', ratios.cpu, GOALS.create)
  const all = (on, what) => rows.flatMap((found) => found[on][what]).toSorted((a, b) => a - b)
  for (const on of [true, false]) {
    const [times, decide] = [all(on, 'times'), all(on, 'decide')]
    const one = (rows.reduce((sum, found) => sum + found[on].cpu, 0) / rows.length / CREATES).toFixed(2)
    console.log(
      `${on ? 'with' : 'without'} the log: create p50 ${at(times, 0.5)} p95 ${at(times, 0.95)} ms, ${one} ms of CPU each; decide p50 ${at(decide, 0.5)} p95 ${at(decide, 0.95)} ms`,
    )
  }
  await turnLog(true)
  const { vkey } = await (await fetch(`${origin}/.well-known/countersign-log`)).json()
  await composition.close()
  return { keys, people, vkey }
}

function report(what, ratios, goal) {
  const sorted = ratios.toSorted((a, b) => a - b)
  const middle = at(sorted, 0.5, 3)
  console.log(
    `${what}: with the log ${middle} of that without (median of ${ratios.length} pairs; quartiles ${at(sorted, 0.25, 3)} and ${at(sorted, 0.75, 3)}); goal ${goal}, ${middle <= goal ? 'met' : 'MISSED'}`,
  )
}

function at(sorted, part, digits = 1) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))].toFixed(digits)
}

/** One block: its wall time, and the CPU until all that follows a create is done, the log included. */
async function creates(service, keys) {
  const times = []
  const before = cpuOf(service.pid)
  const began = performance.now()
  let left = CREATES
  const client = async () => {
    while (left-- > 0) {
      const asked = performance.now()
      const body = { action: `Bench ${turn}`, context: { build: turn }, sandbox_auto_decide_seconds: 0 }
      await call('POST', '/api/v1/approvals/request', keys[turn % keys.length], body)
      times.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const wall = performance.now() - began
  await pause(1_500)
  return { times, wall, cpu: cpuOf(service.pid) - before }
}

/** Milliseconds of CPU of a process, its store's thread included (Linux). */
function cpuOf(pid) {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [utime, stime] = fields.split(' ').slice(11, 13)
  return (Number(utime) + Number(stime)) * 10
}

async function decisions(people, count) {
  const times = []
  for (let n = 0; n < count; n += 1) times.push((await decide(people[n % people.length])).ms)
  return times
}

async function decide(person) {
  const { id } = await call('POST', '/api/v1/approvals/request', person.live, { action: `Bench ${turn}` })
  const path = `/api/v1/approvals/${id}/decision`
  const { options } = await call('POST', `${path}/options`, person.session, { decision: 'approved' })
  const passkey = person.assert(options)
  const began = performance.now()
  await call('POST', path, person.session, { decision: 'approved', passkey })
  return { id, ms: performance.now() - began, decidedAt: performance.now() }
}

/** How long after a decision its receipt can be had with its place in the log, and with a witness. */
async function measureDelays(people, vkey) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  await writeFile(join(folder, 'logs.txt'), `log ${vkey}\nquorum none\n`)
  const words = ['witness', '--policy', join(folder, 'logs.txt'), '--data', join(folder, 'w'), '--port', '0']
  const witness = startProcess(['bin/countersign.mjs', ...words, '--json'], {})
  const said = JSON.parse((await witness.says(/^\{.*\}$/m))[0])
  const service = await start({ LOG_WITNESSES: `${said.vkey} ${said.url}` })
  const seconds = { logged: [], witnessed: [] }
  const waits = []
  for (let n = 0; n < DECISIONS; n += 1) {
    const person = people[n % people.length]
    const { id, decidedAt } = await decide(person)
    for (const wish of ['logged', 'witnessed'])
      waits.push(
        call('GET', `/api/v1/approvals/${id}/receipt?log=${wish}&timeout=25`, person.live).then(() =>
          seconds[wish].push((performance.now() - decidedAt) / 1000),
        ),
      )
    await pause(200 + Math.random() * 2_000)
  }
  await Promise.all(waits)
  for (const [wish, times] of Object.entries(seconds)) {
    const sorted = times.toSorted((a, b) => a - b)
    const most = at(sorted, 1, 2)
    console.log(
      `${wish} after p50 ${at(sorted, 0.5, 2)} p95 ${at(sorted, 0.95, 2)} max ${most} s (${times.length} decisions); goal ${GOALS[wish]} s, ${most <= GOALS[wish] ? 'met' : 'MISSED'}`,
    )
  }
  await Promise.all([service.stop(), witness.stop()])
  await rm(folder, { recursive: true, force: true })
}

/** Store commands a second that are the log's, of a service that has nothing to do, without a witness and with one. */
async function countIdle() {
  const store = await startStore()
  const witness = 'example.com/foo+7c264079+BOkyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k http://127.0.0.1:9'
  for (const LOG_WITNESSES of ['', witness]) {
    const its = { ...drawSecrets(), DATA_DIR: store.dataDir, PORT: '0', BASE_URL: origin, LOG_WITNESSES }
    const uri = monitored(store.uri.replace('/?', `/idle${LOG_WITNESSES.length}?`))
    const service = await serve(readConfig({ ...env, ...its, MONGODB_URI: uri }), {
      log: { ...silent, error() {} },
    })
    await pause(5_000)
    const counted = { all: 0, log: 0 }
    const logs = ['log_head', 'log_tiles', 'log_witnesses']
    service.composition.connection.getClient().on('commandStarted', ({ commandName, command }) => {
      counted.all += 1
      if (logs.includes(command[commandName])) counted.log += 1
    })
    const before = process.cpuUsage()
    await pause(IDLE_S * 1_000)
    const { user, system } = process.cpuUsage(before)
    console.log(
      `idle, ${LOG_WITNESSES === '' ? 'no witness' : 'a witness that is away'}: ${(counted.all / IDLE_S).toFixed(1)} store commands a second, ${(counted.log / IDLE_S).toFixed(2)} of them for the log; ${((user + system) / 10_000 / IDLE_S).toFixed(2)} % of a core`,
    )
    await service.close()
  }
  await store.stop()
}

/** An address of its own each time: the limits are not what is measured here. */
async function call(method, path, token, body) {
  turn += 1
  const response = await fetch(`http://127.0.0.1:${PORT}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      'X-Forwarded-For': `10.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}`,
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
  return answer
}
