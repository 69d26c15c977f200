import { BSONRegExp } from 'bson'
import { describe, expect, it } from 'vitest'
import { compileFilter } from '../../src/semantics/filter.ts'
import { type BsonDocument, type BsonValue, documentOf } from '../../src/semantics/values.ts'
import { doc, double, long } from './bson-literals.ts'

const now = new Date('2026-01-01T00:00:00Z')

function matches(filter: object, document: object): boolean {
  return compileFilter(doc(filter)).matches(doc(document), now)
}

/** Filter and document on one field, with values JSON cannot write. */
function testsField(operator: string, wanted: BsonValue, stored: BsonValue): boolean {
  const filter = documentOf(['a', documentOf([operator, wanted])])
  return compileFilter(filter).matches(documentOf(['a', stored]), now)
}

function refusal(filter: BsonDocument): { code: number; message: string } {
  try {
    compileFilter(filter)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return { code: Number(error.code), message: error.message }
    throw error
  }
  throw new Error('the filter was accepted')
}

describe('paths and arrays', () => {
  it.each<[string, object, object, boolean]>([
    ['an empty filter matches', {}, { a: 1 }, true],
    ['a nested field', { 'a.b': 1 }, { a: { b: 1 } }, true],
    ['a scalar has no fields', { 'a.b': 1 }, { a: 5 }, false],
    ['null matches below a scalar', { 'a.b': null }, { a: 5 }, true],
    ['null matches below a missing field', { 'a.b.c': null }, {}, true],
    ['null does not match below an empty array', { 'a.b': null }, { a: [] }, false],
    ['null does not match below an array of scalars', { 'a.b': null }, { a: [1, 2] }, false],
    ['null matches one document of an array without the field', { 'a.b': null }, { a: [1, { c: 1 }] }, true],
    ['a path that ends in a dot ends at an array', { 'a.': { $exists: true } }, { a: [1] }, true],
    ['a path that ends in a dot names the empty field', { 'a.': 1 }, { a: { '': 1 } }, true],
    ['a path that ends in a dot in a document', { 'a.': { $exists: true } }, { a: { b: 1 } }, false],
    ['a path that ends in two dots', { 'a..': { $exists: true } }, { a: [1] }, false],
    ['a reference by its parts', { a: { $ref: 'c', $id: 1 } }, { a: { $ref: 'c', $id: 1 } }, true],
    ['a reference among operators', { a: { $gt: 1, $ref: 'c', $id: 1 } }, { a: 2 }, false],
    ['a reference in $elemMatch', { a: { $elemMatch: { $id: 1 } } }, { a: [{ $ref: 'c', $id: 1 }] }, true],
    ['null does not match an empty array', { a: null }, { a: [] }, false],
    ['null matches null in an array', { a: null }, { a: [1, null] }, true],
    ['$ne null below an empty array', { 'a.b': { $ne: null } }, { a: [] }, true],
    [
      '$exists false below an array without the field',
      { 'a.b': { $exists: false } },
      { a: [{ c: 1 }] },
      true,
    ],
    [
      '$exists below an array with the field once',
      { 'a.b': { $exists: true } },
      { a: [{ c: 1 }, { b: 1 }] },
      true,
    ],
    ['$exists sees null', { a: { $exists: true } }, { a: null }, true],
    ['$exists 0 means false', { a: { $exists: 0 } }, { a: 1 }, false],
    ['$exists with a string means true', { a: { $exists: '' } }, { a: 1 }, true],
    ['an array equals the same array', { a: [1, 2] }, { a: [1, 2] }, true],
    ['an array contains an array', { a: [1, 2] }, { a: [[1, 2], 3] }, true],
    ['array order matters', { a: [1, 2] }, { a: [2, 1] }, false],
    ['arrays in arrays are not searched by name', { 'a.b': 1 }, { a: [[{ b: 1 }]] }, false],
    ['an index opens an array in an array', { 'a.0.b': 1 }, { a: [[{ b: 1 }]] }, true],
    ['an index yields an inner array whole', { 'a.0': 1 }, { a: [[1]] }, false],
    ['an index yields an inner array to equality', { 'a.0': [1] }, { a: [[1]] }, true],
    ['an index is also a name', { 'a.0': 1 }, { a: { 0: 1 } }, true],
    ['an index beyond the array', { 'a.5': 1 }, { a: [1] }, false],
    ['an index beyond the array is missing to $exists', { 'a.5': { $exists: false } }, { a: [1] }, true],
    ['a leading zero is no index', { 'a.01': 2 }, { a: [1, 2] }, false],
    ['paths through two arrays', { 'a.b.c': 3 }, { a: [{ b: [{ c: 1 }, { c: 3 }] }] }, true],
    ['documents compare whole', { a: { x: 1 } }, { a: { x: 1, y: 2 } }, false],
    ['documents compare in field order', { a: { y: 2, x: 1 } }, { a: { x: 1, y: 2 } }, false],
    ['an empty document equals only itself', { a: {} }, { a: {} }, true],
    ['two conditions may be met by two elements', { a: { $gt: 5, $lt: 3 } }, { a: [1, 9] }, true],
    ['$gt compares arrays with arrays', { a: { $gt: [1] } }, { a: [2] }, true],
    ['$gt does not compare arrays with numbers', { a: { $gt: [1] } }, { a: 2 }, false],
    ['a DBRef is a value', { a: { $ref: 'c', $id: 1 } }, { a: { $ref: 'c', $id: 1 } }, true],
    ['a field of a DBRef', { 'a.$id': 1 }, { a: { $ref: 'c', $id: 1 } }, true],
  ])('%s', (_name, filter, document, expected) => {
    expect(matches(filter, document)).toBe(expected)
  })
})

describe('operators', () => {
  it.each<[string, object, object, boolean]>([
    [
      '$in with a regex',
      { a: { $in: [{ $regularExpression: { pattern: '^x', options: '' } }, 3] } },
      { a: 'xy' },
      true,
    ],
    ['$in of nothing', { a: { $in: [] } }, { a: 1 }, false],
    ['$in with null and a missing field', { a: { $in: [null, 1] } }, {}, true],
    ['$in with an array as member', { a: { $in: [[1, 2]] } }, { a: [1, 2] }, true],
    [
      '$in of many numbers ignores their type',
      { a: { $in: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] } },
      { a: { $numberLong: '9' } },
      true,
    ],
    ['$nin excludes by any element', { a: { $nin: [1] } }, { a: [1, 2] }, false],
    ['$nin of nothing', { a: { $nin: [] } }, {}, true],
    ['$ne on an array containing the value', { a: { $ne: 1 } }, { a: [1, 2] }, false],
    ['$ne on a missing field', { a: { $ne: 1 } }, {}, true],
    [
      '$not with a regex',
      { a: { $not: { $regularExpression: { pattern: 'x', options: '' } } } },
      { a: 'yx' },
      false,
    ],
    ['$not with $regex', { a: { $not: { $regex: '^x' } } }, { a: 'yx' }, true],
    ['$not on arrays negates the whole', { a: { $not: { $gt: 5 } } }, { a: [1, 9] }, false],
    ['$size', { a: { $size: 2 } }, { a: [1, [2, 3]] }, true],
    ['$size with a double', { a: { $size: { $numberDouble: '2.0' } } }, { a: [1, 2] }, true],
    ['$size of an array in an array is not asked', { a: { $size: 1 } }, { a: [[1], 2] }, false],
    ['$size of a scalar', { a: { $size: 1 } }, { a: 1 }, false],
    ['$size below an array', { 'a.b': { $size: 1 } }, { a: [{ b: [1] }] }, true],
    ['$all with one value and a scalar', { a: { $all: [1] } }, { a: 1 }, true],
    ['$all of nothing', { a: { $all: [] } }, { a: [] }, false],
    ['$all with an array member', { a: { $all: [[1, 2]] } }, { a: [1, 2] }, true],
    [
      '$all with a regex',
      { a: { $all: [{ $regularExpression: { pattern: '^x', options: '' } }, 1] } },
      { a: [1, 'xy'] },
      true,
    ],
    ['$elemMatch needs one element for all', { a: { $elemMatch: { $gt: 5, $lt: 3 } } }, { a: [1, 9] }, false],
    ['$elemMatch on a scalar', { a: { $elemMatch: { $gt: 0 } } }, { a: 1 }, false],
    ['$elemMatch does not open inner arrays', { a: { $elemMatch: { $gt: 5 } } }, { a: [[6]] }, false],
    ['$elemMatch in $elemMatch', { a: { $elemMatch: { $elemMatch: { $gt: 5 } } } }, { a: [[6]] }, true],
    ['$elemMatch with $or', { a: { $elemMatch: { $or: [{ b: 1 }, { c: 1 }] } } }, { a: [{ c: 1 }] }, true],
    ['$elemMatch reads an inner array by index', { a: { $elemMatch: { 0: 7 } } }, { a: [[7]] }, true],
    ['$elemMatch with $in', { a: { $elemMatch: { $in: [3, 4] } } }, { a: [1, 4] }, true],
    ['$elemMatch with $ne', { a: { $elemMatch: { $ne: 1 } } }, { a: [1, 2] }, true],
    ['$elemMatch with $not', { a: { $elemMatch: { $not: { $lt: 5 } } } }, { a: [1, 9] }, true],
    ['$elemMatch of an empty document matches documents', { a: { $elemMatch: {} } }, { a: [1, {}] }, true],
    ['$elemMatch of an empty document skips scalars', { a: { $elemMatch: {} } }, { a: [1] }, false],
    ['$elemMatch and missing fields', { a: { $elemMatch: { b: null } } }, { a: [{ c: 1 }] }, true],
    ['$or', { $or: [{ a: 1 }, { b: 1 }] }, { b: 1 }, true],
    ['$nor', { $nor: [{ a: 1 }, { b: 1 }] }, { b: 1 }, false],
    ['$and of one path twice', { $and: [{ a: 1 }, { a: 2 }] }, { a: [1, 2] }, true],
    ['$gt on strings', { a: { $gt: 'b' } }, { a: 'c' }, true],
    [
      '$gt on dates',
      { a: { $gt: { $date: { $numberLong: '5' } } } },
      { a: { $date: { $numberLong: '6' } } },
      true,
    ],
    ['$gt does not compare strings with numbers', { a: { $gt: 1 } }, { a: '2' }, false],
    ['$gte null on a missing field', { a: { $gte: null } }, {}, true],
    ['$gt null on a missing field', { a: { $gt: null } }, {}, false],
    ['$lt false', { a: { $lt: true } }, { a: false }, true],
    ['$lt NaN', { a: { $lt: { $numberDouble: 'NaN' } } }, { a: 1 }, false],
    ['$lt 5 on NaN', { a: { $lt: 5 } }, { a: { $numberDouble: 'NaN' } }, false],
    ['$in NaN', { a: { $in: [{ $numberDouble: 'NaN' }] } }, { a: { $numberDouble: 'NaN' } }, true],
    ['$eq spelled out', { a: { $eq: { b: 1 } } }, { a: { b: 1 } }, true],
    [
      '$eq with a regex wants the regex itself',
      { a: { $eq: { $regularExpression: { pattern: 'x', options: '' } } } },
      { a: 'x' },
      false,
    ],
    [
      'a regex equals the same stored regex',
      { a: { $regularExpression: { pattern: 'x', options: '' } } },
      { a: { $regularExpression: { pattern: 'x', options: '' } } },
      true,
    ],
    ['$regex with $options before it', { a: { $options: 'i', $regex: 'X' } }, { a: 'x' }, true],
    ['$regex looks into arrays', { a: { $regex: 'x' } }, { a: [1, 'ax'] }, true],
  ])('%s', (_name, filter, document, expected) => {
    expect(matches(filter, document)).toBe(expected)
  })

  it.each<[string, string, BsonValue, BsonValue, boolean]>([
    ['an int64 beyond 2^53 is exact', '$eq', double(2 ** 53), long(2n ** 53n + 1n), false],
    ['$gt across int64 and double', '$gt', double(2 ** 53), long(2n ** 53n + 1n), true],
  ])('%s', (_name, operator, wanted, stored, expected) => {
    expect(testsField(operator, wanted, stored)).toBe(expected)
  })

  it('compares with the clock it is given, not with the computer’s', () => {
    const filter = compileFilter(doc({ $expr: { $lte: ['$expires', '$$NOW'] } }))
    const document = doc({ expires: { $date: '2026-01-01T00:00:00.000Z' } })
    expect(filter.matches(document, now)).toBe(true)
    expect(filter.matches(document, new Date(now.getTime() - 1))).toBe(false)
  })
})

describe('the element the positional operator means', () => {
  it.each<[string, object, object, number | undefined]>([
    ['a scalar element', { a: 2 }, { a: [1, 2] }, 1],
    ['a field of a document element', { 'a.b': 2 }, { a: [{ b: 1 }, { b: 2 }] }, 1],
    ['$elemMatch', { a: { $elemMatch: { b: 2 } } }, { a: [{ b: 1 }, { b: 2 }] }, 1],
    ['the outermost array', { 'a.b': 5 }, { a: [{ b: [1] }, { b: [4, 5] }] }, 1],
    [
      '$elemMatch below an array: the outer one',
      { 'a.b': { $elemMatch: { $eq: 5 } } },
      { a: [{ b: [1] }, { b: [4, 5] }] },
      1,
    ],
    ['no array, no element', { a: 2 }, { a: 2 }, undefined],
    ['a whole array is no element', { a: [1, 2] }, { a: [1, 2] }, undefined],
    ['an explicit index is no search', { 'a.1': 2 }, { a: [1, 2] }, undefined],
    ['a negation finds no element', { a: { $ne: 5 } }, { a: [1, 2] }, undefined],
    ['$or with several branches finds no element', { $or: [{ a: 2 }, { a: 9 }] }, { a: [1, 2] }, undefined],
    ['$or with one branch', { $or: [{ a: 2 }] }, { a: [1, 2] }, 1],
    ['the last condition on an array wins', { a: 2, b: 3 }, { a: [1, 2], b: [3] }, 0],
  ])('%s', (_name, filter, document, expected) => {
    const detail = compileFilter(doc(filter)).matchDetail(doc(document), now)
    expect(detail.matched).toBe(true)
    expect(detail.arrayIndex).toBe(expected)
  })
})

describe('refused filters', () => {
  it.each<[object, number, string]>([
    [{ a: { $foo: 1 } }, 2, 'unknown operator: $foo'],
    [{ a: { $gt: 1, b: 2 } }, 2, 'unknown operator: b'],
    [{ a: { $comment: 'x' } }, 2, 'unknown operator: $comment'],
    [{ a: { $mod: [2, 0] } }, 2, 'unknown operator: $mod'],
    [{ a: { $type: 'int' } }, 2, 'unknown operator: $type'],
    [{ a: { $all: [{ $elemMatch: { b: 1 } }] } }, 2, 'no $ expressions in $all'],
    [{ $foo: 1 }, 2, 'unknown top level operator: $foo'],
    [{ $comment: 'x' }, 2, 'unknown top level operator: $comment'],
    [{ $where: 'true' }, 2, 'unknown top level operator: $where'],
    [{ $and: [] }, 2, 'must be a nonempty array'],
    [{ $or: {} }, 2, '$or must be an array'],
    [{ $nor: [1] }, 2, 'entries need to be full objects'],
    [{ a: { $in: 1 } }, 2, '$in needs an array'],
    [{ a: { $nin: {} } }, 2, '$nin needs an array'],
    [{ a: { $in: [{ $gt: 1 }] } }, 2, 'cannot nest $ under $in'],
    [{ a: { $size: 'x' } }, 2, 'Expected a number'],
    [{ a: { $size: { $numberDouble: '1.5' } } }, 2, 'Expected an integer'],
    [{ a: { $size: { $numberLong: '2147483648' } } }, 2, 'Cannot represent as a 32-bit integer'],
    [{ a: { $size: -1 } }, 2, 'Expected a non-negative number'],
    [{ a: { $all: 1 } }, 2, '$all needs an array'],
    [{ a: { $all: [{ $gt: 1 }] } }, 2, 'no $ expressions in $all'],
    [{ a: { $elemMatch: { $where: 'true' } } }, 2, '$elemMatch cannot contain $where expression'],
    [{ a: { $elemMatch: 1 } }, 2, '$elemMatch needs an Object'],
    [{ a: { $not: {} } }, 2, '$not cannot be empty'],
    [{ a: { $not: 1 } }, 2, '$not needs a regex or a document'],
    [{ a: { $not: { b: 1 } } }, 2, 'unknown operator: b'],
    [{ a: { $regex: 1 } }, 2, '$regex has to be a string'],
    [{ a: { $options: 'i' } }, 2, '$options needs a $regex'],
    [{ a: { $regex: 'x', $options: 1 } }, 2, '$options has to be a string'],
    [{ a: { $regex: 'x', $options: 'g' } }, 51108, 'invalid flag'],
    [{ a: { $regex: '(' } }, 51091, 'Regular expression is invalid'],
    [
      { a: { $ne: { $regularExpression: { pattern: 'x', options: '' } } } },
      2,
      "Can't have regex as arg to $ne.",
    ],
    [
      { a: { $gt: { $regularExpression: { pattern: 'x', options: '' } } } },
      2,
      "Can't have RegEx as arg to predicate over field 'a'.",
    ],
    [{ a: { $elemMatch: { $expr: true } } }, 2, '$expr can only be applied to the top-level document'],
    [{ r: { $ref: 'c' } }, 2, 'unknown operator: $ref'],
    [{ r: { $id: 1, $db: 'd' } }, 2, 'unknown operator: $id'],
    [{ r: { $in: [{ $ref: 'c' }] } }, 2, 'cannot nest $ under $in'],
    [{ r: { $not: { $id: 1 } } }, 2, 'unknown operator: $id'],
    [{ $expr: { $filter: { cond: '$$this' } } }, 168, "Unrecognized expression '$filter'"],
    [{ $expr: { $eq: ['$a', '$b'] } }, 168, "Unrecognized expression '$eq'"],
    [{ $expr: { $foo: 1 } }, 168, "Unrecognized expression '$foo'"],
    [{ $expr: { a: '$b' } }, 238, 'no documents of expressions'],
    [{ $expr: '$$OTHER' }, 17276, 'Use of undefined variable: OTHER'],
  ])('%j: code %i', (filter, code, message) => {
    const error = refusal(doc(filter))
    expect(error.code).toBe(code)
    expect(error.message).toContain(message)
  })

  it('includes options given twice', () => {
    const twice = documentOf([
      'a',
      new Map<string, BsonValue>([
        ['$regex', new BSONRegExp('x', 'i')],
        ['$options', 'm'],
      ]),
    ])
    expect(refusal(twice)).toEqual({ code: 51075, message: 'options set in both $regex and $options' })
  })
})
