import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'
import { AWAY, BUSY, htmlPage, type Mishap } from './bad-network.ts'
import { CONSUME, CREATE, INVOICE, useHostileSetting, WAIT } from './hostile-setting.ts'

const on = useHostileSetting()

const noop = () => {}

describe('a guarded call survives', () => {
  it.each<[string, Mishap[]]>([
    ['lost answers', ['lose', 'lose']],
    ['cut answers', ['cut']],
    ['429', [BUSY]],
    ['503', [AWAY]],
    ['a 502 of a proxy, as a page', [htmlPage(502), htmlPage(504)]],
    ['a page with 200, and a 404 of no service', [htmlPage(200), htmlPage(404)]],
  ])('%s to both calls: one request, one payment', async (_, mishaps) => {
    for (const path of [CREATE, CONSUME]) on.network.spoil(path, ...mishaps)
    const { paid, pay } = on.payment()
    const done = pay(INVOICE)
    await on.service.decide(await on.asked(), 'approved')
    await done
    expect(paid).toEqual([INVOICE])
    expect(await on.service.requestsOf(on.key)).toHaveLength(1)
    expect(on.calls(WAIT)).toEqual([])
    for (const path of [CREATE, CONSUME]) {
      expect(on.calls(path)).toHaveLength(1 + mishaps.length)
      // Repeats are the same call: the same key, the same text.
      expect(new Set(on.calls(path).map((call) => `${call.idempotencyKey} ${call.body}`)).size).toBe(1)
    }
  })

  it('all of these in the wait, where that is a call of its own', async () => {
    const mishaps: Mishap[] = ['lose', 'cut', BUSY, AWAY, htmlPage(502), htmlPage(200), htmlPage(404)]
    on.network.spoil(WAIT, ...mishaps)
    const { paid, pay } = on.payment(on.client(), 'call-1', noop)
    const done = pay(INVOICE)
    await on.service.decide(await on.asked(), 'approved')
    await done
    expect(paid).toEqual([INVOICE])
    expect([on.calls(CREATE), on.calls(WAIT)]).toMatchObject([{ length: 1 }, { length: 1 + mishaps.length }])
  })

  it.each(['SIGTERM', 'SIGKILL'] as const)('a service that ends by %s during the wait', async (signal) => {
    const { paid, pay } = on.payment()
    const done = pay(INVOICE)
    const id = await on.asked()
    await on.waiting()
    await on.service.restart(signal)
    await on.service.decide(id, 'approved')
    await done
    expect(paid).toEqual([INVOICE])
    expect(await on.service.requestsOf(on.key)).toHaveLength(1)
  })

  it('waits as long as Retry-After says, and not a month for a quota', async () => {
    const heard: unknown[] = []
    on.network.spoil(CREATE, { ...BUSY, headers: { 'retry-after': '2' } })
    const started = performance.now()
    const onRetry = (...why: unknown[]) => heard.push(why)
    await on.client({ onRetry }).ask({ action: 'Pay', for: ['r', 'c'], withinSeconds: 3 })
    expect(performance.now() - started).toBeGreaterThanOrEqual(2000)
    expect(heard).toEqual([['429 rate limit exceeded', 2]])

    on.network.spoil(CREATE, {
      status: 429,
      body: '{"error":"quota_exceeded","message":"Used up.","retry_after":9}',
    })
    await expect(on.client().ask({ action: 'Pay', for: ['r', 'd'] })).rejects.toMatchObject({
      name: 'Refused',
      code: 'quota_exceeded',
      sentence: expect.stringContaining('Used up.'),
    })
  })
})

describe('a service that stays away', () => {
  it('is Unreachable, not pending and not refused: at create, in the wait, at consume', async () => {
    const { paid, pay } = on.payment(on.client({ unreachableAfterSeconds: 1 }), 'call-1', noop)
    on.network.spoil(CREATE, ...Array<Mishap>(9).fill('lose'))
    await expect(pay(INVOICE)).rejects.toMatchObject({ name: 'Unreachable', id: undefined })
    on.network.calm()

    on.network.spoil(WAIT, ...Array<Mishap>(9).fill(htmlPage(502)))
    const inWait = on.payment(on.client({ unreachableAfterSeconds: 1 }), 'call-1', noop)
    const error = await inWait.pay(INVOICE).catch((error: unknown) => error)
    expect(error).toMatchObject({
      name: 'Unreachable',
      id: await on.asked(),
      sentence: expect.stringMatching(
        /^Not done: the approval service cannot be reached \(502\), which is no decision\./,
      ),
    })
    on.network.calm()

    await on.service.decide(await on.asked(), 'approved')
    on.network.spoil(CONSUME, ...Array<Mishap>(9).fill('never'))
    const outcome = await on.client().ask({
      action: 'Pay INV-1',
      context: { arguments: [INVOICE] },
      for: ['run-1', 'call-1'],
    })
    if (outcome.status !== 'approved') throw new Error(outcome.status)
    await expect(outcome.use({ withinSeconds: 0.1 })).rejects.toMatchObject({ name: 'Unreachable' })
    expect([...paid, ...inWait.paid]).toEqual([])
  })

  it('uses an approval once although the answer is lost for good, and says so to the next', async () => {
    on.network.spoil(CONSUME, ...Array<Mishap>(9).fill('lose'))
    const done = on.client({ unreachableAfterSeconds: 1 }).ask({ action: 'Pay', for: ['r', 'c'] })
    await on.service.decide(await on.asked(), 'approved')
    const outcome = await done
    if (outcome.status !== 'approved') throw new Error(outcome.status)
    await expect(outcome.use()).rejects.toMatchObject({ name: 'Unreachable', id: outcome.id })
    on.network.calm()
    // Its own key gets the lost answer again; nobody else's does.
    expect(await outcome.use()).toMatchObject({ id: outcome.id, decisionId: expect.stringMatching(/^dec_/) })
    await expect(outcome.use()).rejects.toMatchObject({ name: 'Used' })
    expect(await on.client().resume(outcome.id)).toMatchObject({ status: 'used', at: expect.any(String) })
  })

  it('ends a hanging answer at its deadline, and with the caller’s signal', async () => {
    on.network.spoil(CREATE, 'never', 'never')
    await expect(
      on.client().ask({ action: 'Pay', for: ['r', 'c'], withinSeconds: 0.2 }),
    ).rejects.toMatchObject({
      name: 'Unreachable',
    })
    const stop = new AbortController()
    const done = on.client().ask({ action: 'Pay', for: ['r', 'c'], signal: stop.signal })
    await expect.poll(() => on.calls(CREATE).length).toBe(2)
    stop.abort(new Error('the user left'))
    await expect(done).rejects.toThrow('the user left')
  })
})

describe('an agent that is killed', () => {
  it('before the decision: finds its request again, and acts once', async () => {
    const first = agent('console.log("acted")')
    const id = await on.asked()
    await on.waiting()
    first.kill('SIGKILL')
    await once(first, 'exit')
    await on.service.decide(id, 'approved')
    expect(await outputOf(agent('console.log("acted")'))).toBe('acted\n')
    expect(await outputOf(agent('console.log("acted")'))).toMatch(/^Used /)
    expect(await on.service.requestsOf(on.key)).toHaveLength(1)
  })

  it('between use and act: the next does not act, and says that it may have been done', async () => {
    const first = agent(
      'console.log("about to act"); setInterval(() => {}, 1000); await new Promise(() => {})',
    )
    await on.service.decide(await on.asked(), 'approved')
    await once(first.stdout ?? first, 'data')
    first.kill('SIGKILL')
    await once(first, 'exit')
    expect(await outputOf(agent('console.log("acted")'))).toMatch(/^Used .*may have been done/)
  })

  function agent(act: string): ChildProcess {
    const code = `
      import { countersign } from '@countersign/client'
      const cs = countersign({ url: '${on.network.url}', key: '${on.key}' })
      const act = cs.guard(async () => { ${act} }, { action: () => 'Act', for: () => ['run', 'call'] })
      await act().catch((error) => console.log(error.name, error.sentence))
      process.exit()`
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      cwd: packagePath('packages/client'),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  async function outputOf(child: ChildProcess): Promise<string> {
    let output = ''
    child.stdout?.on('data', (chunk) => {
      output += String(chunk)
    })
    await once(child, 'close')
    return output
  }
})
