import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareValues } from '../../src/semantics/compare.ts'
import { encodeBound, indexKeys, valuesOfKey } from '../../src/semantics/index-keys.ts'
import { type IndexSpec, parseIndexSpec } from '../../src/semantics/index-spec.ts'
import { arbitraryValue } from './arbitrary-values.ts'
import { bson, doc, shown } from './bson-literals.ts'

function spec(key: object, options: object = {}): IndexSpec {
  return parseIndexSpec(doc({ key, name: 'i', ...options }))
}

function values(document: object, key: object, options: object = {}): unknown[] {
  const [whole, shape] = [doc(document), spec(key, options)]
  return indexKeys(whole, shape).map((found) =>
    valuesOfKey(found, whole, shape)?.map((value) => shown(value ?? null)),
  )
}

describe('index keys', () => {
  it.each<[string, object, object, unknown[][]]>([
    ['a missing field is null', {}, { a: 1 }, [[null]]],
    ['an empty array is undefined', { a: [] }, { a: 1 }, [['undefined']]],
    ['below an empty array is null', { a: [] }, { 'a.b': 1 }, [[null]]],
    ['an array has a key per element, each once', { a: [1, 2, 1] }, { a: 1 }, [[1], [2]]],
    ['an inner array is one key', { a: [[1, 2]] }, { a: 1 }, [[[1, 2]]]],
    ['fields of array elements', { a: [{ b: 1 }, { b: 2 }, 5] }, { 'a.b': 1 }, [[1], [2], [null]]],
    ['arrays in array elements', { a: [{ b: [1, 2] }, { b: [3] }] }, { 'a.b': 1 }, [[1], [2], [3]]],
    [
      'a scalar beside an array',
      { a: 1, b: [2, 3] },
      { a: 1, b: 1 },
      [
        [1, 2],
        [1, 3],
      ],
    ],
    [
      'two fields of one array',
      { a: [{ b: 1, c: 2 }, { b: 3 }] },
      { 'a.b': 1, 'a.c': 1 },
      [
        [1, 2],
        [3, null],
      ],
    ],
    ['an array and its elements’ fields', { a: [{ b: 1 }] }, { a: 1, 'a.b': 1 }, [[{ b: 1 }, 1]]],
    ['an array index', { a: [5, 6] }, { 'a.1': 1 }, [[6]]],
    ['a field below an array index', { a: [{ b: 5 }, { b: 6 }] }, { 'a.1.b': 1 }, [[6]]],
    ['a document is a key whole', { a: { b: 1 } }, { a: 1 }, [[{ b: 1 }]]],
  ])('%s', (_name, document, key, expected) => {
    const wanted = expected.map((tuple) =>
      tuple.map((value) => (value === 'undefined' ? { undefined: true } : shown(bson(value)))),
    )
    expect(values(document, key)).toEqual(wanted)
  })

  it('leave documents out of sparse indexes only if every field is missing', () => {
    expect(values({ b: 1 }, { a: 1 }, { sparse: true })).toEqual([])
    expect(values({ a: null }, { a: 1 }, { sparse: true })).toEqual([[null]])
    expect(values({ b: 1 }, { a: 1, b: 1 }, { sparse: true })).toHaveLength(1)
    expect(values({ c: 1 }, { a: 1, b: 1 }, { sparse: true })).toEqual([])
  })

  it('leave documents out of partial indexes they do not match', () => {
    const partial = { partialFilterExpression: { status: 'open' } }
    expect(values({ a: 1, status: 'open' }, { a: 1 }, partial)).toHaveLength(1)
    expect(values({ a: 1, status: 'done' }, { a: 1 }, partial)).toEqual([])
  })

  it('refuse parallel arrays', () => {
    expect(() => indexKeys(doc({ a: [1], b: [2] }), spec({ a: 1, b: 1 }))).toThrow(
      expect.objectContaining({
        code: 171,
        message: expect.stringContaining('cannot index parallel arrays'),
      }),
    )
    expect(() => indexKeys(doc({ a: [{ b: [1], c: [2] }] }), spec({ 'a.b': 1, 'a.c': 1 }))).toThrow(
      expect.objectContaining({ code: 171 }),
    )
  })

  it('refuse a name that is both a position and a field', () => {
    expect(() => indexKeys(doc({ a: [{ 0: 1 }] }), spec({ 'a.0': 1 }))).toThrow(
      expect.objectContaining({ code: 16746, message: expect.stringContaining('Ambiguous') }),
    )
  })

  it('order compound keys by each field in its direction', () => {
    const pair = fc.tuple(arbitraryValue, arbitraryValue)
    const shape = spec({ a: 1, b: -1 })
    fc.assert(
      fc.property(pair, pair, (left, right) => {
        const expected = compareValues(left[0], right[0]) || -compareValues(left[1], right[1])
        const [a, b] = [encodeBound(left, shape), encodeBound(right, shape)]
        expect(a < b ? -1 : a > b ? 1 : 0).toBe(expected === 0 ? 0 : expected)
      }),
      { numRuns: 3_000 },
    )
  })

  it('collide for numbers of different types', () => {
    const shape = spec({ a: 1 }, { unique: true })
    expect(indexKeys(doc({ a: 1 }), shape)).toEqual(indexKeys(doc({ a: { $numberDouble: '1.0' } }), shape))
  })
})

describe('parseIndexSpec', () => {
  it('reads names, flags and directions', () => {
    const parsed = parseIndexSpec(doc({ v: 2, key: { a: 1, 'b.c': -1 }, unique: true, background: true }))
    expect(parsed).toMatchObject({
      name: 'a_1_b.c_-1',
      unique: true,
      sparse: false,
      expireAfterSeconds: undefined,
    })
    expect(parsed.fields).toEqual([
      { path: 'a', direction: 1 },
      { path: 'b.c', direction: -1 },
    ])
    expect(spec({ a: 1 }, { expireAfterSeconds: 60 }).expireAfterSeconds).toBe(60)
  })

  it.each<[object, number, string]>([
    [{ key: {} }, 67, 'Index keys cannot be an empty object'],
    [{ key: 1 }, 14, "The field 'key' must be an object"],
    [{ key: { a: 0 } }, 67, 'cannot be 0'],
    [{ key: { a: true } }, 67, 'cannot be of type bool'],
    [{ key: { a: 'text' } }, 238, "Index type 'text'"],
    [{ key: { '$**': 1 } }, 238, 'Wildcard'],
    [{ key: { 'a.': 1 } }, 67, 'empty field'],
    [{ key: { $a: 1 } }, 67, "starts with '$'"],
    ...['ns', 'hidden', 'weights', 'min', 'dropDups'].map((name): [object, number, string] => [
      { key: { a: 1 }, [name]: 1 },
      238,
      `The index option '${name}' is not supported by this store`,
    ]),
    [{ key: { a: 1 }, foo: 1 }, 197, "The field 'foo' is not valid"],
    [{ key: { a: 1 }, v: 1 }, 67, 'v: 2'],
    [{ key: { a: 1 }, name: 5 }, 14, "The field 'name' must be a string"],
    [{ key: { a: 1 }, partialFilterExpression: 5 }, 14, "'partialFilterExpression' must be an object"],
    [{ key: { a: 1 }, name: '' }, 67, 'Invalid index name'],
    [{ key: { a: 1 }, unique: 'x' }, 14, 'not convertible to bool'],
    [{ key: { a: 1 }, expireAfterSeconds: -1 }, 67, 'within 0 and'],
    [{ key: { a: 1, b: 1 }, expireAfterSeconds: 1 }, 67, 'compound indexes do not support TTL'],
    [{ key: { _id: 1 }, expireAfterSeconds: 1 }, 197, 'not valid for an _id index'],
    [{ key: { _id: 1 }, sparse: true }, 197, 'cannot be sparse or partial'],
    [{ key: { a: 1 }, sparse: true, partialFilterExpression: { a: 1 } }, 67, 'cannot mix'],
    [{ key: { a: 1 }, partialFilterExpression: { a: { $ne: 1 } } }, 67, 'not supported in partial index'],
    [
      { key: { a: 1 }, partialFilterExpression: { a: { $exists: false } } },
      67,
      'not supported in partial index',
    ],
    [{ key: { a: 1 }, partialFilterExpression: { $expr: true } }, 67, 'not supported in partial index'],
    [{ key: { a: 1 }, collation: { locale: 'en' } }, 72, 'no collation but'],
  ])('refuses %j with code %i', (source, code, message) => {
    expect(() => parseIndexSpec(doc(source))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })
})
