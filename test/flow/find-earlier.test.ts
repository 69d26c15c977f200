import { expect, it } from 'vitest'
import { marksOf } from '../../src/flow/requests/find-earlier.ts'
import { newCaller } from '../support/caller.ts'
import { useService } from '../support/service.ts'

it('marks equal calls alike: fields that are undefined, and how long the request may wait, do not count', async () => {
  const service = await useService()
  const { keyId } = await newCaller(service)
  const key = (await service.composition.deps.apiKeys.find(keyId)) ?? expect.unreachable()
  const caller = { key, scopes: key.scopes, address: '127.0.0.1' }
  const mark = (asked: object) => marksOf(caller, { reuse: 'open', ...asked })?.open_sha256
  const asked = { action: 'Pay', context: { a: 1 }, notify: { channel: '#ops' } }
  expect(mark(asked)).toMatch(/^[0-9a-f]{64}$/)
  expect(mark({ ...asked, audience: undefined, notify: { channel: '#ops', member: undefined } })).toBe(
    mark(asked),
  )
  expect(mark({ ...asked, ttl_seconds: 60, traceparent: '00-x' })).toBe(mark(asked))
  expect(mark({ ...asked, notify: { member: '#ops' } })).not.toBe(mark(asked))
  expect(marksOf(caller, asked)).toBeUndefined()
})
