import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Double, Int32, Long, ObjectId } from 'bson'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rootsOf } from '../src/commands/filter-fields.ts'
import { countRecords, type Selection, selectRecords } from '../src/commands/selection.ts'
import type { Collection } from '../src/engine/collection.ts'
import { CollectionIndex } from '../src/engine/collection-index.ts'
import { DurableFile } from '../src/engine/durable-file.ts'
import { choosePlan, type Question } from '../src/engine/planner.ts'
import { readRecords } from '../src/engine/read-plan.ts'
import { finish } from '../src/engine/slice.ts'
import { StoreEngine } from '../src/engine/store-engine.ts'
import type { StoreRecord } from '../src/engine/store-record.ts'
import { compileFilter } from '../src/semantics/filter.ts'
import { compileSortKeys, parseSort } from '../src/semantics/sort.ts'
import type { BsonDocument, BsonValue } from '../src/semantics/values.ts'
import { changes, documents, indexes, questions } from './arbitrary-questions.ts'
import { sortDocuments } from './semantics/sort-documents.ts'
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

/** A question with all its parts; `sort` as a client writes it. */
function ask(
  filter: BsonDocument,
  { sort, ...rest }: Partial<Omit<Question, 'sort'>> & { sort?: BsonDocument } = {},
): Selection {
  return {
    filter: compileFilter(filter),
    fields: rootsOf(filter),
    sort: sort && parseSort(sort),
    skip: 0,
    limit: 0,
    hint: undefined,
    ...rest,
  }
}

const NOW = new Date(0)

/** What finding asks of the command that it is for. */
const CALL = {
  command: 'find',
  now: NOW,
  deadline: undefined,
  get engine() {
    return engine
  },
}

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

describe('any index', () => {
  it.each(['c.d', '-c.d'])('orders by elements of an array that a sparse one lacks: %s', (fields) => {
    const collection = emptyCollection()
    addIndex(collection, key(fields), doc({ sparse: true }))
    collection.insert(doc({ _id: new Int32(0), c: doc({ d: new Int32(1) }) }))
    collection.insert(doc({ _id: new Int32(1), c: [doc({ d: new Int32(1) }), null] }))
    for (const hint of [undefined, ...collection.indexes]) {
      const whole = found(collection, ask(new Map(), { sort: key('c.d'), hint }))
      expect(misplacedIn(documentsOf(whole), key('c.d'))).toEqual([])
    }
  })

  it('changes no answer: with each, with none, as a hint, in any order, and in part', () => {
    let exact = 0
    fc.assert(
      fc.property(documents, indexes, changes, questions, (stored, specs, later, asked) => {
        const collection = filled(stored, specs, later)
        for (const one of asked) exact += sameAnswers(collection, one)
        engine.dropCollection(collection)
      }),
      { numRuns: process.env.TEST_SIZE === 'full' ? 2_000 : 150 },
    )
    expect(exact).toBeGreaterThan(100)
  })
})

type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never

/** Documents and indexes, half of them made before the others, and changes after both. */
function filled(
  stored: BsonDocument[],
  specs: Drawn<typeof indexes>,
  later: Drawn<typeof changes>,
): Collection {
  const collection = emptyCollection()
  const withId = (id: number, document: BsonDocument) =>
    new Map<string, BsonValue>([['_id', new Int32(id)], ...document])
  const half = Math.floor(stored.length / 2)
  for (const [id, document] of stored.slice(0, half).entries()) collection.insert(withId(id, document))
  // Two arrays in one compound index are refused.
  const isTaken = (work: () => unknown) => isPossible(work, 171)
  const made = specs.filter(({ key, options }) => isTaken(() => addIndex(collection, key, options)))
  for (const [id, document] of stored.slice(half).entries())
    isTaken(() => collection.insert(withId(half + id, document)))
  for (const { at, to } of later) {
    const [record] = found(collection, ask(doc({ _id: new Int32(at) })))
    if (record === undefined) continue
    if (to === null) collection.remove(record)
    else isTaken(() => collection.replace(record, withId(at, to)))
  }
  expect(collection.indexes).toHaveLength(made.length + 1)
  return collection
}

/** Asks with every index and with none. @returns how many of the plans needed no filter */
function sameAnswers(
  collection: Collection,
  { filter, sort, ...window }: Drawn<typeof questions>[number],
): number {
  const { filter: compiled } = ask(filter)
  const all = [...collection.records()].filter((record) => record !== undefined)
  const matching = all.filter(({ document }) => compiled.matches(document, NOW))
  if (!isPossible(() => sortDocuments(documentsOf(matching), sort), 2)) return 0
  let exact = 0
  for (const hint of [undefined, ...collection.indexes]) {
    const question = ask(filter, { ...(sort.size === 0 ? {} : { sort }), hint })
    if (!isPossible(() => choosePlan(collection, question), 291)) continue
    const plan = choosePlan(collection, question)
    exact += plan.exact && plan.index !== undefined ? 1 : 0
    const held = hint === undefined ? matching : matching.filter(({ document }) => isHeld(hint, document))
    const whole = found(collection, question)
    expect(numbersOf(whole).toSorted(byNumber)).toEqual(numbersOf(held).toSorted(byNumber))
    expect(misplacedIn(documentsOf(whole), sort)).toEqual([])
    const end = window.limit === 0 ? undefined : window.skip + window.limit
    const expected = sortDocuments(documentsOf(held), sort).slice(window.skip, end)
    const part = found(collection, { ...question, ...window })
    expect(new Set(numbersOf(part)).size).toBe(expected.length)
    expect(part.every((record) => held.some(({ number }) => number === record.number))).toBe(true)
    if (sort.size > 0) expect(differingIn(documentsOf(part), expected, sort)).toEqual([])
    engine.slice.start()
    expect(finish(countRecords(collection, { ...question, ...window }, CALL))).toBe(expected.length)
  }
  return exact
}

/** What a command finds, whatever it takes. */
function found(collection: Collection, question: Selection): StoreRecord[] {
  engine.slice.start()
  return [...selectRecords(collection, question, CALL)].filter((record) => record !== undefined)
}

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

function byNumber(left: number, right: number): number {
  return left - right
}

function documentsOf(records: StoreRecord[]): BsonDocument[] {
  return records.map(({ document }) => document)
}

/** Documents that tie, such as {a: 1} and {a: [1]}, may stand in either order. */
function misplacedIn(found: BsonDocument[], sort: BsonDocument): BsonDocument[] {
  return differingIn(found, sortDocuments(found, sort), sort)
}

/** Those that do not tie with the one that is expected in their place. */
function differingIn(found: BsonDocument[], expected: BsonDocument[], sort: BsonDocument): BsonDocument[] {
  const { keyOf, compareKeys } = compileSortKeys(parseSort(sort))
  return found.filter((document, index) => {
    const other = expected[index]
    return other === undefined || compareKeys(keyOf(document), keyOf(other)) !== 0
  })
}
