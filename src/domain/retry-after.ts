/** Date formats of RFC 9110 §5.6.7: the one to send, and the two obsolete ones that recipients must still read. */
const DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
]

const LONGEST_SECONDS = 2 ** 31

/**
 * Reads how many whole seconds from now a `Retry-After` header asks for (RFC 9110 §10.2.3); 0 for a time in the past.
 * @returns undefined when the header is absent or malformed
 */
export function retryAfterSeconds(value: string | null | undefined, now: Date): number | undefined {
  if (value === undefined || value === null) return undefined
  if (/^\d+$/.test(value)) return Math.min(Number(value), LONGEST_SECONDS)
  if (!DATES.some((form) => form.test(value))) return undefined
  // The third format names no time zone; it is UTC as well.
  const time = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  if (Number.isNaN(time)) return undefined
  return Math.min(Math.max(0, Math.ceil((time - now.getTime()) / 1000)), LONGEST_SECONDS)
}
