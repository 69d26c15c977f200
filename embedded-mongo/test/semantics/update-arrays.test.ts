import { describe, expect, it } from 'vitest'
import { applyUpdate, type Extra } from './apply-update.ts'
import { bson, shown } from './bson-literals.ts'

const double = (value: string): object => ({ $numberDouble: value })

describe('array operators', () => {
  it.each<[string, object, object, object, Extra?]>([
    ['$push makes an array', {}, { $push: { a: 1 } }, { a: [1] }],
    ['$push of an array adds it whole', { a: [1] }, { $push: { a: [2, 3] } }, { a: [1, [2, 3]] }],
    ['$push $each of nothing makes an array', {}, { $push: { a: { $each: [] } } }, { a: [] }],
    [
      '$push of a document that looks like a clause',
      { a: [1] },
      { $push: { a: { $slice: 2 } } },
      { a: [1, { $slice: 2 }] },
    ],
    ['$push $slice 0', { a: [1] }, { $push: { a: { $each: [2], $slice: 0 } } }, { a: [] }],
    ['$push $slice', { a: [1] }, { $push: { a: { $each: [2, 3], $slice: 2 } } }, { a: [1, 2] }],
    [
      '$push $slice of a double',
      { a: [1] },
      { $push: { a: { $each: [2, 3], $slice: double('1.0') } } },
      { a: [1] },
    ],
    [
      '$push $sort by field, missing first',
      { a: [{ s: 3 }, { t: 1 }] },
      { $push: { a: { $each: [{ s: 1 }], $sort: { s: 1 } } } },
      { a: [{ t: 1 }, { s: 1 }, { s: 3 }] },
    ],
    [
      '$push sorts before it slices',
      { a: [{ s: 1 }, { s: 5 }] },
      { $push: { a: { $each: [{ s: 3 }], $sort: { s: -1 }, $slice: 2 } } },
      { a: [{ s: 5 }, { s: 3 }] },
    ],
    ['$addToSet makes an array', {}, { $addToSet: { a: 1 } }, { a: [1] }],
    ['$addToSet ignores number types', { a: [1] }, { $addToSet: { a: double('1.0') } }, { a: [1] }],
    [
      '$addToSet $each drops duplicates',
      { a: [1] },
      { $addToSet: { a: { $each: [1, 2, 2, 3] } } },
      { a: [1, 2, 3] },
    ],
    [
      '$addToSet of many',
      { a: [1, 'x'] },
      { $addToSet: { a: { $each: [9, 8, double('1.0'), 7, 6, 5, 'x', 4, 3, 9] } } },
      { a: [1, 'x', 9, 8, 7, 6, 5, 4, 3] },
    ],
    [
      '$pull of a reference, whatever else the element holds',
      {
        a: [
          { $ref: 'c', $id: 1, note: 'x' },
          { $ref: 'c', $id: 2 },
        ],
      },
      { $pull: { a: { $ref: 'c', $id: 1 } } },
      { a: [{ $ref: 'c', $id: 2 }] },
    ],
    ['$addToSet of an array adds it whole', { a: [1] }, { $addToSet: { a: [1] } }, { a: [1, [1]] }],
    [
      '$addToSet and field order',
      { a: [{ x: 1, y: 2 }] },
      { $addToSet: { a: { y: 2, x: 1 } } },
      {
        a: [
          { x: 1, y: 2 },
          { y: 2, x: 1 },
        ],
      },
    ],
    ['$pull by value', { a: [1, 2, double('1.0')] }, { $pull: { a: 1 } }, { a: [2] }],
    ['$pull by operator', { a: [1, 5, 9] }, { $pull: { a: { $gte: 5 } } }, { a: [1] }],
    ['$pull by $in', { a: [1, 2, 3] }, { $pull: { a: { $in: [1, 3] } } }, { a: [2] }],
    ['$pull by several operators', { a: [1, 5, 9] }, { $pull: { a: { $gt: 1, $lt: 9 } } }, { a: [1, 9] }],
    [
      '$pull by regex',
      { a: ['ax', 'b', 1] },
      { $pull: { a: { $regularExpression: { pattern: 'x', options: '' } } } },
      { a: ['b', 1] },
    ],
    [
      '$pull by fields with operators',
      {
        a: [
          { b: 1, c: 1 },
          { b: 5, c: 1 },
        ],
      },
      { $pull: { a: { b: { $gt: 2 }, c: 1 } } },
      { a: [{ b: 1, c: 1 }] },
    ],
    [
      '$pull by $or',
      { a: [{ b: 1 }, { c: 1 }, { d: 1 }] },
      { $pull: { a: { $or: [{ b: 1 }, { c: 1 }] } } },
      { a: [{ d: 1 }] },
    ],
    [
      '$pull by $elemMatch in elements',
      { a: [{ r: [1, 9] }, { r: [2] }] },
      { $pull: { a: { r: { $elemMatch: { $gt: 5 } } } } },
      { a: [{ r: [2] }] },
    ],
    [
      '$pull of an array',
      {
        a: [
          [1, 2],
          [2, 1],
        ],
      },
      { $pull: { a: [1, 2] } },
      { a: [[2, 1]] },
    ],
    [
      '$pull of an empty condition removes documents',
      { a: [1, {}, { b: 1 }] },
      { $pull: { a: {} } },
      { a: [1] },
    ],
    ['$pull of null', { a: [null, 1] }, { $pull: { a: null } }, { a: [1] }],
    ['$pull on a missing field', { b: 1 }, { $pull: { a: 1 } }, { b: 1 }],
    ['$pull below a missing field', { b: {} }, { $pull: { 'b.c.d': 1 } }, { b: {} }],
    [
      '$ in an array of documents',
      { a: [{ b: 1 }, { b: 2 }] },
      { $set: { 'a.$.b': 9 } },
      { a: [{ b: 1 }, { b: 9 }] },
      { filter: { 'a.b': 2 } },
    ],
    [
      '$ with $elemMatch',
      {
        a: [
          { b: 1, c: 1 },
          { b: 1, c: 2 },
        ],
      },
      { $inc: { 'a.$.c': 5 } },
      {
        a: [
          { b: 1, c: 1 },
          { b: 1, c: 7 },
        ],
      },
      { filter: { a: { $elemMatch: { b: 1, c: 2 } } } },
    ],
    [
      '$unset of $ leaves null',
      { a: [1, 2] },
      { $unset: { 'a.$': '' } },
      { a: [1, null] },
      { filter: { a: 2 } },
    ],
    [
      '$[x] by value',
      { a: [1, 5, 9] },
      { $set: { 'a.$[x]': 0 } },
      { a: [1, 0, 0] },
      { arrayFilters: [{ x: { $gte: 5 } }] },
    ],
    [
      '$[x] matching nothing',
      { a: [1] },
      { $set: { 'a.$[x]': 0 } },
      { a: [1] },
      { arrayFilters: [{ x: 7 }] },
    ],
    [
      '$[x] by two conditions',
      {
        a: [
          { b: 1, c: 1 },
          { b: 1, c: 2 },
        ],
      },
      { $set: { 'a.$[x].d': 0 } },
      {
        a: [
          { b: 1, c: 1 },
          { b: 1, c: 2, d: 0 },
        ],
      },
      { arrayFilters: [{ 'x.b': 1, 'x.c': 2 }] },
    ],
    [
      '$[x] with $or',
      { a: [1, 2, 3] },
      { $set: { 'a.$[x]': 0 } },
      { a: [0, 2, 0] },
      { arrayFilters: [{ $or: [{ x: 1 }, { x: 3 }] }] },
    ],
    [
      '$[x] and $[y]',
      { a: [{ b: [1, 2] }, { b: [1], k: 1 }] },
      { $set: { 'a.$[x].b.$[y]': 0 } },
      { a: [{ b: [1, 2] }, { b: [0], k: 1 }] },
      { arrayFilters: [{ 'x.k': 1 }, { y: 1 }] },
    ],
    [
      '$push into $[x]',
      { a: [{ k: 1, l: [] }] },
      { $push: { 'a.$[x].l': 1 } },
      { a: [{ k: 1, l: [1] }] },
      { arrayFilters: [{ 'x.k': 1 }] },
    ],
  ])('%s', (_name, document, change, expected, extra) => {
    expect(shown(applyUpdate(document, change, extra).doc)).toEqual(shown(bson(expected)))
  })
})
