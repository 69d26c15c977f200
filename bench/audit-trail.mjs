// How fast audit entries get into the trail: one process, four with entries of their own, four that all bring the same ones.
// Run: npx tsc -p tsconfig.build.json && node bench/audit-trail.mjs [entries=20000]
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedStore } from 'embedded-mongo'
import { createAppender } from '../dist/src/flow/audit/append-to-trail.js'
import { checkTrail } from '../dist/src/flow/audit/check-trail.js'
import { createAuditTrail } from '../dist/src/store/audit/audit-trail.js'
import { createStateSurvey } from '../dist/src/store/audit/state-survey.js'
import { connectStore } from '../dist/src/store/mongo/connect.js'
import { makeIndexes } from '../dist/src/store/schema/indexes.js'

/** As many as the relay reads at a time. */
const BATCH = 100

async function connect(uri) {
  const connection = await connectStore(uri)
  const trail = createAuditTrail(connection)
  await makeIndexes(connection)
  return { connection, trail }
}

/** One appending process; `first` is the number of its first entry. */
async function append({ uri, first, count }) {
  const { connection, trail } = await connect(uri)
  process.send('ready')
  await new Promise((go) => process.once('message', go))
  const random = { bytes: (length) => Uint8Array.from(randomBytes(length)) }
  const times = []
  for (let start = first; start < first + count; start += BATCH) {
    const entries = Array.from({ length: Math.min(BATCH, first + count - start) }, (_, index) => ({
      eid: `evt_${String(start + index).padStart(26, '0')}`,
      type: 'approval.verified',
      at: new Date(),
      actor: { kind: 'public', address: '192.0.2.7' },
      account_id: `acc_${index % 10}`,
      subject: `req_${start + index}`,
      detail: { result: 'valid' },
    }))
    const began = performance.now()
    await createAppender({ trail, random })(entries)
    times.push(performance.now() - began)
  }
  await connection.close()
  process.send(times)
}

async function measure(name, plan) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cs-bench-'))
  const store = await startEmbeddedStore({ dataDir })
  const workers = plan.map((part) =>
    fork(fileURLToPath(import.meta.url), [JSON.stringify({ uri: store.uri, ...part })]),
  )
  const heard = (worker) => new Promise((done) => worker.once('message', done))
  await Promise.all(workers.map(heard))
  const began = performance.now()
  const results = workers.map(heard)
  for (const worker of workers) worker.send('go')
  const times = (await Promise.all(results)).flat().sort((a, b) => a - b)
  const seconds = (performance.now() - began) / 1000
  const { connection, trail } = await connect(store.uri)
  const checking = performance.now()
  const { records, found } = await checkTrail({ trail, survey: createStateSurvey(connection) })
  const checked = Math.round(records / ((performance.now() - checking) / 1000))
  if (found !== 0) throw new Error('the trail does not hold')
  await connection.close()
  await store.close()
  rmSync(dataDir, { recursive: true, force: true })
  const rate = records / seconds
  const at = (share) => times[Math.floor(times.length * share)].toFixed(0)
  console.log(
    `${name.padEnd(36)} ${String(Math.round(rate)).padStart(6)} entries/s   batch of ${BATCH}: p50 ${at(0.5)} ms  p99 ${at(0.99)} ms   check ${checked}/s`,
  )
  return rate
}

if (process.argv[2]?.startsWith('{')) await append(JSON.parse(process.argv[2]))
else {
  const count = Number(process.argv[2] ?? 20_000)
  const quarter = Math.floor(count / 4)
  const one = await measure('1 process', [{ first: 1, count }])
  const parts = [0, 1, 2, 3].map((n) => ({ first: 1 + n * quarter, count: quarter }))
  const own = await measure('4 processes, entries of their own', parts)
  const same = await measure('4 processes, the same entries', Array(4).fill({ first: 1, count }))
  console.log(`ratio to one process: ${(own / one).toFixed(2)} own, ${(same / one).toFixed(2)} the same`)
}
