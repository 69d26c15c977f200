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
    [{ $literal: '$a' }, {}, '$a'],
    [{ x: '$a', y: '$b', z: 1 }, { a: 1 }, { x: 1, z: 1 }],
    [['$a', '$b'], { a: 1 }, [1, null]],
    [{ $eq: ['$a', null] }, {}, false],
    [{ $gt: ['$a', null] }, {}, false],
    [{ $lt: ['$a', null] }, {}, true],
    [{ $lt: [1, 'x'] }, {}, true],
    [{ $eq: [1, double('1.0')] }, {}, true],
    [{ $ne: [1, 2] }, {}, true],
    [{ $gte: ['$a', [1]] }, { a: [1, 2] }, true],
    [{ $lte: [{ b: 1 }, { b: 2 }] }, {}, true],
    [{ $and: [] }, {}, true],
    [{ $or: [] }, {}, false],
    [{ $and: [1, 'x', []] }, {}, true],
    [{ $or: [0, null, '$missing', false] }, {}, false],
    [{ $not: ['$a'] }, { a: 0 }, true],
    [{ $not: '$a' }, { a: '' }, false],
  ])('%j on %j', (expression, document, expected) => {
    expect(evaluate(expression, document)).toEqual(shown(bson(expected)))
  })

  it.each<[unknown, number, string]>([
    [{ $foo: 1 }, 168, "Unrecognized expression '$foo'"],
    [{ $eq: [1, 2], $ne: [1, 2] }, 15983, 'must have exactly one field'],
    [{ $eq: [1] }, 16020, 'takes exactly 2 arguments. 1 were passed in.'],
    [{ $not: [1, 2] }, 16020, 'takes exactly 1 arguments'],
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
    [{ a: 1, $b: 1 }, 16410, "may not start with '$'"],
    [{ 'a.b': 1 }, 16412, "may not contain '.'"],
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
    [
      '$match, $skip and $limit',
      [{ $match: { _id: { $gt: 1 } } }, { $skip: 1 }, { $limit: 1 }],
      orders,
      [{ _id: 3, k: 'x', n: long('2') }],
    ],
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
      '$group by several',
      [{ $group: { _id: { k: '$k' } } }, { $limit: 2 }],
      orders,
      [{ _id: { k: 'x' } }, { _id: { k: 'y' } }],
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
    [{ $match: {}, $limit: 1 }, 40323, 'exactly one field'],
    [{ $match: 1 }, 15959, 'must be an expression in an object'],
    [{ $limit: 0 }, 15958, 'the limit must be positive'],
    [{ $limit: -1 }, 5107201, 'Expected a non-negative number'],
    [{ $skip: 'x' }, 5107200, '$skip'],
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
