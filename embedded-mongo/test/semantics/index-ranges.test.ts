import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFilter } from '../../src/semantics/filter.ts'
import { indexKeys } from '../../src/semantics/index-keys.ts'
import { indexRanges } from '../../src/semantics/index-ranges.ts'
import { type IndexSpec, parseIndexSpec } from '../../src/semantics/index-spec.ts'
import { type BsonDocument, type BsonValue, documentOf } from '../../src/semantics/values.ts'
import { doc, double, int, long } from './bson-literals.ts'

const now = new Date('2026-01-01T00:00:00Z')

function spec(key: object, options: object = {}): IndexSpec {
  return parseIndexSpec(doc({ key, name: 'i', ...options }))
}

// Few values, so that filters and documents often meet.
const scalar = fc.constantFrom<BsonValue>(
  null,
  int(1),
  int(2),
  long(3),
  double(2.5),
  double(Number.NaN),
  'x',
  'y',
  true,
)
const embedded = fc
  .record({ b: scalar, c: fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })) }, { requiredKeys: [] })
  .map((fields): BsonDocument => new Map(Object.entries(fields)))
const stored = fc.oneof(
  scalar,
  embedded,
  fc.array(fc.oneof(scalar, embedded, fc.array(scalar, { maxLength: 2 })), { maxLength: 3 }),
)
const document = fc
  .record({ a: stored, b: stored, c: stored }, { requiredKeys: [] })
  .map((fields): BsonDocument => new Map(Object.entries(fields)))

const operator = fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte', '$in', '$ne', '$exists')
const wanted = fc.oneof({ weight: 4, arbitrary: scalar }, { weight: 1, arbitrary: stored })
const path = fc.constantFrom('a', 'b', 'a.b', 'a.c', 'b.c')
const test = fc.tuple(operator, wanted, wanted).map(([name, value, other]): BsonDocument => {
  return documentOf([name, name === '$in' ? [value, other] : value])
})

// The index begins with the path of the first condition, or it would seldom be of use.
const scenario = fc
  .record({
    conditions: fc.array(fc.tuple(path, test), { minLength: 1, maxLength: 3 }),
    fields: fc.array(fc.tuple(path, fc.constantFrom(1, -1)), { maxLength: 2 }),
    direction: fc.constantFrom(1, -1),
    sparse: fc.boolean(),
    documents: fc.array(document, { minLength: 2, maxLength: 8 }),
  })
  .map(({ conditions, fields, direction, sparse, documents }) => ({
    filter: documentOf(['$and', conditions.map(([name, wanted]) => documentOf([name, wanted]))]),
    key: { ...(conditions[0] && { [conditions[0][0]]: direction }), ...Object.fromEntries(fields) },
    sparse,
    documents,
  }))

describe('indexRanges', () => {
  it('never exclude a document the filter matches', () => {
    let used = 0
    fc.assert(
      fc.property(scenario, ({ filter, key, sparse, documents }) => {
        const shape = spec(key, { sparse })
        const compiled = compileFilter(filter)
        for (const document of documents) {
          const entries = keysOrNone(document, shape)
          if (!entries || !compiled.matches(document, now)) continue
          for (const multikey of entries.length > 1 ? [true] : [true, false]) {
            const plan = indexRanges(compiled, shape, multikey)
            if (!plan) continue
            used++
            expect(
              entries.some((entry) => plan.ranges.some(({ from, to }) => from <= entry && entry < to)),
            ).toBe(true)
          }
        }
      }),
      { numRuns: 5_000 },
    )
    expect(used).toBeGreaterThan(500)
  })

  it('hold nothing but matches when they say that they are exact', () => {
    let exact = 0
    fc.assert(
      fc.property(scenario, ({ filter, key, sparse, documents }) => {
        const shape = spec(key, { sparse })
        const compiled = compileFilter(filter)
        for (const document of documents) {
          const entries = keysOrNone(document, shape) ?? []
          const plan = indexRanges(compiled, shape, true)
          if (!plan?.exact) continue
          const held = entries.some((entry) =>
            plan.ranges.some(({ from, to }) => from <= entry && entry < to),
          )
          if (!held) continue
          exact++
          expect(compiled.matches(document, now)).toBe(true)
        }
      }),
      { numRuns: 5_000 },
    )
    expect(exact).toBeGreaterThan(100)
  })

  it('pins equalities and bounds the field after them', () => {
    const plan = indexRanges(
      compileFilter(doc({ a: 1, b: { $gt: 2, $lte: 5 } })),
      spec({ a: 1, b: 1 }),
      false,
    )
    expect(plan).toMatchObject({ equalFields: 1 })
    const inside = (b: number): boolean => {
      const [key = ''] = indexKeys(doc({ a: 1, b }), spec({ a: 1, b: 1 }))
      return plan?.ranges.some(({ from, to }) => from <= key && key < to) ?? false
    }
    expect([2, 3, 5, 6].map(inside)).toEqual([false, true, true, false])
  })

  it('has one range per value of $in, in key order', () => {
    const plan = indexRanges(compileFilter(doc({ a: { $in: [3, 1, 2, 1] } })), spec({ a: -1 }), true)
    expect(plan?.ranges).toHaveLength(3)
    const starts = plan?.ranges.map(({ from }) => from) ?? []
    expect(starts).toEqual([...starts].sort())
  })

  it.each<[string, object, object, object]>([
    ['a filter on other fields', { b: 1 }, { a: 1 }, {}],
    ['a sparse index for null', { a: null }, { a: 1 }, { sparse: true }],
    ['a negation', { a: { $ne: 1 } }, { a: 1 }, {}],
    ['a branch of $or', { $or: [{ a: 1 }, { b: 1 }] }, { a: 1 }, {}],
    ['an array, which is no key', { a: [1] }, { a: 1 }, {}],
    ['a partial index the filter does not imply', { a: 1 }, { a: 1 }, { partialFilterExpression: { b: 1 } }],
    [
      'null, which a missing field equals',
      { a: { $gte: null } },
      { a: 1 },
      { partialFilterExpression: { a: { $exists: true } } },
    ],
    [
      'null from above',
      { a: { $lte: null } },
      { a: 1 },
      { partialFilterExpression: { a: { $exists: true } } },
    ],
    ['a numeric path component', { 'a.0': 1 }, { 'a.0': 1 }, {}],
  ])('gives up on %s', (_name, filter, key, options) => {
    expect(indexRanges(compileFilter(doc(filter)), spec(key, options), true)).toBeUndefined()
  })

  it.each<[object, object]>([
    [{ a: 1, s: 'x' }, { s: 'x' }],
    [{ a: 1, s: 'x' }, { s: { $exists: true } }],
    [{ a: 1, s: 7 }, { s: { $gt: 5 } }],
    [{ a: 1, s: { $gt: 5 } }, { s: { $gt: 5 } }],
  ])('uses a partial index when %j implies %j', (filter, partialFilterExpression) => {
    expect(
      indexRanges(compileFilter(doc(filter)), spec({ a: 1 }, { partialFilterExpression }), true),
    ).toBeDefined()
  })
})

function keysOrNone(document: BsonDocument, shape: IndexSpec): string[] | undefined {
  try {
    return indexKeys(document, shape)
  } catch {
    return undefined
  }
}
