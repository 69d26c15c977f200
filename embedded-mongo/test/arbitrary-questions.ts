import { Double, Int32 } from 'bson'
import fc from 'fast-check'
import type { BsonDocument, BsonValue } from '../src/semantics/values.ts'

function doc(fields: Record<string, BsonValue>): BsonDocument {
  return new Map(Object.entries(fields))
}

/** Few, so that documents and questions meet. */
const scalar = fc.constantFrom<BsonValue>(
  null,
  true,
  '',
  'a',
  'b',
  new Date(1),
  new Date(2),
  new Double(Number.NaN),
  new Double(0.5),
  new Double(2),
  ...[0, 1, 2, 3].map((n) => new Int32(n)),
  ...[0, 1].map((n) => doc({ d: new Int32(n) })),
)
const value = fc.oneof(
  { weight: 2, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
)
const fields = ['a', 'b', 'c', 'c.d'] as const
const aDocument = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value).map((fields) => doc(fields))
export const documents = fc.array(aDocument, { minLength: 1, maxLength: 30, size: 'max' })
/** What is done to them once the indexes are there: document `at` becomes another, or goes. */
export const changes = fc.array(fc.record({ at: fc.nat(29), to: fc.option(aDocument, { freq: 3 }) }), {
  maxLength: 6,
})
const comparison = fc
  .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte', '$ne'), scalar)
  .map(([op, wanted]) => doc({ [op]: wanted }))
const several = fc.array(scalar, { maxLength: 3 })
const condition = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 5, arbitrary: comparison },
  fc.tuple(scalar, scalar).map(([low, high]) => doc({ $gt: low, $lte: high })),
  fc.tuple(fc.constantFrom('$in', '$nin', '$all'), several).map(([op, values]) => doc({ [op]: values })),
  fc.boolean().map((exists) => doc({ $exists: exists })),
  comparison.map((negated) => doc({ $not: negated })),
  comparison.map((element) => doc({ $elemMatch: element })),
  fc.tuple(scalar, several).map(([least, values]) => doc({ $gte: least, $in: values })),
)
/** Mostly about one field, so that questions meet indexes. */
const aField = fc.constantFrom('a', 'a', 'a', ...fields)
const conditions = fc.dictionary(aField, condition, { maxKeys: 3 }).map((conditions) => doc(conditions))
const filter = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(aField, condition).map((one): BsonDocument => new Map([one])) },
  { weight: 2, arbitrary: conditions },
  fc
    .tuple(
      conditions,
      fc.constantFrom('$or', '$and', '$nor'),
      fc.array(conditions, { minLength: 1, maxLength: 3 }),
    )
    .map(([all, op, branches]): BsonDocument => new Map([...all, [op, branches]])),
)
const sort = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c.d', '_id'), fc.constantFrom(1, -1)), {
    maxLength: 2,
    selector: ([path]) => path,
  })
  .map((entries): BsonDocument => new Map(entries.map(([path, direction]) => [path, new Int32(direction)])))

/** Each says something else about what the index does not hold. */
const CONDITIONS: BsonDocument[] = [
  doc({ a: doc({ $gt: new Int32(2) }) }),
  doc({ b: doc({ $exists: true }) }),
  doc({ a: doc({ $exists: true }) }),
  doc({ a: doc({ $lt: new Int32(3) }) }),
  doc({ b: doc({ $gte: '' }) }),
  doc({ c: null }),
  doc({ a: doc({ $lte: null }) }),
  doc({ 'c.d': doc({ $in: [new Int32(1), 'a'] }) }),
]
const anIndex = fc
  .record({
    fields: fc.uniqueArray(fc.tuple(aField, fc.constantFrom(1, -1)), {
      minLength: 1,
      maxLength: 3,
      selector: ([path]) => path,
    }),
    condition: fc.constantFrom(undefined, ...CONDITIONS),
    sparse: fc.boolean(),
  })
  .map(({ fields, condition, sparse }) => ({
    key: new Map(fields.map(([path, direction]): [string, BsonValue] => [path, new Int32(direction)])),
    options: condition === undefined ? doc({ sparse }) : doc({ partialFilterExpression: condition }),
  }))
/** Two that differ only in what they leave out would have one name. */
export const indexes = fc.uniqueArray(anIndex, {
  minLength: 1,
  maxLength: 3,
  selector: ({ key }) => JSON.stringify([...key]),
})
/** Making documents and indexes costs more than asking. */
export const questions = fc.array(fc.record({ filter, sort, skip: fc.nat(3), limit: fc.nat(5) }), {
  minLength: 10,
  maxLength: 10,
})
