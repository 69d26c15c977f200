import { Binary, BSONRegExp, Double, Long, ObjectId } from 'bson'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareValues, equalValues, identicalValues } from '../../src/semantics/compare.ts'
import { encodeValue, invertKey } from '../../src/semantics/key-encoding.ts'
import { exactNumber } from '../../src/semantics/numbers.ts'
import { type BsonValue, bsonUndefined, isNumber } from '../../src/semantics/values.ts'
import { arbitraryNumber, arbitraryValue } from './arbitrary-values.ts'
import { bson, double, int, long } from './bson-literals.ts'

function byteOrder(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** By integers alone: the store goes by doubles and by keys. */
function fractionOrder(left: BsonValue, right: BsonValue): number {
  const [a, b] = [fraction(left), fraction(right)]
  const lowest = Math.min(a.exponent, b.exponent)
  const [x, y] = [a, b].map(({ coefficient, exponent }) => coefficient * 10n ** BigInt(exponent - lowest))
  if (x === undefined || y === undefined) throw new Error('two numbers expected')
  return x < y ? -1 : x > y ? 1 : 0
}

/** NaN and the infinities stand beyond what a decimal can hold. */
function fraction(value: BsonValue): { coefficient: bigint; exponent: number } {
  if (!isNumber(value)) throw new Error('a number expected')
  const exact = exactNumber(value)
  if (exact.kind === 'finite') return exact
  return { coefficient: exact.kind === 'nan' ? -2n : exact.negative ? -1n : 1n, exponent: 7_000 }
}

const runs = { numRuns: 3_000 }

describe('compareValues', () => {
  it('is antisymmetric', () => {
    fc.assert(
      fc.property(arbitraryValue, arbitraryValue, (left, right) => {
        expect(compareValues(left, right) + compareValues(right, left)).toBe(0)
      }),
      runs,
    )
  })

  it('is transitive', () => {
    const triple = fc.oneof(
      fc.tuple(arbitraryValue, arbitraryValue, arbitraryValue),
      fc.tuple(arbitraryNumber, arbitraryNumber, arbitraryNumber),
    )
    fc.assert(
      fc.property(triple, (values) => {
        const [low, middle, high] = [...values].sort(compareValues)
        if (low === undefined || middle === undefined || high === undefined)
          throw new Error('three values expected')
        expect(compareValues(low, middle)).toBeLessThanOrEqual(0)
        expect(compareValues(middle, high)).toBeLessThanOrEqual(0)
        expect(compareValues(low, high)).toBeLessThanOrEqual(0)
      }),
      runs,
    )
  })

  it('orders numbers of all types as the fractions they are', () => {
    fc.assert(
      fc.property(arbitraryNumber, arbitraryNumber, (left, right) => {
        expect(compareValues(left, right)).toBe(fractionOrder(left, right))
      }),
      { numRuns: 10_000 },
    )
  })

  it('finds every value equal and identical to itself', () => {
    fc.assert(
      fc.property(arbitraryValue, (value) => {
        expect(compareValues(value, value)).toBe(0)
        expect(identicalValues(value, value)).toBe(true)
      }),
      runs,
    )
  })

  it('orders the types as the manual does', () => {
    const ordered: BsonValue[] = [
      bsonUndefined,
      null,
      double(Number.NaN),
      double(Number.NEGATIVE_INFINITY),
      int(-5),
      int(0),
      double(0.5),
      long(1),
      double(Number.POSITIVE_INFINITY),
      '',
      'a',
      new Map(),
      new Map([['a', int(1)]]),
      [],
      [int(1)],
      new Binary(new Uint8Array([9])),
      new Binary(new Uint8Array([0, 0])),
      new ObjectId('000000000000000000000001'),
      false,
      true,
      new Date(-1),
      new Date(0),
      new BSONRegExp('a'),
    ]
    for (const [index, value] of ordered.entries()) {
      for (const [other, against] of ordered.entries()) {
        expect(compareValues(value, against)).toBe(Math.sign(index - other))
      }
    }
  })

  it.each<[string, BsonValue, BsonValue, -1 | 0 | 1]>([
    ['int32 equals double', int(1), double(1), 0],
    ['an int64 beyond 2^53 is not the double next to it', long(2n ** 53n + 1n), double(2 ** 53), 1],
    ['the largest int64 is below 2^63', long(2n ** 63n - 1n), double(2 ** 63), -1],
    ['strings order by code point, not by UTF-16 unit', '\uffff', '\u{10000}', -1],
    ['field order matters', bson({ a: 1, b: 2 }), bson({ b: 2, a: 1 }), -1],
    ['a field of a lower type comes first, whatever its name', bson({ b: 1 }), bson({ a: 'x' }), -1],
    ['names decide between fields of one type', bson({ a: 9 }), bson({ b: 1 }), -1],
    ['a document is below its extension', bson({ a: 1 }), bson({ a: 1, b: null }), -1],
    ['numbers inside documents compare by value', bson({ a: 1 }), new Map([['a', double(1)]]), 0],
    ['arrays compare element by element', bson([1, 2]), bson([1, 3]), -1],
    ['a shorter array is below a longer one', bson([1]), bson([1, null]), -1],
    [
      'binary data compares by length first',
      new Binary(new Uint8Array([255])),
      new Binary(new Uint8Array([0, 0])),
      -1,
    ],
    ['binary subtypes count', new Binary(new Uint8Array([0]), 0), new Binary(new Uint8Array([0]), 4), -1],
    ['true is not 1', true, int(1), 1],
  ])('%s', (_name, left, right, expected) => {
    expect(compareValues(left, right)).toBe(expected)
    expect(byteOrder(encodeValue(left), encodeValue(right))).toBe(expected)
  })

  it('tells identical from equal by number type', () => {
    expect(equalValues(int(1), double(1))).toBe(true)
    expect(identicalValues(int(1), double(1))).toBe(false)
    expect(identicalValues(double(0), double(-0))).toBe(false)
    expect(identicalValues(new Double(Number.NaN), new Double(Number.NaN))).toBe(true)
    expect(identicalValues(Long.ONE, long(1))).toBe(true)
    expect(identicalValues(bson({ a: [1] }), new Map([['a', [double(1)]]]))).toBe(false)
  })
})

describe('encodeValue', () => {
  it('keeps the order and the equality of compareValues', () => {
    const pair = fc.oneof(
      fc.tuple(arbitraryValue, arbitraryValue),
      fc.tuple(arbitraryNumber, arbitraryNumber),
    )
    fc.assert(
      fc.property(pair, ([left, right]) => {
        expect(byteOrder(encodeValue(left), encodeValue(right))).toBe(compareValues(left, right))
      }),
      { numRuns: 10_000 },
    )
  })

  it('turns the order around when inverted', () => {
    fc.assert(
      fc.property(arbitraryValue, arbitraryValue, (left, right) => {
        const inverted = byteOrder(invertKey(encodeValue(left)), invertKey(encodeValue(right)))
        expect(inverted + compareValues(left, right)).toBe(0)
      }),
      runs,
    )
  })

  it('never makes one key the beginning of another', () => {
    fc.assert(
      fc.property(arbitraryValue, arbitraryValue, (left, right) => {
        const [a, b] = [encodeValue(left), encodeValue(right)]
        expect(a !== b && b.startsWith(a)).toBe(false)
      }),
      runs,
    )
  })

  it('makes strings of bytes', () => {
    fc.assert(
      fc.property(arbitraryValue, (value) => {
        const key = encodeValue(value)
        expect(Buffer.from(key, 'latin1').toString('latin1')).toBe(key)
      }),
      runs,
    )
  })
})
