import { describe, expect, it } from 'vitest'
import { compileExpression } from '../../src/semantics/expression.ts'
import { compilePipeline } from '../../src/semantics/pipeline.ts'
import { bson, doc, shown } from './bson-literals.ts'

const now = new Date('2026-01-01T00:00:00Z')

function evaluate(expression: unknown, document: object = {}): unknown {
  return shown(compileExpression(bson(expression))({ root: doc(document), now }))
}

function run(stages: readonly object[], documents: readonly object[]): unknown {
  return compilePipeline(stages.map(doc))(documents.map(doc), now).map(shown)
}

const long = (value: string): object => ({ $numberLong: value })
const double = (value: string): object => ({ $numberDouble: value })
const date = (value: number): object => ({ $date: { $numberLong: String(value) } })

describe('expressions', () => {
  it.each<[unknown, object, unknown]>([
    ['$a.b', { a: { b: 1 } }, 1],
    ['$a.b', { a: [{ b: 1 }, { c: 2 }, 5, [{ b: 3 }]] }, [1]],
    ['$$NOW', {}, date(1767225600000)],
    [{ $gt: ['$a', null] }, {}, false],
    [{ $lt: ['$a', null] }, {}, true],
    [{ $lt: [1, 'x'] }, {}, true],
    [{ $lte: [1, double('1.0')] }, {}, true],
    [{ $lt: [1, double('1.0')] }, {}, false],
    [{ $gt: ['$a', '$b'] }, { a: [1, 2], b: [1] }, true],
    [{ $lte: ['$a', '$b'] }, { a: { c: 1 }, b: { c: 2 } }, true],
  ])('%j on %j', (expression, document, expected) => {
    expect(evaluate(expression, document)).toEqual(shown(bson(expected)))
  })

  it.each<[unknown, number, string]>([
    [{ $foo: 1 }, 168, "Unrecognized expression '$foo'"],
    [{ $literal: 1 }, 168, "Unrecognized expression '$literal'"],
    [{ $and: [] }, 168, "Unrecognized expression '$and'"],
    [{ $not: ['$a'] }, 168, "Unrecognized expression '$not'"],
    [{ x: '$a' }, 238, 'no documents of expressions'],
    [['$a'], 238, 'no arrays of expressions'],
    [{ $gt: [1, 2, 3] }, 16020, 'takes exactly 2 arguments. 3 were passed in.'],
    [{ $gt: [1, 2], $lt: [1, 2] }, 15983, 'must have exactly one field'],
    [{ $gt: [1] }, 16020, 'takes exactly 2 arguments. 1 were passed in.'],
    [{ $eq: [1, 1] }, 168, "Unrecognized expression '$eq'"],
    [{ $ne: [1, 2] }, 168, "Unrecognized expression '$ne'"],
    [{ $gte: [1, 1] }, 168, "Unrecognized expression '$gte'"],
    [{ $add: [1, 2] }, 168, "Unrecognized expression '$add'"],
    [{ $subtract: [2, 1] }, 168, "Unrecognized expression '$subtract'"],
    [{ $ifNull: ['$a', 1] }, 168, "Unrecognized expression '$ifNull'"],
    [{ $size: '$a' }, 168, "Unrecognized expression '$size'"],
    [{ $in: [1, '$a'] }, 168, "Unrecognized expression '$in'"],
    ['$', 16872, "'$' by itself"],
    ['$a..b', 15998, 'may not be empty'],
    ['$a.$b', 16410, "may not start with '$'"],
    ['$$FOO', 17276, 'undefined variable: FOO'],
    ['$$ROOT', 17276, 'undefined variable: ROOT'],
    ['$$CURRENT.a', 17276, 'undefined variable: CURRENT.a'],
    ['$$NOW.a', 17276, 'undefined variable: NOW.a'],
  ])('refuses %j with code %i', (expression, code, message) => {
    expect(() => compileExpression(bson(expression))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })
})

const orders = [
  { _id: 1, k: 'x', n: 1 },
  { _id: 2, k: 'y', n: 5 },
  { _id: 3, k: 'x', n: long('2') },
  { _id: 4, n: 'none' },
]

describe('pipelines', () => {
  it.each<[string, object[], object[], object[]]>([
    ['countDocuments', [{ $match: {} }, { $group: { _id: 1, n: { $sum: 1 } } }], orders, [{ _id: 1, n: 4 }]],
    ['a group of nothing', [{ $match: { k: 'z' } }, { $group: { _id: 1, n: { $sum: 1 } } }], orders, []],
    [
      '$group by path; a missing path is null',
      [{ $group: { _id: '$k', n: { $sum: 1 } } }],
      orders,
      [
        { _id: 'x', n: 2 },
        { _id: 'y', n: 1 },
        { _id: null, n: 1 },
      ],
    ],
    [
      '$group joins numbers of different types',
      [{ $group: { _id: '$n', c: { $sum: 1 } } }],
      [{ n: 1 }, { n: double('1.0') }],
      [{ _id: 1, c: 2 }],
    ],
  ])('%s', (_name, stages, documents, expected) => {
    expect(run(stages, documents)).toEqual(expected.map((document) => shown(bson(document))))
  })

  it.each<[object, number, string]>([
    [{ $changeStream: {} }, 40573, 'only supported on replica sets'],
    [{ $lookup: {} }, 40324, "Unrecognized pipeline stage name: '$lookup'"],
    [{}, 40323, 'exactly one field'],
    [{ $match: 1 }, 15959, 'must be an expression in an object'],
    [{ $skip: 1 }, 40324, "Unrecognized pipeline stage name: '$skip'"],
    [{ $limit: 1 }, 40324, "Unrecognized pipeline stage name: '$limit'"],
    [{ $match: {}, $group: {} }, 40323, 'exactly one field'],
    [{ $sort: { a: 1 } }, 40324, "Unrecognized pipeline stage name: '$sort'"],
    [{ $project: { a: 1 } }, 40324, "Unrecognized pipeline stage name: '$project'"],
    [{ $count: 'n' }, 40324, "Unrecognized pipeline stage name: '$count'"],
    [{ $group: 1 }, 15947, 'in an object'],
    [{ $group: { n: { $sum: 1 } } }, 15955, 'must include an _id'],
    [{ $group: { _id: 1, n: 1 } }, 15952, "unknown group operator in 'n'"],
    [{ $group: { _id: 1, n: { $foo: 1 } } }, 15952, "unknown group operator in 'n'"],
    [{ $group: { _id: 1, n: { $sum: 1, $avg: 1 } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $sum: 2 } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $sum: [1] } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $sum: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $avg: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $min: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $max: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $first: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $last: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $push: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, n: { $addToSet: '$n' } } }, 15952, 'this store has {$sum: 1}'],
    [{ $group: { _id: 1, 'n.m': { $sum: 1 } } }, 40235, "cannot contain '.'"],
    [{ $group: { _id: 1, $n: { $sum: 1 } } }, 40236, 'cannot be an operator name'],
  ])('refuses %j with code %i', (stage, code, message) => {
    expect(() => compilePipeline([doc(stage)])).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })
})
