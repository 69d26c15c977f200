import { Double, Int32, Long, ObjectId } from 'bson'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { Collection } from '../src/engine/collection.ts'
import { CollectionIndex } from '../src/engine/collection-index.ts'
import { Journal } from '../src/engine/durable-file.ts'
import { choosePlan, type Question } from '../src/engine/planner.ts'
import { DecodedRecords } from '../src/engine/store-record.ts'
import { compileFilter } from '../src/semantics/filter.ts'
import { compileSort, sortDocuments } from '../src/semantics/sort.ts'
import { type BsonDocument, type BsonValue, bsonUndefined } from '../src/semantics/values.ts'

function doc(fields: Record<string, BsonValue>): BsonDocument {
  return new Map(Object.entries(fields))
}

function emptyCollection(): Collection {
  let seq = 0
  return new Collection(1, 'test.items', [CollectionIndex.forId()], {
    journal: new Journal(),
    decoded: new DecodedRecords(),
    nextSeq: () => {
      seq += 1
      return seq
    },
  })
}

function addIndex(collection: Collection, key: BsonDocument, options: BsonDocument = new Map()): void {
  collection.addIndex(CollectionIndex.fromRequest(new Map<string, BsonValue>([['key', key], ...options])))
}

function key(text: string): BsonDocument {
  return new Map(
    text.split(',').map((field) => [field.replace('-', ''), new Int32(field.startsWith('-') ? -1 : 1)]),
  )
}

function ask(filter: BsonDocument, rest: Partial<Question> = {}): Question {
  return { filter: compileFilter(filter), sort: undefined, skip: 0, limit: 0, hint: undefined, ...rest }
}

const NOW = new Date(0)

describe('the planner', () => {
  let collection: Collection

  beforeEach(() => {
    collection = emptyCollection()
    for (let i = 0; i < 2000; i += 1) {
      collection.insert(
        doc({
          _id: new Int32(i),
          state: i % 100 === 0 ? 'pending' : 'done',
          at: new Date(i * 1000),
          owner: `o${i % 50}`,
          ...(i % 10 === 0 ? { lease: new Date(i) } : {}),
        }),
      )
    }
    addIndex(collection, key('state,at'))
    addIndex(collection, key('owner,-at'))
    addIndex(collection, key('lease'), doc({ sparse: true }))
    addIndex(
      collection,
      key('at'),
      doc({ name: 'pending', partialFilterExpression: doc({ state: 'pending' }) }),
    )
  })

  /** Name of the index used, whether the order comes with it, and how many records are read. */
  function explain(question: Question): [string | undefined, boolean, number] {
    const plan = choosePlan(collection, question)
    return [plan.index?.spec.name, plan.sorted, [...plan.records].length]
  }

  it('reads one record for one _id, whatever number type it is written in', () => {
    for (const id of [new Int32(7), new Double(7), Long.fromInt(7)]) {
      expect(explain(ask(doc({ _id: id })))).toEqual(['_id_', true, 1])
    }
    expect(explain(ask(doc({ _id: new ObjectId() })))).toEqual(['_id_', true, 0])
  })

  it('reads only the ids of an $in', () => {
    expect(explain(ask(doc({ _id: doc({ $in: [new Int32(1), new Int32(5), new Int32(5), 'x'] }) })))).toEqual(
      ['_id_', true, 2],
    )
  })

  it('uses equality, range and order of a compound index for a lease query', () => {
    const question = ask(doc({ state: 'pending', at: doc({ $lte: new Date(1_000_000) }) }), {
      sort: doc({ at: new Int32(1) }),
      limit: 1,
    })
    const [name, sorted, read] = explain(question)
    expect(['state_1_at_1', 'pending']).toContain(name)
    expect([sorted, read]).toEqual([true, 11])
  })

  it('reads an index backwards for the opposite order', () => {
    const plan = choosePlan(collection, ask(doc({ owner: 'o7' }), { sort: doc({ at: new Int32(1) }) }))
    expect(plan.index?.spec.name).toBe('owner_1_at_-1')
    expect(plan.sorted).toBe(true)
    const times = [...plan.records].map(({ document }) => document.get('at'))
    expect(times).toEqual(times.toSorted((a, b) => Number(a) - Number(b)))
    expect(times).toHaveLength(40)
  })

  it('uses a sparse index only when the filter demands its field', () => {
    expect(explain(ask(doc({ lease: doc({ $lt: new Date(50) }) })))).toEqual(['lease_1', true, 5])
    expect(explain(ask(doc({ lease: null })))[0]).toBeUndefined()
    expect(explain(ask(new Map(), { sort: doc({ lease: new Int32(1) }), limit: 1 }))).toEqual([
      undefined,
      false,
      2000,
    ])
  })

  it('uses a partial index only when the filter implies its condition', () => {
    const range = doc({ $gte: new Date(0) })
    expect(explain(ask(doc({ at: range, state: 'pending' })))[2]).toBe(20)
    const hint = collection.indexes.find((index) => index.spec.name === 'pending')
    expect(explain(ask(doc({ at: range, state: 'done' }), { hint }))[0]).toBeUndefined()
  })

  it('scans when no index helps', () => {
    expect(explain(ask(doc({ colour: 'red' })))).toEqual([undefined, true, 2000])
  })
})

const scalar = fc.oneof(
  fc.constantFrom<BsonValue>(
    null,
    bsonUndefined,
    true,
    false,
    '',
    'a',
    'b',
    new Date(1),
    new Date(2),
    new Double(Number.NaN),
  ),
  fc.integer({ min: 0, max: 5 }).map((n): BsonValue => new Int32(n)),
  fc.integer({ min: 0, max: 5 }).map((n): BsonValue => new Double(n + 0.5)),
  fc.integer({ min: 0, max: 2 }).map((n): BsonValue => doc({ d: new Int32(n) })),
)
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
)
const fields = ['a', 'b', 'c', 'c.d'] as const
const documents = fc.array(
  fc.dictionary(fc.constantFrom('a', 'b', 'c'), value).map((fields) => doc(fields)),
  { minLength: 1, maxLength: 30 },
)
/** MongoDB refuses "undefined" in a query. */
const operand = scalar.filter((candidate) => candidate !== bsonUndefined)
const condition = fc.oneof(
  operand,
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte', '$ne'), operand)
    .map(([op, operand]) => doc({ [op]: operand })),
  fc.tuple(operand, operand).map(([low, high]) => doc({ $gt: low, $lte: high })),
  fc.array(operand, { maxLength: 3 }).map((values) => doc({ $in: values })),
  fc.boolean().map((exists) => doc({ $exists: exists })),
)
const filter = fc
  .dictionary(fc.constantFrom(...fields), condition, { maxKeys: 3 })
  .map((conditions) => doc(conditions))
const sort = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c.d'), fc.constantFrom(1, -1)), {
    maxLength: 2,
    selector: ([path]) => path,
  })
  .map((entries): BsonDocument => new Map(entries.map(([path, direction]) => [path, new Int32(direction)])))

describe('any plan', () => {
  it('finds what a scan finds, in the order a sort gives', () => {
    fc.assert(
      fc.property(documents, filter, sort, fc.nat(7), (stored, asked, order, hinted) => {
        const collection = emptyCollection()
        addIndex(collection, key('a'))
        addIndex(collection, key('-b,a'))
        addIndex(collection, key('c.d,b'))
        addIndex(collection, key('c'), doc({ sparse: true }))
        addIndex(
          collection,
          key('b'),
          doc({ partialFilterExpression: doc({ a: doc({ $gt: new Int32(2) }) }) }),
        )
        addIndex(collection, key('a,b'), doc({ partialFilterExpression: doc({ b: doc({ $exists: true }) }) }))
        for (const [id, document] of stored.entries()) {
          // Two arrays in one compound index are refused; such a document is left out.
          try {
            collection.insert(new Map<string, BsonValue>([['_id', new Int32(id)], ...document]))
          } catch (error) {
            expect(error).toMatchObject({ code: 171 })
          }
        }
        const compiled = compileFilter(asked)
        const all = [...collection.records()].map(({ document }) => document)
        const expected = all.filter((document) => compiled.matches(document, NOW))
        try {
          sortDocuments(expected, order)
        } catch (error) {
          expect(error).toMatchObject({ code: 2 })
          return
        }
        const plan = choosePlan(collection, {
          filter: compiled,
          sort: order.size === 0 ? undefined : order,
          skip: 0,
          limit: hinted % 2,
          hint: collection.indexes[hinted],
        })
        const found = [...plan.records]
          .map(({ document }) => document)
          .filter((document) => compiled.matches(document, NOW))
        expect(new Set(found)).toEqual(new Set(expected))
        expect(found).toHaveLength(expected.length)
        // Documents that tie, such as {a: 1} and {a: [1]}, may stand in either order.
        if (!plan.sorted || order.size === 0) return
        const compare = compileSort(order)
        const misplaced = found.filter((document, index) => {
          const before = found[index - 1]
          return before !== undefined && compare(before, document) > 0
        })
        expect(misplaced).toEqual([])
      }),
      { numRuns: 600 },
    )
  })
})
