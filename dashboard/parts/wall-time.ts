/** Returns the wall-clock time in a zone, or in the browser's own: ISO 8601 to the second, without a zone. */
export function wallTime(at: Date, timeZone: string | undefined): string {
  // Swedish date formats follow ISO 8601.
  const format = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  return format.format(at).replace(' ', 'T')
}

/**
 * Returns the moment of the wall-clock time `wall`, as fields for days and times give it; if the clocks jump over `wall`, the
 * moment of the jump or after. An invalid date if `wall` is no time.
 */
export function atWallTime(wall: string, timeZone: string | undefined): Date {
  const time = Date.parse(`${wall}Z`)
  if (Number.isNaN(time)) return new Date(time)
  /** Milliseconds ahead of UTC; 0 in years that ISO 8601 writes differently. */
  const offset = (at: number): number => Date.parse(`${wallTime(new Date(at), timeZone)}Z`) - at || 0
  // The first guess may lie on the other side of a clock change.
  const guess = time - offset(time)
  const found = time - offset(guess)
  return new Date(found + offset(found) === time ? found : Math.max(guess, found))
}
