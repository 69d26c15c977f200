// What `countersign gateway` adds to an allowed call, and what a thousand calls that wait hold: the same calls to a server directly and
// through the gateway, in turns; then calls that nobody decides, against a stand-in of the service, since a real one lets 250 requests
// wait before one approver. Bounded: a fixed number of calls. Usage: npm run build && node bench/gateway.mjs
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const PAIRS = 1000
const WARM_UP = 200
const WAITING = 1000
const GOAL = { ms: 3, bytes: 100e6 }
const COMMAND = fileURLToPath(new URL('../packages/client/bin/countersign.js', import.meta.url))

/** The smallest server: what is measured is the way to it. */
const SERVER = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const tools = ['read', 'pay'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1' } },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] },
  }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }) + '\\n')
})`

const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const config = join(folder, 'gate.yaml')
writeFileSync(config, 'server: bench\nhold_seconds: 3600\nrules: [{ tool: read, effect: allow }]\n')
const service = await startService()
try {
  const gateway = (...options) => [
    COMMAND,
    'gateway',
    '--config',
    config,
    ...options,
    '--',
    process.execPath,
    '-e',
    SERVER,
  ]
  await once(start(gateway('--pin')).child, 'exit')
  const direct = await connect(['-e', SERVER])
  const through = await connect(gateway())
  await compare(direct, through)
  direct.child.kill()
  await wait(through)
  through.child.kill()
} finally {
  service.close()
  rmSync(folder, { recursive: true, force: true })
}

async function compare(direct, through) {
  const [plain, gated] = [[], []]
  for (let pair = -WARM_UP; pair < PAIRS; pair += 1) {
    const times = [await timed(direct), await timed(through)]
    if (pair < 0) continue
    plain.push(times[0])
    gated.push(times[1])
  }
  const added = gated.map((ms, index) => ms - plain[index])
  const at = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(share * values.length)].toFixed(2)
  console.log(
    `an allowed call: direct ${at(plain, 0.5)} ms, through the gateway ${at(gated, 0.5)} ms (medians of ${PAIRS} in turns);` +
      ` it adds ${at(added, 0.5)} ms (median), ${at(added, 0.9)} ms (9 of 10)`,
  )
  if (Number(at(added, 0.5)) > GOAL.ms) process.exitCode = 1
}

async function wait(through) {
  const before = rssOf(through.child.pid)
  const answers = Array.from({ length: WAITING }, (_, n) =>
    through.call('pay', { to: 'ACME', amount: String(n), memo: 'x'.repeat(200) }),
  )
  await service.all
  const held = rssOf(through.child.pid)
  console.log(
    `${WAITING} calls that wait: ${(held / 1e6).toFixed(1)} MB RSS, ${((held - before) / 1e6).toFixed(1)} MB more than with none`,
  )
  service.approveAll()
  const texts = (await Promise.all(answers)).map(({ result }) => result.content[0].text)
  const done = new Set(texts.map((text) => JSON.parse(text).amount)).size
  console.log(`after their approval ${done} of ${WAITING} ran, each once`)
  if (held > GOAL.bytes || done !== WAITING) process.exitCode = 1
}

async function timed({ call }) {
  const started = performance.now()
  await call('read', { path: '/srv/a', lines: [1, 2, 3] })
  return performance.now() - started
}

function start(argv) {
  const env = { ...process.env, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: 'sa_live_bench' }
  const child = spawn(process.execPath, argv, { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return
    const message = JSON.parse(line)
    waiting.get(message.id)?.(message)
  })
  let last = 0
  const ask = (method, params) => {
    last += 1
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`)
    return new Promise((resolve) => waiting.set(last, resolve))
  }
  return { child, ask, call: (name, args) => ask('tools/call', { name, arguments: args }) }
}

async function connect(argv) {
  const host = start(argv)
  await host.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'b', version: '1' },
  })
  host.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  await host.call('read', {})
  return host
}

/** Resident memory of a process, in bytes (Linux). */
function rssOf(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024
}

/** What the gateway needs of the service: create, one stream for all, read, consume. */
async function startService() {
  const requests = new Map()
  let stream
  let isApproved = false
  let tellAll
  const all = new Promise((resolve) => {
    tellAll = resolve
  })
  const present = ({ id, action, context }) => ({
    id,
    action,
    context,
    status: isApproved ? 'approved' : 'pending',
    decision: {},
  })
  const status = (request) => `event: status\ndata: ${JSON.stringify(present(request))}\n\n`
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    if (request.url.endsWith('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const request of [...requests.values()].slice(-500)) response.write(status(request))
      response.write('event: listed\ndata: {}\n\n')
      stream = response
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    const [, id, verb] = /\/(req_\w+)(?:\/(\w+))?$/.exec(request.url) ?? []
    if (id === undefined) {
      const made = { id: `req_${requests.size}x`, ...JSON.parse(body) }
      requests.set(made.id, made)
      if (requests.size === WAITING) setTimeout(tellAll, 5000)
      return response.end(
        JSON.stringify({ ...present(made), review_url: `https://example.com/a/${made.id}` }),
      )
    }
    if (verb === 'consume')
      return response.end(JSON.stringify({ request_id: id, decision_id: 'dec_1', consumed_at: 'now' }))
    response.end(JSON.stringify(present(requests.get(id))))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    all,
    approveAll() {
      isApproved = true
      for (const request of requests.values()) stream.write(status(request))
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
