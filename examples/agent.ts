import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

const service = (process.env.COUNTERSIGN_URL ?? 'http://localhost:3000').replace(/\/+$/, '')
const key = process.env.COUNTERSIGN_KEY
const invoice = process.env.INVOICE ?? 'INV-1042'
// One text for both calls: `consume` compares what will run with what the approver read. Amounts are text: numbers are rounded.
const payment = JSON.stringify({
  action: `Pay invoice ${invoice}`,
  context: {
    agent_name: 'payer',
    tool: 'pay',
    tool_arguments: { invoice, amount: '1834.15', currency: 'EUR' },
  },
})

function stop(why = '') {
  console.error(`${invoice} is not paid by this run: ${why}`)
  process.exit(1)
}

/** Repeats the call until it is answered: under one Idempotency-Key the service does nothing twice, until a day after the expiry. */
async function call(path = '', body = '', idempotencyKey = '') {
  const headers = { Authorization: `Bearer ${key}` }
  const post = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey }
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 60)) {
    const response = await fetch(`${service}/api/v1/approvals/${path}`, {
      ...(body ? { method: 'POST', headers: { ...headers, ...post }, body } : { headers }),
      signal: AbortSignal.timeout(40_000),
    }).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    const later = Number(response?.headers.get('retry-after') ?? Number.NaN)
    if (response && text !== undefined && response.status < 500 && !(later <= 60)) {
      if (!response.ok) stop(text || `${response.status}`)
      return JSON.parse(text)
    }
    // The service is away or busy, or its answer was lost: send the same again, later.
    const wait = Math.min(later || seconds, 60)
    console.error(
      `${invoice} waits ${wait} s: ${text === undefined ? 'no answer' : `${response?.status} ${text}`}`,
    )
    await pause(1000 * wait)
  }
}

if (!key) stop('COUNTERSIGN_KEY is not set: it takes an API key of the service.')
// The idempotency key is made from the invoice: an agent that starts again finds its earlier request and does not ask twice.
const { id, review_url, sandbox } = await call('request', payment, `ask-${encodeURIComponent(invoice)}`)
let request = await call(id)
if (!sandbox && request.status === 'pending') console.error(`${invoice} waits for a person: ${review_url}`)
while (request.status === 'pending') request = await call(`${request.id}/wait?timeout=25`)
if (request.status !== 'approved') stop(request.status)

// This key is new in each run: a lost answer can be asked for again, but an agent that crashed and restarts cannot pay twice.
const used = await call(`${request.id}/consume`, payment, randomUUID())
if (used.sandbox) stop('a sandbox key asked, and no person')
console.log(`pay ${invoice}`) // act here
