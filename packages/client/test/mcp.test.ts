import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AWAY, BUSY, htmlPage, type Mishap } from './bad-network.ts'
import { type HostileSetting, useHostileSetting } from './hostile-setting.ts'

const COMMAND = fileURLToPath(new URL('../bin/countersign.js', import.meta.url))
const self = { name: 'test', version: '1' }

/** A host that is connected: calls a tool, or leaves without a word. @returns the fields that the tool said, with `isError` */
interface Host {
  call(name: string, args: object, timeout?: number): Promise<Record<string, unknown>>
  close(): Promise<void>
}

function hostOf(
  client: { close(): Promise<void> },
  callTool: (params: Params, timeout: number) => Promise<unknown>,
): Host {
  onTestFinished(() => client.close())
  return {
    async call(name, args, timeout = 60_000) {
      const { isError, content } = Object(await callTool({ name, arguments: { ...args } }, timeout))
      return { ...(isError && { isError }), ...JSON.parse(content[0].text) }
    },
    close: () => client.close(),
  }
}

interface Params {
  name: string
  arguments: Record<string, unknown>
}

interface Door {
  connect(at: Pick<HostileSetting, 'network' | 'key'>): Promise<Host>
  /** The door itself repeats a call whose answer was lost, before the model hears of it. */
  repeats?: true
  /** The client says to nobody that it gave up: its wait keeps a place until it ends. */
  lingers?: true
}

const http = ({ network, key }: Pick<HostileSetting, 'network' | 'key'>) =>
  [new URL(`${network.url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${key}` } } }] as const

const stdio = ({ network, key }: Pick<HostileSetting, 'network' | 'key'>) => ({
  command: process.execPath,
  args: [COMMAND, 'mcp'],
  env: { COUNTERSIGN_URL: network.url, COUNTERSIGN_KEY: key },
})

async function connectV2(transport: HttpV2 | StdioClientTransport): Promise<Host> {
  const client = new ClientV2(self, { versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  return hostOf(client, (params, timeout) => client.callTool(params, { timeout }))
}

const DOORS: [string, Door][] = [
  [
    'HTTP, client v1',
    {
      lingers: true,
      async connect(at) {
        const client = new ClientV1(self)
        await client.connect(new HttpV1(...http(at)))
        return hostOf(client, (params, timeout) => client.callTool(params, undefined, { timeout }))
      },
    },
  ],
  ['HTTP, client v2', { connect: (at) => connectV2(new HttpV2(...http(at))) }],
  ['stdio, client v2', { repeats: true, connect: (at) => connectV2(new StdioClientTransport(stdio(at))) }],
]

const PAY = { action: 'Pay ACME 120', context: { amount: '120', to: 'ACME' } }
const ASK = /"name":"request_approval"/
const USE = /"name":"consume_approval"/
const APPROVED = { status: 'approved', used: false }
const USED_NOW = { status: 'approved', used: true }
const USED_BEFORE = {
  isError: true,
  error: 'already_consumed',
  next: expect.stringMatching(/^Do not act: .*ask the user/),
}

describe.each(DOORS)('%s', (_, { connect: connectAt, repeats, lingers }) => {
  const on = useHostileSetting()
  const connect = () => connectAt(on)

  it.each<[string, Mishap, 'done' | 'not done']>([
    ['a lost answer', 'lose', 'done'],
    ['a cut answer', 'cut', 'done'],
    ['429', BUSY, 'not done'],
    ['503', AWAY, 'not done'],
    ['a 502 of a proxy, as a page', htmlPage(502), 'not done'],
  ])(
    '%s to asking and to using: one request, used once, and no word that reads as a decision',
    async (_, mishap, was) => {
      const { call } = await connect()
      for (const tool of [ASK, USE]) on.network.spoil(tool, mishap)
      const ask = (ms?: number) => call('request_approval', { ...PAY, wait_seconds: 0 }, ms)
      // Client v1 waits for the rest of an answer that was cut.
      if (!repeats) await expect(ask(1500)).rejects.toThrow()
      const { request_id, status } = await ask()
      expect([status, await on.asked()]).toEqual(['pending', request_id])
      await on.service.decide(String(request_id), 'approved')
      const use = (ms?: number) => call('consume_approval', { request_id, ...PAY }, ms)
      if (!repeats) await expect(use(1500)).rejects.toThrow()
      expect(await use()).toMatchObject(repeats || was === 'not done' ? USED_NOW : USED_BEFORE)
      expect(await use()).toMatchObject(USED_BEFORE)
      expect(await call('get_receipt', { request_id })).toMatchObject({ status: 'used' })
    },
  )

  it('a host that is killed after the decision finds the approval again; after the use, nobody acts', async () => {
    const first = await connect()
    const { request_id } = await first.call('request_approval', { ...PAY, wait_seconds: 0 })
    await on.service.decide(String(request_id), 'approved')
    await first.close()
    const second = await connect()
    const found = await second.call('request_approval', PAY)
    expect(found).toMatchObject({ request_id, ...APPROVED })
    expect(await second.call('consume_approval', { request_id, ...PAY })).toMatchObject(USED_NOW)
    await second.close()
    const third = await connect()
    expect(await third.call('consume_approval', { request_id, ...PAY })).toMatchObject(USED_BEFORE)
    expect(await third.call('wait_for_decision', { request_id })).toMatchObject({
      status: 'used',
      used: true,
    })
  })

  it('a host that gives a call a second hears no decision, keeps no place, and joins its request', async () => {
    const { call } = await connect()
    const hasty = () => call('request_approval', { ...PAY, wait_seconds: 45 }, 1000).catch(() => 'gave up')
    // More than a key has places for waits: a call without one is answered at once.
    for (const answer of await Promise.all(Array.from({ length: 12 }, hasty)))
      expect(typeof answer === 'string' ? answer : answer.status).toMatch(/^(gave up|pending)$/)
    const request_id = await on.asked()
    // Long before the time that was asked for is over.
    if (!lingers) await expect.poll(() => placesFor(request_id), { timeout: 20_000 }).toBe(10)
    await on.service.decide(request_id, 'approved')
    expect(await call('request_approval', PAY)).toMatchObject({ request_id, ...APPROVED })
  })

  /** How many of ten waits at once find a place. */
  async function placesFor(id: string): Promise<number> {
    const url = `${on.service.url}/api/v1/approvals/${id}/wait?timeout=1`
    const headers = { authorization: `Bearer ${on.key}` }
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(url, { headers })))
    return answers.filter(({ ok }) => ok).length
  }

  it('8 equal asks of two hosts at once are one request, used once', async () => {
    const hosts = [await connect(), await connect()]
    const each = <T>(act: (host: Host) => Promise<T>) =>
      Promise.all(Array.from({ length: 8 }, (_, n) => act(hosts[n % 2] ?? expect.unreachable())))
    const asks = each(({ call }) => call('request_approval', { ...PAY, wait_seconds: 30 }))
    const request_id = await on.asked()
    await on.service.decide(request_id, 'approved')
    const answers = await asks
    expect(answers).toMatchObject(answers.map(() => ({ request_id, ...APPROVED })))
    const uses = await each(({ call }) => call('consume_approval', { request_id, ...PAY }))
    expect(uses.filter(({ isError }) => !isError)).toMatchObject([USED_NOW])
    expect(uses.filter(({ isError }) => isError)).toMatchObject(Array(7).fill(USED_BEFORE))
  })

  it('15 different asks at once are 15 requests, more than a key has places for waits', async () => {
    const { call } = await connect()
    const asked = Array.from({ length: 15 }, (_, n) => ({ action: `Pay ${n}`, context: { n } }))
    const asks = asked.map((one) => call('request_approval', { ...one, wait_seconds: 30 }))
    await expect.poll(async () => (await on.service.requestsOf(on.key)).length).toBe(15)
    for (const { id } of await on.service.requestsOf(on.key)) await on.service.decide(id, 'approved')
    const ids = (await Promise.all(asks)).map(({ request_id }) => request_id)
    expect(new Set(ids).size).toBe(15)
    const uses = ids.map((request_id, n) => call('consume_approval', { request_id, ...asked[n] }))
    expect(await Promise.all(uses)).toMatchObject(Array(15).fill(USED_NOW))
  })

  it('a rejection stays; asking again is another question, and its approval does not undo the first', async () => {
    const { call } = await connect()
    const first = await call('request_approval', { ...PAY, wait_seconds: 0 })
    await on.service.decide(String(first.request_id), 'rejected', 'Not this month.')
    const refused = { request_id: first.request_id, status: 'rejected', comment: 'Not this month.' }
    expect(await call('wait_for_decision', { request_id: first.request_id })).toMatchObject(refused)
    const second = await call('request_approval', { ...PAY, wait_seconds: 0 })
    expect(second).toMatchObject({
      status: 'pending',
      request_id: expect.not.stringMatching(`^${first.request_id}$`),
    })
    await on.service.decide(String(second.request_id), 'approved')
    expect(await call('consume_approval', { request_id: first.request_id, ...PAY })).toMatchObject({
      isError: true,
      error: 'not_approved',
    })
    expect(await call('consume_approval', { request_id: second.request_id, ...PAY })).toMatchObject(USED_NOW)
  })

  it('the approval of another request, or of another key, is none', async () => {
    const { call } = await connect()
    const { request_id } = await call('request_approval', { action: 'Pay ACME 1', wait_seconds: 0 })
    await on.service.decide(String(request_id), 'approved')
    expect(await call('consume_approval', { request_id, ...PAY })).toMatchObject({
      isError: true,
      error: 'mismatch',
    })
    on.key = await on.service.newKey()
    const stranger = await connect()
    for (const tool of ['get_receipt', 'wait_for_decision', 'cancel_approval'])
      expect(await stranger.call(tool, { request_id })).toMatchObject({ isError: true, error: 'not_found' })
    expect(
      await stranger.call('consume_approval', { request_id, action: 'Pay ACME 1', context: {} }),
    ).toMatchObject({
      isError: true,
      error: 'not_found',
    })
    expect(await call('get_receipt', { request_id })).toMatchObject(APPROVED)
  })

  it('a sandbox key is a dry run in every answer', async () => {
    on.key = await on.service.newKey(true)
    const { call } = await connect()
    const dry = { sandbox: true, next: expect.stringMatching(/^Dry run: no human was asked/) }
    const { request_id, ...asked } = await call('request_approval', { ...PAY, wait_seconds: 0 })
    expect(asked).toMatchObject({ status: 'pending', ...dry })
    expect(await call('get_receipt', { request_id })).toMatchObject(dry)
    expect(await call('cancel_approval', { request_id })).toMatchObject({ status: 'withdrawn', ...dry })
  })
})

function pause(ms: number): Promise<string> {
  return new Promise((resolve) => setTimeout(resolve, ms, 'still waiting'))
}

describe('two messages with one id', () => {
  const on = useHostileSetting()
  const INITIALIZE = {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: self },
  }
  const tool = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } })

  /** Speaks to `countersign mcp` line by line: official clients never give an id twice. */
  function startBridge() {
    const { command, args, env } = stdio(on)
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const heard: { id?: unknown; result?: { structuredContent?: { used?: unknown } } }[] = []
    createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line)))
    return {
      child,
      heard,
      say: (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    }
  }

  it('are two calls, each with its answer: a use twice is one use', async () => {
    const { say, heard } = startBridge()
    say({ id: 1, ...INITIALIZE })
    await expect.poll(() => heard.length).toBe(1)
    say({ id: 2, ...tool('request_approval', { ...PAY, wait_seconds: 30 }) })
    const request_id = await on.asked()
    await on.service.decide(request_id, 'approved')
    await expect.poll(() => heard.length).toBe(2)
    const use = { id: 3, ...tool('consume_approval', { request_id, ...PAY }) }
    say(use)
    say(use)
    await expect.poll(() => heard.length).toBe(4)
    const uses = heard.slice(2)
    expect(uses.map(({ id }) => id)).toEqual([3, 3])
    expect(uses.filter(({ result }) => result?.structuredContent?.used === true)).toHaveLength(1)
  })

  it('are both ended with the host, in whichever order they are answered', async () => {
    const { say, heard, child } = startBridge()
    say({ id: 1, ...INITIALIZE })
    await expect.poll(() => heard.length).toBe(1)
    say({ id: 2, ...tool('request_approval', { ...PAY, wait_seconds: 45 }) })
    const request_id = await on.asked()
    // The second is answered first, and must not hide the first.
    say({ id: 2, ...tool('get_receipt', { request_id }) })
    await expect.poll(() => heard.length).toBe(2)
    const ended = new Promise((resolve) => child.on('close', resolve))
    child.stdin.end()
    expect(await Promise.race([ended, pause(20_000)])).toBe(0)
  })
})
