import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { parseJson } from '../../../src/domain/parse-json.ts'
import { WAITS_EACH } from '../../../src/http/slots.ts'
import { lapse, newCaller, type SendOptions, send, stored, type TestCaller } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { startWaits } from '../../support/waiting.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const toolResult = z.object({
  isError: z.boolean().optional(),
  content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
})

/** Calls a tool by an official client. @returns what the tool said: its fields, or those of its refusal and `isError` */
type CallTool = (
  name: string,
  args: Record<string, unknown>,
  _meta?: Record<string, unknown>,
) => Promise<Record<string, unknown>>

function said(result: unknown): Record<string, unknown> {
  const { isError, content, structuredContent } = toolResult.parse(result)
  const fields = z
    .record(z.string(), z.unknown())
    .parse(parseJson(content[0].text) ?? { said: content[0].text })
  // Clients show a model the text or the fields: both must say the same.
  if (!isError) expect(structuredContent).toEqual(fields)
  return isError ? { isError, ...fields } : fields
}

type Service = Pick<TestService, 'url'>
const self = { name: 'test', version: '1' }
const at = ({ url }: Service) => new URL(`${url}/mcp`)
const withKey = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } })

async function connectV1({ token }: TestCaller, to: Service = service): Promise<CallTool> {
  const client = new ClientV1(self)
  await client.connect(new HttpV1(at(to), withKey(token)))
  onTestFinished(() => client.close())
  return async (name, args, _meta) =>
    said(await client.callTool({ name, arguments: args, ...(_meta && { _meta }) }))
}

const connectV2 =
  (mode: 'auto' | 'legacy') =>
  async ({ token }: TestCaller, to: Service = service): Promise<CallTool> => {
    const client = new ClientV2(self, { versionNegotiation: { mode } })
    await client.connect(new HttpV2(at(to), withKey(token)))
    onTestFinished(() => client.close())
    return async (name, args, _meta) =>
      said(await client.callTool({ name, arguments: args, ...(_meta && { _meta }) }))
  }

const NEW = connectV2('auto')
const CLIENTS = {
  'client v1': connectV1,
  'client v2, 2026-07-28': NEW,
  'client v2, 2025-11-25': connectV2('legacy'),
}

async function live(): Promise<TestCaller> {
  const user = await service.composition.deps.users.find(setting.owner.userId)
  return newCaller(service, { user: user ?? expect.unreachable() })
}

const PAY = { action: 'Pay ACME 120', context: { amount: '120', to: 'ACME' } }
const decide = async (id: unknown, decision: 'approved' | 'rejected', comment?: string) => {
  expect((await decideByPasskey(setting, String(id), decision, comment)).status).toBe(200)
}
const requestsOf = ({ keyId }: TestCaller) =>
  stored(service, 'requests').find({ api_key_id: keyId }).toArray()
const callsSeen = () => service.logged.filter(({ fields }) => fields.path === '/mcp').length

describe.each(Object.entries(CLIENTS))('%s', (_, connect) => {
  it('asks, joins, waits, uses the approval once and reads its receipt', async () => {
    const caller = await live()
    const call = await connect(caller)
    const first = await call('request_approval', { ...PAY, wait_seconds: 0 })
    const { request_id } = first
    expect(first).toEqual({
      request_id: expect.stringMatching(/^req_/),
      status: 'pending',
      used: false,
      comment: null,
      review_url: `${service.url}/a/${request_id}`,
      expires_at: expect.any(String),
      next: expect.stringContaining('not a refusal and not an approval'),
    })
    const waits = call('request_approval', { ...PAY, wait_seconds: 30 })
    const early = await call('consume_approval', { request_id, ...PAY })
    expect(early).toMatchObject({ isError: true, error: 'not_approved', status: 'pending' })
    await decide(request_id, 'approved', 'fine')
    const approved = { request_id, status: 'approved', used: false, comment: 'fine' }
    expect(await waits).toMatchObject({ ...approved, next: expect.stringContaining('consume_approval') })
    expect(await call('wait_for_decision', { request_id })).toMatchObject(approved)

    const other = { ...PAY, context: { amount: '9120', to: 'ACME' } }
    expect(await call('consume_approval', { request_id, ...other })).toMatchObject({
      isError: true,
      error: 'mismatch',
      field: 'context',
      next: expect.stringContaining('not what was approved'),
    })
    expect(await call('consume_approval', { request_id, ...PAY })).toMatchObject({
      request_id,
      status: 'approved',
      used: true,
      next: expect.stringContaining('once'),
    })
    expect(await call('consume_approval', { request_id, ...PAY })).toMatchObject({
      isError: true,
      error: 'already_consumed',
      next: expect.stringContaining('Do not act'),
    })
    expect(await call('get_receipt', { request_id })).toMatchObject({
      status: 'used',
      used: true,
      next: expect.stringContaining('Do not act'),
      receipt: { decision: 'approved', signature: expect.any(String) },
    })
    const again = await call('request_approval', { ...PAY, wait_seconds: 0 })
    expect(again).toMatchObject({ status: 'pending' })
    expect(again.request_id).not.toBe(request_id)
    expect(await requestsOf(caller)).toHaveLength(2)
  })

  it('tells a rejection, an expiry and a withdrawal apart', async () => {
    const call = await connect(await live())
    const ask = (n: number) => call('request_approval', { action: `Act ${n}`, wait_seconds: 0 })
    const [rejected, expired, withdrawn] = [await ask(1), await ask(2), await ask(3)]
    await decide(rejected.request_id, 'rejected', 'too much')
    await lapse(service, String(expired.request_id))
    expect(await call('wait_for_decision', { request_id: rejected.request_id })).toMatchObject({
      status: 'rejected',
      comment: 'too much',
      next: expect.stringContaining('A human said no'),
    })
    expect(await call('wait_for_decision', { request_id: expired.request_id })).toMatchObject({
      status: 'expired',
      next: expect.stringContaining('not a refusal'),
    })
    expect(await call('cancel_approval', { request_id: withdrawn.request_id })).toMatchObject({
      status: 'withdrawn',
    })
    expect(await call('cancel_approval', { request_id: withdrawn.request_id })).toMatchObject({
      isError: true,
      error: 'not_pending',
    })
  })

  it('says in words what is wrong with a call', async () => {
    const caller = await live()
    const call = await connect(caller)
    expect(await call('request_approval', { action: '   ' })).toMatchObject({
      isError: true,
      error: 'action required',
    })
    const wrong = [{ action: 5 }, { ...PAY, context: [] }, { ...PAY, wait_seconds: 46 }, {}]
    for (const args of wrong)
      expect(await call('request_approval', args)).toMatchObject({
        isError: true,
        said: expect.stringMatching(/action|context|wait_seconds/),
      })
    expect(await call('get_receipt', { request_id: `req_${'0'.repeat(26)}` })).toMatchObject({
      isError: true,
      error: 'not_found',
    })
    expect(await requestsOf(caller)).toHaveLength(0)
    const reader = await connect(await newCaller(service, { scopes: ['approval:read'] }))
    expect(await reader('request_approval', PAY)).toMatchObject({
      isError: true,
      error: 'insufficient_scope',
      scope: 'approval:create',
    })
  })
})

describe('rounds', () => {
  it('a new client waits on in rounds of its own, until the decision', async () => {
    const caller = await live()
    const call = await NEW(caller)
    const before = callsSeen()
    const waits = call('request_approval', { ...PAY, wait_seconds: 1 })
    await waitUntil(() => expect(callsSeen() - before).toBeGreaterThan(1))
    const [request] = await requestsOf(caller)
    await decide(request?._id, 'approved')
    expect(await waits).toMatchObject({ request_id: request?._id, status: 'approved' })
    expect(await requestsOf(caller)).toHaveLength(1)
  })

  it('it is answered in the last round it repeats, and an older client in its first', async () => {
    const caller = await live()
    const [newer, older] = [await NEW(caller), await connectV1(caller)]
    const answers = await Promise.all([
      newer('request_approval', { ...PAY, wait_seconds: 1 }),
      older('request_approval', { ...PAY, wait_seconds: 1 }),
    ])
    const pending = { status: 'pending', next: expect.stringContaining('wait_for_decision') }
    expect(answers).toMatchObject([pending, pending])
    expect(answers[0]?.request_id).toBe(answers[1]?.request_id)
  })

  it('a call that died with its process joins the open request at another one', async () => {
    const caller = await live()
    const other = await useService({ database: service.composition.connection.name })
    const lost = (await NEW(caller, other))('request_approval', { ...PAY, wait_seconds: 30 })
    const fate = lost.catch((error: unknown) => error)
    await waitUntil(async () => expect(await requestsOf(caller)).toHaveLength(1))
    await other.close()
    await fate
    const [request] = await requestsOf(caller)
    const waits = (await NEW(caller))('request_approval', { ...PAY, wait_seconds: 30 })
    await decide(request?._id, 'approved')
    expect(await waits).toMatchObject({ request_id: request?._id, status: 'approved' })
  })

  it('with all places for waits taken, a call waits in a short one; without any, it says not to call again at once', async () => {
    const caller = await live()
    const call = await connectV1(caller)
    const id = await caller.createdId()
    const wait = () => caller.send(`/api/v1/approvals/${id}/wait?timeout=60`)
    const waits = await startWaits(
      service,
      Array.from({ length: WAITS_EACH }, () => wait),
    )
    const before = performance.now()
    const asked = { request_id: id, wait_seconds: 1 }
    expect(await call('wait_for_decision', asked)).toMatchObject({ status: 'pending' })
    // Else a model that calls again and again would use up the reads of its key.
    expect(performance.now() - before).toBeGreaterThan(950)
    const short = await startWaits(
      service,
      Array.from({ length: WAITS_EACH }, () => () => call('wait_for_decision', { request_id: id })),
    )
    expect(await call('wait_for_decision', { request_id: id })).toMatchObject({
      status: 'pending',
      next: expect.stringMatching(/^Nobody has decided yet.*in a minute/),
    })
    await decide(id, 'rejected')
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(waits.map(() => 200))
    expect(await Promise.all(short)).toMatchObject(short.map(() => ({ status: 'rejected' })))
  })
})

describe('attachments', () => {
  const TODAY = { name: 'today', text: 'replicas: 2\n'.repeat(2000) }
  const NEXT = { name: 'config.yaml', text: 'replicas: 20\n', base: 'today' }
  const PLAN = { name: 'plan.bin', base64: Buffer.alloc(256 * 1024, 7).toString('base64') }
  const attachments = [TODAY, NEXT, PLAN]
  const write = { action: 'Write config.yaml', context: { path: 'config.yaml' } }

  it('are asked about as over REST, without holding the call open, and compared at the use', async () => {
    const caller = await live()
    const call = await NEW(caller)
    const first = await call('request_approval', { ...write, attachments })
    const { request_id } = first
    const listed: { sha256: string }[] = Object(
      (await caller.send(`/api/v1/approvals/${request_id}`)).body,
    ).attachments
    expect(listed).toMatchObject([
      { name: 'today', kind: 'text', bytes: 24_000 },
      { name: 'config.yaml', kind: 'diff', base: 'today' },
      { name: 'plan.bin', kind: 'file', bytes: 256 * 1024 },
    ])
    expect(first).toMatchObject({ status: 'pending', attachments: listed })
    expect(await call('request_approval', { ...write, attachments })).toMatchObject({ request_id })
    const other = await call('request_approval', { ...write, attachments: [TODAY] })
    expect(other.request_id).not.toBe(request_id)
    const waits = call('wait_for_decision', { request_id })
    await decide(request_id, 'approved')
    expect(await waits).toMatchObject({ status: 'approved' })
    const attachments_sha256 = listed.map(({ sha256 }) => sha256)
    const use = (hashes: string[]) =>
      call('consume_approval', { request_id, ...write, attachments_sha256: hashes })
    expect(await use(attachments_sha256.slice(1))).toMatchObject({
      error: 'mismatch',
      field: 'attachments_sha256',
    })
    expect(await use(attachments_sha256)).toMatchObject({ status: 'approved', used: true })
  })

  it.each([
    ['two contents', [{ ...NEXT, base64: '' }, TODAY], 'attachments.0'],
    ['no list', NEXT, 'attachments'],
    ['an unknown base', [NEXT], 'attachments.0.base'],
    ['too large', [{ name: 'a', text: 'x'.repeat(256 * 1024 + 1) }], 'attachments.0'],
  ])('%s: said in words, and nobody is asked', async (_, wrong, field) => {
    const caller = await live()
    const answer = await (await NEW(caller))('request_approval', { ...write, attachments: wrong })
    expect([answer.isError, JSON.stringify(answer)]).toEqual([true, expect.stringContaining(field)])
    expect(await requestsOf(caller)).toHaveLength(0)
  })
})

describe('one call', () => {
  const META = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': self,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const post = (caller: TestCaller, tool: string, params: object, headers: Record<string, string> = {}) =>
    caller.send('/mcp', {
      method: 'POST',
      json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, _meta: META, ...params } },
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': tool,
        ...headers,
      },
    })
  const JSON_TYPE = { 'content-type': 'application/json' }
  type Wrong = SendOptions & { known?: boolean }
  const round = z.object({
    result: z.object({ resultType: z.literal('input_required'), requestState: z.string() }),
  })

  it('a state opens for its key and its arguments only', async () => {
    const [caller, stranger] = [await live(), await live()]
    const asked = { arguments: { ...PAY, wait_seconds: 1 } }
    const { requestState } = round.parse((await post(caller, 'request_approval', asked)).body).result
    round.parse((await post(caller, 'request_approval', { ...asked, requestState })).body)
    expect(await requestsOf(caller)).toHaveLength(1)
    const wrong: [TestCaller, object, string][] = [
      [stranger, asked, requestState],
      [caller, { arguments: { ...PAY, action: 'Pay ACME 9120', wait_seconds: 1 } }, requestState],
      [caller, asked, requestState.replace(/^./, (first) => (first === 'x' ? 'y' : 'x'))],
      [caller, asked, 'x'],
    ]
    for (const [who, params, state] of wrong) {
      const { body } = await post(who, 'request_approval', { ...params, requestState: state })
      expect(JSON.stringify(body)).toContain('requestState does not belong to this call')
    }
    expect(await requestsOf(stranger)).toHaveLength(0)
  })

  it('a program that repeats a use with its Idempotency-Key hears of its success again; nobody else does', async () => {
    const caller = await live()
    const request_id = await caller.createdId(PAY)
    await decide(request_id, 'approved')
    const use = (key: string) =>
      post(caller, 'consume_approval', { arguments: { request_id, ...PAY } }, { 'idempotency-key': key })
    const answers = [await use('k1'), await use('k1'), await use('k2')].map(({ text }) => text)
    expect(answers[0]).toContain('"used":true')
    expect(answers[1]).toBe(answers[0])
    expect(answers[2]).toContain('already_consumed')
  })

  it('a dry run says that no human was asked', async () => {
    const call = await NEW(await newCaller(service, { sandbox: true }))
    const { request_id } = await call('request_approval', { ...PAY, wait_seconds: 0 })
    const dry = { request_id, sandbox: true, next: expect.stringMatching(/^Dry run: no human was asked/) }
    expect(await call('wait_for_decision', { request_id })).toMatchObject({ ...dry, status: 'approved' })
    const used = await call('consume_approval', { request_id, ...PAY })
    expect(used).toMatchObject({
      ...dry,
      used: true,
      next: expect.stringMatching(/nobody approved it. Do not act/),
    })
  })

  it('takes the trace of its call', async () => {
    const caller = await live()
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
    const call = await NEW(caller)
    await call('request_approval', { ...PAY, wait_seconds: 0 }, { traceparent })
    expect(await requestsOf(caller)).toMatchObject([{ traceparent }])
  })

  it.each([
    ['no key', { json: {} }, 401, 'invalid or missing API key'],
    ['a wrong key', { json: {}, token: 'sa_live_x' }, 401, 'invalid or missing API key'],
    ['a body that is no JSON', { raw: '{', headers: JSON_TYPE, known: true }, 400, 'invalid_json'],
  ])('%s is refused before the protocol', async (_, wrong: Wrong, status, error) => {
    const { known, ...options } = wrong
    const { token } = await live()
    const answer = await send(service, '/mcp', { method: 'POST', ...(known && { token }), ...options })
    expect([answer.status, answer.body.error]).toEqual([status, error])
  })

  it('keeps no session: GET and DELETE are refused', async () => {
    const caller = await live()
    for (const method of ['GET', 'DELETE']) expect((await caller.send('/mcp', { method })).status).toBe(405)
  })
})
