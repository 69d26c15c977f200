import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startCaller } from './caller.ts'
import { PAID, PAY, SERVER, startHost, useBank } from './gateway-host.ts'
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

  it('what is no message, or may run something, is not handed on', async () => {
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
    const { call, ended } = await bank.start()
    const paying = call('pay', PAY)
    await on.asked()
    expect(await call('die')).toEqual({ failed: true, text: 'The MCP server has ended (exit code 3).' })
    expect(await paying).toMatchObject({ failed: true, text: expect.stringContaining('has ended') })
    expect(await ended).toBe(1)
  })

  it('never gets the key, and its own secrets are in no line that the gateway writes', async () => {
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
