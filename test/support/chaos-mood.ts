import { createHash } from 'node:crypto'
import type { Arrival, Behaviour } from './receiver.ts'

/** Numbers in [0, 1) from a seed (mulberry32): the same on every run. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Of a hundred first deliveries; half as many of the second, none from the third on, so that runs end in time. */
const SHARES: readonly [number, Behaviour][] = [
  [0.5, { kind: 'stall' }],
  [3, { kind: 'drop' }],
  [3, { kind: 'take-and-drop' }],
  [6, { kind: 'answer', status: 500 }],
  [1, { kind: 'answer', status: 302, headers: { location: '/elsewhere' } }],
]

/**
 * A receiver in a bad mood. What it does depends on the seed, the path and how often it saw something there, never on what
 * runs beside it.
 */
export function badMood(seed: number): (arrival: Arrival) => Behaviour {
  const arrivals = new Map<string, number>()
  return ({ path, attempt }) => {
    const count = (arrivals.get(path) ?? 0) + 1
    arrivals.set(path, count)
    const digest = createHash('sha256').update(`${seed} ${path} ${count}`).digest()
    let left = (digest.readUInt32BE() / 2 ** 32) * 100 * (attempt === 1 ? 1 : 2)
    if (attempt < 3) {
      for (const [share, behaviour] of SHARES) {
        if (left < share) return behaviour
        left -= share
      }
    }
    return { kind: 'answer', status: 204 }
  }
}
