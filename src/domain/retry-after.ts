const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** RFC 9110 §5.6.7: the form to send, and the two obsolete ones that recipients must still read. */
const DATES = [
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
]

const LONGEST_SECONDS = 2 ** 31

/**
 * Whole seconds that a `Retry-After` header asks for (RFC 9110 §10.2.3), from now on; 0 for a time that is past.
 * @returns undefined when there is none, or it says nothing
 */
export function retryAfterSeconds(value: string | null | undefined, now: Date): number | undefined {
  if (value === undefined || value === null) return undefined
  if (/^\d+$/.test(value)) return Math.min(Number(value), LONGEST_SECONDS)
  const time = httpDate(value, now)
  if (time === undefined) return undefined
  return Math.min(Math.max(0, Math.ceil((time - now.getTime()) / 1000)), LONGEST_SECONDS)
}

function httpDate(text: string, now: Date): number | undefined {
  const parts = DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  const month = MONTHS.indexOf(parts?.month ?? '')
  if (parts === undefined || month < 0) return undefined
  const [hours = 0, minutes = 0, seconds = 0] = (parts.time ?? '').split(':').map(Number)
  const year = fullYear(parts.year ?? '', now)
  const time = Date.UTC(year, month, Number(parts.day), hours, minutes, seconds)
  return Number.isNaN(time) ? undefined : time
}

/** A year of two digits that seems more than 50 years ahead is one of the last century. */
function fullYear(text: string, now: Date): number {
  if (text.length === 4) return Number(text)
  const year = now.getUTCFullYear()
  const guess = year - (year % 100) + Number(text)
  return guess > year + 50 ? guess - 100 : guess
}
