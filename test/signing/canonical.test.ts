import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import reference from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CanonicalError, canonicalize } from '../../src/signing/canonical.ts'
import { vectorText } from './fixtures.ts'

const refused = (value: unknown, message: RegExp) => {
  expect(() => canonicalize(value)).toThrow(CanonicalError)
  expect(() => canonicalize(value)).toThrow(message)
}

describe('canonicalize: published vectors', () => {
  const names = readdirSync(new URL('../vectors/jcs/input', import.meta.url))

  it('has the six official cases', () => expect(names).toHaveLength(6))

  it.each(names)('%s gives the published text and bytes', (name) => {
    const text = canonicalize(JSON.parse(vectorText(`jcs/input/${name}`)))
    expect(text).toBe(vectorText(`jcs/output/${name}`).trimEnd())
    const published = vectorText(`jcs/outhex/${name.replace('.json', '.txt')}`).replace(/\s/g, '')
    expect(Buffer.from(text, 'utf8').toString('hex')).toBe(published)
  })

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('RFC 8785 appendix B: %s is %s', (ieee, text) => {
    expect(canonicalize(Buffer.from(ieee, 'hex').readDoubleBE())).toBe(text)
  })

  it('writes the first 1000 ES6 test numbers as published', () => {
    const file = vectorText('jcs/es6numbers_first1000.txt')
    // SHA-256 of the first 1000 lines in the table of the published test programme.
    expect(createHash('sha256').update(file).digest('hex')).toMatch(/^be18b62b/)
    const lines = file.trimEnd().split('\n')
    expect(lines).toHaveLength(1000)
    for (const line of lines) {
      const [ieee = '', text = ''] = line.split(',')
      expect(canonicalize(Buffer.from(ieee.padStart(16, '0'), 'hex').readDoubleBE()), ieee).toBe(text)
    }
  })
})

describe('canonicalize: what other libraries get wrong', () => {
  it('treats a key named toJSON as data', () => {
    expect(canonicalize({ b: 1, toJSON: 'x', a: { toJSON: null } })).toBe(
      '{"a":{"toJSON":null},"b":1,"toJSON":"x"}',
    )
  })

  it('treats an own __proto__ as data', () => {
    expect(canonicalize(JSON.parse('{"b":1,"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1},"b":1}')
  })

  it('accepts an object without a prototype', () => {
    expect(canonicalize(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
  })

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', [Number.POSITIVE_INFINITY]],
    ['-Infinity', { a: Number.NEGATIVE_INFINITY }],
  ])('refuses %s', (_name, value) => refused(value, /has no JSON form/))

  it.each([
    ['a lone high surrogate', '\ud800'],
    ['a lone low surrogate', 'a\udc00b'],
    ['reversed surrogates', '\udc00\ud800'],
    ['a lone surrogate in a key', { '\ud800': 1 }],
  ])('refuses %s', (_name, value) => refused(value, /lone surrogate/))

  it.each([
    ['undefined', undefined],
    ['an undefined member', { a: undefined }],
    ['an array hole', new Array(1)],
    ['a function', { a: () => 1 }],
    ['a function named toJSON', { toJSON: () => 1 }],
    ['a bigint', [1n]],
    ['a symbol', Symbol('s')],
  ])('refuses %s', (_name, value) => refused(value, /has no JSON form/))

  it.each([
    ['a Date', new Date(0)],
    ['a Map', new Map([['a', 1]])],
    ['a Buffer', Buffer.from('a')],
    ['a typed array', new Uint8Array(1)],
    ['a boxed string', Object('a')],
    ['a class instance', new (class Money {})()],
    ['an error', new Error('x')],
  ])('refuses %s', (_name, value) => refused({ value }, /only plain objects/))

  it('refuses a symbol key, which JSON.stringify would drop silently', () => {
    refused({ [Symbol('hidden')]: 1 }, /symbol key/)
  })

  it('accepts 64 levels and refuses 65, and a cycle', () => {
    const nest = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    expect(canonicalize(nest(64))).toBe('['.repeat(64) + ']'.repeat(64))
    refused(nest(65), /deeper than 64/)
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    refused(cycle, /deeper than 64/)
  })
})

describe('canonicalize: properties', () => {
  const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })

  it('agrees with the reference library on every JSON value', () => {
    const agrees = fc.property(json, (value) => {
      expect(canonicalize(value)).toBe(reference(value))
    })
    fc.assert(agrees, { numRuns: 2000 })
  })

  it('parses back to the same value, and is a fixed point', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalize(value)
        const parsed: unknown = JSON.parse(text)
        expect(canonicalize(parsed)).toBe(text)
        expect(parsed).toStrictEqual(JSON.parse(JSON.stringify(value)))
      }),
      { numRuns: 1000 },
    )
  })

  it('does not depend on the order in which keys were written', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string({ unit: 'binary' }), fc.integer()), {
      selector: ([key]) => key,
    })
    fc.assert(
      fc.property(entries, (pairs) => {
        expect(canonicalize(Object.fromEntries(pairs))).toBe(
          canonicalize(Object.fromEntries(pairs.toReversed())),
        )
      }),
    )
  })
})
