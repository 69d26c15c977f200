import { describe, expect, it } from 'vitest'
import { compileProjection } from '../../src/semantics/projection.ts'
import { bson, doc, shown } from './bson-literals.ts'

function project(document: object, projection: object): unknown {
  return shown(compileProjection(doc(projection))(doc(document)))
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
    ['two fields of one parent', nested, { 'd.f': 1, 'd.e': 1 }, { _id: 1, d: { e: 7, f: 8 } }],
    ['_id alone', nested, { _id: 1 }, { _id: 1 }],
    ['_id 0 alone excludes', { _id: 1, a: 1 }, { _id: 0 }, { a: 1 }],
    ['_id 1 with exclusion', { _id: 1, a: 1, b: 1 }, { _id: 1, a: 0 }, { _id: 1, b: 1 }],
    ['nothing projected', { _id: 1, a: 1 }, {}, { _id: 1, a: 1 }],
  ])('%s', (_name, document, projection, expected) => {
    expect(project(document, projection)).toEqual(shown(bson(expected)))
  })

  it('does not touch the document it reads', () => {
    const document = doc(nested)
    compileProjection(doc({ 'a.b': 0, 'd.e': 0 }))(document)
    expect(shown(document)).toEqual(shown(bson(nested)))
  })

  it.each<[object, number, string]>([
    [{ a: 1, b: 0 }, 31254, 'Cannot do exclusion on field b in inclusion projection'],
    [{ a: 0, b: 1 }, 31253, 'Cannot do inclusion on field b in exclusion projection'],
    [{ a: 1, 'a.b': 1 }, 31249, 'Path collision at a.b'],
    [{ 'a.b': 1, a: 1 }, 31250, 'Path collision at a'],
    [{ 'a.': 1 }, 40353, "must not end with a '.'"],
    [{ $a: 1 }, 16410, "may not start with '$'"],
    [{ a: {} }, 238, 'a document as projection'],
    [{ a: { b: 1 } }, 238, 'a document as projection'],
    [{ 'a.$': 1 }, 238, 'the positional projection'],
    [{ 'a.$.b': 1 }, 238, 'the positional projection'],
    [{ a: { $elemMatch: { b: 1 } } }, 168, 'this store computes no fields'],
    [{ a: { $foo: 1 } }, 168, 'Unrecognized expression a: { $foo: 1 }'],
    [{ a: { $slice: 2 } }, 168, 'Unrecognized expression a: { $slice: 2 }'],
    [{ a: 1, x: '$b' }, 168, 'this store computes no fields'],
    [{ a: 1, x: { $literal: 1 } }, 168, 'this store computes no fields'],
  ])('refuses %j with code %i', (projection, code, message) => {
    expect(() => compileProjection(doc(projection))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })
})
