import { Int32 } from 'bson'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { identicalValues } from '../../src/semantics/compare.ts'
import { compileUpdate } from '../../src/semantics/update.ts'
import { seedFromFilter } from '../../src/semantics/upsert-seed.ts'
import type { BsonDocument, BsonValue } from '../../src/semantics/values.ts'
import { applyUpdate, type Extra, now } from './apply-update.ts'
import { arbitraryDocument, arbitrarySmallValue } from './arbitrary-values.ts'
import { bson, doc, shown } from './bson-literals.ts'

const long = (value: string): object => ({ $numberLong: value })
const double = (value: string): object => ({ $numberDouble: value })

describe('update operators', () => {
  it.each<[string, object, object, object, Extra?]>([
    ['$set makes fields in name order', { _id: 1 }, { $set: { b: 1, a: 2 } }, { _id: 1, a: 2, b: 1 }],
    ['numeric names by number', {}, { $set: { 'x.b': 0, 'x.a': 1 } }, { x: { a: 1, b: 0 } }],
    ['$set of an index of a missing field makes a document', {}, { $set: { 'a.0': 1 } }, { a: { 0: 1 } }],
    ['$set pads an array with null', { a: [1] }, { $set: { 'a.3': 9 } }, { a: [1, null, null, 9] }],
    ['$set makes a document behind an array', { a: [] }, { $set: { 'a.1.b': 9 } }, { a: [null, { b: 9 }] }],
    ['$set changes a type', { a: 1 }, { $set: { a: double('1.0') } }, { a: double('1.0') }],
    ['$set of a document with $-names inside', {}, { $set: { a: { $x: 1 } } }, { a: { $x: 1 } }],
    ['$set of nothing', { a: 1 }, { $set: {} }, { a: 1 }],
    ['$unset in an array leaves null', { a: [1, 2] }, { $unset: { 'a.0': '' } }, { a: [null, 2] }],
    ['$unset behind an array does nothing', { a: [1] }, { $unset: { 'a.5': 1 } }, { a: [1] }],
    ['$unset below a scalar does nothing', { a: 1 }, { $unset: { 'a.b.c': 1 } }, { a: 1 }],
    ['$unset leaves the empty parent', { a: { b: 1 } }, { $unset: { 'a.b': 1 } }, { a: {} }],
    ['$inc widens int32 to int64', { a: 2147483647 }, { $inc: { a: 1 } }, { a: long('2147483648') }],
    ['$inc of an int64 stays int64', { a: long('1') }, { $inc: { a: 1 } }, { a: long('2') }],
    ['$inc with an int64', { a: 1 }, { $inc: { a: long('1') } }, { a: long('2') }],
    ['$inc with a double', { a: long('1') }, { $inc: { a: double('0.5') } }, { a: double('1.5') }],
    ['$inc on a missing field keeps the type', {}, { $inc: { a: long('5') } }, { a: long('5') }],
    ['$inc by a negative', { a: -2147483648 }, { $inc: { a: -1 } }, { a: long('-2147483649') }],
    ['$max across types', { a: 5 }, { $max: { a: 'x' } }, { a: 'x' }],
    ['$max keeps the old of two equals', { a: 1 }, { $max: { a: double('1.0') } }, { a: 1 }],
    ['$max makes a missing field', {}, { $max: { a: 1 } }, { a: 1 }],
    ['$max over null', { a: null }, { $max: { a: 1 } }, { a: 1 }],
    ['$pull beside a missing field', { a: { b: 1 } }, { $pull: { 'a.c.d': 1 } }, { a: { b: 1 } }],
    ['$unset of a $-name', { $z: 1, a: 1 }, { $unset: { $z: 1 } }, { a: 1 }],
    ['$set in a stored $-name', { $z: { x: 1 } }, { $set: { '$z.x': 2 } }, { $z: { x: 2 } }],
    ['$set below makes $-names', { a: 1 }, { $set: { 'b.$x': 1 } }, { a: 1, b: { $x: 1 } }],
    [
      '$set of a $-name in what is being inserted',
      { _id: 1 },
      { $set: { $z: 1 } },
      { _id: 1, $z: 1 },
      { insert: true },
    ],
    ['$currentDate', {}, { $currentDate: { a: true } }, { a: { $date: { $numberLong: '1767225600000' } } }],
    [
      '$setOnInsert on insert',
      { _id: 1 },
      { $set: { a: 1 }, $setOnInsert: { b: 2 } },
      { _id: 1, a: 1, b: 2 },
      { insert: true },
    ],
  ])('%s', (_name, document, change, expected, extra) => {
    expect(shown(applyUpdate(document, change, extra).doc)).toEqual(shown(bson(expected)))
  })
})

describe('replacements', () => {
  it.each<[string, object, object, object]>([
    ['keep the _id, in front', { _id: 1, a: 1 }, { b: 2 }, { _id: 1, b: 2 }],
    ['may repeat the _id, and it moves to the front', { _id: 1 }, { b: 2, _id: 1 }, { _id: 1, b: 2 }],
    ['may be empty', { _id: 1, a: 1 }, {}, { _id: 1 }],
    [
      'may hold dotted and inner $-names',
      { _id: 1 },
      { 'a.b': 1, c: { $d: 1 } },
      { _id: 1, 'a.b': 1, c: { $d: 1 } },
    ],
  ])('%s', (_name, document, change, expected) => {
    expect(shown(applyUpdate(document, change).doc)).toEqual(shown(bson(expected)))
  })
})

describe('what an update reports', () => {
  it.each<[string, object, object, boolean]>([
    ['$set of the same value', { a: 1 }, { $set: { a: 1 } }, false],
    ['$set of another type', { a: 1 }, { $set: { a: long('1') } }, true],
    ['$set of a reordered document', { a: { x: 1, y: 1 } }, { $set: { a: { y: 1, x: 1 } } }, true],
    ['$inc by zero', { a: 1 }, { $inc: { a: 0 } }, false],
    ['$inc by an int64 zero changes the type', { a: 1 }, { $inc: { a: long('0') } }, true],
    ['$unset of nothing', { a: 1 }, { $unset: { b: 1 } }, false],
    ['$addToSet of a member', { a: [1] }, { $addToSet: { a: 1 } }, false],
    ['$pull of nothing', { a: [1] }, { $pull: { a: 2 } }, false],
    ['$push of nothing', { a: [1] }, { $push: { a: { $each: [] } } }, false],
    ['$setOnInsert on update', { a: 1 }, { $setOnInsert: { b: 1 } }, false],
    ['the same replacement', { _id: 1, a: 1 }, { a: 1 }, false],
    ['another replacement', { _id: 1, a: 1 }, { a: 2 }, true],
  ])('%s: changed is right', (_name, document, change, expected) => {
    expect(applyUpdate(document, change).changed).toBe(expected)
  })

  it('shares what did not change and never mutates its input', () => {
    const path = fc.constantFrom('a', 'b', 'a.b', 'a.0', 'a.1.b', 'c.a.b')
    const given = fc.tuple(arbitraryDocument, fc.boolean())
    const operator = fc.constantFrom('$set', '$unset', '$inc', '$max', '$push', '$addToSet', '$pull')
    fc.assert(
      fc.property(given, operator, path, arbitrarySmallValue, ([document, insert], name, target, value) => {
        const before = copyOfDocument(document)
        try {
          const change = compileUpdate(
            new Map<string, BsonValue>([
              [name, new Map([[target, value]])],
              // Fields beside the first: what was copied for one is changed in place for the next.
              [
                '$setOnInsert',
                new Map([
                  ['c.a.q', value],
                  ['c.a.r', value],
                  ['a.b.q', value],
                ]),
              ],
            ]),
          )
          const result = change.apply(document, { now, insert })
          expect(result.changed).toBe(result.doc !== document)
        } catch (error) {
          expect(error).toHaveProperty('code')
        }
        expect(identicalValues(document, before)).toBe(true)
      }),
      { numRuns: 3_000 },
    )
  })
})

function copyOf(value: BsonValue): BsonValue {
  if (value instanceof Map) return copyOfDocument(value)
  return Array.isArray(value) ? value.map(copyOf) : value
}

function copyOfDocument(document: BsonDocument): BsonDocument {
  return new Map(Array.from(document, ([name, value]) => [name, copyOf(value)]))
}

describe('the cost of an update', () => {
  const count = 16_000
  const fields: BsonDocument = new Map(
    Array.from({ length: count }, (_, index) => [`f${index}`, new Int32(1)]),
  )
  const names = [...fields.keys()]
  const fastest = (run: () => void): number => {
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now()
      run()
      return performance.now() - start
    })
    return Math.min(...times)
  }

  it.each<[string, () => void]>([
    ['$set of new fields', () => updated(new Map(), new Map([['$set', fields]]))],
    ['$inc of stored fields', () => updated(fields, new Map([['$inc', fields]]))],
    ['$unset', () => updated(fields, new Map([['$unset', fields]]))],
    [
      '$addToSet of many',
      () => updated(new Map([['a', names]]), addition('$addToSet', [...names].reverse())),
    ],
    ['an upsert', () => seedFromFilter(fields)],
  ])('%s: the document is not copied field by field', (_name, run) => {
    const copy = fastest(() => new Map(fields))
    expect(fastest(run) / copy).toBeLessThan(count / 20)
  })
})

function addition(operator: string, values: BsonValue[]): BsonDocument {
  return new Map([[operator, new Map([['a', new Map([['$each', values]])]])]])
}

function updated(document: BsonDocument, change: BsonDocument): void {
  compileUpdate(change).apply(document, { now, insert: false })
}

describe('seedFromFilter', () => {
  it.each<[string, object, object]>([
    ['plain equalities, by name', { b: 1, a: 2 }, { a: 2, b: 1 }],
    ['$eq and nested paths', { 'a.b': { $eq: 1 }, 'a.c': 2 }, { a: { b: 1, c: 2 } }],
    ['$and', { $and: [{ a: 1 }, { $and: [{ b: 2 }] }] }, { a: 1, b: 2 }],
    ['$or of one branch only', { $or: [{ a: 1 }] }, { a: 1 }],
    ['not $or of two', { $or: [{ a: 1 }, { a: 2 }] }, {}],
    ['not ranges and negations', { a: { $gt: 1 }, b: { $ne: 2 }, c: { $exists: true } }, {}],
    ['$in of one value only', { a: { $in: [1] }, b: { $in: [1, 2] } }, { a: 1 }],
    ['$all of one value', { a: { $all: [1] } }, { a: 1 }],
    ['not a regex', { a: { $regularExpression: { pattern: 'x', options: '' } } }, {}],
    ['_id first', { a: 1, _id: 5 }, { _id: 5, a: 1 }],
    ['documents and arrays', { a: { b: 1 }, c: [1] }, { a: { b: 1 }, c: [1] }],
    ['null', { a: null }, { a: null }],
  ])('takes %s', (_name, filter, expected) => {
    expect(shown(seedFromFilter(doc(filter)))).toEqual(shown(bson(expected)))
  })

  it.each<[object, string]>([
    [{ $and: [{ a: 1 }, { a: 2 }] }, "path 'a' is matched twice"],
    [{ a: { b: 1 }, 'a.c': 1 }, "both paths 'a' and 'a.c' are matched"],
    [{ 'a.b': 1, 'a!': 1, a: 1 }, "both paths 'a' and 'a.b' are matched"],
  ])('refuses %j with code 54', (filter, message) => {
    expect(() => seedFromFilter(doc(filter))).toThrow(
      expect.objectContaining({ code: 54, message: expect.stringContaining(message) }),
    )
  })

  it('feeds the update: _id may come from the update when the filter has none', () => {
    const seed = seedFromFilter(doc({ a: 1 }))
    const result = compileUpdate(doc({ $set: { b: 2, _id: 7 } })).apply(seed, { now, insert: true })
    expect(shown(result.doc)).toEqual(shown(bson({ _id: 7, a: 1, b: 2 })))
  })

  it('feeds a replacement with its _id only', () => {
    const seed = seedFromFilter(doc({ _id: 3, a: 1, $and: [{ a: 2 }] }), true)
    expect(shown(seed)).toEqual(shown(bson({ _id: 3 })))
    const result = compileUpdate(doc({ b: 2 })).apply(seed, { now, insert: true })
    expect(shown(result.doc)).toEqual(shown(bson({ _id: 3, b: 2 })))
  })
})
