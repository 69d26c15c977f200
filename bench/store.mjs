// How fast the embedded store is, through its socket and the official driver.
// Run: npx tsc -p tsconfig.build.json && node bench/store.mjs [documents=30000]
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedStore } from 'embedded-mongo'
import { MongoClient } from 'mongodb'

const documents = Number(process.argv[2] ?? 30_000)
const dataDir = mkdtempSync(join(tmpdir(), 'cs-bench-'))
let store = await startEmbeddedStore({ dataDir })
const client = new MongoClient(store.uri, { maxPoolSize: 64 })
const items = client.db('bench').collection('items')

/** A document of about the size of a stored request. */
function request(id) {
  return {
    _id: id,
    state: id % 50 === 0 ? 'pending' : 'decided',
    createdAt: new Date(id * 1000),
    owner: `owner-${id % 500}`,
    lease: null,
    action: { kind: 'payment', amount: '125.00', currency: 'EUR', text: 'x'.repeat(400) },
    events: [{ at: new Date(), by: 'api', kind: 'created' }],
  }
}

async function measure(name, operations, clients, run) {
  const times = []
  let next = 0
  const worker = async () => {
    while (next < operations) {
      const n = next
      next += 1
      const started = performance.now()
      await run(n)
      times.push(performance.now() - started)
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: clients }, worker))
  const seconds = (performance.now() - started) / 1000
  times.sort((a, b) => a - b)
  const at = (share) => times[Math.floor(times.length * share)].toFixed(2)
  console.log(
    `${name.padEnd(44)} ${String(Math.round(operations / seconds)).padStart(7)} ops/s   p50 ${at(0.5)} ms   p99 ${at(0.99)} ms`,
  )
}

await items.createIndexes([
  { key: { state: 1, createdAt: 1 } },
  { key: { owner: 1, createdAt: -1 } },
  { key: { lease: 1 }, sparse: true },
])
await client.db('bench').command({ ping: 1 })
await measure('insert, 1 client', 3000, 1, (n) => items.insertOne(request(1_000_000 + n)))
await measure('insert, 64 clients', 10_000, 64, (n) => items.insertOne(request(2_000_000 + n)))
await items.deleteMany({})
const loading = performance.now()
for (let id = 0; id < documents; id += 1000) {
  await items.insertMany(Array.from({ length: Math.min(1000, documents - id) }, (_, i) => request(id + i)))
}
console.log(
  `bulk load of ${documents} documents: ${Math.round(documents / ((performance.now() - loading) / 1000))} documents/s`,
)
const random = () => Math.floor(Math.random() * documents)
await measure('point read by _id, 1 client', 5000, 1, () => items.findOne({ _id: random() }))
await measure('point read by _id, 64 clients', 20_000, 64, () => items.findOne({ _id: random() }))
await measure('20 newest of one owner (index order)', 3000, 8, () =>
  items
    .find({ owner: `owner-${random() % 500}` })
    .sort({ createdAt: -1 })
    .limit(20)
    .toArray(),
)
await measure('findAndModify by _id, 1 client', 3000, 1, (n) =>
  items.findOneAndUpdate({ _id: n % documents }, { $set: { touched: n } }),
)
await measure('findAndModify by _id, 64 clients', 10_000, 64, (n) =>
  items.findOneAndUpdate({ _id: n % documents }, { $set: { touched: n } }),
)
await measure('lease claim (state, oldest first), 8 clients', documents / 50, 8, (n) =>
  items.findOneAndUpdate(
    { state: 'pending', lease: null },
    { $set: { state: 'leased', lease: `worker-${n}` } },
    { sort: { createdAt: 1 } },
  ),
)
await measure(`scan of ${documents} documents without an index`, 10, 1, () =>
  items.countDocuments({ 'action.kind': 'none' }),
)
await client.close()
await store.close()
const reopening = performance.now()
store = await startEmbeddedStore({ dataDir })
console.log(
  `restart with ${documents} documents: ${Math.round(performance.now() - reopening)} ms, file ${(statSync(join(dataDir, 'store.db')).size / 1e6).toFixed(1)} MB`,
)
await store.close()
rmSync(dataDir, { recursive: true, force: true })
