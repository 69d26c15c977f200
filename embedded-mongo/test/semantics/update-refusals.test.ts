import { describe, expect, it } from 'vitest'
import { compileFilter } from '../../src/semantics/filter.ts'
import { compileUpdate } from '../../src/semantics/update.ts'
import { doc } from './bson-literals.ts'

const now = new Date('2026-01-01T00:00:00Z')

function apply(
  document: object,
  change: object,
  filter: object = {},
  arrayFilters?: readonly object[],
): void {
  const before = doc(document)
  const { arrayIndex } = compileFilter(doc(filter)).matchDetail(before, now)
  const position = arrayIndex === undefined ? {} : { arrayIndex }
  compileUpdate(doc(change), arrayFilters ? { arrayFilters: arrayFilters.map(doc) } : {}).apply(before, {
    now,
    insert: false,
    ...position,
  })
}

function refused(code: number, message: string): unknown {
  return expect.objectContaining({ code, message: expect.stringContaining(message) })
}

describe('malformed updates', () => {
  it.each<[object, number, string]>([
    [{ $foo: { a: 1 } }, 9, 'Unknown modifier: $foo'],
    ...['$mul', '$min', '$rename', '$pullAll', '$pop'].map((name): [object, number, string] => [
      { [name]: { a: 1 } },
      9,
      `Unknown modifier: ${name}`,
    ]),
    [{ $push: { a: { $each: [], $position: 1 } } }, 2, 'Unrecognized clause in $push: $position'],
    [{ $push: { a: { $each: [], $sort: 1 } } }, 2, 'The $sort is invalid'],
    [{ $push: { a: { $each: [], $sort: {} } } }, 2, 'The $sort is invalid'],
    [{ $push: { a: { $each: [], $sort: { s: 2 } } } }, 2, 'must be either 1 or -1'],
    [{ $push: { a: { $each: [], $sort: { '': 1 } } } }, 2, 'cannot be empty'],
    [{ $push: { a: { $each: [], $sort: { 's.x': 1 } } } }, 238, 'no $sort by a path'],
    [{ $set: { a: 1 }, b: 1 }, 9, 'Unknown modifier: b'],
    [{ $set: 1 }, 9, 'Modifiers operate on fields'],
    [{ a: 1, $set: { b: 1 } }, 52, "'$set'"],
    [{ $set: { '': 1 } }, 56, 'An empty update path is not valid.'],
    [{ $set: { 'a.': 1 } }, 56, 'contains an empty field name'],
    [{ $set: { '.a': 1 } }, 56, 'contains an empty field name'],
    [{ $set: { 'a..b': 1 } }, 56, 'contains an empty field name'],
    [{ $set: { '$.a': 1 } }, 2, 'in the first position'],
    [{ $set: { '$[]': 1 } }, 2, 'in the first position'],
    [{ $set: { 'a.$.b.$': 1 } }, 2, 'Too many positional'],
    [{ $set: { a: 1, 'a.b': 2 } }, 40, "Updating the path 'a.b' would create a conflict at 'a'"],
    [{ $set: { 'a.b': 2, a: 1 } }, 40, "Updating the path 'a' would create a conflict at 'a'"],
    [{ $set: { '9.a': 1, '10': 1, '1x': 1 }, $inc: { 9: 1 } }, 40, "conflict at '9'"],
    [{ $unset: { [Array(200).fill('a').join('.')]: 1 } }, 15, 'more than 100 parts'],
    [{ $set: { a: 1 }, $inc: { a: 1 } }, 40, "Updating the path 'a' would create a conflict at 'a'"],
    [{ $set: { 'a.b.c': 1 }, $unset: { 'a.b': 1 } }, 40, "conflict at 'a.b'"],
    [{ $set: { 'a.0': 1, 'a.$[x]': 2 } }, 40, "conflict at 'a'"],
    [{ $inc: { a: 'x' } }, 14, 'Cannot increment with non-numeric argument'],
    [{ $push: { a: { $each: 1 } } }, 2, 'The argument to $each in $push must be an array'],
    [{ $push: { a: { $each: [], $foo: 1 } } }, 2, 'Unrecognized clause in $push: $foo'],
    [{ $push: { a: { $each: [], $slice: 'x' } } }, 2, 'The value for $slice must be an integer'],
    [
      { $push: { a: { $each: [], $slice: { $numberDouble: '1.5' } } } },
      2,
      'The value for $slice must be an integer',
    ],
    [{ $push: { a: { $each: [], $sort: 'x' } } }, 2, 'The $sort is invalid'],
    [{ $addToSet: { a: { $each: 1 } } }, 14, 'The argument to $each in $addToSet must be an array'],
    [{ $addToSet: { a: { $each: [], $slice: 1 } } }, 2, 'unexpected fields after $each'],
    [{ $pull: { a: { $foo: 1 } } }, 2, 'unknown operator: $foo'],
    [{ $currentDate: { a: 'date' } }, 2, 'is not valid for $currentDate'],
    [{ $currentDate: { a: { $type: 'date' } } }, 2, 'is not valid for $currentDate'],
    [{ $currentDate: { a: { $type: 'timestamp' } } }, 2, 'is not valid for $currentDate'],
    [{ $bit: { a: { and: 1 } } }, 9, 'Unknown modifier: $bit'],
  ])('%j: code %i', (change, code, message) => {
    expect(() => compileUpdate(doc(change))).toThrow(refused(code, message))
  })

  it('includes pipelines', () => {
    expect(() => compileUpdate([doc({ $set: { a: 1 } })])).toThrow(refused(238, 'pipeline'))
  })
})

describe('updates a document does not take', () => {
  it.each<[object, object, number, string]>([
    [{ a: 1 }, { $set: { 'a.b': 1 } }, 28, "Cannot create field 'b' in element {a: 1}"],
    [{ a: [1] }, { $set: { 'a.b': 1 } }, 28, "Cannot create field 'b' in element {a: [ 1 ]}"],
    [{ a: [1] }, { $set: { 'a.01': 1 } }, 28, "Cannot create field '01'"],
    [{ a: [1] }, { $set: { 'a.0.b': 1 } }, 28, "Cannot create field 'b' in element {0: 1}"],
    [{ a: 'x' }, { $inc: { 'a.b': 1 } }, 28, "Cannot create field 'b'"],
    [{ g: [{ name: [1] }] }, { $pull: { 'g.name': 1 } }, 28, "Cannot create field 'name'"],
    [{ g: 1 }, { $pull: { 'g.name': 1 } }, 28, "Cannot create field 'name' in element {g: 1}"],
    [
      { g: null },
      { $pull: { 'g.0': 1 }, $set: { h: 1 } },
      28,
      "Cannot create field '0' in element {g: null}",
    ],
    [{ g: [1] }, { $pull: { 'g.0.x': 1 } }, 28, "Cannot create field 'x' in element {0: 1}"],
    [{ g: 1 }, { $push: { 'g.x': 1 } }, 28, "Cannot create field 'x'"],
    [{ g: [1] }, { $addToSet: { 'g.x': 1 } }, 28, "Cannot create field 'x'"],
    [{ g: 1 }, { $max: { 'g.x': 1 } }, 28, "Cannot create field 'x'"],
    [{ g: 1 }, { $currentDate: { 'g.x': true } }, 28, "Cannot create field 'x'"],
    [{ a: 1 }, { $set: { $z: 1 } }, 52, "The dollar ($) prefixed field '$z' in '$z'"],
    [{ a: 1 }, { $inc: { $z: 1 } }, 52, "The dollar ($) prefixed field '$z'"],
    [{ a: 1 }, { $set: { '$z.agent.x': 1 } }, 52, "The dollar ($) prefixed field '$z' in '$z.agent.x'"],
    [{ $z: 1 }, { $set: { $z: 2 } }, 52, "The dollar ($) prefixed field '$z'"],
    [{ _id: 1 }, { $set: { _id: { $numberDouble: '1.0' } } }, 66, "immutable field '_id'"],
    [{ a: [] }, { $set: { 'a.2000000': 1 } }, 34, "can't backfill"],
    [{ _id: 1, a: null }, { $inc: { a: 1 } }, 14, "{_id: 1} has the field 'a' of non-numeric type null"],
    [
      { _id: { $oid: '00112233445566778899aabb' }, a: { $date: { $numberLong: '0' } } },
      { $inc: { a: 1 } },
      14,
      "{_id: ObjectId('00112233445566778899aabb')} has the field 'a' of non-numeric type date",
    ],
    [
      { a: { $binary: { base64: 'AP8=', subType: '00' } } },
      { $set: { 'a.b': 1 } },
      28,
      'in element {a: BinData(0, 00FF)}',
    ],
    [{ a: { $date: { $numberLong: '7' } } }, { $set: { 'a.b': 1 } }, 28, 'in element {a: new Date(7)}'],
    [
      { a: { $regularExpression: { pattern: 'x', options: 'i' } } },
      { $set: { 'a.b': 1 } },
      28,
      'in element {a: /x/i}',
    ],
    [{ a: { $numberLong: '9223372036854775807' } }, { $inc: { a: 1 } }, 2, 'Failed to apply $inc'],
    [{ a: { $numberLong: '-9223372036854775808' } }, { $inc: { a: -1 } }, 2, 'Failed to apply $inc'],
    [{ a: 1 }, { $push: { a: 1 } }, 2, "The field 'a' must be an array but is of type int"],
    [{ a: null }, { $push: { a: 1 } }, 2, 'must be an array but is of type null'],
    [{ a: {} }, { $addToSet: { a: 1 } }, 2, 'Cannot apply $addToSet to non-array field'],
    [{ a: 1 }, { $pull: { a: 1 } }, 2, 'Cannot apply $pull to a non-array value'],
    [{ _id: 1 }, { $set: { _id: 2 } }, 66, "immutable field '_id'"],
    [{ _id: { a: 1 } }, { $set: { '_id.a': 2 } }, 66, "immutable field '_id'"],
    [{ _id: 1 }, { $unset: { _id: 1 } }, 66, "immutable field '_id'"],
    [{ _id: 1 }, { $inc: { _id: 1 } }, 66, "immutable field '_id'"],
    [{ _id: 1 }, { _id: 2, a: 1 }, 66, "the (immutable) field '_id' was found to have been altered"],
    [{ a: [1] }, { $set: { 'a.$': 1 } }, 2, 'The positional operator did not find the match needed'],
  ])('%j %j: code %i', (document, change, code, message) => {
    expect(() => apply(document, change)).toThrow(refused(code, message))
  })

  it.each([
    [{ a: 1 }, 'Cannot apply array updates to non-array element a: 1'],
    [{ b: 1 }, "The path 'a' must exist in the document"],
  ])('%j has no array to filter', (document, message) => {
    expect(() => apply(document, { $set: { 'a.$[x]': 1 } }, {}, [{ x: 1 }])).toThrow(refused(2, message))
  })

  it('include positions that turn out to be one element', () => {
    const change = { $set: { 'a.$': 1, 'a.0': 2 } }
    expect(() => apply({ a: [7] }, change, { a: 7 })).toThrow(refused(40, "conflict at 'a.0'"))
    const filtered = { $set: { 'a.$[x]': 1, 'a.$[y]': 2 } }
    expect(() => apply({ a: [7] }, filtered, {}, [{ x: 7 }, { y: { $gt: 5 } }])).toThrow(
      refused(40, "conflict at 'a.0'"),
    )
  })
})

describe('malformed arrayFilters', () => {
  it.each<[object, readonly object[], number, string]>([
    [{ $set: { 'a.$[x]': 1 } }, [], 2, "No array filter found for identifier 'x' in path 'a.$[x]'"],
    [{ $set: { 'a.$[]': 1 } }, [], 2, "No array filter found for identifier '' in path 'a.$[]'"],
    [{ $set: { a: 1 } }, [{ x: 1 }], 9, "The array filter for identifier 'x' was not used"],
    [
      { $set: { 'a.$[x]': 1 } },
      [{ x: 1 }, { x: 2 }],
      9,
      'multiple array filters with the same top-level field name x',
    ],
    [
      { $set: { 'a.$[x]': 1 } },
      [{ x: 1, y: 2 }],
      9,
      "Expected a single top-level field name, found 'x' and 'y'",
    ],
    [{ $set: { 'a.$[x]': 1 } }, [{}], 9, 'without a top-level field name'],
    [{ $set: { 'a.$[X]': 1 } }, [{ X: 1 }], 2, 'beginning with a lowercase letter'],
    [{ $set: { 'a.$[x]': 1 } }, [{ x: { $foo: 1 } }], 2, 'unknown operator: $foo'],
    [{ $set: { 'a.$[x]': 1 } }, [{ $expr: true }], 224, '$expr is not allowed'],
    [{ b: 1 }, [{ x: 1 }], 9, 'arrayFilters may not be specified for replacement'],
  ])('%j with %j: code %i', (change, arrayFilters, code, message) => {
    expect(() => compileUpdate(doc(change), { arrayFilters: arrayFilters.map(doc) })).toThrow(
      refused(code, message),
    )
  })
})
