import { describe, expect, it } from 'vitest'
import { doc } from './bson-literals.ts'
import { sortDocuments } from './sort-documents.ts'

function order(documents: readonly object[], sort: object): number[] {
  const read = documents.map(doc)
  return sortDocuments(read, doc(sort)).map((document) => read.indexOf(document))
}

describe('sorting', () => {
  it.each<[string, object, readonly object[], number[]]>([
    ['descending takes the largest element', { a: -1 }, [{ a: [1, 5] }, { a: [9, 0] }, { a: 7 }], [1, 2, 0]],
    ['ascending takes the smallest element', { a: 1 }, [{ a: [1, 5] }, { a: [9, 0] }, { a: 7 }], [1, 0, 2]],
    ['an empty array is below null', { a: 1 }, [{ a: null }, { a: [] }, {}], [1, 0, 2]],
    ['missing and null are equal and keep their order', { a: -1 }, [{}, { a: null }, { a: 1 }], [2, 0, 1]],
    ['nested paths', { 'a.b': 1 }, [{ a: { b: 2 } }, { a: { b: 1 } }, { a: 5 }], [2, 1, 0]],
    [
      'nested paths through arrays',
      { 'a.b': 1 },
      [{ a: [{ b: 3 }, { b: 2 }] }, { a: [{ b: 9 }, { b: 1 }] }],
      [1, 0],
    ],
    [
      'nested paths through arrays, descending',
      { 'a.b': -1 },
      [{ a: [{ b: 3 }, { b: 2 }] }, { a: [{ b: 9 }, { b: 1 }] }],
      [1, 0],
    ],
    ['array indexes', { 'a.1': 1 }, [{ a: [1, 9] }, { a: [9, 1] }], [1, 0]],
    [
      'several fields',
      { a: 1, b: -1 },
      [
        { a: 1, b: 1 },
        { a: 0, b: 0 },
        { a: 1, b: 2 },
      ],
      [1, 2, 0],
    ],
    [
      'several fields of one array stay together',
      { 'a.x': 1, 'a.y': 1 },
      [
        {
          a: [
            { x: 1, y: 9 },
            { x: 2, y: 0 },
          ],
        },
        { a: [{ x: 1, y: 5 }] },
      ],
      [1, 0],
    ],
    ['types descend too', { a: -1 }, [{ a: 1 }, { a: 'x' }, { a: true }, { a: null }], [2, 1, 0, 3]],
    [
      'numbers of different types interleave',
      { a: 1 },
      [
        { a: { $numberLong: '3' } },
        { a: { $numberDouble: '2.5' } },
        { a: 2 },
        { a: { $numberDouble: '2.75' } },
      ],
      [2, 1, 3, 0],
    ],
    ['no fields keep the order', {}, [{ a: 2 }, { a: 1 }], [0, 1]],
  ])('%s', (_name, sort, documents, expected) => {
    expect(order(documents, sort)).toEqual(expected)
  })

  it('compares strings by code point', () => {
    expect(order([{ a: 'b' }, { a: 'A' }, { a: 'a' }, { a: 'B' }], { a: 1 })).toEqual([1, 3, 2, 0])
  })

  it('refuses parallel arrays', () => {
    expect(() => sortDocuments([doc({ a: [1], b: [2] })], doc({ a: 1, b: 1 }))).toThrow(
      expect.objectContaining({ code: 2, message: 'cannot sort with keys that are parallel arrays' }),
    )
  })

  it.each<[object, number, string]>([
    [{ a: 2 }, 15975, '1 (for ascending) or -1 (for descending)'],
    [{ a: 'x' }, 15974, 'must be specified using a number'],
    [{ a: true }, 15974, 'must be specified using a number'],
    [{ 'a.': 1 }, 15998, 'may not be empty'],
    [{ $a: 1 }, 16410, "may not start with '$'"],
    [{ $natural: 1 }, 238, '$natural'],
    [{ a: { $meta: 'textScore' } }, 238, '$meta'],
  ])('refuses %j with code %i', (sort, code, message) => {
    expect(() => sortDocuments([], doc(sort))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })
})
