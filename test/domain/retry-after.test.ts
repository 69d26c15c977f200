import { describe, expect, it } from 'vitest'
import { retryAfterSeconds } from '../../src/domain/retry-after.ts'

const now = new Date('2026-11-21T16:00:00.500Z')

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['120', 120],
    ['9'.repeat(30), 2 ** 31],
    ['Sat, 21 Nov 2026 16:01:00 GMT', 60],
    ['Sat, 21 Nov 2026 15:59:00 GMT', 0],
    ['Saturday, 21-Nov-26 16:00:10 GMT', 10],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sat Nov 21 16:00:02 2026', 2],
    ['Sun Dec  6 16:00:00 2026', 15 * 86_400],
    ['Fri, 01 Jan 9999 00:00:00 GMT', 2 ** 31],
  ])('%s → %d s', (value, seconds) => {
    expect(retryAfterSeconds(value, now)).toBe(seconds)
  })

  it.each([
    undefined,
    '',
    '-1',
    '1.5',
    '1e3',
    ' 5',
    'soon',
    '2026-11-21T16:01:00Z',
    'Sat, 21 Nov 2026 16:01:00 +0100',
    'Sat, 21 Foo 2026 16:01:00 GMT',
  ])('%j says nothing', (value) => {
    expect(retryAfterSeconds(value, now)).toBeUndefined()
  })
})
