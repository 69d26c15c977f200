import { describe, expect, it } from 'vitest'
import { compileFilter } from '../../src/semantics/filter.ts'
import { compileProjection } from '../../src/semantics/projection.ts'
import { bson, doc, shown } from './bson-literals.ts'

const now = new Date('2026-01-01T00:00:00Z')

function project(document: object, projection: object, filter?: object): unknown {
  return shown(compileProjection(doc(projection), filter && compileFilter(doc(filter)), now)(doc(document)))
}

const nested = { _id: 1, a: [{ b: 1, c: 2 }, 5, [{ b: 3, c: 4 }], { c: 6 }], d: { e: 7, f: 8 } }

describe('compileProjection', () => {
  it.each<[string, object, object, object]>([
    [
      'inclusion keeps the order of the document',
      { _id: 1, b: 2, a: 1 },
      { a: 1, b: 1 },
      { _id: 1, b: 2, a: 1 },
    ],
    ['any true number includes', { _id: 1, a: 1, b: 1 }, { a: { $numberDouble: '0.5' } }, { _id: 1, a: 1 }],
    ['booleans include and exclude', { _id: 1, a: 1, b: 1 }, { _id: false, a: true }, { a: 1 }],
    [
      'inclusion through arrays drops scalars',
      nested,
      { 'a.b': 1 },
      { _id: 1, a: [{ b: 1 }, [{ b: 3 }], {}] },
    ],
    [
      'exclusion through arrays keeps scalars',
      nested,
      { 'a.b': 0, d: 0 },
      { _id: 1, a: [{ c: 2 }, 5, [{ c: 4 }], { c: 6 }] },
    ],
    ['inclusion below a scalar leaves it out', { _id: 1, a: 5 }, { 'a.b': 1 }, { _id: 1 }],
    ['exclusion below a scalar keeps it', { _id: 1, a: 5 }, { 'a.b': 0 }, { _id: 1, a: 5 }],
    ['inclusion of a missing field leaves the empty parent', nested, { 'd.x': 1 }, { _id: 1, d: {} }],
    ['a document nests paths', nested, { d: { e: 1 } }, { _id: 1, d: { e: 7 } }],
    ['two fields of one parent', nested, { 'd.f': 1, 'd.e': 1 }, { _id: 1, d: { e: 7, f: 8 } }],
    ['_id alone', nested, { _id: 1 }, { _id: 1 }],
    ['_id 0 alone excludes', { _id: 1, a: 1 }, { _id: 0 }, { a: 1 }],
    ['_id 1 with exclusion', { _id: 1, a: 1, b: 1 }, { _id: 1, a: 0 }, { _id: 1, b: 1 }],
    ['nothing projected', { _id: 1, a: 1 }, {}, { _id: 1, a: 1 }],
    ['$elemMatch that finds nothing', { _id: 1, a: [1] }, { a: { $elemMatch: { $gt: 5 } } }, { _id: 1 }],
    [
      '$elemMatch comes after included fields',
      { _id: 1, a: [1, 9], b: 1 },
      { a: { $elemMatch: { $gt: 5 } }, b: 1 },
      { _id: 1, b: 1, a: [9] },
    ],
    ['$elemMatch of a scalar field', { _id: 1, a: 9 }, { a: { $elemMatch: { $gt: 5 } } }, { _id: 1 }],
  ])('%s', (_name, document, projection, expected) => {
    expect(project(document, projection)).toEqual(shown(bson(expected)))
  })

  it.each<[string, object, object, object, object]>([
    [
      'the matched element',
      { _id: 1, a: [{ b: 1 }, { b: 2 }] },
      { 'a.$': 1 },
      { 'a.b': 2 },
      { _id: 1, a: [{ b: 2 }] },
    ],
    [
      'beside included fields',
      { _id: 1, a: [1, 2], c: 3 },
      { 'a.$': 1, c: 1 },
      { a: 2 },
      { _id: 1, a: [2], c: 3 },
    ],
    [
      'in a nested array',
      { _id: 1, a: { b: [1, 2] } },
      { 'a.b.$': 1 },
      { 'a.b': 2 },
      { _id: 1, a: { b: [2] } },
    ],
    ['a field that is no array stays', { _id: 1, a: 2 }, { 'a.$': 1 }, { a: 2 }, { _id: 1, a: 2 }],
  ])('path.$: %s', (_name, document, projection, filter, expected) => {
    expect(project(document, projection, filter)).toEqual(shown(bson(expected)))
  })

  it('does not touch the document it reads', () => {
    const document = doc(nested)
    compileProjection(doc({ 'a.b': 0, 'd.e': 0 }), undefined, now)(document)
    expect(shown(document)).toEqual(shown(bson(nested)))
  })

  it.each<[object, number, string]>([
    [{ a: 1, b: 0 }, 31254, 'Cannot do exclusion on field b in inclusion projection'],
    [{ a: 0, b: 1 }, 31253, 'Cannot do inclusion on field b in exclusion projection'],
    [{ a: 1, 'a.b': 1 }, 31249, 'Path collision at a.b'],
    [{ 'a.b': 1, a: 1 }, 31250, 'Path collision at a'],
    [{ a: {} }, 51270, 'An empty sub-projection'],
    [{ 'a.': 1 }, 40353, "must not end with a '.'"],
    [{ $a: 1 }, 16410, "may not start with '$'"],
    [{ a: { $foo: 1 } }, 168, 'Unrecognized expression a: { $foo: 1 }'],
    [{ a: { $elemMatch: 1 } }, 31274, 'object required'],
    [{ 'a.b': { $elemMatch: { c: 1 } } }, 31275, 'nested field'],
    [{ a: { $slice: 2 } }, 168, 'Unrecognized expression a: { $slice: 2 }'],
    [{ a: 1, x: '$b' }, 168, 'this store computes no fields'],
    [{ a: 1, x: { $literal: 1 } }, 168, 'this store computes no fields'],
    [{ a: { b: 'x' } }, 168, 'this store computes no fields'],
    [{ 'a.$': '$b' }, 168, 'this store computes no fields'],
    [{ 'a.$': 1 }, 51050, 'require a matcher'],
  ])('refuses %j with code %i', (projection, code, message) => {
    expect(() => compileProjection(doc(projection))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })

  it.each<[object, object, number]>([
    [{ 'a.$': 1, 'b.$': 1 }, { a: 1, b: 1 }, 31276],
    [{ 'a.$': 1 }, { b: 1 }, 31277],
    [{ 'a.$': 0, b: 0 }, { a: 1 }, 16410],
    [{ 'a.$.b': 1 }, { a: 1 }, 31394],
    [{ b: { $elemMatch: { $gt: 1 } }, 'a.$': 1 }, { a: 1 }, 31256],
  ])('refuses the positions %j for the query %j with code %i', (projection, filter, code) => {
    expect(() => compileProjection(doc(projection), compileFilter(doc(filter)))).toThrow(
      expect.objectContaining({ code }),
    )
  })

  it('refuses a position the matched element does not have in the projected array', () => {
    const run = compileProjection(doc({ 'a.$': 1 }), compileFilter(doc({ a: 1, b: 2 })), now)
    expect(() => run(doc({ a: [1], b: [1, 2] }))).toThrow(
      expect.objectContaining({ code: 51247, message: expect.stringContaining('element mismatch') }),
    )
    expect(() => run(doc({ a: [2], b: [2] }))).toThrow(expect.objectContaining({ code: 51246 }))
  })
})
