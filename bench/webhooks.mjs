// Callbacks a second, and how soon after a decision they arrive, with services and their store in processes of their own.
// Bounded: a fixed number of decisions each. Usage: npm run build && node bench/webhooks.mjs [sends] [latency] [retries]
// Nothing named: all three. --long: also the retry after 30 s. --commands: which store commands, how many for each callback.
// --quick: of the sends those of one service to receivers that answer at once, 64 at a time.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { createRequest } from '../dist/src/flow/requests/create-request.js'
import { readOwnRequest } from '../dist/src/flow/requests/read-request.js'
import { drawSecrets, monitored, silent, startStore } from './support/set-up.mjs'
import { postPlainly, startService } from './support/webhook-processes.mjs'
import { startReceivers } from './support/webhook-receivers.mjs'

const SENDS = 800
/** Before a rate is measured: what a service has run often enough is compiled. */
const WARM_ROUNDS = 3
/** One account's callbacks never take all places. */
const ACCOUNTS = 4
const DECISIONS = 300
const RETRIED = 16
const HOSTS = 16
const PER_HOST = 4
const quick = process.argv.includes('--quick')

// However this ends, nothing goes on running.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const store = await startStore()
const env = {
  ...drawSecrets(),
  DATA_DIR: store.dataDir,
  BASE_URL: 'http://localhost:3970',
  PORT: '0',
  MONGODB_URI: monitored(store.uri),
  CALLBACK_ALLOW_PRIVATE: '1',
  TRUST_PROXY: '1',
}
const receivers = await startReceivers(HOSTS)
/** Writes requests and decisions without carrying them on: that is left to the services. */
const author = await compose(readConfig({ ...env, PORT: '3970' }), { log: silent, shareStore: true })
try {
  await run()
} finally {
  await author.close()
  await receivers.close()
  await store.stop()
}

async function run() {
  console.log(`load before: ${load()}`)
  const named = ['sends', 'latency', 'retries'].filter((part) => process.argv.includes(part))
  const wanted = (part) => named.length === 0 || named.includes(part)
  if (wanted('sends')) await compareSends()
  if (wanted('latency')) await measureLatency()
  if (wanted('retries')) await measureRetries()
  console.log(`load after: ${load()}`)
}

/** Both rates are of the same run: a busy machine slows both. */
async function compareSends() {
  const { rows, sample } = await measureSends()
  const plain = await measurePlain(sample)
  const rateOf = (row) =>
    plain.find((one) => one.hosts === row.hosts && one['answers after ms'] === row['answers after ms'])[
      'posts/s'
    ]
  console.table(
    rows.map(({ hosts, ...row }) => ({
      ...row,
      'of plain posts': Number((row['sends/s'] / rateOf({ hosts, ...row })).toFixed(3)),
    })),
  )
  console.table(plain)
}

/** A backlog of decisions, taken up by one or two services at the same moment. */
async function measureSends() {
  const rows = []
  let sample
  for (const delay of quick ? [0] : [0, 50]) {
    for (const hosts of quick ? [HOSTS] : [4, HOSTS]) {
      for (const services of quick ? [1] : [1, 2]) {
        receivers.reset({ delay })
        const running = []
        for (let index = 0; index < services; index += 1) running.push(await startService(env))
        for (let round = 0; round < WARM_ROUNDS; round += 1) {
          await decideMany(SENDS, (turn) => receivers.url(turn % hosts, '/warm'))
          await Promise.all(running.map((service) => service.work()))
          await receivers.until(() => new Set(receivers.arrivals.map(idOf)).size === SENDS)
          await settled()
          await Promise.all(running.map((service) => service.rest()))
          receivers.reset({ delay })
        }
        await decideMany(SENDS, (turn) => receivers.url(turn % hosts, '/send'))
        const storeBefore = storeCpu()
        const started = performance.now()
        await Promise.all(running.map((service) => service.work()))
        await receivers.until(() => new Set(receivers.arrivals.map(idOf)).size === SENDS)
        const { arrivals, peak } = receivers
        await settled()
        const seconds = (performance.now() - started) / 1000
        rows.push({
          hosts,
          'answers after ms': delay,
          'allowed at once': `${hosts * PER_HOST} x ${services}`,
          ...(delay === 0 ? {} : { 'at once': peak }),
          'sends/s': perSecond(arrivals),
          'settled/s': Math.round(SENDS / seconds),
          ...perSend(await spentBy(running), SENDS),
          'store CPU ms': Number(((storeCpu() - storeBefore) / SENDS).toFixed(2)),
          load: load(),
        })
        if (arrivals.length !== SENDS) console.log(`${arrivals.length - SENDS} callbacks arrived twice`)
        sample = arrivals[0]
        for (const service of running) await service.stop()
      }
    }
  }
  return { rows, sample }
}

/** What this machine can do: the same bytes to the same receivers by a loop that does nothing else. */
async function measurePlain({ headers, body }) {
  const rows = []
  const kept = { ...headers }
  for (const name of ['host', 'connection']) delete kept[name]
  for (const delay of quick ? [0] : [0, 50]) {
    for (const hosts of quick ? [HOSTS] : [4, HOSTS]) {
      for (const keepAlive of [false, true]) {
        receivers.reset({ delay })
        const urls = Array.from({ length: hosts }, (_, turn) => receivers.url(turn, '/plain'))
        await postPlainly({ urls, count: SENDS, headers: kept, body, keepAlive })
        rows.push({
          hosts,
          plainly: keepAlive ? 'fetch, connections kept' : 'one connection each',
          'answers after ms': delay,
          ...(delay === 0 ? {} : { 'at once': receivers.peak }),
          'posts/s': perSecond(receivers.arrivals),
          load: load(),
        })
      }
    }
  }
  return rows
}

/** From `decided_at` to the receiver, decided over HTTP by one service while nothing else, or 15 more, go on. */
async function measureLatency() {
  const rows = []
  for (const services of [1, 2]) {
    const running = []
    for (let index = 0; index < services; index += 1) running.push(await startService(env))
    for (const service of running) await service.work()
    for (const deciders of [1, 16]) {
      receivers.reset()
      const waiting = new Map()
      const took = []
      const pending = await askMany(DECISIONS, (turn) => receivers.url(turn % HOSTS, '/latency'))
      const decider = async () => {
        for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
          const arrived = new Promise((resolve) => waiting.set(next.id, resolve))
          const { port } = running[took.length % services]
          const asked = Date.now()
          const answer = await fetch(`http://127.0.0.1:${port}/api/v1/approvals/${next.id}`, {
            headers: { Authorization: `Bearer ${next.token}` },
          })
          if (answer.status !== 200) throw new Error(await answer.text())
          const { at, decidedAt } = await arrived
          took.push({ sinceDecision: at - decidedAt, sinceRead: at - asked })
        }
      }
      const told = new Set()
      const relay = receivers.until(() => {
        for (const arrival of receivers.arrivals.slice(told.size)) {
          const { request_id, decided_at } = JSON.parse(arrival.body)
          told.add(arrival)
          waiting.get(request_id)?.({ at: arrival.at, decidedAt: Date.parse(decided_at) })
        }
        return told.size === DECISIONS
      })
      const before = await spentBy(running)
      await Promise.all(Array.from({ length: deciders }, decider))
      await relay
      await settled()
      const spent = less(await spentBy(running), before)
      rows.push({
        services,
        deciders,
        ...quantiles(
          'decision to receiver',
          took.map(({ sinceDecision }) => sinceDecision),
        ),
        ...quantiles(
          'request to receiver',
          took.map(({ sinceRead }) => sinceRead),
        ),
        ...perSend(spent, DECISIONS),
        load: load(),
      })
    }
    for (const service of running) await service.stop()
  }
  console.table(rows)
}

/** Receivers that fail until the last attempt looked at; the times are those of arrival. */
async function measureRetries() {
  const waits = process.argv.includes('--long') ? [1_000, 5_000, 30_000] : [1_000, 5_000]
  const attempts = new Map()
  const attemptsOf = (id) => attempts.get(id) ?? attempts.set(id, []).get(id)
  const choose = (arrival) => {
    attemptsOf(idOf(arrival)).push(arrival.at)
    return attemptsOf(idOf(arrival)).length > waits.length ? 200 : 500
  }
  receivers.reset({ choose })
  const service = await startService(env)
  await decideMany(RETRIED, (turn) => receivers.url(turn % HOSTS, '/retry'))
  await service.work()
  await receivers.until(() => receivers.arrivals.length === RETRIED * (waits.length + 1))
  await settled()
  await service.stop()
  console.table(
    waits.map((scheduled, index) => {
      const late = [...attempts.values()].map((times) => times[index + 1] - times[index] - scheduled)
      late.sort((a, b) => a - b)
      return {
        'after failure': index + 1,
        'scheduled ms': scheduled,
        callbacks: late.length,
        'earliest ms': scheduled + late[0],
        'median ms': scheduled + late[Math.floor(late.length / 2)],
        'latest ms': scheduled + late.at(-1),
        load: load(),
      }
    }),
  )
}

/** Pending sandbox requests of accounts of their own, due at once. A key may read 120 times a minute. */
async function askMany(count, urlOf, accounts = 1) {
  const { deps } = author
  const owners = []
  for (let index = 0; index < accounts; index += 1) {
    const email = `bench-${randomBytes(6).toString('hex')}@example.com`
    owners.push((await inviteUser(deps, { email }, { kind: 'cli' })).user)
  }
  const keys = []
  for (let index = 0; index < Math.ceil(count / 100); index += 1) {
    const accountId = owners[index % accounts].account_id
    const input = { accountId, name: `bench ${index}`, sandbox: true }
    keys.push(await createApiKey(deps, input, { kind: 'cli' }))
  }
  return inParallel(count, async (turn) => {
    const { key, raw_key: token } = keys[turn % keys.length]
    const caller = { key, scopes: key.scopes, address: '127.0.0.1' }
    const body = { action: `Bench ${turn}`, context: { tool: 'bench' }, requires_individual_decision: false }
    const sandbox = { sandbox_auto_decide_seconds: 0, callback_url: urlOf(turn) }
    const { id } = (await createRequest(deps, caller, { ...body, ...sandbox })).request
    return { id, caller, token }
  })
}

async function decideMany(count, urlOf) {
  const asked = await askMany(count, urlOf, ACCOUNTS)
  await inParallel(count, (turn) => readOwnRequest(author.deps, asked[turn].caller, asked[turn].id))
}

async function inParallel(count, work) {
  const results = []
  let next = 0
  const worker = async () => {
    while (next < count) {
      const turn = next++
      results[turn] = await work(turn)
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  return results
}

/** Resolves when every delivery has its outcome and every outbox entry is carried on. Gives up after a minute. */
async function settled() {
  const deliveries = author.connection.collection('deliveries')
  for (let tries = 0; tries < 1_200; tries += 1) {
    const open = await deliveries.countDocuments({ state: { $in: ['due', 'leased'] } })
    const entries = open === 0 ? await deliveries.countDocuments({ outbox_token: { $gt: '' } }) : 1
    if (open + entries === 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the deliveries were not settled within a minute')
}

/** Store commands by name, and milliseconds of processor time, of all services together. */
async function spentBy(running) {
  const total = { commands: {}, cpu: 0 }
  for (const service of running) {
    const { commands, cpu } = await service.spent()
    total.cpu += cpu
    for (const [name, count] of Object.entries(commands))
      total.commands[name] = (total.commands[name] ?? 0) + count
  }
  return total
}

function less(after, before) {
  const commands = Object.entries(after.commands).map(([name, n]) => [name, n - (before.commands[name] ?? 0)])
  return { commands: Object.fromEntries(commands), cpu: after.cpu - before.cpu }
}

function perSend({ commands, cpu }, sends) {
  const byName = Object.entries(commands).sort(([, a], [, b]) => b - a)
  const each = (count) => Number((count / sends).toFixed(2))
  if (process.argv.includes('--commands'))
    console.table(byName.slice(0, 20).map(([command, count]) => ({ command, 'per send': each(count) })))
  return {
    'store commands': each(byName.reduce((sum, [, count]) => sum + count, 0)),
    'service CPU ms': each(cpu),
  }
}

/** Milliseconds of processor time of the store's process, from Linux's /proc; NaN elsewhere. */
function storeCpu() {
  if (!existsSync(`/proc/${store.pid}/stat`)) return Number.NaN
  const [user, system] = readFileSync(`/proc/${store.pid}/stat`, 'utf8')
    .split(') ')[1]
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) * 10
}

function perSecond(arrivals) {
  const times = arrivals.map(({ at }) => at)
  return Math.round(((arrivals.length - 1) * 1000) / (Math.max(...times) - Math.min(...times)))
}

function quantiles(name, values) {
  values.sort((a, b) => a - b)
  const at = (share) => values[Math.floor(values.length * share)]
  return { [`${name}, p50 ms`]: at(0.5), [`${name}, p99 ms`]: at(0.99) }
}

function idOf({ headers }) {
  return headers['webhook-id']
}

function load() {
  return Number(loadavg()[0].toFixed(1))
}
