import { describe, expect, it } from 'vitest'
import { auditOf } from '../../support/audit.ts'
import { send, stored } from '../../support/caller.ts'
import { addKey, addPerson } from '../../support/people.ts'
import { type TestService, useService } from '../../support/service.ts'

const VERIFY = '/api/v1/approvals/req_00000000000000000000000000/verify'

/** Remaining verifications after one request with that header. */
async function left(service: TestService, forwarded?: string): Promise<number> {
  const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }
  return Number((await send(service, VERIFY, { headers })).headers.get('x-ratelimit-remaining'))
}

async function loggedAddresses(service: TestService): Promise<unknown[]> {
  const log = await auditOf(service, { type: 'approval.verified' })
  return log.map(({ actor }) => ('address' in actor ? actor.address : undefined))
}

describe('T65: X-Forwarded-For', () => {
  it('is ignored without a trusted proxy: made-up hops never change the bucket', async () => {
    const service = await useService()
    expect(await left(service)).toBe(299)
    expect(await left(service, '198.51.100.1')).toBe(298)
    expect(await left(service, '198.51.100.1, 198.51.100.2, 198.51.100.3')).toBe(297)
    expect(await left(service, '<script>')).toBe(296)
    expect(await loggedAddresses(service)).toEqual(Array.from({ length: 4 }, () => '127.0.0.1'))
  })

  it('counts the hop the one proxy saw when TRUST_PROXY is 1', async () => {
    const service = await useService({ env: { TRUST_PROXY: '1' } })
    expect(await left(service, '203.0.113.9')).toBe(299)
    expect(await left(service, '1.1.1.1, 2.2.2.2, 203.0.113.9')).toBe(298)
    expect(await left(service, '203.0.113.10')).toBe(299)
    expect(await loggedAddresses(service)).toEqual(['203.0.113.9', '203.0.113.9', '203.0.113.10'])
  })

  it('skips exactly the listed proxies', async () => {
    const service = await useService({ env: { TRUST_PROXY: 'loopback, 10.0.0.0/8' } })
    expect(await left(service, '6.6.6.6, 203.0.113.9, 10.1.2.3')).toBe(299)
    expect(await left(service, '7.7.7.7, 203.0.113.9, 10.9.9.9, 10.1.2.3')).toBe(298)
    expect(await loggedAddresses(service)).toEqual(['203.0.113.9', '203.0.113.9'])
  })

  it('does not listen to the header from an address that is not on the list', async () => {
    const service = await useService({ env: { TRUST_PROXY: '10.0.0.1' } })
    expect(await left(service, '203.0.113.9')).toBe(299)
    expect(await left(service, '203.0.113.10')).toBe(298)
    expect(await loggedAddresses(service)).toEqual(['127.0.0.1', '127.0.0.1'])
  })

  it('strips ports, unwraps mapped addresses and calls junk unknown', async () => {
    const service = await useService({ env: { TRUST_PROXY: '1' } })
    for (const hop of [
      '203.0.113.9:4711',
      '[2001:db8::1]:443',
      '::ffff:203.0.113.9',
      '<script>',
      'a'.repeat(500),
    ])
      await left(service, hop)
    expect(await loggedAddresses(service)).toEqual([
      '203.0.113.9',
      '2001:db8::1',
      '203.0.113.9',
      'unknown',
      'unknown',
    ])
  })

  it('counts IPv6 by its /64: an address of the same subscriber shares the bucket', async () => {
    const service = await useService({ env: { TRUST_PROXY: '1' } })
    expect(await left(service, '2001:db8:1:2::1')).toBe(299)
    expect(await left(service, '2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(298)
    expect(await left(service, '2001:0DB8:0001:0002:0::1')).toBe(297)
    expect(await left(service, '2001:db8:1:3::1')).toBe(299)
  })

  it('is the address in the audit trail', async () => {
    const service = await useService({ env: { TRUST_PROXY: '1' } })
    const user = await addPerson(service, 'person@example.com')
    const { raw_key: token } = await addKey(service, user)
    const headers = { 'X-Forwarded-For': '6.6.6.6, 203.0.113.77' }
    const made = await send(service, '/api/v1/approvals/request', {
      method: 'POST',
      json: { action: 'x' },
      token,
      headers,
    })
    const document = await stored(service, 'requests').findOne({ _id: String(made.body.id) })
    expect(document?.audit).toMatchObject([{ actor: { address: '203.0.113.77' } }])
  })
})
