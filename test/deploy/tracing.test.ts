import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { expectStatus } from '../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../support/http-client.ts'
import { bodyOf, closeServer, listenLocally, sendJson } from '../support/local-server.ts'
import { untilHolds } from '../support/patience.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { freePort } from '../support/service.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { createSoftAuthenticator } from '../support/soft-authenticator.ts'

const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          scope: z.object({ name: z.string() }),
          spans: z.array(
            z.object({
              name: z.string(),
              kind: z.number(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              links: z.array(z.object({ spanId: z.string() })).default([]),
              status: z.object({ code: z.number() }),
              attributes: z.array(
                z.object({ key: z.string(), value: z.record(z.string(), z.union([z.string(), z.number()])) }),
              ),
            }),
          ),
        }),
      ),
    }),
  ),
})

/** A collector of OpenTelemetry (OTLP/HTTP with JSON), as far as an exporter can tell. */
async function startCollector() {
  const sent: string[] = []
  const watchers = new Set<() => void>()
  const server = createServer(async (request, response) => {
    if (request.url === '/v1/traces') sent.push(await bodyOf(request))
    sendJson(response, 200, {})
    for (const look of [...watchers]) look()
  })
  const url = await listenLocally(server)
  const spans = () =>
    sent
      .flatMap((text) => exportSchema.parse(JSON.parse(text)).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .filter(({ scope }) => scope.name === 'countersign')
      .flatMap((scope) => scope.spans)
      .map(({ attributes, ...span }) => {
        const facts = attributes.map(({ key, value }) => [key, Object.values(value)[0]])
        return { ...span, attributes: Object.fromEntries(facts) }
      })
  return {
    url,
    text: () => sent.join('\n'),
    spans,
    /** Waits for so many spans of that name and trace. */
    async of(name: string, traceId: string, count = 1) {
      const found = () => spans().filter((span) => span.name === name && span.traceId === traceId)
      await untilHolds(watchers, `${count} of ${name} in ${traceId}`, () => found().length >= count)
      return found()
    },
    close: () => closeServer(server),
  }
}

const SECRET_WORDS = [
  'Pay Zora',
  'invoice-4711',
  'looks right',
  'owner@example.com',
  'Zora Owner',
  '127.0.0.1',
]

let folder: string
let url: string
let collector: Awaited<ReturnType<typeof startCollector>>
let receiver: Receiver
let service: ServiceProcess
let browser: HttpClient
let key: string
const authenticator = createSoftAuthenticator()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-tracing-'))
  collector = await startCollector()
  receiver = await startReceiver()
  const port = String(await freePort())
  url = `http://localhost:${port}`
  service = await startServiceProcess({
    DATA_DIR: join(folder, 'data'),
    PORT: port,
    CALLBACK_ALLOW_PRIVATE: '1',
    NODE_OPTIONS: `--import=${pathToFileURL(packagePath('test/support/load-otel.mjs'))}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  })
  browser = createHttpClient(url)
  const [, token] = await service.line(/\/setup#([\w-]+)/)
  const person = { token, email: 'owner@example.com', name: 'Zora Owner' }
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', person), 200)
  const credential = authenticator.register(options, { origin: url })
  const enrolment = { token, passkey_name: 'laptop', credential }
  expectStatus(await browser.post('/api/v1/enrollment/passkey', enrolment), 201)
  key = expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'agent' }), 201).raw_key
})

afterAll(async () => {
  await service.end('SIGTERM')
  await receiver.close()
  await collector.close()
  await rm(folder, { recursive: true, force: true })
})

/** A trace of the caller's own, with its header. */
function newTrace() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return {
    traceId,
    spanId,
    headers: { Authorization: `Bearer ${key}`, traceparent: `00-${traceId}-${spanId}-01` },
  }
}

describe('with an OpenTelemetry SDK in the process', () => {
  it('request, decision, delivery and use are spans of the traces of the caller, and none says what it is about', async () => {
    const asking = newTrace()
    const body = {
      action: 'Pay Zora 5 €',
      context: { id: 'invoice-4711' },
      callback_url: receiver.url('/done'),
    }
    const made = await browser.post('/api/v1/approvals/request', body, asking)
    const { id } = expectStatus(made, 201)
    const [create] = await collector.of('POST /api/v1/approvals/request', asking.traceId)
    expect(create).toMatchObject({
      kind: 2,
      parentSpanId: asking.spanId,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/v1/approvals/request',
        'http.response.status_code': 201,
        'countersign.request_id': made.headers.get('x-request-id'),
      },
    })

    const decision = `/api/v1/approvals/${id}/decision`
    const asked = await browser.post(`${decision}/options`, { decision: 'approved' })
    const passkey = authenticator.authenticate(expectStatus(asked, 200).options, { origin: url })
    const posted = { decision: 'approved', comment: 'looks right', passkey }
    const decided = await browser.post(decision, posted)
    expectStatus(decided, 200)
    const [decide] = await collector.of('decide', asking.traceId)
    expect(decide).toMatchObject({
      kind: 1,
      parentSpanId: asking.spanId,
      attributes: {
        'countersign.approval_id': id,
        'countersign.decision': 'approved',
        'countersign.method': 'passkey',
        'countersign.status': 'approved',
      },
    })
    const [deliver] = await collector.of('deliver', asking.traceId)
    expect(deliver).toMatchObject({
      kind: 3,
      parentSpanId: asking.spanId,
      attributes: {
        'countersign.event_type': 'callback',
        'countersign.approval_id': id,
        'countersign.attempt': 1,
        'countersign.outcome': 'http_200',
      },
    })

    // The approver's own request is another trace; the decision leads to it.
    const byId = (spanId: string | undefined) => collector.spans().find((span) => span.spanId === spanId)
    const linked = decide?.links[0]?.spanId
    await expect
      .poll(() => byId(linked)?.attributes['countersign.request_id'])
      .toBe(decided.headers.get('x-request-id'))
    expect(byId(linked)).toMatchObject({ name: 'POST /api/v1/approvals/:id/decision' })
    expect(byId(linked)?.traceId).not.toBe(asking.traceId)

    const using = newTrace()
    const consume = `/api/v1/approvals/${id}/consume`
    expectStatus(await browser.post(consume, { action: 'Pay Zora 6 €' }, using), 409)
    expectStatus(await browser.post(consume, { action: 'Pay Zora 5 €' }, using), 200)
    const uses = await collector.of('consume', using.traceId, 2)
    const requests = await collector.of('POST /api/v1/approvals/:id/consume', using.traceId, 2)
    expect(uses.map(({ parentSpanId }) => parentSpanId)).toEqual(requests.map(({ spanId }) => spanId))
    expect(uses.map(({ attributes }) => attributes)).toEqual([
      { 'countersign.approval_id': id, 'error.type': 'mismatch' },
      { 'countersign.approval_id': id, 'countersign.result': 'consumed' },
    ])
    expect(requests.map(({ attributes }) => attributes['error.type'])).toEqual(['mismatch', undefined])

    for (const word of SECRET_WORDS) expect(collector.text()).not.toContain(word)
  })

  it('what is asked with no trace or none that counts begins one; a probe of health is no span, and a path is only a pattern', async () => {
    expectStatus(await browser.get('/healthz'), 200)
    const strange = { ...newTrace().headers, traceparent: '00-trace-span-01' }
    const answer = await browser.get('/api/v1/approvals/Pay%20Zora%20now?q=invoice-4711', {
      headers: strange,
    })
    expectStatus(answer, 400)
    const id = answer.headers.get('x-request-id')
    const own = () => collector.spans().find((span) => span.attributes['countersign.request_id'] === id)
    await expect
      .poll(own)
      .toMatchObject({ name: 'GET /api/v1/approvals/:id', attributes: { 'http.response.status_code': 400 } })
    expect(own()?.parentSpanId).toBeUndefined()
    expect(collector.spans().some(({ name }) => name.includes('healthz'))).toBe(false)
    for (const word of SECRET_WORDS) expect(collector.text()).not.toContain(word)
  })
})
