/** What a clock on the wall shows at that moment, in a zone or in the browser's own: ISO 8601 to the second, without a zone. */
export function wallTime(at: Date, timeZone: string | undefined): string {
  // Swedes write dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  return format.format(at).replace(' ', 'T')
}

/**
 * The moment at which that clock shows `wall`, as fields for days and times give it; where clocks jump over it, that of the
 * jump or after. An invalid date for what is no time.
 */
export function atWallTime(wall: string, timeZone: string | undefined): Date {
  const time = Date.parse(`${wall}Z`)
  if (Number.isNaN(time)) return new Date(time)
  /** Milliseconds ahead of UTC; none in years that ISO 8601 writes otherwise. */
  const offset = (at: number): number => Date.parse(`${wallTime(new Date(at), timeZone)}Z`) - at || 0
  // The first guess may be on the other side of a change of the clocks.
  const guess = time - offset(time)
  const found = time - offset(guess)
  return new Date(found + offset(found) === time ? found : Math.max(guess, found))
}
