import { describe, expect, it } from 'vitest'
import { filtersIn, forService, withFilters } from '../../dashboard/parts/filters.ts'

const query = (text: string): URLSearchParams => new URLSearchParams(text)

describe('filters in the address', () => {
  it('are the known names with a value, without blanks around it', () => {
    const found = filtersIn(query('q=+deploy+&status=&account=acc_1&from=2026-11-01'), [
      'q',
      'status',
      'from',
    ])
    expect([...found]).toEqual([
      ['q', 'deploy'],
      ['from', '2026-11-01'],
    ])
  })

  it('come back from the address they were put into, whatever they hold', () => {
    const value = 'a&b=c #?+%20ü\u202e'
    const address = withFilters('/requests?account=acc_1', [['q', value]])
    expect(address).toMatch(/^\/requests\?account=acc_1&q=/)
    expect(filtersIn(new URL(address, 'http://x').searchParams, ['q']).get('q')).toBe(value)
    expect(withFilters('/requests', [])).toBe('/requests')
  })

  it('become the first moment of a day and that of the day after, in the calendar of the reader', () => {
    const sent = forService(
      filtersIn(query('from=2026-02-28&to=2026-02-28&q=2026-02-28'), ['from', 'to', 'q']),
      undefined,
    )
    expect(sent).toEqual([
      ['from', new Date(2026, 1, 28).toISOString()],
      ['to', new Date(2026, 2, 1).toISOString()],
      ['q', '2026-02-28'],
    ])
  })

  it.each([
    // Clocks are put back on that day; on the others they jump over midnight.
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00.000Z', '2026-03-29T21:00:00.000Z'],
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', '2018-11-05T02:00:00.000Z'],
    ['UTC', '9999-12-31', '9999-12-31T00:00:00.000Z', '+010000-01-01T00:00:00.000Z'],
  ])('are days of the zone that was chosen: %s', (zone, day, from, to) => {
    const days = new Map(['from', 'to'].map((name) => [name, day]))
    expect(forService(days, zone)).toEqual([
      ['from', from],
      ['to', to],
    ])
  })

  it.each(['yesterday', '2026-02-30', '2026-13-01', '0000', '2026-11-01T00:00:00Z'])(
    'go out as they are where they are no day: %s',
    (value) => {
      expect(forService(new Map([['from', value]]), undefined)).toEqual([['from', value]])
    },
  )
})
