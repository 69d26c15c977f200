import { describe, expect, it } from 'vitest'
import { useService } from '../support/service.ts'

const SCOPE = 'key_x:create'
// Now, or the index that clears old claims away would clear these.
const AT = new Date()
const later = (ms: number) => new Date(AT.getTime() + ms)
const claim = (change: object = {}) => ({
  scope: SCOPE,
  key: 'order-1',
  bodySha256: 'a'.repeat(64),
  subject: 'req_first',
  at: AT,
  ...change,
})

describe('a claim of an attempt that died', () => {
  it('is taken over when its lease ends, with the id of the first attempt', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim())
    expect(first).toMatchObject({ state: 'fresh', subject: 'req_first' })
    const again = claim({ subject: 'req_second', at: later(9_999) })
    expect(await idempotency.claim(again)).toEqual({ state: 'running' })
    const taken = await idempotency.claim(claim({ subject: 'req_second', at: later(10_000) }))
    expect(taken).toMatchObject({ state: 'fresh', subject: 'req_first' })
  })

  it('is never taken over for another body, which would be answered with the first body’s request', async () => {
    const { idempotency } = (await useService()).composition.deps
    await idempotency.claim(claim())
    const other = claim({ bodySha256: 'b'.repeat(64), subject: 'req_second', at: later(120_000) })
    expect(await idempotency.claim(other)).toEqual({ state: 'mismatch' })
  })

  it('cannot be finished or released any more by the attempt it was taken from', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim())
    if (first.state !== 'fresh') throw new Error('the first claim was not fresh')
    const { scope, key } = claim()
    await idempotency.claim(claim({ at: later(60_000) }))
    await idempotency.finish({ scope, key, token: first.token, answer: { status: 201, body: '{}' } })
    await idempotency.release({ scope, key, token: first.token })
    expect(await idempotency.claim(claim({ at: later(60_001) }))).toEqual({ state: 'running' })
  })

  it('is held for as long as it is renewed, by the attempt that has it, and free at once when it is given up', async () => {
    const { idempotency } = (await useService()).composition.deps
    const first = await idempotency.claim(claim())
    if (first.state !== 'fresh') throw new Error('the first claim was not fresh')
    const { scope, key } = claim()
    const held = { scope, key, token: first.token }
    await idempotency.renew(held, later(9_000))
    await idempotency.renew({ ...held, token: 'another' }, later(18_000))
    expect(await idempotency.claim(claim({ at: later(18_999) }))).toEqual({ state: 'running' })
    await idempotency.abandon({ ...held, token: 'another' })
    expect(await idempotency.claim(claim({ at: later(18_999) }))).toEqual({ state: 'running' })
    await idempotency.abandon(held)
    const taken = await idempotency.claim(claim({ subject: 'req_second', at: later(9_001) }))
    expect(taken).toMatchObject({ state: 'fresh', subject: 'req_first' })
  })
})
