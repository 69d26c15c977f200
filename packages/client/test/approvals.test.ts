import { createHash } from 'node:crypto'
import type { Outcome } from '@countersign/client'
import { describe, expect, it } from 'vitest'
import { INVOICE, useHostileSetting, WAIT } from './hostile-setting.ts'

const on = useHostileSetting()

describe('no run without the approval of a person', () => {
  it('a rejection is final for this call, in a later process too, and says what was written', async () => {
    const { paid, pay } = on.payment()
    const done = pay(INVOICE)
    const settled = done.catch((error: unknown) => error)
    await on.service.decide(await on.asked(), 'rejected', 'Not this month.')
    const told = {
      name: 'Rejected',
      comment: 'Not this month.',
      sentence: expect.stringMatching(/"Not this month\.".*do not ask for it again/),
    }
    expect(await settled).toMatchObject(told)
    await expect(on.payment().pay(INVOICE)).rejects.toMatchObject(told)
    expect(await on.service.requestsOf(on.key)).toHaveLength(1)
    // Another call of the run is another question.
    await expect(
      on.client().ask({ action: 'Pay INV-1', for: ['run-1', 'call-2'], withinSeconds: 0 }),
    ).resolves.toMatchObject({ status: 'pending' })
    expect([paid, await on.service.requestsOf(on.key)]).toMatchObject([[], { length: 2 }])
  })

  it('a time-out is pending, and resumes: by the same call, by the token, by the id', async () => {
    const question = { action: 'Pay', context: { amount: 3 }, for: ['r', 'c'] } as const
    const asking = await on.client().ask({ ...question, withinSeconds: 1.2 })
    const pending = { status: 'pending', id: await on.asked() }
    expect(asking).toEqual({
      ...pending,
      reviewUrl: `${on.service.url}/a/${pending.id}`,
      resume: expect.stringMatching(`^${pending.id}\\.[\\w-]{43}$`),
    })
    const waits = [
      on.client().ask(question),
      on.client().resume(asking.status === 'pending' ? asking.resume : ''),
      on.client().resume(asking.id),
    ]
    await on.service.decide(asking.id, 'approved')
    const outcomes = await Promise.all(waits)
    expect(outcomes).toMatchObject(outcomes.map(() => ({ status: 'approved', context: { amount: 3 } })))
    const uses = await Promise.allSettled(outcomes.map((one) => one.status === 'approved' && one.use()))
    expect(uses.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  it('withdrawn, and not refused', async () => {
    const { paid, pay } = on.payment()
    const settled = pay(INVOICE).catch((error: unknown) => error)
    const id = await on.asked()
    await on.client().call('POST /api/v1/approvals/{id}/cancel', { path: { id } })
    expect(await settled).toMatchObject({ name: 'Withdrawn', id })
    expect(paid).toEqual([])
  })

  it('pending: a guard gives up and says where a person decides', async () => {
    const pay = on.client().guard((amount: number) => amount, {
      action: String,
      for: () => ['r', 'c'],
      withinSeconds: 0,
    })
    const error = await pay(3).catch((error: unknown) => error)
    expect(error).toMatchObject({
      name: 'Pending',
      sentence: expect.stringContaining(`${on.service.url}/a/${await on.asked()};`),
    })
  })

  it('the sandbox counts only where a test allows it', async () => {
    on.key = await on.service.newKey(true)
    const fields = { sandbox_decision: 'approved', sandbox_auto_decide_seconds: 0 } as const
    const question = { action: 'Pay', for: ['r', 'c'], fields } as const
    await expect(on.client().ask(question)).rejects.toMatchObject({ name: 'Sandbox' })
    const { data } = await on.client({ allowSandbox: true }).call('GET /api/v1/approvals', {})
    await expect(on.client().resume(data[0]?.id ?? '')).rejects.toMatchObject({ name: 'Sandbox' })
    const outcome = await on.client({ allowSandbox: true }).ask(question)
    expect(outcome).toMatchObject({ status: 'approved' })
    if (outcome.status === 'approved') expect(await outcome.use()).toMatchObject({ id: outcome.id })
  })

  it('a request of another key or another content', async () => {
    const asking = await on.client().ask({ action: 'Pay', for: ['r', 'c'], withinSeconds: 0 })
    if (asking.status !== 'pending') throw new Error(asking.status)
    const stranger = on.client({ key: await on.service.newKey() })
    await expect(stranger.resume(asking.resume)).rejects.toMatchObject({ name: 'Refused', code: 'not_found' })
    const other = await on.client().ask({ action: 'Pay more', for: ['r', 'c'], withinSeconds: 0 })
    if (other.status !== 'pending') throw new Error(other.status)
    const mixed = `${asking.id}.${other.resume.slice(-43)}`
    await expect(on.client().resume(mixed, { withinSeconds: 0 })).rejects.toMatchObject({ name: 'Mismatch' })
    // A cache or proxy that mixes up answers.
    const answer = { id: other.id, status: 'approved', action: 'Pay', context: {}, decision: {} }
    on.network.spoil(WAIT, { status: 200, body: JSON.stringify(answer) })
    await expect(on.client().resume(asking.id)).rejects.toMatchObject({ name: 'Unreachable' })
  })
})

describe('what runs is what was approved', () => {
  it('although the caller changes the arguments after the ask, and the callbacks change theirs', async () => {
    const given = { invoice: { number: 'INV-1', amount: '1', lines: ['a'] } }
    const paid: unknown[] = []
    const pay = on.client().guard((order: typeof given) => paid.push(order), {
      action: (order) => {
        order.invoice.amount = 'changed by action'
        return 'Pay'
      },
      for: () => ['r', 'c'],
    })
    const done = pay(given)
    given.invoice.amount = '9999'
    given.invoice.lines.push('b')
    await on.service.decide(await on.asked(), 'approved')
    await done
    expect(paid).toEqual([{ invoice: { number: 'INV-1', amount: '1', lines: ['a'] } }])
  })

  it('asks anew for arguments that a context of its own does not show', async () => {
    const pay = (amount: string) =>
      on.client().guard((order: { to: string; amount: string }) => order.amount, {
        action: ({ to }) => `Pay ${to}`,
        context: ({ to }) => ({ to }),
        for: () => ['r', 'c'],
        withinSeconds: 0,
      })({ to: 'ACME', amount })
    await Promise.allSettled([pay('1'), pay('1'), pay('2')])
    expect(await on.service.requestsOf(on.key)).toHaveLength(2)
  })

  it('a tool of a host gets its own input, and what the host passes besides', async () => {
    const seen: unknown[] = []
    const refund = on
      .client()
      .tool(
        'refund',
        (input: { customer: string }, host: { toolCallId: string }) => void seen.push(input, host),
        { for: (_, { toolCallId }) => ['thread ünïcode 🙂 with spaces', toolCallId] },
      )
    const host = { toolCallId: 'call\n0', notJson: () => 1 }
    const done = refund({ customer: 'a\u0007b' }, host)
    const id = await on.asked()
    const [request] = await on.service.requestsOf(on.key)
    expect(request?.action).toBe('refund {"customer":"a\\u0007b"}')
    await on.service.decide(id, 'approved')
    await done
    expect(seen).toEqual([{ customer: 'a\u0007b' }, host])
    expect(seen[1]).toBe(host)
  })

  it('passes on what the function throws, after which the approval is used', async () => {
    const fail = on.client().guard(() => Promise.reject(new RangeError('card declined')), {
      action: () => 'Pay',
      for: () => ['r', 'c'],
    })
    const settled = fail().catch((error: unknown) => error)
    await on.service.decide(await on.asked(), 'approved')
    expect(await settled).toEqual(new RangeError('card declined'))
    await expect(fail()).rejects.toMatchObject({
      name: 'Used',
      sentence: expect.stringContaining('used before'),
    })
  })
})

describe('attachments', () => {
  /** A file on the disk that the guarded function writes, and a picture of it. */
  function writer() {
    const disk = {
      now: 'replicas: 2\n',
      picture: Buffer.from('89504e470d0a1a0a0000000d494844520000000200000001ff', 'hex'),
    }
    const written: string[] = []
    const write = on.client().guard((_path: string, text: string) => void written.push(text), {
      action: (path) => `Write ${path}`,
      context: (path) => ({ path }),
      attachments: async (path, text) => [
        { name: 'today', text: disk.now },
        { name: path, text, base: 'today' },
        { name: 'plan.png', bytes: disk.picture },
      ],
      for: () => ['r', 'c'],
    })
    return { disk, written, write: () => write('config.yaml', 'replicas: 20 ü\n') }
  }

  it('are shown, and compared when the approval is used; what changed meanwhile does not run', async () => {
    const { disk, written, write } = writer()
    const first = write()
    const id = await on.asked()
    expect(await listed(id)).toEqual([
      { name: 'today', kind: 'text', sha256: hash(disk.now), bytes: 12 },
      { name: 'config.yaml', kind: 'diff', sha256: hash('replicas: 20 ü\n'), bytes: 16, base: 'today' },
      { name: 'plan.png', kind: 'image', sha256: hash(disk.picture), bytes: 25 },
    ])
    // The bytes were copied, and are read anew for the use.
    disk.picture[24] = 0
    await on.service.decide(id, 'approved')
    await expect(first).rejects.toMatchObject({ name: 'Mismatch', id, field: 'attachments_sha256' })
    expect(written).toEqual([])
    disk.picture[24] = 0xff
    // The same call again: nobody is asked, and the approval is still there.
    await write()
    expect([written, await on.service.requestsOf(on.key)]).toMatchObject([
      ['replicas: 20 ü\n'],
      { length: 1 },
    ])
  })

  it('other ones are another question', async () => {
    const { disk, write } = writer()
    const asked = [write(), write()].map((one) => one.catch(({ name }) => name))
    await on.asked()
    disk.now = 'replicas: 3\n'
    asked.push(write().catch(({ name }) => name))
    await expect.poll(async () => (await on.service.requestsOf(on.key)).length).toBe(2)
    for (const { id } of await on.service.requestsOf(on.key)) await on.service.decide(id, 'rejected')
    expect(await Promise.all(asked)).toEqual(Array(3).fill('Rejected'))
  })

  it('are known to a later process by what `resume` held, and to its use', async () => {
    const ask = (text: string) =>
      on
        .client()
        .ask({ action: 'Write', attachments: [{ name: 'a', text }], for: ['r', 'c'], withinSeconds: 0 })
    const [asked, other] = [await ask('one'), await ask('two')]
    if (asked.status !== 'pending' || other.status !== 'pending') throw new Error(asked.status)
    await on.service.decide(asked.id, 'approved')
    const mixed = `${asked.id}.${other.resume.slice(-43)}`
    await expect(on.client().resume(mixed)).rejects.toMatchObject({ name: 'Mismatch' })
    const outcome = await on.client().resume(asked.resume)
    if (outcome.status !== 'approved') throw new Error(outcome.status)
    for (const attachments of [[], [{ name: 'a', text: 'two' }]])
      await expect(outcome.use({ attachments })).rejects.toMatchObject({ name: 'Mismatch' })
    await expect(outcome.use({ attachments: [{ name: 'a' }] })).rejects.toMatchObject({ name: 'Invalid' })
    expect(await outcome.use({ attachments: [{ name: 'a', bytes: Buffer.from('one') }] })).toMatchObject({
      id: asked.id,
    })
  })

  it('that the service refuses are said by its words, and nobody is asked', async () => {
    const attachments = [{ name: 'a', text: 'x'.repeat(256 * 1024 + 1) }]
    const asked = on.client().ask({ action: 'Write', attachments, for: ['r', 'c'] })
    await expect(asked).rejects.toMatchObject({
      name: 'Refused',
      sentence: expect.stringContaining('256 KiB'),
    })
    const bytes = new Uint8Array(256 * 1024).fill(255)
    const fits = await on
      .client()
      .ask({ action: 'Write', attachments: [{ name: 'a', bytes }], for: ['r', 'c'], withinSeconds: 0 })
    expect(await listed(fits.id)).toMatchObject([{ bytes: 256 * 1024, sha256: hash(bytes) }])
  })

  const hash = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')
  const listed = async (id: string) => {
    const answer = await on.client().call('GET /api/v1/approvals/{id}', { path: { id } })
    return 'attachments' in answer ? answer.attachments : answer.status
  }
})

describe('many at once', () => {
  it('the same action is another question in another call and in another run', async () => {
    const names = [
      ['run-1', 'call-1'],
      ['run-1', 'call-2'],
      ['run-2', 'call-1'],
      ['run-1', 'call-1'],
    ] as const
    const outcomes = await Promise.all(
      names.map((pair) => on.client().ask({ action: 'Deploy', for: pair, withinSeconds: 0 })),
    )
    expect(new Set(outcomes.map(({ id }) => id)).size).toBe(3)
    expect(outcomes[3]?.id).toBe(outcomes[0]?.id)
  })

  it('two uses of one outcome at once are one use', async () => {
    const done = on.client().ask({ action: 'Deploy', for: ['r', 'c'] })
    await on.service.decide(await on.asked(), 'approved')
    const outcome = await done
    if (outcome.status !== 'approved') throw new Error(outcome.status)
    const uses = await Promise.allSettled([outcome.use(), outcome.use()])
    expect(uses).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { name: 'Used' } }])
  })

  it('8 equal calls are one request and one payment', async () => {
    const { paid, pay } = on.payment()
    const done = Promise.allSettled(Array.from({ length: 8 }, () => pay(INVOICE)))
    await on.service.decide(await on.asked(), 'approved')
    const results = await done
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const rest = results.flatMap((one) => (one.status === 'rejected' ? [one.reason.name] : []))
    expect(new Set(rest)).toEqual(new Set(['Used']))
    expect(paid).toEqual([INVOICE])
  })

  it('15 different calls are 15 requests, more than a key has places for waits', async () => {
    const cs = on.client()
    const done = Promise.all(
      Array.from({ length: 15 }, (_, n) =>
        on.payment(cs, `call-${n}`).pay({ ...INVOICE, number: `INV-${n}` }),
      ),
    )
    await expect.poll(async () => (await on.service.requestsOf(on.key)).length).toBe(15)
    for (const { id } of await on.service.requestsOf(on.key)) await on.service.decide(id, 'approved')
    expect(await done).toEqual(Array(15).fill(1))
  })

  it('a call id that the host gives twice asks twice when the arguments differ', async () => {
    const cs = on.client()
    const both = [on.payment(cs).pay(INVOICE), on.payment(cs).pay({ ...INVOICE, amount: '9' })]
    await expect.poll(async () => (await on.service.requestsOf(on.key)).length).toBe(2)
    for (const { id } of await on.service.requestsOf(on.key)) await on.service.decide(id, 'approved')
    expect(await Promise.all(both)).toEqual([1, 1])
  })
})

it('has types that refuse what cannot be right', () => {
  // Compiled, and never run.
  const refused = async (outcome: Outcome) => {
    // @ts-expect-error only an approval can be used
    await outcome.use()
    // @ts-expect-error there is no boolean to mistake
    if (outcome.approved) return
    // @ts-expect-error without run and call, two calls would share one answer
    await on.client().ask({ action: 'Pay' })
    // @ts-expect-error neither does a text do
    await on.client().ask({ action: 'Pay', for: 'run' })
    // @ts-expect-error the service knows no such field
    await on.client().ask({ action: 'Pay', for: ['r', 'c'], fields: { ttl: 3 } })
  }
  expect(refused).toBeTypeOf('function')
})
