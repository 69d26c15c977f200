import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { signatureHeaders } from '../../src/outbound/guarded-post.ts'
import { SECRET } from './receiver.ts'

const vectors = z
  .object({
    sign: z.object({
      secret: z.string(),
      msg_id: z.string(),
      timestamp: z.number(),
      payload: z.string(),
      signature: z.string(),
    }),
    verify_cases: z
      .array(
        z.object({
          name: z.string(),
          ok: z.boolean(),
          drop: z.string().optional(),
          set: z.record(z.string(), z.string()).optional(),
          truncate_signature: z.number().optional(),
          skew_s: z.number().optional(),
          prepend_signatures: z.array(z.string()).optional(),
        }),
      )
      .min(10),
  })
  .parse(JSON.parse(readFileSync(packagePath('test/vectors/standard-webhooks/cases.json'), 'utf8')))

const OTHER = 'fedcba9876543210'.repeat(4)
const BODY = '{"request_id":"req_1","comment":"Grüße 👋"}'

/** How a receiver makes its key of the secret it was shown. */
const whsec = (secret: string) => `whsec_${Buffer.from(secret, 'ascii').toString('base64')}`
const headersAt = (at: Date, secrets: readonly [string, ...string[]] = [SECRET]) =>
  signatureHeaders({ eventId: 'evt_1', body: BODY, at, secrets })

// It stands still: a second that ends in between is another signature, and one more or less of age.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

describe('signature headers', () => {
  it('T83: sign time and body as the interface says, with the ASCII of the hex secret as the key', () => {
    const headers = headersAt(new Date('2026-11-21T16:00:00.999Z'))
    const timestamp = String(Date.parse('2026-11-21T16:00:00Z') / 1000)
    const key = Buffer.from(SECRET, 'ascii')
    expect(key).toHaveLength(64)
    expect(headers).toEqual({
      'X-Service-Timestamp': timestamp,
      'X-Service-Signature': `sha256=${createHmac('sha256', key).update(`${timestamp}.${BODY}`).digest('hex')}`,
      'webhook-id': 'evt_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${createHmac('sha256', key).update(`evt_1.${timestamp}.${BODY}`).digest('base64')}`,
    })
  })

  it('stay the same for ever: one example written down', () => {
    const headers = signatureHeaders({
      eventId: 'evt_0000000000000000000000test',
      body: '{"decision":"approved"}',
      at: new Date(1_700_000_000_000),
      secrets: [SECRET],
    })
    expect(headers).toMatchObject({
      'X-Service-Timestamp': '1700000000',
      'X-Service-Signature': 'sha256=d342d367f151003c796f39ae97bfe9f77b68b2d2249b957802d11dd4c5953959',
      'webhook-signature': 'v1,pJQ8E5v2/ijIps0l2OjrJwd/PR+Le1/UbBWrpOs6Bz8=',
    })
  })

  it('satisfy the standardwebhooks package', () => {
    expect(new Webhook(whsec(SECRET)).verify(BODY, headersAt(new Date()))).toEqual(JSON.parse(BODY))
    expect(() => new Webhook(whsec(OTHER)).verify(BODY, headersAt(new Date()))).toThrow(/signature/i)
    expect(() => new Webhook(whsec(SECRET)).verify(`${BODY} `, headersAt(new Date()))).toThrow(/signature/i)
  })

  it('satisfy it under either secret during a rotation; the interface’s own header carries the first', () => {
    const headers = headersAt(new Date(), [OTHER, SECRET])
    for (const secret of [OTHER, SECRET])
      expect(new Webhook(whsec(secret)).verify(BODY, headers)).toEqual(JSON.parse(BODY))
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2)
    expect(headers['X-Service-Signature']).toBe(headersAt(new Date(), [OTHER])['X-Service-Signature'])
  })
})

describe('the package that judges them', () => {
  it('makes the published signature', () => {
    const { secret, msg_id, timestamp, payload, signature } = vectors.sign
    expect(new Webhook(secret).sign(msg_id, new Date(timestamp * 1000), payload)).toBe(signature)
  })

  it.each(vectors.verify_cases.filter(({ name }) => !name.includes('secret')))(
    'T83: our headers, $name: accepted $ok',
    ({ ok, ...change }) => {
      const headers = headersAt(new Date(Date.now() + (change.skew_s ?? 0) * 1000))
      const sign = headers['webhook-signature'] ?? ''
      if (change.prepend_signatures)
        headers['webhook-signature'] = [...change.prepend_signatures, sign].join(' ')
      if (change.truncate_signature) headers['webhook-signature'] = sign.slice(0, change.truncate_signature)
      Object.assign(headers, change.set)
      if (change.drop) delete headers[change.drop]
      const verify = () => new Webhook(whsec(SECRET)).verify(BODY, headers)
      if (ok) expect(verify()).toEqual(JSON.parse(BODY))
      else expect(verify).toThrow()
    },
  )
})
