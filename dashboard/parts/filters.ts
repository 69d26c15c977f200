import { atWallTime } from './wall-time.ts'

/** The filters of a list, as the address names them: name and value, never empty. */
export type Filters = ReadonlyMap<string, string>

/** Returns the filters with these names that the address sets. */
export function filtersIn(query: URLSearchParams, names: readonly string[]): Filters {
  return new Map(
    names.flatMap((name) => {
      const value = query.get(name)?.trim() ?? ''
      return value === '' ? [] : [[name, value] as const]
    }),
  )
}

/** Returns `path` with the filters appended; `path` may already have a query. */
export function withFilters(path: string, filters: Iterable<readonly [string, string]>): string {
  const query = String(
    new URLSearchParams([...filters].map(([name, value]): [string, string] => [name, value])),
  )
  if (query === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/**
 * Returns the filters as the service takes them, with `to` exclusive: the day `from` becomes its first moment in the zone, or
 * in the browser's own, and the day `to` the first moment of the next day. A value that is no day is sent as it is, so that
 * the service says what is wrong.
 */
export function forService(filters: Filters, timeZone: string | undefined): [string, string][] {
  return [...filters].map(([name, value]) => {
    if (name === 'from') return [name, startOf(value, 0, timeZone)]
    return [name, name === 'to' ? startOf(value, 1, timeZone) : value]
  })
}

function startOf(day: string, later: 0 | 1, timeZone: string | undefined): string {
  const start = new Date(`${day}T00:00:00Z`)
  // February 30th would quietly become a day in March.
  if (start.toJSON()?.slice(0, 10) !== day) return day
  start.setUTCDate(start.getUTCDate() + later)
  return atWallTime(start.toISOString().slice(0, 19), timeZone).toISOString()
}
