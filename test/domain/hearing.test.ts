import { describe, expect, it } from 'vitest'
import { digestAfter, quietEnd, tells } from '../../src/domain/hearing.ts'
import { inert } from '../../src/domain/mail.ts'

const NIGHT = { from: '22:00', to: '06:30', time_zone: 'Europe/Berlin' }
const NOON = { from: '12:00', to: '13:00', time_zone: 'UTC' }

describe('quiet hours', () => {
  it.each([
    ['before them', NIGHT, '2026-01-10T20:59:59Z', undefined],
    ['as they begin', NIGHT, '2026-01-10T21:00:00Z', '2026-01-11T05:30:00.000Z'],
    ['after midnight', NIGHT, '2026-01-11T05:29:59Z', '2026-01-11T05:30:00.000Z'],
    ['as they end', NIGHT, '2026-01-11T05:30:00Z', undefined],
    ['in summer', NIGHT, '2026-07-10T20:00:00Z', '2026-07-11T04:30:00.000Z'],
    ['of one day', NOON, '2026-01-10T12:30:10Z', '2026-01-10T13:00:00.000Z'],
    ['outside of one day', NOON, '2026-01-10T23:00:00Z', undefined],
    [
      'of half an hour off',
      { ...NOON, time_zone: 'Asia/Kolkata' },
      '2026-01-10T07:00:00Z',
      '2026-01-10T07:30:00.000Z',
    ],
  ])('%s', (_when, hours, at, end) => {
    expect(quietEnd(hours, new Date(at))?.toISOString()).toBe(end)
  })

  it.each(['2026-03-28T23:30:00Z', '2026-10-24T23:30:00Z'])(
    'where clocks change in them, %s: an hour off at most',
    (at) => {
      const end = quietEnd(NIGHT, new Date(at))?.getTime() ?? 0
      const wanted = at.startsWith('2026-03') ? Date.UTC(2026, 2, 29, 4, 30) : Date.UTC(2026, 9, 25, 5, 30)
      expect(Math.abs(end - wanted)).toBeLessThanOrEqual(3_600_000)
    },
  )
})

it('a volume tells high impact, everything, nothing, or by a digest', () => {
  const told = (high_impact: boolean) =>
    (['all', 'high_impact', 'digest', 'none'] as const).map((volume) => tells(volume, { high_impact }))
  expect(told(true)).toEqual(['now', 'now', 'now', 'never'])
  expect(told(false)).toEqual(['now', 'never', 'digest', 'never'])
})

it('a digest goes out at the next full hour', () => {
  expect(digestAfter(new Date('2026-01-10T12:00:00Z')).toISOString()).toBe('2026-01-10T13:00:00.000Z')
  expect(digestAfter(new Date('2026-01-10T12:59:59.999Z')).toISOString()).toBe('2026-01-10T13:00:00.000Z')
})

it.each([
  ['Pay 120.00 EUR at 12:30, v1.2.', 'Pay 120.00 EUR at 12:30, v1.2.'],
  ['https://evil.example/a.b?c=1', 'https[:]//evil[.]example/a[.]b?c=1'],
  ['a@evil.example', 'a[@]evil[.]example'],
  ['пример。рф and xn--80a.com', 'пример[.]рф and xn--80a[.]com'],
  ['from 192.0.2.1. Next sentence.', 'from 192.0.2.1. Next sentence.'],
])('T90: %s has nothing to press', (text, shown) => {
  expect(inert(text)).toBe(shown)
})
