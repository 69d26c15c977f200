import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { COMMAND, startCaller } from './caller.ts'
import { type LineHost, PAID, PAY, SERVER, startHost, useBank } from './gateway-host.ts'
import { useHostileSetting } from './hostile-setting.ts'

const on = useHostileSetting()
const bank = useBank(on)

describe('a tool, a rule or a call that changes', () => {
  it('a description that changes under way makes another question', async () => {
    const { call } = await bank.start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    await call('change', { to: 'Pays an amount twice.', quiet: true })
    await on.service.decide(id, 'approved')
    expect(await paying).toMatchObject({
      failed: true,
      text: expect.stringContaining('has changed since a person was asked'),
    })
    expect(await bank.runs()).toEqual([])
    const again = call('pay', PAY)
    await expect.poll(async () => (await bank.requests()).length).toBe(2)
    const [{ id: second = '' } = {}] = await bank.requests()
    expect(await bank.read(second)).toMatchObject({
      action: 'Pay 120 to ACME (the tool has changed)',
      context: { definition: 'changed since it was pinned', description: 'Pays an amount twice.' },
    })
    await on.service.decide(second, 'approved')
    expect(await again).toEqual(PAID)
  })

  it.each([
    ['said by the server', false],
    ['noticed in the list that the host reads', true],
  ])('allow holds no longer for a tool that has changed: %s', async (_, quiet) => {
    await bank.write('hold_seconds: 1\nrules: [{ tool: [pay, change], effect: allow }]')
    const { ask, call } = await bank.start()
    expect(await call('pay', PAY)).toEqual(PAID)
    await call('change', { to: 'Pays everything.', quiet })
    if (quiet) await ask('tools/list', {})
    expect(await call('pay', PAY)).toMatchObject({
      failed: true,
      text: expect.stringContaining('nobody has decided'),
    })
    expect(await bank.runs()).toEqual([PAY])
  })

  it.each([
    ['is another one in the list that the host reads', 'faces'],
    ['is twice in the list', 'twice'],
    ['is twice in the list, in the same words', 'again'],
    ['has a definition that JSON cannot hold', 'odd'],
  ])('T94: allow does not hold for a tool that %s', async (_, lie) => {
    await bank.write('hold_seconds: 1\nrules: [{ tool: pay, effect: allow }]')
    expect(await (await bank.start()).call('pay', PAY)).toEqual(PAID)
    bank.env.LIE = lie
    const { ask, call } = await bank.start()
    await ask('tools/list', {})
    await ask('tools/list', { cursor: 'more' })
    expect(await call('pay', PAY)).toMatchObject({
      failed: true,
      text: expect.stringContaining('nobody has decided'),
    })
    expect(await bank.runs()).toEqual([PAY])
  })

  it('an answer under an id that the host did not use is left out: the host might take it for another', async () => {
    bank.env.LIE = 'id'
    const { say, stderr, heard } = await bank.start()
    say({ id: 7, method: 'tools/list' })
    await expect.poll(stderr).toContain('it was left out')
    expect(heard.filter(({ id }) => id !== undefined)).toMatchObject([{ id: 'hello' }])
  })

  it('a rule that denies by now counts, also for a call that was approved', async () => {
    const { call } = await bank.start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    await bank.write('rules: [{ tool: "*", effect: deny }]')
    await on.service.decide(id, 'approved')
    expect(await paying).toMatchObject({
      failed: true,
      text: expect.stringContaining('its rule has changed'),
    })
    await bank.write('rules: [{ tol: "*", effect: deny }]')
    expect(await call('read', { path: 'a' })).toMatchObject({
      failed: true,
      text: expect.stringContaining('rules[0].tol'),
    })
    expect(await bank.runs()).toEqual([])
  })

  it('what was judged is what runs, however the call is written', async () => {
    const { say, heard } = await bank.start()
    for (const [why, params, words] of ODD_CALLS) {
      say(`{"jsonrpc":"2.0","id":"${why}","method":"tools/call","params":${params}}`)
      await expect
        .poll(() => heard.find(({ id }) => id === why)?.result?.content?.[0]?.text, { message: why })
        .toMatch(words)
    }
  })

  it('T95: what is no message, or may run something, is not handed on', async () => {
    const { say, ask, heard } = await bank.start()
    for (const [why, line, code] of ODD_LINES) {
      const { length } = heard
      say(line)
      await expect.poll(() => heard[length]?.error?.code, { message: why }).toBe(code)
    }
    say('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"pay","arguments":{}}}')
    expect(await ask('ping')).toMatchObject({ result: {} })
    expect(await bank.runs()).toEqual([])
  })
})

const ODD_CALLS: [string, string, RegExp][] = [
  ['names twice', '{"name":"read","name":"drop","arguments":{}}', /forbid drop/],
  [
    'a name in other letters',
    '{"name":"read","Name":"drop","arguments":{}}',
    /differ only in upper and lower case/,
  ],
  ['arguments in other letters', '{"name":"read","Arguments":{"path":"/etc"}}', /may not have "Arguments"/],
  ['arguments in odd letters', '{"name":"read","argumentſ":{"path":"/etc"}}', /may not have "argumentſ"/],
  ['a parameter that nobody sees', '{"name":"read","arguments":{},"as":"root"}', /may not have "as"/],
  ['an argument twice', '{"name":"read","arguments":{"path":"a","path":"b"}}', /^content of b$/],
  [
    'an argument in other letters',
    '{"name":"read","arguments":{"path":"a","Path":"b"}}',
    /differ only in upper/,
  ],
  [
    'a number that is not held',
    '{"name":"read","arguments":{"path":9007199254740993}}',
    /too large to be passed/,
  ],
  ['a number beyond all', '{"name":"read","arguments":{"path":1e999}}', /JSON cannot hold/],
  ['no name', '{"arguments":{}}', /must name a tool/],
  ['arguments in a list', '{"name":"read","arguments":[]}', /must be an object/],
]

const ODD_LINES: [string, string, number][] = [
  [
    'two methods in other letters',
    '{"jsonrpc":"2.0","id":"odd","method":"ping","Method":"tools/call","params":{"name":"pay"}}',
    -32600,
  ],
  [
    'several messages in one',
    '[{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"pay"}}]',
    -32600,
  ],
  ['half a message', '{"jsonrpc":"2.0","id":', -32600],
  [
    'a method that may run something',
    '{"jsonrpc":"2.0","id":"odd","method":"tools/run","params":{"name":"pay"}}',
    -32601,
  ],
]

describe('the server', () => {
  it('that dies ends the gateway; calls that wait or run are told so', async () => {
    const { call, ended } = await bank.start()
    const paying = call('pay', PAY)
    await on.asked()
    expect(await call('die')).toEqual({
      failed: true,
      text: 'The MCP server has ended (exit code 3). The call may have been done; check.',
    })
    expect(await paying).toMatchObject({ failed: true, text: expect.stringContaining('has ended') })
    expect(await ended).toBe(1)
  })

  it.each<[string, (host: LineHost) => unknown]>([
    ['leaves', ({ child }) => child.stdin?.end()],
    ['ends it', ({ child }) => child.kill('SIGTERM')],
  ])('and the gateway end quietly when the host %s, also while a call waits', async (_, leave) => {
    const host = await bank.start()
    void host.call('pay', PAY)
    await on.asked()
    leave(host)
    expect(await host.ended).toBe(0)
    expect(host.stderr()).not.toContain('has ended')
  })

  it('T96: never gets the key, and its own secrets are in no line that the gateway writes', async () => {
    const host = await bank.start()
    const { text } = await host.call('secrets')
    expect(JSON.parse(text)).toEqual({ TOKEN: 'bank-token-4711', key: 'none' })
    await host.call('die')
    await host.ended
    const rest = host.lines.filter((line) => !line.includes('\\"TOKEN\\"')).join('\n') + host.stderr()
    expect(rest).not.toContain('bank-token-4711')
    expect(host.stderr()).toContain('started with [hidden]')
  })

  it('answers the same bytes through the gateway: much, binary, odd numbers, pages of tools', async () => {
    const through = await bank.start()
    const direct = await startHost([], { ...bank.env, TOKEN: 'x' }, SERVER)
    for (const host of [through, direct]) {
      for (const name of ['picture', 'big', 'read']) await host.call(name, { path: 'a' })
      await host.ask('tools/list', {})
      await host.ask('tools/list', { cursor: 'more' })
    }
    expect(through.lines).toEqual(direct.lines)
  })
})

describe('a gateway that cannot start', () => {
  it.each<[string, string[], RegExp]>([
    ['no configuration', ['gateway', '--', 'x'], /takes a configuration and a server/],
    ['no server', ['gateway', '--config', 'gate.yaml'], /takes a configuration and a server/],
    ['no such file', ['gateway', '--config', 'none.yaml', '--', 'x'], /none\.yaml/],
    [
      'no such server',
      ['gateway', '--config', 'gate.yaml', '--list', '--', './none'],
      /could not be started \(ENOENT\)/,
    ],
  ])('%s ends with 20 and a sentence', async (_, argv, words) => {
    const { code, out, err } = await startCaller(argv, { cwd: bank.folder, env: bank.env }).ended
    expect({ code, out, err }).toEqual({ code: 20, out: '', err: expect.stringMatching(words) })
    expect(err).not.toMatch(/^ +at /m)
  })

  it('prints a name with signs of the terminal in letters', async () => {
    bank.env.LIE = 'escape'
    const { out } = await startCaller(bank.args('--list'), { cwd: bank.folder, env: bank.env }).ended
    expect(out).toMatch(/^pay\\u\{1b\}\[2J\\u\{9b\}2J +not pinned/m)
  })

  it('pins no tool that the server lists twice', async () => {
    bank.env.LIE = 'twice'
    const { code, err } = await startCaller(bank.args('--pin'), { cwd: bank.folder, env: bank.env }).ended
    expect({ code, err }).toEqual({ code: 20, err: expect.stringContaining('lists "pay" twice') })
    await expect(readFile(join(bank.folder, 'gate.lock.json'))).rejects.toThrow('ENOENT')
  })

  it('says what has become of the pinned tools, and of rules for none', async () => {
    await bank.write('rules: [{ tool: [pay, refund_*], effect: allow, when: { amout: { at_most: 5 } } }]')
    const pin = () => startCaller(bank.args('--pin'), { cwd: bank.folder, env: bank.env }).ended
    const { out } = await pin()
    expect(out).toMatch(/^pay +not pinned +allow \(rules\[0\], by arguments\), else approve \(no rule\)$/m)
    expect(out).toMatch(/^rules\[0\]: pay has no argument amout$/m)
    const lock = join(bank.folder, 'gate.lock.json')
    await writeFile(
      lock,
      (await readFile(lock, 'utf8')).replace('Drops a table.', 'Drops it.').replace('"read"', '"read_all"'),
    )
    const after = (await pin()).out
    expect(after).toMatch(/^drop +changed/m)
    expect(after).toMatch(/^read_all: pinned, and no tool of this server$/m)
    expect((await pin()).out).toMatch(/^drop +pinned/m)
  })
})

/** Starts the bank at an address, and puts the gateway in front of that. */
async function moveToAddress(): Promise<void> {
  const env = { ...bank.env, TOKEN: 'bank-token-4711' }
  const child = spawn(process.execPath, [SERVER, '--http'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout.setEncoding('utf8'), 'data')
  bank.words = [`http://127.0.0.1:${Number(port)}/mcp`]
  const config = join(bank.folder, 'gate.yaml')
  const text = await readFile(config, 'utf8')
  await writeFile(
    config,
    `${text.replace(/^headers.*\n/m, '')}headers: { Authorization: "Bearer \${BANK_TOKEN}" }\n`,
  )
}

describe.each([
  ['started by the gateway', async () => {}],
  ['at an address', moveToAddress],
])('with an official client, a server that is %s', (where, prepare) => {
  const self = { name: 'test', version: '1' }
  async function connect() {
    await prepare()
    await (await bank.start()).call('read')
    const client = new ClientV1(self, { capabilities: { elicitation: {} } })
    await client.connect(
      new StdioV1({ command: process.execPath, args: [COMMAND, ...bank.args()], env: bank.env }),
    )
    onTestFinished(() => client.close())
    return client
  }
  const call = (name: string, args = {}) => ({ name, arguments: args })

  it('passes its resources, prompts, completions, messages, questions and cancellations', async () => {
    const client = await connect()
    expect(client.getInstructions()).toBe('Be careful.')
    expect(await client.readResource({ uri: 'bank://logo' })).toMatchObject({
      contents: [{ blob: expect.any(String) }],
    })
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'greet' }])
    expect(await client.getPrompt({ name: 'greet' })).toMatchObject({ messages: [{ role: 'user' }] })
    const ref = { type: 'ref/prompt', name: 'greet' } as const
    expect((await client.complete({ ref, argument: { name: 'a', value: 'o' } })).completion.values).toEqual([
      'one',
      'two',
    ])
    const said: unknown[] = []
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void said.push(params.data),
    )
    await client.callTool(call('slow'))
    await expect.poll(() => said).toEqual(['at work'])
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'ACME' } }))
    expect(await client.callTool(call('consult'))).toMatchObject({
      content: [{ text: expect.stringContaining('ACME') }],
    })
    const control = new AbortController()
    const hanging = client.callTool(call('hang'), undefined, { signal: control.signal })
    control.abort()
    await expect(hanging).rejects.toThrow()
    await expect.poll(() => bank.runs()).toEqual(['cancelled'])
  })

  it('runs an approved call once, also with a client of the newest kind', async () => {
    await connect()
    const client = new ClientV2(self, { versionNegotiation: { mode: 'auto' } })
    await client.connect(
      new StdioV2({ command: process.execPath, args: [COMMAND, ...bank.args()], env: bank.env }),
    )
    onTestFinished(() => client.close())
    const paying = client.callTool(call('pay', PAY))
    await on.service.decide(await on.asked(), 'approved')
    expect(await paying).toMatchObject({ content: [{ text: PAID.text }] })
    const denied = await client.callTool(call('drop', { table: 'x' }))
    expect(denied).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('by hand') }] })
    expect(await bank.runs()).toEqual([PAY])
  })

  if (where !== 'at an address') return
  it('passes its progress, does not repeat a call, and tells no secret, when the server refuses it or is gone', async () => {
    await prepare()
    const host = await bank.start()
    await host.call('slow', {}, { progressToken: 't' })
    const steps = host.heard.flatMap(({ params }) => (params?.progressToken === 't' ? [params.progress] : []))
    expect(steps).toEqual([1, 2, 3])
    expect(await host.call('die')).toEqual({
      failed: true,
      text: expect.stringContaining('may have been done'),
    })
    expect(await host.call('read')).toMatchObject({
      failed: true,
      text: expect.stringMatching(/^The connection to/),
    })
    await moveToAddress()
    bank.env.BANK_TOKEN = 'other-token-4711'
    const { code, err } = await startCaller(bank.args('--list'), { cwd: bank.folder, env: bank.env }).ended
    expect({ code, err }).toEqual({ code: 20, err: expect.stringContaining('The MCP server answered 401.') })
    expect(err + host.lines.join('') + host.stderr()).not.toMatch(/token-4711/)
  })
})

describe('a server of revision 2026-07-28', () => {
  it('may ask back within an approved call: the answer goes on with it, and needs no other approval', async () => {
    bank.words = [process.execPath, fileURLToPath(new URL('gateway-modern-server.mjs', import.meta.url))]
    await bank.write('hold_seconds: 20')
    const client = new ClientV2(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { form: {} } } },
    )
    client.setRequestHandler('elicitation/create', async () => ({
      action: 'accept',
      content: { confirm: true },
    }))
    await client.connect(
      new StdioV2({ command: process.execPath, args: [COMMAND, ...bank.args()], env: bank.env }),
    )
    onTestFinished(() => client.close())
    const deploying = client.callTool({ name: 'deploy', arguments: { env: 'production' } })
    await on.service.decide(await on.asked(), 'approved')
    expect(await deploying).toMatchObject({ content: [{ text: 'deployed to production' }] })
    expect(await bank.requests()).toHaveLength(1)
    // Made up, without a call that was approved.
    const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
    const forged = client.callTool({
      name: 'deploy',
      arguments: { env: 'production' },
      inputResponses,
    } as never)
    await expect.poll(async () => (await bank.requests()).length).toBe(2)
    const [{ id = '' } = {}] = await bank.requests()
    expect((await bank.read(id)).context).toMatchObject({ input_responses: inputResponses })
    await on.service.decide(id, 'rejected')
    expect(await forged).toMatchObject({ isError: true })
  })
})
