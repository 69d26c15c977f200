import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { AWAY, BUSY, htmlPage, type Mishap } from './bad-network.ts'
import { startCaller } from './caller.ts'
import { type Bank, type LineHost, makeBank, SERVER, startHost } from './gateway-host.ts'
import { CONSUME, CREATE, useHostileSetting } from './hostile-setting.ts'

const on = useHostileSetting()
const PAY = { to: 'ACME', amount: '120' }
const PAID = { failed: false, text: 'paid 120 to ACME' }
const RULES = `
hold_seconds: 20
rules:
  - { tool: [read, change, die, big, picture, slow, hang, secrets, consult], effect: allow }
  - { tool: pay, effect: approve, title: "Pay {amount} to {to}" }
  - { tool: drop, effect: deny, reason: Tables are dropped by hand. }
`

let bank: Bank
beforeEach(async () => {
  bank = await makeBank(on)
  await bank.write(RULES)
})

let lock: string | undefined
/** Pins the tools, once for the file, and starts the gateway in front of the bank. */
async function start(...options: string[]): Promise<LineHost> {
  const file = join(bank.folder, 'gate.lock.json')
  if (lock === undefined) {
    const { code, err } = await startCaller(bank.args('--pin'), { cwd: bank.folder, env: bank.env }).ended
    expect(code, err).toBe(0)
    lock = await readFile(file, 'utf8')
  }
  await writeFile(file, lock)
  return startHost(bank.args(...options), bank.env)
}

async function requests() {
  return (await on.service.requestsOf(on.key)).map(({ id, action, status }) => ({ id, action, status }))
}

/** What a person sees of a request. */
async function read(id: string): Promise<{ action: string; context: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${on.key}` }
  const answer = await fetch(`${on.service.url}/api/v1/approvals/${id}`, { headers })
  return Object(await answer.json())
}

async function cancel(id: string): Promise<void> {
  const headers = { authorization: `Bearer ${on.key}` }
  await fetch(`${on.service.url}/api/v1/approvals/${id}/cancel`, { method: 'POST', headers })
}

describe('a call', () => {
  it('that a rule allows runs at once, one that a rule denies never, and the model reads why', async () => {
    const { call } = await start()
    expect(await call('read', { path: 'a' })).toEqual({ failed: false, text: 'content of a' })
    const { failed, text } = await call('drop', { table: 'x' })
    expect({ failed, text }).toEqual({
      failed: true,
      text: expect.stringContaining('Tables are dropped by hand.'),
    })
    expect(await requests()).toEqual([])
  })

  it('that needs an approval waits for it, and the person sees exactly what runs', async () => {
    const { call } = await start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    expect(await read(id)).toMatchObject({
      action: 'Pay 120 to ACME',
      context: {
        server: 'bank',
        tool: 'pay',
        arguments: PAY,
        definition_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
    expect(await bank.runs()).toEqual([])
    await on.service.decide(id, 'approved')
    expect(await paying).toEqual(PAID)
    expect(await bank.runs()).toEqual([PAY])
    // An approval is for one call.
    const again = call('pay', PAY)
    await expect.poll(async () => (await requests()).length).toBe(2)
    await on.service.decide((await requests())[0]?.id ?? '', 'rejected', 'Once is enough.')
    expect(await again).toMatchObject({ failed: true, text: expect.stringContaining('"Once is enough."') })
    expect(await bank.runs()).toEqual([PAY])
  })

  it('of a tool that the file does not name needs an approval, also one that the server does not list', async () => {
    await bank.write('hold_seconds: 1')
    const { call } = await start()
    for (const name of ['read', 'no_such_tool'])
      expect(await call(name)).toMatchObject({
        failed: true,
        text: expect.stringContaining('nobody has decided yet'),
      })
    const [second, first] = await requests()
    expect(first?.action).toBe('Call read of bank')
    expect((await read(second?.id ?? '')).context).toMatchObject({ definition: 'not listed by the server' })
  })

  it.each([
    ['withdrawn', (id: string) => cancel(id), 'is withdrawn'],
    ['decided by a sandbox', undefined, 'no person decides about this sandbox key'],
  ])('%s does not run', async (_, act, words) => {
    if (act === undefined) bank.env.COUNTERSIGN_KEY = await on.service.newKey(true)
    const { call } = await start()
    const paying = call('pay', PAY)
    await act?.(await on.asked())
    expect(await paying).toMatchObject({ failed: true, text: expect.stringContaining(words) })
    expect(await bank.runs()).toEqual([])
  })

  it("runs by a sandbox's word if that is allowed, for a trial", async () => {
    bank.env.COUNTERSIGN_KEY = await on.service.newKey(true)
    const { call } = await start('--allow-sandbox')
    expect(await call('pay', PAY)).toEqual(PAID)
  })

  it('whose approval was used elsewhere does not run', async () => {
    const { call } = await start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    const { action, context } = await read(id)
    on.network.spoil(CONSUME, AWAY)
    await on.service.decide(id, 'approved')
    await on.waiting(CONSUME)
    const headers = { authorization: `Bearer ${on.key}`, 'content-type': 'application/json' }
    const used = await fetch(`${on.service.url}/api/v1/approvals/${id}/consume`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ action, context }),
    })
    expect(used.status).toBe(200)
    expect(await paying).toMatchObject({ failed: true, text: expect.stringContaining('was used before') })
    expect(await bank.runs()).toEqual([])
  })
})

describe('when the service or the network fails', () => {
  it.each<[string, Mishap]>([
    ['a lost answer', 'lose'],
    ['a cut answer', 'cut'],
    ['429', BUSY],
    ['503', AWAY],
    ['a 502 of a proxy, as a page', htmlPage(502)],
  ])('%s to asking and to using: one request, one run', async (_, mishap) => {
    const { call } = await start()
    for (const what of [CREATE, /\/events$/, /\/req_\w+$/, CONSUME]) on.network.spoil(what, mishap)
    const paying = call('pay', PAY)
    await on.service.decide(await on.asked(), 'approved')
    expect(await paying).toEqual(PAID)
    expect(await bank.runs()).toEqual([PAY])
    expect(await requests()).toHaveLength(1)
  })

  it('a service that is away: nothing that needs an approval is handed on, and the model reads why', async () => {
    bank.env.COUNTERSIGN_URL = 'http://127.0.0.1:9'
    await bank.write(RULES.replace('hold_seconds: 20', 'hold_seconds: 1'))
    const { call } = await start()
    expect(await call('pay', PAY)).toMatchObject({
      failed: true,
      text: expect.stringContaining('which is no decision'),
    })
    expect(await bank.runs()).toEqual([])
    expect(await call('read', { path: 'a' })).toMatchObject({ failed: false })
  })

  it('a service that is killed and started again while a call waits costs nothing', async () => {
    const { call } = await start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    await on.service.restart('SIGKILL')
    await on.service.decide(id, 'approved')
    expect(await paying).toEqual(PAID)
    expect(await requests()).toHaveLength(1)
  })

  it('a gateway that is killed between the approval and the call has run it never, and the next one asks anew', async () => {
    const first = await start()
    void first.call('pay', PAY)
    const id = await on.asked()
    // The service uses the approval up; its answer never arrives.
    on.network.spoil(CONSUME, 'lose', 'never')
    await on.service.decide(id, 'approved')
    await on.waiting(CONSUME)
    await expect.poll(() => on.calls(CONSUME).length).toBe(2)
    first.child.kill('SIGKILL')
    await first.ended
    on.network.calm()
    const second = await start()
    const paying = second.call('pay', PAY)
    await expect.poll(async () => (await requests()).length).toBe(2)
    expect(await bank.runs()).toEqual([])
    await on.service.decide((await requests())[0]?.id ?? '', 'approved')
    expect(await paying).toEqual(PAID)
    expect(await bank.runs()).toEqual([PAY])
  })

  it('a gateway that is killed while it waits is made good by the same call to the next one', async () => {
    const first = await start()
    void first.call('pay', PAY)
    const id = await on.asked()
    first.child.kill('SIGKILL')
    await first.ended
    await on.service.decide(id, 'approved')
    expect(await (await start()).call('pay', PAY)).toEqual(PAID)
    expect(await requests()).toHaveLength(1)
  })
})

describe('when nobody decides in time', () => {
  it('the model is told to repeat the call, and a late approval serves the repeat', async () => {
    await bank.write(RULES.replace('hold_seconds: 20', 'hold_seconds: 1'))
    const { call } = await start()
    const { failed, text } = await call('pay', PAY)
    const [{ id = '' } = {}] = await requests()
    expect({ failed, text }).toEqual({
      failed: true,
      text: expect.stringMatching(
        new RegExp(`nobody has decided yet, which is no refusal.*/a/${id}.*repeat the same call`),
      ),
    })
    await on.service.decide(id, 'approved')
    expect(await call('pay', PAY)).toEqual(PAID)
    expect(await requests()).toHaveLength(1)
  })

  it('a host that hears of progress is held on, and learns where a person decides', async () => {
    await bank.write(
      `${RULES.replace('hold_seconds: 20', 'hold_seconds: 1')}hold_with_progress_seconds: 60\n`,
    )
    const { call, heard } = await start()
    const paying = call('pay', PAY, { progressToken: 'p' })
    const id = await on.asked()
    await expect
      .poll(() => heard.find(({ method }) => method === 'notifications/progress')?.params)
      .toEqual({
        progressToken: 'p',
        progress: 0.001,
        message: expect.stringContaining(`/a/${id}`),
      })
    expect(await call('pay', PAY)).toMatchObject({ text: expect.stringContaining('repeat the same call') })
    await on.service.decide(id, 'approved')
    expect(await paying).toEqual(PAID)
  })

  it('a call that the host cancels is not answered and does not run; the same call again joins its request', async () => {
    const { ask, call, say, heard } = await start()
    void ask('tools/call', { name: 'pay', arguments: PAY }, 'first')
    const id = await on.asked()
    say({ method: 'notifications/cancelled', params: { requestId: 'first' } })
    expect(await call('read', { path: 'a' })).toMatchObject({ failed: false })
    await on.service.decide(id, 'approved')
    expect(await call('pay', PAY)).toEqual(PAID)
    expect(heard.filter((message) => message.id === 'first')).toEqual([])
    expect(await bank.runs()).toEqual([PAY])
  })
})

describe('equal calls at once', () => {
  it('of one host wait together: one request, one run, and no one is told that it ran twice', async () => {
    const { call } = await start()
    const calls = Array.from({ length: 8 }, () => call('pay', PAY))
    const id = await on.asked()
    // All of them wait before it is decided.
    expect(await call('read', { path: 'a' })).toMatchObject({ failed: false })
    await on.service.decide(id, 'approved')
    const answers = await Promise.all(calls)
    expect(answers.filter(({ failed }) => !failed)).toEqual([PAID])
    expect(answers.slice(0, -1)).toEqual(
      Array(7).fill({ failed: true, text: expect.stringMatching(/^Not done a second time/) }),
    )
    expect(await bank.runs()).toEqual([PAY])
  })

  it('of two hosts are one request, and one run', async () => {
    const hosts = [await start(), await start()]
    const calls = hosts.map(({ call }) => call('pay', PAY))
    await on.waiting(/\/events$/)
    // The one that joined has read what it joined.
    await expect.poll(() => on.calls(/\/req_\w+$/).length).toBeGreaterThanOrEqual(1)
    await on.service.decide(await on.asked(), 'approved')
    const answers = await Promise.all(calls)
    expect(answers.filter(({ failed }) => !failed)).toEqual([PAID])
    expect(answers.filter(({ failed }) => failed)).toMatchObject([
      { text: expect.stringContaining('was used before') },
    ])
    expect(await bank.runs()).toEqual([PAY])
  })

  it('30 different calls are 30 requests, more than a key has places for waits', async () => {
    const { call } = await start()
    const amounts = Array.from({ length: 30 }, (_, n) => String(n))
    const calls = amounts.map((amount) => call('pay', { to: 'ACME', amount }))
    await expect.poll(async () => (await requests()).length).toBe(30)
    for (const { id } of await requests()) await on.service.decide(id, 'approved')
    expect(await Promise.all(calls)).toEqual(
      amounts.map((amount) => ({ failed: false, text: `paid ${amount} to ACME` })),
    )
  })
})

describe('a tool, a rule or a call that changes', () => {
  it('a description that changes under way makes another question', async () => {
    const { call } = await start()
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
    await expect.poll(async () => (await requests()).length).toBe(2)
    const [{ id: second = '' } = {}] = await requests()
    expect(await read(second)).toMatchObject({
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
    const { ask, call } = await start()
    expect(await call('pay', PAY)).toEqual(PAID)
    await call('change', { to: 'Pays everything.', quiet })
    if (quiet) await ask('tools/list', {})
    expect(await call('pay', PAY)).toMatchObject({
      failed: true,
      text: expect.stringContaining('nobody has decided'),
    })
    expect(await bank.runs()).toEqual([PAY])
  })

  it('a rule that denies by now counts, also for a call that was approved', async () => {
    const { call } = await start()
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
    const { say, heard } = await start()
    for (const [why, params, words] of ODD_CALLS) {
      say(`{"jsonrpc":"2.0","id":"${why}","method":"tools/call","params":${params}}`)
      await expect
        .poll(() => heard.find(({ id }) => id === why)?.result?.content?.[0]?.text, { message: why })
        .toMatch(words)
    }
  })

  it('what is no message, or may run something, is not handed on', async () => {
    const { say, ask, heard } = await start()
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
  ['arguments in other letters', '{"name":"read","Arguments":{"path":"/etc"}}', /written in lower case/],
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
    const { call, ended } = await start()
    const paying = call('pay', PAY)
    await on.asked()
    expect(await call('die')).toEqual({ failed: true, text: 'The MCP server has ended (exit code 3).' })
    expect(await paying).toMatchObject({ failed: true, text: expect.stringContaining('has ended') })
    expect(await ended).toBe(1)
  })

  it('never gets the key, and its own secrets are in no line that the gateway writes', async () => {
    const host = await start()
    const { text } = await host.call('secrets')
    expect(JSON.parse(text)).toEqual({ TOKEN: 'bank-token-4711', key: 'none' })
    await host.call('die')
    await host.ended
    const rest = host.lines.filter((line) => !line.includes('\\"TOKEN\\"')).join('\n') + host.stderr()
    expect(rest).not.toContain('bank-token-4711')
    expect(host.stderr()).toContain('started with [hidden]')
  })

  it('answers the same bytes through the gateway: much, binary, odd numbers, pages of tools', async () => {
    const through = await start()
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
