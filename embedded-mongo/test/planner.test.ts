import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Double, Int32, Long, ObjectId } from 'bson'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Collection } from '../src/engine/collection.ts'
import { CollectionIndex } from '../src/engine/collection-index.ts'
import { DurableFile } from '../src/engine/durable-file.ts'
import { choosePlan, type Plan, type Question } from '../src/engine/planner.ts'
import { readRecords } from '../src/engine/read-plan.ts'
import { finish } from '../src/engine/slice.ts'
import { StoreEngine } from '../src/engine/store-engine.ts'
import type { StoreRecord } from '../src/engine/store-record.ts'
import { compileFilter } from '../src/semantics/filter.ts'
import { compileSortKeys, sortDocuments } from '../src/semantics/sort.ts'
import { type BsonDocument, type BsonValue, bsonUndefined } from '../src/semantics/values.ts'
import { temporaryDirectory } from './support.ts'

function doc(fields: Record<string, BsonValue>): BsonDocument {
  return new Map(Object.entries(fields))
}

let dataDir: string
let engine: StoreEngine
let made = 0

beforeAll(() => {
  dataDir = temporaryDirectory()
  engine = new StoreEngine(new DurableFile(join(dataDir, 'store.db')))
})
afterAll(() => {
  engine.close()
  rmSync(dataDir, { recursive: true, force: true })
})

function emptyCollection(): Collection {
  made += 1
  return engine.ensureCollection(`test.items${made}`)
}

function addIndex(collection: Collection, key: BsonDocument, options: BsonDocument = new Map()): void {
  finish(
    collection.addIndex(CollectionIndex.fromRequest(new Map<string, BsonValue>([['key', key], ...options]))),
  )
}

/** What a plan reads, whatever it takes. */
function read(collection: Collection, question: Question): StoreRecord[] {
  engine.slice.start()
  return [...readRecords(collection, choosePlan(collection, question))].filter(
    (record) => record !== undefined,
  )
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
    addIndex(
      collection,
      key('next'),
      doc({ name: 'open', partialFilterExpression: doc({ queue: doc({ $in: ['due', 'leased'] }) }) }),
    )
  })

  /** Name of the index used, whether the order comes with it, and how many records are read. */
  function explain(question: Question): [string | undefined, boolean, number] {
    const plan = choosePlan(collection, question)
    return [plan.index?.spec.name, plan.sorted, read(collection, question).length]
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
    const question = ask(doc({ owner: 'o7' }), { sort: doc({ at: new Int32(1) }) })
    const plan = choosePlan(collection, question)
    expect(plan.index?.spec.name).toBe('owner_1_at_-1')
    expect(plan.sorted).toBe(true)
    const times = read(collection, question).map(({ document }) => document.get('at'))
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
    const due = ask(doc({ queue: doc({ $in: ['due', 'leased'] }) }), { sort: doc({ next: new Int32(1) }) })
    expect(explain(due)).toEqual(['open', true, 0])
    const range = doc({ $gte: new Date(0) })
    expect(explain(ask(doc({ at: range, state: 'pending' })))[2]).toBe(20)
    const hint = collection.indexes.find((index) => index.spec.name === 'pending')
    expect(() => explain(ask(doc({ at: range, state: 'done' }), { hint }))).toThrow(/partial/)
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
  fc.integer({ min: 0, max: 10 }).map((n): BsonValue => new Double(n / 2)),
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

/** Each says something else about what the index does not hold. */
const CONDITIONS: BsonDocument[] = [
  doc({ a: doc({ $gt: new Int32(2) }) }),
  doc({ b: doc({ $exists: true }) }),
  doc({ a: doc({ $exists: true }) }),
  doc({ a: doc({ $type: 'int' }) }),
  doc({ b: doc({ $type: 'string' }) }),
  doc({ c: null }),
  doc({ a: doc({ $lte: null }) }),
  doc({ 'c.d': doc({ $in: [new Int32(1), 'a'] }) }),
]
const anIndex = fc
  .record({
    fields: fc.uniqueArray(fc.tuple(fc.constantFrom(...fields), fc.constantFrom(1, -1)), {
      minLength: 1,
      maxLength: 2,
      selector: ([path]) => path,
    }),
    condition: fc.constantFrom(undefined, ...CONDITIONS),
    sparse: fc.boolean(),
  })
  .map(({ fields, condition, sparse }) => ({
    key: new Map(fields.map(([path, direction]): [string, BsonValue] => [path, new Int32(direction)])),
    options: condition === undefined ? doc({ sparse }) : doc({ partialFilterExpression: condition }),
  }))

describe('any plan', () => {
  it('finds what a scan finds with every index, with none, and with each as a hint, in the order of the sort', () => {
    let exact = 0
    fc.assert(
      fc.property(documents, anIndex, filter, sort, fc.nat(1), (stored, index, asked, order, limit) => {
        const collection = emptyCollection()
        for (const [id, document] of stored.entries()) {
          collection.insert(new Map<string, BsonValue>([['_id', new Int32(id)], ...document]))
        }
        const compiled = compileFilter(asked)
        const all = read(collection, ask(new Map()))
        const matching = all.filter(({ document }) => compiled.matches(document, NOW))
        if (!isPossible(() => sortDocuments(documentsOf(matching), order), 2)) return
        // Two arrays in one compound index are refused.
        if (!isPossible(() => addIndex(collection, index.key, index.options), 171)) return
        const sort = order.size === 0 ? undefined : order
        for (const hint of [undefined, ...collection.indexes]) {
          const question = { filter: compiled, sort, skip: 0, limit, hint }
          let plan: Plan
          try {
            plan = choosePlan(collection, question)
          } catch (error) {
            expect(error).toMatchObject({ code: 291 })
            continue
          }
          exact += plan.exact && plan.index !== undefined ? 1 : 0
          const found = read(collection, question).filter(
            ({ document }) => plan.exact || compiled.matches(document, NOW),
          )
          const held =
            hint === undefined ? matching : matching.filter(({ document }) => isHeld(hint, document))
          expect(new Set(numbersOf(found))).toEqual(new Set(numbersOf(held)))
          expect(found).toHaveLength(held.length)
          if (plan.sorted && sort !== undefined) expect(misplacedIn(documentsOf(found), sort)).toEqual([])
        }
        engine.dropCollection(collection)
      }),
      { numRuns: process.env.TEST_SIZE === 'full' ? 20_000 : 1_500 },
    )
    expect(exact).toBeGreaterThan(100)
  })
})

function isPossible(work: () => void, refusal: number): boolean {
  try {
    work()
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: refusal })
    return false
  }
}

/** What a hint at a sparse index means: the documents that it holds. */
function isHeld(index: CollectionIndex, document: BsonDocument): boolean {
  return !index.spec.sparse || index.keysOf(document).length > 0
}

function numbersOf(records: StoreRecord[]): number[] {
  return records.map(({ number }) => number)
}

function documentsOf(records: StoreRecord[]): BsonDocument[] {
  return records.map(({ document }) => document)
}

/** Documents that tie, such as {a: 1} and {a: [1]}, may stand in either order. */
function misplacedIn(found: BsonDocument[], sort: BsonDocument): BsonDocument[] {
  const { keyOf, compareKeys } = compileSortKeys(sort)
  return found.filter((document, index) => {
    const before = found[index - 1]
    return before !== undefined && compareKeys(keyOf(before), keyOf(document)) > 0
  })
}
