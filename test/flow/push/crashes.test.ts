import { createECDH } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { refusal } from '../../../src/domain/errors.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { remindApprovers } from '../../../src/flow/tell/remind-approvers.ts'
import { createPushLoop } from '../../../src/flow/tell/send-pushes.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { decryptPush } from '../../support/decrypt-push.ts'
import { FIRST, NONE_BUSY } from '../../support/first-claim.ts'
import { type PushSetting, usePushSetting } from '../../support/push-setting.ts'
import { useWorker } from '../../support/worker.ts'

const statesOf = async ({ worker }: PushSetting) =>
  (await worker.stored('pushes').find({}).toArray()).map(({ state }) => state)

describe('a process that dies', () => {
  it('between the record and the sending: another sends it, once', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester } = setting
    const browser = await setting.browserOf(requester.user)
    await requester.request()
    // The relay of a process that dies right after it: what it made is due, nobody was woken.
    await createRelay(worker.deps, NO_LOOPS).run()
    expect(await statesOf(setting)).toEqual(['due'])
    const next = await useWorker({ beside: worker })
    await next.start()
    await push.until('it was told', () => browser.messages.length === 1)
    await waitUntil(async () => expect(await statesOf(setting)).toEqual(['sent']))
    expect(browser.answers).toEqual([201])
  })

  it('in mid-carrying: doing it again makes no second push', async () => {
    const setting = await usePushSetting()
    const { worker, requester } = setting
    await setting.browserOf(requester.user)
    const id = await requester.request()
    const before = await worker.stored('requests').findOne({ _id: id })
    await createRelay(worker.deps, NO_LOOPS).run()
    await worker
      .stored('requests')
      .updateOne(
        { _id: id },
        { $set: { outbox_token: before?.outbox_token, outbox: before?.outbox, audit: before?.audit } },
      )
    await Promise.all([createRelay(worker.deps, NO_LOOPS).run(), createRelay(worker.deps, NO_LOOPS).run()])
    expect(await statesOf(setting)).toEqual(['due'])
  })

  it('with a claim: its lease ends, and the late one can write nothing any more (T82)', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester } = setting
    const browser = await setting.browserOf(requester.user)
    await requester.request()
    await createRelay(worker.deps, NO_LOOPS).run()
    const at = worker.deps.clock.now()
    const query = {
      ...FIRST,
      ...NONE_BUSY,
      now: at,
      leaseEnds: new Date(at.getTime() + 1),
    }
    const [dead] = await worker.deps.pushes.claim(query)
    await worker.start()
    await push.until('it was told', () => browser.messages.length === 1)
    await waitUntil(async () => expect(await statesOf(setting)).toEqual(['sent']))
    const late = { state: 'dead' as const, next_at: at, tries: 1, attempts: [], audit: [] }
    expect(await worker.deps.pushes.finish(String(dead?.record.id), dead?.record.fence ?? 0, late)).toBe(
      false,
    )
    expect(await statesOf(setting)).toEqual(['sent'])
    const [stored] = await worker.stored('pushes').find({}).toArray()
    expect(stored?.attempts).toMatchObject([{ outcome: 'interrupted' }, { outcome: 'http_201' }])
  })

  it('several at work send each push once', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester } = setting
    const browser = await setting.browserOf(requester.user)
    const others = [await useWorker({ beside: worker }), await useWorker({ beside: worker })]
    for (const one of [worker, ...others]) await one.start()
    const ids = await Promise.all(Array.from({ length: 20 }, () => requester.request()))
    await push.until('all were told', () => browser.messages.length >= 20)
    await waitUntil(async () => expect(new Set(await statesOf(setting))).toEqual(new Set(['sent'])))
    expect(browser.messages.map(({ payload }) => payload.tag).sort()).toEqual([...ids].sort())
  })
})

describe('a connection to a push service', () => {
  it('T8, T9: counts until it is gone', async () => {
    const setting = await usePushSetting()
    const { worker, requester } = setting
    for (const name of ['laptop', 'phone']) await setting.browserOf(requester.user, name)
    await requester.request()
    await createRelay(worker.deps, NO_LOOPS).run()
    const drops: (() => void)[] = []
    const send = async () => {
      const closed = new Promise<void>((gone) => drops.push(gone))
      return { outcome: 'http_201', duration_ms: 1, closed } as const
    }
    let looks = 0
    const claim: typeof worker.deps.pushes.claim = async (query) => {
      const claimed = await worker.deps.pushes.claim(query)
      looks += 1
      return claimed
    }
    const parts = {
      ...worker.deps,
      pushes: { ...worker.deps.pushes, claim },
      pusher: { ...worker.deps.pusher, send },
    }
    const loop = createPushLoop(parts, { total: 4, perHost: 1, perAccount: 4, leaseMs: 60_000 })
    loop.wake()
    await waitUntil(async () => expect((await statesOf(setting)).sort()).toEqual(['due', 'sent']))
    const before = looks
    loop.wake()
    await waitUntil(async () => expect(looks).toBeGreaterThan(before))
    expect(drops).toHaveLength(1)
    drops[0]?.()
    await waitUntil(async () => expect(await statesOf(setting)).toEqual(['sent', 'sent']))
    await loop.drain()
  })
})

describe('the outcome of a reminder', () => {
  it('is true when a push service accepted it, false when it refused, or nobody has a browser', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester } = setting
    const work = await worker.start()
    const id = await requester.request()
    await work.relay.run()
    expect((await remindApprovers(worker.deps, requester.caller, id)).accepted).toBe(false)
    // Or a browser that is registered now may still be told of that reminder.
    await work.relay.run()
    const browser = await setting.browserOf(requester.user)
    const again = async () => {
      await worker.stored('requests').updateOne({ _id: id }, { $set: { caller_reminded_at: new Date(0) } })
      return (await remindApprovers(worker.deps, requester.caller, id)).accepted
    }
    expect(await again()).toBe(true)
    expect(browser.messages.map(({ payload }) => payload.title)).toEqual(['Still waiting for your decision'])
    push.behave(() => ({ status: 403 }))
    expect(await again()).toBe(false)
  })
})

describe('the key of the deployment', () => {
  it('is one, however many processes start at once, sealed, and the same at the next start', async () => {
    const first = await useWorker()
    await first.stored('push_keys').deleteMany({})
    const [second, third] = await Promise.all([useWorker({ beside: first }), useWorker({ beside: first })])
    const later = await useWorker({ beside: first })
    const keys = [second, third, later].map(({ deps }) => deps.pushKey.current())
    expect(new Set(keys.map(({ public_key }) => public_key)).size).toBe(1)
    expect(new Set(keys.map(({ private_key }) => private_key)).size).toBe(1)
    const stored = await first.stored('push_keys').find({}).toArray()
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).not.toContain(keys[0]?.private_key)
    // One that was altered keeps nothing else from starting.
    await first.stored('push_keys').updateOne({}, { $set: { sealed_private_key: 'altered' } })
    const { deps } = await useWorker({ beside: first })
    expect(deps.pushKey.isOff()).toBe(true)
    expect(() => deps.pushKey.current()).toThrow(refusal('unavailable'))
  })
})

describe('the test browser', () => {
  it('opens the example of RFC 8291 §5, as browsers do', async () => {
    const ecdh = createECDH('prime256v1')
    ecdh.setPrivateKey(Buffer.from('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94', 'base64url'))
    const auth = Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url')
    const body = Buffer.from(
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
      'base64url',
    )
    expect(decryptPush({ ecdh, auth }, body)).toBe('When I grow up, I want to be a watermelon')
    expect(() => decryptPush({ ecdh, auth: Buffer.alloc(16) }, body)).toThrow()
  })
})
