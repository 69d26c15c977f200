// What a guard of packages/client adds to the calls it makes: the same two calls by bare fetch and by a guard, in turns, against
// one server that answers at once. Bounded: a fixed number of pairs. Usage: npm run build && node bench/client.mjs
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { countersign } from '@countersign/client'

const PAIRS = 400
const WARM_UP = 100
const GOAL_MS = 5

let asked = {}
let calls = 0
const server = createServer(async (request, response) => {
  const body = await buffer(request)
  calls += 1
  response.writeHead(200, { 'content-type': 'application/json' })
  if (request.url.endsWith('/consume'))
    return response.end(JSON.stringify({ request_id: asked.id, decision_id: 'dec_1', consumed_at: 'now' }))
  asked = { id: `req_${randomUUID().replaceAll('-', '')}`, ...JSON.parse(body) }
  const approval = { ...asked, status: 'approved', decision: {} }
  response.end(JSON.stringify({ id: asked.id, status: 'pending', approval }))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${server.address().port}`
const order = { customer: 'ACME', lines: Array.from({ length: 40 }, (_, n) => ({ n, text: `line ${n}` })) }

const pay = countersign({ url, key: 'sa_live_bench' }).guard((_order) => {}, {
  action: () => 'Pay',
  for: () => ['run', randomUUID()],
})

async function bare() {
  const content = { action: 'Pay', context: { arguments: [order] } }
  const post = (path, body) =>
    fetch(`${url}/api/v1/approvals/${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then((response) => response.json())
  const { id } = await post('request?wait=25', content)
  await post(`${id}/consume`, content)
}

async function timed(run) {
  const started = performance.now()
  await run()
  return performance.now() - started
}

const added = []
let guarded = 0
for (let pair = -WARM_UP; pair < PAIRS; pair += 1) {
  const plain = await timed(bare)
  const before = calls
  const whole = await timed(() => pay(order))
  guarded = calls - before
  if (pair >= 0) added.push(whole - plain)
}
server.close()
server.closeAllConnections()
added.sort((a, b) => a - b)
const at = (share) => added[Math.floor(share * added.length)].toFixed(2)
console.log(
  `a guard makes ${guarded} calls; beside the same by bare fetch it adds ${at(0.5)} ms (median), ${at(0.9)} ms (9 of 10)`,
)
process.exitCode = Number(at(0.5)) <= GOAL_MS ? 0 : 1
