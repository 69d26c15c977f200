import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeBson, decodeFields, pickFields } from '../src/bson-reader.ts'
import { encodeBson } from '../src/bson-writer.ts'
import { rootsOf } from '../src/commands/filter-fields.ts'
import { arbitraryDocument } from './semantics/arbitrary-values.ts'
import { doc } from './semantics/bson-literals.ts'

it.each<[object, string[]]>([
  [{}, []],
  [{ 'a.b': 1, c: { $gt: 2, $not: { $in: [3] } } }, ['a', 'c']],
  [{ $or: [{ a: 1 }, { $and: [{ 'b.0': 2 }, { $nor: [{ c: 3 }] }] }] }, ['a', 'b', 'c']],
  [{ list: { $elemMatch: { x: 1, 'y.z': 2 } } }, ['list']],
  [{ $expr: { $gt: ['$at.start', '$$NOW'] }, a: 1 }, ['at', 'a']],
  [{ $expr: { $and: [{ $lt: ['$a', { x: '$b' }] }, { $lt: ['x', ['$c']] }] } }, ['a', 'b', 'c']],
  [{ $or: [{ a: 1 }, { $expr: { $gt: ['$a.c', '$b'] } }] }, ['a', 'b']],
  [{ $id: [{ a: 1 }] }, ['$id']],
])('the filter %j looks at %j', (filter, roots) => {
  expect([...rootsOf(doc(filter))]).toEqual(roots)
})

it('reads of a document just the fields it is asked for, or copies them, as reading the whole does', () => {
  const names = fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 5 })
  fc.assert(
    fc.property(arbitraryDocument, names, fc.array(fc.nat(20)), (document, others, chosen) => {
      const bytes = encodeBson(document)
      const whole = decodeBson(bytes)
      const fields = [...whole.keys()]
      const wanted = new Set([...others, ...chosen.flatMap((place) => fields[place] ?? [])])
      const expected = new Map([...whole].filter(([name]) => wanted.has(name)))
      expect(decodeFields(bytes, wanted)).toEqual(expected)
      expect(pickFields(bytes, wanted)).toEqual(encodeBson(expected))
    }),
    { numRuns: 500 },
  )
})
