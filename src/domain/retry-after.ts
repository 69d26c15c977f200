/** RFC 9110 §5.6.7: the form to send, and the two obsolete ones that recipients must still read. */
const DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
]

const LONGEST_SECONDS = 2 ** 31

/**
 * Whole seconds that a `Retry-After` header asks for (RFC 9110 §10.2.3), from now on; 0 for a time that is past.
 * @returns undefined when there is none, or it says nothing
 */
export function retryAfterSeconds(value: string | null | undefined, now: Date): number | undefined {
  if (value === undefined || value === null) return undefined
  if (/^\d+$/.test(value)) return Math.min(Number(value), LONGEST_SECONDS)
  if (!DATES.some((form) => form.test(value))) return undefined
  // The third form names no zone; it is UTC as well.
  const time = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  if (Number.isNaN(time)) return undefined
  return Math.min(Math.max(0, Math.ceil((time - now.getTime()) / 1000)), LONGEST_SECONDS)
}
