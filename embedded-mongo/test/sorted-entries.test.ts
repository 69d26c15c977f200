import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SortedEntries } from '../src/engine/sorted-entries.ts'

interface Item {
  rank: number
}

it('agrees with a sorted array after any sequence of additions and removals', () => {
  const step = fc.record({
    key: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 3 }),
    remove: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), step, step, (steps, low, high) => {
      const entries = new SortedEntries<Item>((item) => item.rank)
      const model: { key: string; item: Item }[] = []
      for (const [rank, { key, remove }] of steps.entries()) {
        const existing = remove ? model.findIndex((entry) => entry.key === key) : -1
        if (remove) {
          const [entry] = existing < 0 ? [] : model.splice(existing, 1)
          expect(entries.remove(key, entry?.item ?? { rank: -1 })).toBe(entry !== undefined)
        } else {
          const item = { rank }
          entries.add(key, item)
          model.push({ key, item })
        }
      }
      model.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.item.rank - b.item.rank))
      const inRange = model.filter(({ key }) => key >= low.key && key < high.key).map(({ item }) => item)
      const range = { from: low.key, to: high.key }
      expect(entries.size).toBe(model.length)
      expect([...entries.scan({})]).toEqual(model.map(({ item }) => item))
      expect([...entries.scan(range)]).toEqual(inRange)
      expect([...entries.scanBackwards(range)]).toEqual(inRange.toReversed())
      expect(entries.estimate(range)).toBe(inRange.length)
      expect(entries.first(low.key)).toBe(model.find(({ key }) => key === low.key)?.item)
    }),
  )
})

it('keeps its order over many chunks, filled forwards, backwards and at random', () => {
  const entries = new SortedEntries<Item>((item) => item.rank)
  const keyed = new Map<string, Item>()
  const put = (n: number) => {
    const key = String(n).padStart(6, '0')
    if (keyed.has(key)) return
    const item = { rank: n }
    keyed.set(key, item)
    entries.add(key, item)
  }
  for (let n = 40_000; n < 45_000; n += 1) put(n)
  for (let n = 39_999; n >= 35_000; n -= 1) put(n)
  for (let n = 0; n < 10_000; n += 1) put((n * 7919) % 80_000)
  const expected = [...keyed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item.rank)
  expect([...entries.scan({})].map((item) => item.rank)).toEqual(expected)
  const range = { from: '020000', to: '060000' }
  const inRange = expected.filter((rank) => rank >= 20_000 && rank < 60_000)
  expect([...entries.scan(range)].map((item) => item.rank)).toEqual(inRange)
  expect(Math.abs(entries.estimate(range) - inRange.length)).toBeLessThan(inRange.length / 2)
  for (const [key, item] of keyed) expect(entries.remove(key, item)).toBe(true)
  expect(entries.size).toBe(0)
  expect([...entries.scan({})]).toEqual([])
})
