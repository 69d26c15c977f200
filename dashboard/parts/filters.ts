import { atWallTime } from './wall-time.ts'

/** What a list is narrowed to, as the address says it: name and value, never empty. */
export type Filters = ReadonlyMap<string, string>

/** The filters with these names that the address sets. */
export function filtersIn(query: URLSearchParams, names: readonly string[]): Filters {
  return new Map(
    names.flatMap((name) => {
      const value = query.get(name)?.trim() ?? ''
      return value === '' ? [] : [[name, value] as const]
    }),
  )
}

/** `path` with the filters behind it; `path` may have a query of its own. */
export function withFilters(path: string, filters: Iterable<readonly [string, string]>): string {
  const query = String(
    new URLSearchParams([...filters].map(([name, value]): [string, string] => [name, value])),
  )
  if (query === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/**
 * The filters as the service takes them, `to` exclusive: the days `from` and `to` of that zone, or of the browser's own, become
 * the first moments of that day and of the one after. What is no day goes out as it is, so that the service says what is wrong.
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
