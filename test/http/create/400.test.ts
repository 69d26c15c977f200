import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCaller, stored } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/approvals/request'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const ok = { action: 'Deploy' }

describe('400 for fields', () => {
  it.each([
    ['missing', {}, undefined],
    ['null', { action: null }, undefined],
    ['empty', { action: '' }, 'is blank'],
    ['blank', { action: ' \n\t ' }, 'is blank'],
    ['invisible', { action: '\u200b\u00ad \u2800\u3164' }, 'is blank'],
  ])('says `action required` when it is %s', async (_what, body, detail) => {
    const caller = await newCaller(service)
    const answer = await caller.create(body)
    expect(answer.status).toBe(400)
    const told = detail === undefined ? {} : { detail: expect.stringContaining(detail) }
    expect(answer.body).toEqual({
      error: 'action required',
      message: expect.any(String),
      field: 'action',
      ...told,
    })
  })

  it.each([
    ['require_individual_decision', true, 'requires_individual_decision'],
    ['high_impact', true, 'requires_individual_decision'],
    ['expires_in_seconds', 60, 'ttl_seconds'],
    ['callbackUrl', 'https://a.example/', 'callback_url'],
    ['sandbox_decison', 'rejected', 'sandbox_decision'],
    ['metadata', { amount: 5 }, 'context'],
    ['tool_arguments', { amount: 5 }, 'context'],
  ])('T58: refuses %s, which would protect nothing, with the right name', async (field, value, right) => {
    const caller = await newCaller(service)
    const answer = await caller.create({ ...ok, [field]: value })
    expect([answer.status, answer.body]).toEqual([
      400,
      {
        error: 'invalid_field',
        message: expect.any(String),
        field,
        detail: `is not known; send \`${right}\``,
      },
    ])
    expect(await stored(service, 'requests').countDocuments({ api_key_id: caller.keyId })).toBe(0)
  })

  it.each(['approvers', 'quorum', 'passkeyOnly', 'min_approvals', 'policy', 'quo\u202e<\0>rum'])(
    'T58: refuses %j, which only a policy sets: a caller who believes to have set it would go on',
    async (field) => {
      const caller = await newCaller(service)
      const answer = await caller.create({ ...ok, [field]: 2 })
      expect([answer.status, answer.body]).toEqual([
        400,
        {
          error: 'invalid_field',
          message: expect.any(String),
          // Never an echo of hostile text.
          field: /^\w+$/.test(field) ? field : 'body',
          detail: 'cannot be set in a request; it is part of the policy of the account and of the API key',
        },
      ])
    },
  )

  it('says `action required` when there is no body at all', async () => {
    const caller = await newCaller(service)
    const answer = await caller.send(PATH, { method: 'POST' })
    expect([answer.status, answer.body.error]).toEqual([400, 'action required'])
  })

  const cases: [string, string, Record<string, unknown>][] = [
    ['action of 501 characters', 'action', { action: 'x'.repeat(501) }],
    ['action of 501 astral characters', 'action', { action: '🚀'.repeat(501) }],
    ['action a number', 'action', { action: 1 }],
    ['action an operator', 'action', { action: { $ne: null } }],
    ['action an array', 'action', { action: ['Deploy'] }],
    ['200 unknown fields', 'body', { ...ok, ...manyFields(200) }],
    ['action with a NUL', 'action', { action: 'a\u0000b' }],
    ['action with an escape sequence', 'action', { action: 'a\u001b[2J' }],
    ['action with tag characters', 'action', { action: 'a\u{e0041}' }],
    ['action with a noncharacter', 'action', { action: 'a\uffff' }],
    ['ttl_seconds 59', 'ttl_seconds', { ...ok, ttl_seconds: 59 }],
    ['ttl_seconds 604801', 'ttl_seconds', { ...ok, ttl_seconds: 604_801 }],
    ['ttl_seconds fractional', 'ttl_seconds', { ...ok, ttl_seconds: 60.5 }],
    ['ttl_seconds a text', 'ttl_seconds', { ...ok, ttl_seconds: '60' }],
    ['ttl_seconds null', 'ttl_seconds', { ...ok, ttl_seconds: null }],
    ['ttl_seconds huge', 'ttl_seconds', { ...ok, ttl_seconds: 1e300 }],
    ['ttl_seconds negative', 'ttl_seconds', { ...ok, ttl_seconds: -60 }],
    ['ttl_seconds an operator', 'ttl_seconds', { ...ok, ttl_seconds: { $gt: 0 } }],
    ['audience of 201 characters', 'audience', { ...ok, audience: 'x'.repeat(201) }],
    ['audience with a blank', 'audience', { ...ok, audience: 'Payments, approved' }],
    ['audience in other letters', 'audience', { ...ok, audience: 'раyments' }],
    ['audience empty', 'audience', { ...ok, audience: '' }],
    ['audience an operator', 'audience', { ...ok, audience: { $ne: null } }],
    ['reversibility unknown', 'reversibility', { ...ok, reversibility: 'maybe' }],
    ['use_within_seconds of 0', 'use_within_seconds', { ...ok, use_within_seconds: 0 }],
    ['use_within_seconds not whole', 'use_within_seconds', { ...ok, use_within_seconds: 1.5 }],
    ['use_within_seconds of more than a week', 'use_within_seconds', { ...ok, use_within_seconds: 604_801 }],
    ['reuse of another kind', 'reuse', { ...ok, reuse: true }],
    ['reversibility null', 'reversibility', { ...ok, reversibility: null }],
    ['context null', 'context', { ...ok, context: null }],
    ['context an array', 'context', { ...ok, context: [] }],
    ['context a text', 'context', { ...ok, context: '{}' }],
    ['context of 16 KiB and a byte', 'context', { ...ok, context: bytes(16 * 1024 + 1) }],
    ['context of 16 KiB and a byte, in é', 'context', { ...ok, context: { text: 'é'.repeat(8_187) } }],
    ['context of 17 levels', 'context', { ...ok, context: nested(17) }],
    [
      'context of 17 levels of arrays',
      'context',
      { ...ok, context: { a: JSON.parse('['.repeat(16) + ']'.repeat(16)) } },
    ],
    ['context with a tag character in a key', 'context', { ...ok, context: { 'a\u{e0041}': 1 } }],
    ['context with a noncharacter deep inside', 'context', { ...ok, context: { a: [{ b: '\ufdd0' }] } }],
    [
      'individual decision a text',
      'requires_individual_decision',
      { ...ok, requires_individual_decision: 'true' },
    ],
    [
      'individual decision null',
      'requires_individual_decision',
      { ...ok, requires_individual_decision: null },
    ],
    ['individual decision 1', 'requires_individual_decision', { ...ok, requires_individual_decision: 1 }],
    ['callback_url no URL', 'callback_url', { ...ok, callback_url: 'hook' }],
    ['callback_url empty', 'callback_url', { ...ok, callback_url: '' }],
    ['callback_url null', 'callback_url', { ...ok, callback_url: null }],
    ['callback_url a list', 'callback_url', { ...ok, callback_url: ['https://a.example/'] }],
    ['callback_url ftp', 'callback_url', { ...ok, callback_url: 'ftp://a.example/x' }],
    ['callback_url javascript', 'callback_url', { ...ok, callback_url: 'javascript:alert(1)' }],
    ['callback_url with a password', 'callback_url', { ...ok, callback_url: 'https://u:p@a.example/' }],
    [
      'callback_url too long',
      'callback_url',
      { ...ok, callback_url: `https://a.example/${'x'.repeat(2048)}` },
    ],
  ]
  it.each(cases)('refuses %s', async (_what, field, body) => {
    const caller = await newCaller(service)
    const answer = await caller.create(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: 'invalid_field',
      message: expect.any(String),
      field,
      detail: expect.any(String),
    })
  })

  const sandboxCases: [string, Record<string, unknown>][] = [
    ['sandbox_decision maybe', { sandbox_decision: 'maybe' }],
    ['sandbox_decision expired', { sandbox_decision: 'expired' }],
    ['sandbox_decision null', { sandbox_decision: null }],
    ['sandbox_auto_decide_seconds -1', { sandbox_auto_decide_seconds: -1 }],
    ['sandbox_auto_decide_seconds 301', { sandbox_auto_decide_seconds: 301 }],
    ['sandbox_auto_decide_seconds 0.5', { sandbox_auto_decide_seconds: 0.5 }],
    ['sandbox_auto_decide_seconds "5"', { sandbox_auto_decide_seconds: '5' }],
  ]
  it.each(sandboxCases)('refuses %s of a sandbox key as invalid', async (_what, fields) => {
    const caller = await newCaller(service, { sandbox: true })
    const answer = await caller.create({ ...ok, ...fields })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'invalid_field', field: Object.keys(fields)[0] })
  })

  it.each([
    { sandbox_decision: 'approved' },
    { sandbox_auto_decide_seconds: 0 },
    { sandbox_decision: 'rejected', sandbox_auto_decide_seconds: 5 },
    { sandbox_decision: 'maybe' },
    { sandbox_decision: null },
    { sandbox_auto_decide_seconds: 1e9 },
  ])('refuses a live key that sends %o, whatever the value', async (fields) => {
    const caller = await newCaller(service)
    const answer = await caller.create({ ...ok, ...fields })
    expect(answer.status).toBe(400)
    expect(answer.body.error).toBe('sandbox_fields_require_sandbox_key')
    expect(answer.body.message).toEqual(expect.any(String))
  })

  it.each([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['with a blank', 'a b'],
    ['with Latin-1 letters', 'cl\u00e9'],
  ])('refuses an Idempotency-Key %s', async (_what, key) => {
    const caller = await newCaller(service)
    const answer = await caller.create(ok, { 'Idempotency-Key': key })
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([
      400,
      'invalid_field',
      'Idempotency-Key',
    ])
  })

  it('leaves nothing behind: no request and no quota used', async () => {
    const caller = await newCaller(service)
    await caller.create({ ...ok, ttl_seconds: 1 })
    await caller.create({ ...ok, sandbox_decision: 'approved' })
    await caller.create({ ...ok, callback_url: 'x' })
    const mine = { account_id: caller.user.account_id }
    expect(await stored(service, 'requests').countDocuments(mine)).toBe(0)
    const used = { _id: { $regex: `^${caller.user.account_id}:` }, used: { $gt: 0 } }
    expect(await stored(service, 'quotas').countDocuments(used)).toBe(0)
  })
})

describe('400 for bodies', () => {
  const raws: [string, string][] = [
    ['an empty object cut short', '{'],
    ['an array', '[]'],
    ['an array of requests', '[{"action":"x"}]'],
    ['null', 'null'],
    ['a text', '"action"'],
    ['a number', '1'],
    ['two objects', '{"action":"x"}{"action":"y"}'],
    ['single quotes', "{'action':'x'}"],
    ['NaN', '{"action":"x","ttl_seconds":NaN}'],
    ['a form', 'action=x'],
  ]
  it.each(raws)('refuses %s as invalid_json', async (_what, raw) => {
    const caller = await newCaller(service)
    const answer = await caller.send(PATH, { method: 'POST', raw })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error: 'invalid_json', message: expect.any(String) })
  })

  it('T59: refuses a body nested 30 000 levels deep in far under a second', async () => {
    const caller = await newCaller(service)
    const raw = `{"action":"x","context":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`
    // Of the processor, which others may have at the moment.
    const started = process.cpuUsage()
    const deep = await caller.send(PATH, { method: 'POST', raw })
    const arrays = `{"action":"x","a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
    const wide = await caller.send(PATH, { method: 'POST', raw: arrays })
    const { user, system } = process.cpuUsage(started)
    expect((user + system) / 1_000).toBeLessThan(1_000)
    expect([deep.status, deep.body.error, deep.body.field]).toEqual([400, 'invalid_field', 'context'])
    expect([wide.status, wide.body.error, wide.body.field]).toEqual([400, 'invalid_field', 'a'])
  })

  it('T59: refuses huge arrays and thousands of keys within the size limit', async () => {
    const caller = await newCaller(service)
    const array = await caller.create({ ...ok, context: { list: Array.from({ length: 7_000 }, () => 0) } })
    expect([array.status, array.body.error, array.body.field]).toEqual([400, 'invalid_field', 'context'])
    const keys = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`k${index}`, 0]))
    const many = await caller.create({ ...ok, ...keys })
    expect([many.status, many.body.error]).toEqual([400, 'invalid_field'])
    const long = await caller.create({ ...ok, context: { ['k'.repeat(129)]: 1 } })
    expect([long.status, long.body.field]).toEqual([400, 'context'])
    const text = await caller.create({ ...ok, context: { text: 'x'.repeat(16 * 1024 + 1) } })
    expect([text.status, text.body.message]).toEqual([
      400,
      expect.stringContaining('must not contain texts longer than 16384 characters'),
    ])
  })

  it.each([
    ['at the top', '{"action":"x","__proto__":{"polluted":1}}'],
    ['in context', '{"action":"x","context":{"__proto__":{"polluted":1}}}'],
    ['inside a list', '{"action":"x","context":{"a":[{"__proto__":null}]}}'],
    ['spelt with escapes', '{"action":"x","context":{"\\u005f_proto__":{}}}'],
  ])('T60: refuses __proto__ %s', async (_where, raw) => {
    const caller = await newCaller(service)
    const answer = await caller.send(PATH, { method: 'POST', raw })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_field'])
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it('T60: takes the last of two equal keys in every view', async () => {
    const caller = await newCaller(service)
    const raw = '{"action":"first","action":"last","context":{"a":1,"a":2}}'
    const { body } = await caller.send(PATH, { method: 'POST', raw })
    expect(body).toMatchObject({ action: 'last', metadata: { a: 2 } })
    const id = String(body.id)
    expect((await caller.read(id)).body).toMatchObject({ action: 'last', context: { a: 2 } })
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({
      action: 'last',
      context_json: '{"a":2}',
    })
  })

  it('refuses numbers that JavaScript cannot hold', async () => {
    const caller = await newCaller(service)
    const raw = '{"action":"x","context":{"amount":1e999}}'
    const answer = await caller.send(PATH, { method: 'POST', raw })
    expect([answer.status, answer.body.field]).toEqual([400, 'context'])
  })

  it('refuses whole numbers beyond 2^53, which would come back as other numbers', async () => {
    const caller = await newCaller(service)
    for (const number of ['9007199254740993', '-9007199254740992', '1234567890123456789', '1e21']) {
      const raw = `{"action":"x","context":{"account":{"id":${number}}}}`
      const answer = await caller.send(PATH, { method: 'POST', raw })
      expect([number, answer.status, answer.body.field]).toEqual([number, 400, 'context'])
    }
    const exact = { id: 9_007_199_254_740_991, text: '1234567890123456789', share: 0.1, tiny: 5e-324 }
    expect((await caller.create({ ...ok, context: exact })).body.metadata).toEqual(exact)
  })

  it('refuses unpaired surrogates, in values and in keys', async () => {
    const caller = await newCaller(service)
    for (const raw of [
      '{"action":"a\\ud800"}',
      '{"action":"x","context":{"a":"\\udc00"}}',
      '{"action":"x","context":{"\\ud83d":1}}',
    ]) {
      const answer = await caller.send(PATH, { method: 'POST', raw })
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_field'])
    }
  })

  it('T64: refuses invalid UTF-8 instead of repairing it', async () => {
    const caller = await newCaller(service)
    const raw = Buffer.concat([Buffer.from('{"action":"caf'), Buffer.from([0xe9]), Buffer.from('"}')])
    const answer = await caller.send(PATH, { method: 'POST', raw })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_json'])
  })

  it('T64: refuses UTF-16, declared or not', async () => {
    const caller = await newCaller(service)
    const raw = Buffer.from('\ufeff{"action":"x"}', 'utf16le')
    for (const [type, status, error] of [
      ['application/json', 400, 'invalid_json'],
      ['application/json; charset=utf-16', 415, 'unsupported_media_type'],
    ] as const) {
      const answer = await caller.send(PATH, { method: 'POST', raw, headers: { 'content-type': type } })
      expect([answer.status, answer.body.error]).toEqual([status, error])
    }
  })

  it('T64: reads a body with a byte-order mark as if it had none', async () => {
    const caller = await newCaller(service)
    const answer = await caller.send(PATH, { method: 'POST', raw: '\ufeff{"action":"x"}' })
    expect([answer.status, answer.body.action]).toEqual([201, 'x'])
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('refuses damaged %s and reads it when sound', async (encoding, compress) => {
    const caller = await newCaller(service)
    const sound = compress(JSON.stringify(ok))
    const post = (raw: Uint8Array<ArrayBuffer>) =>
      caller.send(PATH, { method: 'POST', raw, headers: { 'content-encoding': encoding } })
    expect((await post(new Uint8Array(sound))).status).toBe(201)
    const damaged = await post(new Uint8Array(sound.subarray(0, sound.length - 5)))
    expect([damaged.status, damaged.body.error]).toEqual([400, 'invalid_json'])
    const junk = await post(new Uint8Array(Buffer.from('{"action":"x"}')))
    expect([junk.status, junk.body.error]).toEqual([400, 'invalid_json'])
  })
})

function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? {} : { deeper: nested(levels - 1) }
}

function manyFields(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`unknown_${n}`, n]))
}

function bytes(size: number): Record<string, unknown> {
  return { text: 'x'.repeat(size - '{"text":""}'.length) }
}
