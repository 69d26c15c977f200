// What the owner's overview costs over 100,000 requests of one account in 90 days: the first look of a process, and later ones.
// Run: npm run build && node bench/overview.mjs [requests=100000]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedStore } from 'embedded-mongo'
import { createOverviews } from '../dist/src/flow/requests/overview.js'
import { connectStore } from '../dist/src/store/mongo/connect.js'
import { createRequestFigures } from '../dist/src/store/requests/request-figures.js'
import { createRequestStore } from '../dist/src/store/requests/requests.js'
import { makeIndexes } from '../dist/src/store/schema/indexes.js'

const REQUESTS = Number(process.argv[2] ?? 100_000)
const LOOKS = 50
const GOAL_MS = 100
const DAYS_MS = 89 * 86_400_000
const BATCH = 1000

const dataDir = mkdtempSync(join(tmpdir(), 'overview-'))
const store = await startEmbeddedStore({ dataDir })
const connection = await connectStore(store.uri)
try {
  const clock = { now: () => new Date() }
  createRequestStore(connection, () => {}, clock)
  await makeIndexes(connection)
  const start = Date.now() - DAYS_MS
  const made = connection.collection('requests')
  const request = (n) => {
    const at = new Date(start + (n / REQUESTS) * DAYS_MS)
    const decided = n % 20 !== 0
    const pending = n > REQUESTS - 50
    const vote = {
      user_id: `usr_${n % 7}`,
      approver: `a${n % 7}`,
      decision: 'approved',
      at: new Date(at.getTime() + 60_000),
    }
    return {
      ...{
        _id: `req_${String(n).padStart(12, '0')}`,
        account_id: 'acc_1',
        api_key_id: `key_${n % 11}`,
        sandbox: false,
      },
      ...{
        status: pending ? 'pending' : decided ? 'approved' : 'expired',
        created_at: at,
        action: 'x'.repeat(100),
      },
      ...{
        context_json: JSON.stringify({ text: 'y'.repeat(1500) }),
        expires_at: new Date(at.getTime() + 3_600_000),
      },
      votes: pending || !decided ? [] : [vote],
      seen: [{ approver: vote.approver, at: new Date(at.getTime() + 50_000) }],
      ...(pending || !decided ? {} : { decision: { decided_at: vote.at, receipt: 'z'.repeat(400) } }),
    }
  }
  for (let n = 0; n < REQUESTS; n += BATCH)
    await made.insertMany(
      Array.from({ length: Math.min(BATCH, REQUESTS - n) }, (_, index) => request(n + index)),
    )

  const figures = createRequestFigures(connection)
  const timed = async (work) => {
    const from = performance.now()
    await work()
    return performance.now() - from
  }
  const one = createOverviews({ figures, clock })
  const first = await timed(() => one.byDay('acc_1'))
  const later = []
  for (let look = 0; look < LOOKS; look += 1) {
    await made.insertMany([request(REQUESTS + look)])
    later.push(await timed(() => one.byDay('acc_1')))
  }
  later.sort((a, b) => a - b)
  const [p50, p99] = [later[Math.floor(LOOKS / 2)], later.at(-1)]
  console.log(`first look of a process: ${first.toFixed(0)} ms for ${REQUESTS} requests`)
  console.log(`later looks: ${p50.toFixed(1)} ms (p50), ${p99.toFixed(1)} ms (longest of ${LOOKS})`)
  console.log(`${p99 <= GOAL_MS ? 'ok  ' : 'MISS'} later looks within ${GOAL_MS} ms`)
} finally {
  await connection.close()
  await store.close()
  rmSync(dataDir, { recursive: true, force: true })
}
