import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { type Attachment, countersign, Invalid, type Question } from '@countersign/client'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'

/** A client whose every call fails the test. */
function unsent() {
  const bodies: string[] = []
  const cs = countersign({
    url: 'https://approvals.example.com/',
    key: 'sa_live_x',
    unreachableAfterSeconds: 0,
    fetch: async (url, init) => {
      bodies.push(`${String(url)} ${String(init?.body)}`)
      throw new TypeError('no network')
    },
  })
  return { cs, bodies }
}

const circle: Record<string, unknown> = {}
circle.self = circle

const WRONG: [string, unknown, RegExp][] = [
  ['NaN', Number.NaN, /^Not done: JSON cannot hold the request\.context\.x \(Number\)\.$/],
  ['Infinity', { deep: [1, Number.POSITIVE_INFINITY] }, /context\.x\.deep\[1\] \(Number\)/],
  ['undefined in a list', [1, undefined], /x\[1\] \(Undefined\)/],
  ['a hole in a list', Array(2), /x \(Array\)/],
  ['a list with a name', Object.assign([1], { raw: 1 }), /x \(Array\)/],
  ['a bigint', 1n, /x \(BigInt\)/],
  ['a function', () => 1, /x \(Function\)/],
  ['a symbol', Symbol('x'), /x \(Symbol\)/],
  ['a symbol as a name', { [Symbol('x')]: 1 }, /x \(Object\)/],
  ['a Date', new Date(), /x \(Date\)/],
  ['a Map', new Map(), /x \(Map\)/],
  ['a class', new (class Money {})(), /x \(Object\)/],
  ['toJSON of its own', { toJSON: () => 'else' }, /x \(Object\)/],
  ['an inherited toJSON', Object.create({ toJSON: () => 'else' }), /x \(Object\)/],
  ['a boxed number', Object(1), /x \(Number\)/],
  ['a circle', circle, /self\.self \(Object\)/],
]

describe('what JSON cannot hold', () => {
  it.each(WRONG)('%s is refused before anything is sent, with its place', async (_, x, sentence) => {
    const { cs, bodies } = unsent()
    const asked = cs.ask({ action: 'Pay', context: { x }, for: ['r', 'c'] })
    await expect(asked).rejects.toBeInstanceOf(Invalid)
    await expect(asked).rejects.toThrow(sentence)
    const guarded = cs.guard((_given: unknown) => 'ran', { action: () => 'Pay', for: () => ['r', 'c'] })
    await expect(guarded(x)).rejects.toBeInstanceOf(Invalid)
    expect(bodies).toEqual([])
  })

  it('what JSON leaves out is left out: undefined properties and trailing arguments', async () => {
    const { cs, bodies } = unsent()
    const pay = cs.guard((_order: object, _note?: string) => 'ran', {
      action: () => 'Pay',
      for: () => ['r', 'c'],
    })
    await expect(pay({ b: undefined, a: -0 }, undefined)).rejects.toMatchObject({ name: 'Unreachable' })
    expect(bodies).toEqual([
      'https://approvals.example.com/api/v1/approvals/request?wait=25 {"action":"Pay","context":{"arguments":[{"a":0}]}}',
    ])
  })

  it('plain values are plain: another realm, no prototype, a name like __proto__', async () => {
    const { cs, bodies } = unsent()
    const bare = Object.assign(Object.create(null), { a: 1 })
    const context = { bare, other: runInNewContext('({ b: [1] })'), odd: JSON.parse('{"__proto__":{"c":1}}') }
    await cs.ask({ action: 'Pay', context, for: ['r', 'c'] }).catch(() => undefined)
    expect(bodies[0]).toContain('{"bare":{"a":1},"other":{"b":[1]},"odd":{"__proto__":{"c":1}}}')
  })
})

it('asks by the keys that clients in all languages take', async () => {
  const path = packagePath('test/vectors/idempotency/questions.json')
  type Vector = Omit<Question, 'attachments'> & {
    key: string
    attachments?: (Attachment & { base64?: string })[]
  }
  const vectors: Vector[] = JSON.parse(readFileSync(path, 'utf8'))
  expect(vectors.length).toBeGreaterThanOrEqual(44)
  for (const { key, attachments, ...rest } of vectors) {
    const given = attachments?.map(({ base64, ...one }) =>
      base64 === undefined ? one : { ...one, bytes: Buffer.from(base64, 'base64') },
    )
    const question = { ...rest, attachments: given }
    const asked: unknown[] = []
    const fetch = async (_: unknown, init?: RequestInit) => {
      asked.push(new Headers(init?.headers).get('idempotency-key'))
      return new Response('', { status: 308 })
    }
    const cs = countersign({ url: 'https://approvals.example.com', key: 'sa_live_x', fetch })
    await cs.ask(question).catch(() => undefined)
    expect([question, asked]).toEqual([question, [key]])
  }
})

it.each([
  ['approval_lapsed', 'Expired'],
  ['sandbox_approval', 'Sandbox'],
  ['mismatch', 'Mismatch'],
  ['held_after_restore', 'Refused'],
])('a use refused with %s is %s', async (error, name) => {
  const approved = { id: 'req_1', status: 'approved', action: 'Pay', context: {}, decision: {} }
  const cs = countersign({
    url: 'https://approvals.example.com',
    key: 'sa_live_x',
    fetch: async (_, init) =>
      init?.method === 'GET'
        ? Response.json(approved)
        : Response.json({ error, message: 'No.' }, { status: 409 }),
  })
  const outcome = await cs.resume('req_1')
  if (outcome.status !== 'approved') throw new Error(outcome.status)
  await expect(outcome.use()).rejects.toMatchObject({ name, id: 'req_1' })
})

it('follows no redirect with its key, and says so at once', async () => {
  const asked: unknown[] = []
  const cs = countersign({
    url: 'https://approvals.example.com',
    key: 'sa_live_x',
    fetch: async (url, init) => {
      asked.push(url, init?.redirect)
      return new Response('', { status: 308, headers: { location: 'https://elsewhere.example' } })
    },
  })
  await expect(cs.ask({ action: 'Pay', for: ['r', 'c'] })).rejects.toThrow(/cannot be reached \(308\)/)
  expect(asked).toEqual(['https://approvals.example.com/api/v1/approvals/request?wait=25', 'manual'])
})

describe('wrong calls are Invalid, and nothing is sent', () => {
  it.each([
    ['no for', undefined],
    ['a text', 'run'],
    ['one name', ['run']],
    ['three names', ['run', 'call', 'more']],
    ['an empty name', ['run', '']],
    ['a number', ['run', 1]],
  ])('for: %s', async (_, names) => {
    const { cs, bodies } = unsent()
    const question = { action: 'Pay', for: names }
    // @ts-expect-error as from JavaScript
    await expect(cs.ask(question)).rejects.toThrow(/^Not done: `for` must be \[run, call\]/)
    expect(bodies).toEqual([])
  })

  it.each([
    ['an empty action', { action: '' }],
    ['a context that is a list', { context: [1] }],
    ['a context that is none', { context: null }],
    ['a context that is a text', { context: 'all' }],
    ['a time that is no number', { withinSeconds: Number.NaN }],
    ['a negative time', { withinSeconds: -1 }],
    ['attachments that are no list', { attachments: 'config.yaml' }],
    ['an attachment that is a text', { attachments: ['config.yaml'] }],
    ['an attachment without content', { attachments: [{ name: 'a' }] }],
    ['an attachment of two contents', { attachments: [{ name: 'a', text: '', bytes: Buffer.of() }] }],
    ['an attachment of a list of numbers', { attachments: [{ name: 'a', bytes: [1, 2] }] }],
    ['attachments among the fields, whose hashes nothing would compare', { fields: { attachments: [] } }],
  ])('%s', async (_, wrong) => {
    const { cs, bodies } = unsent()
    // @ts-expect-error as from JavaScript
    await expect(cs.ask({ action: 'Pay', for: ['r', 'c'], ...wrong })).rejects.toBeInstanceOf(Invalid)
    expect(bodies).toEqual([])
  })

  it.each([
    ['no address', { url: '' }],
    ['an address that is not set', { url: undefined }],
    ['an address with a name and password', { url: 'https://a:b@approvals.example.com' }],
    ['another scheme', { url: 'file:///etc' }],
    ['no key', { key: '' }],
    ['a variable of the environment that is not set', { key: undefined }],
    ['a key with a line break', { key: 'sa_live_x\n' }],
  ])('%s', (_, wrong) => {
    expect(() => countersign({ url: 'https://approvals.example.com', key: 'sa_live_x', ...wrong })).toThrow(
      Invalid,
    )
  })

  it('a guard without callbacks, and a handle that is none', async () => {
    const { cs } = unsent()
    // @ts-expect-error as from JavaScript
    expect(() => cs.guard(() => 1, { action: 'Pay', for: () => ['r', 'c'] })).toThrow(
      /`for` and `action` must be functions/,
    )
    // @ts-expect-error as from JavaScript
    expect(() => cs.tool('pay', () => 1)).toThrow(/`for` and `action` must be functions/)
    await expect(cs.resume('https://approvals.example.com/a/req_x')).rejects.toBeInstanceOf(Invalid)
  })
})
