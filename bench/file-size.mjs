// Bytes of the embedded store's file for each request that a person approved by passkey, and how they are used.
// Run: npm run build && node bench/file-size.mjs [requests=5000] [existing folder to keep the store in]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'libsql'
import { readConfig } from '../dist/src/config/config.js'
import { serve } from '../dist/src/serve.js'
import { newPerson } from './support/person.mjs'
import { drawSecrets, silent } from './support/set-up.mjs'

const count = Number(process.argv[2] ?? 5_000)
const GOAL_KB = 7
/** Each key may create 60 requests a minute, and each person decide as many: the limits set the pace. */
const ACCOUNTS = 20
const CLIENTS = 16
const origin = 'http://localhost:3974'
const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'cs-bench-'))
const env = { ...drawSecrets(), DATA_DIR: folder, BASE_URL: origin, PORT: '0', TRUST_PROXY: '1' }
const service = await serve(readConfig(env), { log: silent })
const people = []
for (let n = 0; n < ACCOUNTS; n += 1) people.push(await newPerson(service.composition, n, origin))

let sent = 0
async function call(path, token, body) {
  sent += 1
  const response = await fetch(`http://127.0.0.1:${service.port}/api/v1/approvals/${path}`, {
    method: 'POST',
    // An address of its own each time: the limits are not what is measured here.
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'X-Forwarded-For': `10.${sent >> 16}.${(sent >> 8) & 255}.${sent & 255}`,
    },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (response.status === 429) {
    await pause(answer.retry_after * 1000)
    return call(path, token, body)
  }
  if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(answer)}`)
  return answer
}

/** About as large as a usual one: 300 characters of context. */
async function live(n) {
  const person = people[n % ACCOUNTS]
  const context = { invoice: n, reason: 'x'.repeat(250), tool: 'pay' }
  const { id } = await call('request', person.live, { action: `Pay invoice ${n} of Example Corp`, context })
  const asked = { decision: 'approved' }
  const { options } = await call(`${id}/decision/options`, person.session, asked)
  await call(`${id}/decision`, person.session, { ...asked, passkey: person.assert(options) })
}

let next = 0
const began = performance.now()
const client = async () => {
  while (next < count) await live(next++)
}
await Promise.all(Array.from({ length: CLIENTS }, client))
const seconds = (performance.now() - began) / 1000
await service.close()

const path = join(folder, 'store.db')
const db = new Database(path, { readonly: true })
const used = db
  .prepare(
    "SELECT name, sum(payload), sum(unused), sum(pgsize) FROM dbstat WHERE name IN ('documents', 'entries') GROUP BY name",
  )
  .raw()
  .all()
const [[pages]] = db.prepare('PRAGMA page_count').raw().all()
const [[page]] = db.prepare('PRAGMA page_size').raw().all()
db.close()
const each = (bytes) => (bytes / count / 1000).toFixed(2)
const verdict = Number(each(pages * page)) <= GOAL_KB ? 'met' : 'MISSED'
console.log(`${count} created and decided, ${Math.round(count / seconds)} a second`)
console.log(`${each(pages * page)} kB a request; goal ${GOAL_KB} kB, ${verdict}`)
for (const [name, payload, unused, all] of used)
  console.log(
    `  ${name}: ${each(all)} kB, ${each(payload)} of it content, ${Math.round((100 * unused) / all)} % unused`,
  )
if (process.argv[3] === undefined) rmSync(folder, { recursive: true, force: true })
