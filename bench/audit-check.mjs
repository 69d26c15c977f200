// How long `countersign audit check` takes over many decided requests, from its start to its report, and with --since its own head.
// Run: npm run build && node bench/audit-check.mjs [requests=50000]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedStore } from 'embedded-mongo'
import { createAuditTrail } from '../dist/src/store/audit/audit-trail.js'
import { connectStore } from '../dist/src/store/mongo/connect.js'
import { createRequestStore } from '../dist/src/store/requests/requests.js'
import { makeIndexes } from '../dist/src/store/schema/indexes.js'
import { fillDecided } from './support/decided.mjs'

const count = Number(process.argv[2] ?? 50_000)
const GOAL_S = (8 * count) / 50_000
const cli = fileURLToPath(new URL('../bin/countersign.mjs', import.meta.url))
const dataDir = mkdtempSync(join(tmpdir(), 'cs-bench-'))
const store = await startEmbeddedStore({ dataDir })
const connection = await connectStore(store.uri)
createRequestStore(connection)
createAuditTrail(connection)
await makeIndexes(connection)
await fillDecided(connection, count)
await connection.close()
await store.close()

function check(...words) {
  const began = performance.now()
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir }
  const ran = spawnSync(process.execPath, [cli, 'audit', 'check', '--json', ...words], {
    env,
    encoding: 'utf8',
  })
  const seconds = (performance.now() - began) / 1000
  if (ran.status !== 0) throw new Error(ran.stdout + ran.stderr)
  return { seconds, ...JSON.parse(ran.stdout) }
}

const whole = check()
const later = check('--since', whole.head)
const verdict = whole.seconds <= GOAL_S ? 'met' : 'MISSED'
console.log(
  `${whole.records} records, ${whole.documents} documents: ${whole.seconds.toFixed(1)} s; goal ${GOAL_S} s, ${verdict}`,
)
console.log(`since the head of the last check: ${later.records} records, ${later.seconds.toFixed(1)} s`)
rmSync(dataDir, { recursive: true, force: true })
