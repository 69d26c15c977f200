// How long the log takes over an audit trail from before there was one, beside a service that goes on: the longest that anything else in
// the process waits meanwhile, and the bytes of its tiles.
// Run: npm run build && node bench/log.mjs [records=100000]
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { startEmbeddedStore } from 'embedded-mongo'
import { createAppender } from '../dist/src/flow/audit/append-to-trail.js'
import { createSequencer, ensureLog } from '../dist/src/flow/audit/log.js'
import { KeyRing, newSigningKey } from '../dist/src/signing/keys.js'
import { createAuditTrail } from '../dist/src/store/audit/audit-trail.js'
import { createLogStore } from '../dist/src/store/audit/log.js'
import { connectStore } from '../dist/src/store/mongo/connect.js'
import { makeIndexes } from '../dist/src/store/schema/indexes.js'

const count = Number(process.argv[2] ?? 100_000)
const GOAL_S = (60 * count) / 100_000
const dataDir = mkdtempSync(join(tmpdir(), 'cs-bench-'))
const store = await startEmbeddedStore({ dataDir })
const connection = await connectStore(store.uri)
const now = new Date()
const key = newSigningKey({ purpose: 'log', seed: randomBytes(32), createdAt: now, notBefore: now })
const ring = new KeyRing([key])
const quiet = () => undefined
const deps = {
  trail: createAuditTrail(connection),
  logs: createLogStore(connection),
  keys: { ring: () => ring },
  restores: { times: () => [] },
  random: { bytes: (length) => randomBytes(length) },
  clock: { now: () => new Date(), steady: () => performance.now() },
  log: { debug: quiet, info: quiet, warn: console.warn, error: console.error },
  settings: { baseUrl: 'http://localhost:3000' },
}
await makeIndexes(connection)
await ensureLog(deps)
const append = createAppender(deps)
const SLICE = 5_000
for (let done = 0; done < count; done += SLICE)
  await append(
    Array.from({ length: Math.min(SLICE, count - done) }, (_, at) => ({
      eid: `evt_${createHash('sha256')
        .update(`${done + at}`)
        .digest('hex')
        .slice(0, 26)}`,
      type: 'approval.created',
      at: now,
      actor: { kind: 'service' },
      account_id: 'acc_1',
      subject: `req_${done + at}`,
    })),
  )

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const began = performance.now()
await createSequencer(deps).run()
const seconds = (performance.now() - began) / 1000
delay.disable()
const { size } = await deps.logs.current()
const tiles = await connection.collection('log_tiles').find({}).toArray()
const bytes = tiles.reduce((sum, { h }) => sum + h.position, 0)
const verdict = seconds <= GOAL_S && size === count ? 'met' : 'MISSED'
console.log(`${size} records: ${seconds.toFixed(1)} s; goal ${GOAL_S} s, ${verdict}`)
console.log(
  `the process stood still for ${(delay.max / 1e6).toFixed(0)} ms at most, ${(delay.percentile(99) / 1e6).toFixed(0)} ms in 99 of 100`,
)
console.log(
  `${tiles.length} tiles, ${(bytes / 1e6).toFixed(1)} MB: ${((bytes / size) * 0.3).toFixed(1)} MB for 300,000`,
)
await connection.close()
await store.close()
rmSync(dataDir, { recursive: true, force: true })
