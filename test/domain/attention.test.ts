import { describe, expect, it } from 'vitest'
import { quietSince, quietUntil, secondsUntilRoom } from '../../src/domain/attention.ts'

const at = (minutes: number) => new Date(Date.UTC(2026, 10, 21, 12) + minutes * 60_000)
const quiet = (rejected: number[], now: number) => quietUntil(rejected.map(at), at(now))

describe('T24: a key that somebody keeps rejecting', () => {
  it('falls silent for 15 minutes after the third rejection within 10', () => {
    expect(quiet([0, 4, 10], 10)).toEqual(at(25))
    expect(quiet([10, 0, 4], 24.99)).toEqual(at(25))
    expect(quiet([0, 4, 10], 25)).toBeUndefined()
  })

  it.each([
    [[], 1],
    [[0], 1],
    [[0, 1], 2],
    [[0, 5, 10.1], 11],
    [[0, 1, 20], 21],
  ])('asks on after rejections at %j', (rejected, now) => {
    expect(quiet(rejected, now)).toBeUndefined()
  })

  it('is not silent before it was rejected: what is asked about a moment ago stays as it was', () => {
    expect(quiet([0, 1, 2], 1.5)).toBeUndefined()
  })

  it('stays silent with every further three, and by an older three when the newest lie apart', () => {
    expect(quiet([0, 1, 2, 9], 10)).toEqual(at(24))
    expect(quiet([0, 1, 2, 14], 15)).toEqual(at(17))
  })

  it('needs no rejection older than it says', () => {
    expect(quietSince(at(25))).toEqual(at(0))
    expect(quiet([0, 5, 10], 24.999)).toEqual(at(25))
  })
})

describe('how long to wait for a place', () => {
  it.each([
    [undefined, 1],
    [at(0.5), 30],
    [at(600), 60],
    [at(-1), 1],
  ])('next lapse %s: %i s', (next, seconds) => {
    expect(secondsUntilRoom(next, at(0))).toBe(seconds)
  })
})
