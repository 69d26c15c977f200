import { readFileSync } from 'node:fs'
import { BSON, EJSON } from 'bson'
import { describe, expect, it } from 'vitest'
import { decodeBson } from '../../src/bson-reader.ts'
import { checkCollation } from '../../src/semantics/compare.ts'
import { compileFilter } from '../../src/semantics/filter.ts'
import { MongoError } from '../../src/semantics/mongo-error.ts'
import { compileProjection } from '../../src/semantics/projection.ts'
import { compileUpdate } from '../../src/semantics/update.ts'
import type { BsonDocument, BsonValue } from '../../src/semantics/values.ts'
import { doc } from './bson-literals.ts'
import { sortDocuments } from './sort-documents.ts'

interface Case {
  readonly name: string
  readonly filter?: object
  readonly doc: object
  readonly update?: object
  readonly projection?: object
  readonly arrayFilters?: readonly object[]
  readonly collation?: object
  readonly sort?: object
  readonly values?: readonly object[]
  readonly expectedOrder?: readonly { $numberInt: string }[]
  readonly expected: unknown
}

const cases: Record<'match' | 'update' | 'project' | 'sort', Case[]> = JSON.parse(
  readFileSync(new URL('../vectors/mongo-semantics/cases.json', import.meta.url), 'utf8'),
)
const now = new Date('2026-01-01T00:00:00Z')

/** Cases of operators, forms and types that the store refuses, since no client of it sends them. */
const REFUSED = /"\$(mod|type|mul|min|rename|comment|numberDecimal)"|\.\$\[\]|"proj (\$elemMatch|positional)"/

const isRefused = (one: Case): boolean => REFUSED.test(JSON.stringify(one))

/** A document as it comes over the wire. */
function received(source: object): BsonDocument {
  return decodeBson(BSON.serialize(EJSON.parse(JSON.stringify(source), { relaxed: false })))
}

/** The cases write a value whose type is not asserted plainly: hex for an ObjectId, ISO time for a date. */
function comparable(actual: BsonValue, expected: unknown): unknown {
  if (typeof expected === 'string') {
    if (actual instanceof Date) return actual.toISOString()
    return actual !== null && typeof actual === 'object' && '_bsontype' in actual ? actual.toString() : actual
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    return actual.map((item, index) => comparable(item, expected[index]))
  }
  if (!(actual instanceof Map)) return JSON.parse(EJSON.stringify(actual, { relaxed: false }))
  const fields = Array.from(actual, ([name, item]) => [name, comparable(item, Object(expected)[name])])
  return Object.fromEntries(fields)
}

function assertOutcome(run: () => BsonDocument, expected: unknown): void {
  if (expected === 'error') expect(run).toThrow(MongoError)
  else {
    const actual = comparable(run(), expected)
    expect(actual).toEqual(expected)
    // toEqual ignores field order, MongoDB does not.
    expect(JSON.stringify(actual)).toBe(JSON.stringify(expected))
  }
}

describe('the published MongoDB cases', () => {
  const collated = cases.match.filter(({ collation }) => collation !== undefined)
  const plain = cases.match.filter((one) => one.collation === undefined && !isRefused(one))

  it.each(plain)('match: $name', ({ filter = {}, doc: document, expected }) => {
    const run = (): boolean => compileFilter(doc(filter)).matches(doc(document), now)
    if (expected === 'error') expect(run).toThrow(MongoError)
    else expect(run()).toBe(expected)
  })

  it.each(collated)('match: $name is refused, since the store has no collation', ({ collation = {} }) => {
    expect(() => checkCollation(doc(collation))).toThrow(expect.objectContaining({ code: 72 }))
  })

  it.each(cases.update.filter((one) => !isRefused(one)))(
    'update: $name',
    ({ filter, doc: document, update = {}, arrayFilters, expected }) => {
      assertOutcome(() => {
        const before = doc(document)
        const options = arrayFilters ? { arrayFilters: arrayFilters.map(doc) } : {}
        const { arrayIndex } = filter ? compileFilter(doc(filter)).matchDetail(before, now) : {}
        const position = arrayIndex === undefined ? {} : { arrayIndex }
        return compileUpdate(doc(update), options).apply(before, { now, insert: false, ...position }).doc
      }, expected)
    },
  )

  it.each(cases.project.filter((one) => !isRefused(one)))(
    'project: $name',
    ({ doc: document, projection = {}, expected }) => {
      assertOutcome(() => compileProjection(doc(projection))(doc(document)), expected)
    },
  )

  const refused = [...cases.match, ...cases.update, ...cases.project].filter(isRefused)
  it('are refused where the store has no such operator, form or type', () => expect(refused).toHaveLength(12))
  it.each(refused)('refused: $name', ({ filter = {}, doc: document, update = {}, projection = {} }) => {
    expect(() => {
      received(document)
      compileFilter(received(filter))
      compileUpdate(received(update))
      compileProjection(received(projection))
    }).toThrow(MongoError)
  })

  it.each(cases.sort)('sort: $name', ({ sort = {}, values = [], expectedOrder = [] }) => {
    const documents = values.map(doc)
    const sorted = sortDocuments(documents, doc(sort))
    expect(sorted.map((document) => documents.indexOf(document))).toEqual(
      expectedOrder.map(({ $numberInt }) => Number($numberInt)),
    )
  })
})
