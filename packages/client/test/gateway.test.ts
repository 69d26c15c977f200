import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AWAY, BUSY, htmlPage, type Mishap } from './bad-network.ts'
import { startCaller } from './caller.ts'
import { HASTY_RULES, PAID, PAY, useBank } from './gateway-host.ts'
import { CONSUME, CREATE, useHostileSetting } from './hostile-setting.ts'

const on = useHostileSetting()
const bank = useBank(on)

async function cancel(id: string): Promise<void> {
  const headers = { authorization: `Bearer ${on.key}` }
  await fetch(`${on.service.url}/api/v1/approvals/${id}/cancel`, { method: 'POST', headers })
}

describe('a call', () => {
  it('that a rule allows runs at once, one that a rule denies never, and the model reads why', async () => {
    const { call } = await bank.start()
    expect(await call('read', { path: 'a' })).toEqual({ failed: false, text: 'content of a' })
    const { failed, text } = await call('drop', { table: 'x' })
    expect({ failed, text }).toEqual({
      failed: true,
      text: expect.stringContaining('Tables are dropped by hand.'),
    })
    expect(await bank.requests()).toEqual([])
  })

  it('that needs an approval waits for it, and the person sees exactly what runs', async () => {
    const { call } = await bank.start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    expect(await bank.read(id)).toMatchObject({
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
    await expect.poll(async () => (await bank.requests()).length).toBe(2)
    await on.service.decide((await bank.requests())[0]?.id ?? '', 'rejected', 'Once is enough.')
    expect(await again).toMatchObject({ failed: true, text: expect.stringContaining('"Once is enough."') })
    expect(await bank.runs()).toEqual([PAY])
  })

  it('of a tool that the file does not name needs an approval, also one that the server does not list', async () => {
    await bank.write('hold_seconds: 1')
    const { call } = await bank.start()
    for (const name of ['read', 'no_such_tool'])
      expect(await call(name)).toMatchObject({
        failed: true,
        text: expect.stringContaining('nobody has decided yet'),
      })
    const [second, first] = await bank.requests()
    expect(first?.action).toBe('Call read of bank')
    expect((await bank.read(second?.id ?? '')).context).toMatchObject({
      definition: 'not listed by the server',
    })
  })

  it.each([
    ['withdrawn', (id: string) => cancel(id), 'is withdrawn'],
    ['decided by a sandbox', undefined, 'no person decides about this sandbox key'],
  ])('%s does not run', async (_, act, words) => {
    if (act === undefined) bank.env.COUNTERSIGN_KEY = await on.service.newKey(true)
    const { call } = await bank.start()
    const paying = call('pay', PAY)
    await act?.(await on.asked())
    expect(await paying).toMatchObject({ failed: true, text: expect.stringContaining(words) })
    expect(await bank.runs()).toEqual([])
  })

  it("runs by a sandbox's word if that is allowed, for a trial", async () => {
    bank.env.COUNTERSIGN_KEY = await on.service.newKey(true)
    const { call } = await bank.start('--allow-sandbox')
    expect(await call('pay', PAY)).toEqual(PAID)
  })

  it('whose approval was used elsewhere does not run', async () => {
    const { call } = await bank.start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    const { action, context } = await bank.read(id)
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
    const { call } = await bank.start()
    for (const what of [CREATE, /\/events$/, /\/req_\w+$/, CONSUME]) on.network.spoil(what, mishap)
    const paying = call('pay', PAY)
    await on.service.decide(await on.asked(), 'approved')
    expect(await paying).toEqual(PAID)
    expect(await bank.runs()).toEqual([PAY])
    expect(await bank.requests()).toHaveLength(1)
  })

  it('a service that is away: nothing that needs an approval is handed on, and the model reads why', async () => {
    bank.env.COUNTERSIGN_URL = 'http://127.0.0.1:9'
    await bank.write(HASTY_RULES)
    const { call } = await bank.start()
    expect(await call('pay', PAY)).toMatchObject({
      failed: true,
      text: expect.stringContaining('which is no decision'),
    })
    expect(await bank.runs()).toEqual([])
    expect(await call('read', { path: 'a' })).toMatchObject({ failed: false })
  })

  it('a service that is killed and started again while a call waits costs nothing', async () => {
    const { call } = await bank.start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    await on.service.restart('SIGKILL')
    await on.service.decide(id, 'approved')
    expect(await paying).toEqual(PAID)
    expect(await bank.requests()).toHaveLength(1)
  })

  it('a gateway that is killed between the approval and the call has run it never, and the next one asks anew', async () => {
    const first = await bank.start()
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
    const second = await bank.start()
    const paying = second.call('pay', PAY)
    await expect.poll(async () => (await bank.requests()).length).toBe(2)
    expect(await bank.runs()).toEqual([])
    await on.service.decide((await bank.requests())[0]?.id ?? '', 'approved')
    expect(await paying).toEqual(PAID)
    expect(await bank.runs()).toEqual([PAY])
  })

  it('a gateway that is killed while it waits is made good by the same call to the next one', async () => {
    const first = await bank.start()
    void first.call('pay', PAY)
    const id = await on.asked()
    first.child.kill('SIGKILL')
    await first.ended
    await on.service.decide(id, 'approved')
    expect(await (await bank.start()).call('pay', PAY)).toEqual(PAID)
    expect(await bank.requests()).toHaveLength(1)
  })

  it('what fails for no known reason while a call waits is told to the operator', async () => {
    const { call, stderr } = await bank.start()
    const paying = call('pay', PAY)
    const id = await on.asked()
    await rm(join(bank.folder, 'gate.lock.json'))
    await mkdir(join(bank.folder, 'gate.lock.json'))
    await on.service.decide(id, 'approved')
    expect(await paying).toEqual({ failed: true, text: 'Not done: the gateway failed. Tell the user.' })
    expect(stderr()).toContain('EISDIR')
    expect(await bank.runs()).toEqual([])
  })

  it('an answer of the server that cannot be read does not end the gateway', async () => {
    await bank.start()
    bank.env.LIE = 'deep'
    const { ask, call } = await bank.start()
    const paying = call('pay', PAY)
    await on.service.decide(await on.asked(), 'approved')
    expect(await paying).toEqual({ failed: true, text: expect.stringContaining('may have been done') })
    expect(await ask('ping')).toMatchObject({ result: {} })
  })
})

describe('T98: a message without end', () => {
  /** More than a message may have. */
  const FLOOD = 'const part = "x".repeat(1e6); for (let n = 0; n < 70; n += 1) '
  /** An HTTP server that prints its port. */
  const served = (head: string) =>
    `require("node:http").createServer((_, to) => { ${head}; ${FLOOD} to.write(part); to.end() })
      .listen(0, "127.0.0.1", function () { console.log(this.address().port) })`

  it.each([
    ['a line', `${FLOOD} process.stdout.write(part)`],
    ['a line for people', `${FLOOD} process.stderr.write(part)`],
    ['an answer', served('to.writeHead(200, { "content-type": "application/json" })')],
    ['a refusal', served('to.writeHead(500)')],
    ['an event', served('to.writeHead(200, { "content-type": "text/event-stream" })')],
    [
      'an event of many lines',
      served('to.writeHead(200, { "content-type": "text/event-stream" })').replace('1e6)', '1e6) + "\\n"'),
    ],
  ])('of the server is not read on, and said: %s', async (_, program) => {
    bank.words = [process.execPath, '-e', program]
    if (program.includes('createServer')) {
      const { stdout } = spawnServer(program)
      const [port] = await once(stdout, 'data')
      bank.words = [`http://127.0.0.1:${String(port).trim()}/`]
    }
    const { code, err } = await startCaller(bank.args('--list'), { cwd: bank.folder, env: bank.env }).ended
    expect({ code, err }).toEqual({
      code: 20,
      err: expect.stringContaining('of more than 64 MiB was not read'),
    })
  })

  it('of the host ends the gateway, which says so', async () => {
    const { child, ended, stderr } = await bank.start()
    child.stdin?.write('x'.repeat(70e6))
    expect(await ended).toBe(1)
    expect(stderr()).toContain('of more than 64 MiB was not read')
  })
})

function spawnServer(program: string) {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

describe('when nobody decides in time', () => {
  it('the model is told to repeat the call, and a late approval serves the repeat', async () => {
    await bank.write(HASTY_RULES)
    const { call } = await bank.start()
    const { failed, text } = await call('pay', PAY)
    const [{ id = '' } = {}] = await bank.requests()
    expect({ failed, text }).toEqual({
      failed: true,
      text: expect.stringMatching(
        new RegExp(`nobody has decided yet, which is no refusal.*/a/${id}.*repeat the same call`),
      ),
    })
    await on.service.decide(id, 'approved')
    expect(await call('pay', PAY)).toEqual(PAID)
    expect(await bank.requests()).toHaveLength(1)
  })

  it('a host that hears of progress is held on, and learns where a person decides', async () => {
    await bank.write(`${HASTY_RULES}hold_with_progress_seconds: 60\n`)
    const { call, heard } = await bank.start()
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
    const { ask, call, say, heard } = await bank.start()
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

describe('the id of a call that was cancelled', () => {
  it('stays used, and a server that dies is not said to have done the call', async () => {
    const { ask, call, say, heard, ended } = await bank.start()
    void ask('tools/call', { name: 'hang' }, 'h')
    await call('read')
    say({ method: 'notifications/cancelled', params: { requestId: 'h' } })
    expect(await ask('ping', {}, 'h')).toMatchObject({ error: { message: 'This id is in use.' } })
    await call('die')
    await ended
    expect(heard.filter(({ id }) => id === 'h')).toHaveLength(1)
  })

  it('serves a call a moment later: only that is asked about and runs', async () => {
    const { call, say, heard } = await bank.start()
    await call('read', { path: 'a' })
    const lineOf = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message })
    const payTo = (to: string) =>
      lineOf({ id: 'x', method: 'tools/call', params: { name: 'pay', arguments: { ...PAY, to } } })
    const cancelled = lineOf({ method: 'notifications/cancelled', params: { requestId: 'x' } })
    say([payTo('Bolt'), cancelled, payTo('ACME')].join('\n'))
    await expect
      .poll(async () => (await bank.requests()).some(({ action }) => action.endsWith('ACME')))
      .toBe(true)
    for (const { id } of await bank.requests()) await on.service.decide(id, 'approved')
    await expect
      .poll(() => heard.find(({ id }) => id === 'x')?.result?.content)
      .toMatchObject([{ text: PAID.text }])
    expect(await bank.runs()).toEqual([PAY])
    expect(await bank.requests()).toHaveLength(1)
  })
})

describe('T97: equal calls at once', () => {
  it('of one host wait together: one request, one run, and no one is told that it ran twice', async () => {
    const { call } = await bank.start()
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
    const hosts = [await bank.start(), await bank.start()]
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

  it('that differ in what a person is not shown are two calls: the approval is used for one of them', async () => {
    const host = await bank.start()
    const states = ['a', 'b']
    const calls = states.map((requestState) =>
      host.ask('tools/call', { name: 'pay', arguments: PAY, requestState }),
    )
    const id = await on.asked()
    expect(await host.call('read', { path: 'a' })).toMatchObject({ failed: false })
    await on.service.decide(id, 'approved')
    const answers = await Promise.all(calls)
    expect(answers.filter(({ result }) => result?.isError !== true)).toHaveLength(1)
    const refused = answers.find(({ result }) => result?.isError === true)
    expect(refused?.result?.content?.[0]?.text).not.toMatch(/^Not done a second time/)
    expect(await bank.runs()).toEqual([PAY])
  })

  it('30 different calls are 30 requests, more than a key has places for waits', async () => {
    const { call } = await bank.start()
    const amounts = Array.from({ length: 30 }, (_, n) => String(n))
    const calls = amounts.map((amount) => call('pay', { to: 'ACME', amount }))
    await expect.poll(async () => (await bank.requests()).length).toBe(30)
    for (const { id } of await bank.requests()) await on.service.decide(id, 'approved')
    expect(await Promise.all(calls)).toEqual(
      amounts.map((amount) => ({ failed: false, text: `paid ${amount} to ACME` })),
    )
  })
})
