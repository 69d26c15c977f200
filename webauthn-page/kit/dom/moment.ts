import { steadyNow } from '../api/request.ts'
import { announce, el } from './element.ts'

const ZONE = 'time-zone'

/**
 * Returns the time zone that the reader chose in this browser; empty for the browser's own. The browser stores it, not the
 * service: pages without a session also show times, and a person may travel with one of several devices.
 */
export function chosenZone(): string {
  try {
    const zone = localStorage.getItem(ZONE) ?? ''
    // Throws if this browser does not know the zone; that error must not break every page.
    if (zone !== '') new Intl.DateTimeFormat(undefined, { timeZone: zone })
    return zone
  } catch {
    return ''
  }
}

/** Stores the reader's time zone; pages use it once they are reloaded. @throws DOMException when the browser blocks storage */
export function chooseZone(zone: string): void {
  if (zone === '') localStorage.removeItem(ZONE)
  else localStorage.setItem(ZONE, zone)
}

/** The time zone chosen when this page was loaded; undefined for the browser's own. */
export const timeZone = chosenZone() || undefined

/**
 * Returns a function that writes times in the reader's time zone. A browser needs 30 ms to make its first format, a phone
 * four times as long, so the format is made only when the first time is written.
 */
export function formatter(options: Intl.DateTimeFormatOptions): (at: Date | string) => string {
  let format: Intl.DateTimeFormat | undefined
  return (at) => {
    format ??= new Intl.DateTimeFormat(undefined, { ...options, timeZone })
    return format.format(new Date(at))
  }
}

/** Writes a point in time, to the second, as plain text; receipts are compared with logs, which have 24 hours. */
export const exactly = formatter({ dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' })
const dayOf = formatter({ dateStyle: 'medium' })

/** A point in time, to the second, with the exact UTC text as tooltip and machine-readable value. */
export function moment(iso: string): HTMLTimeElement {
  return el('time', { datetime: iso, title: iso }, exactly(iso))
}

/** A date without the time, for lists; the tooltip is exact. */
export function day(iso: string): HTMLTimeElement {
  return el('time', { datetime: iso, title: exactly(iso) }, dayOf(iso))
}

const FOLLOWED_MS = 30_000
let followed = false

/** A time relative to now ("5 min ago"), for lists. It is kept up to date; the tooltip is exact. */
export function ago(iso: string): HTMLTimeElement {
  if (!followed) setInterval(followAll, FOLLOWED_MS)
  followed = true
  return el('time', { datetime: iso, title: exactly(iso), class: 'ago' }, sinceOrUntil(iso))
}

function followAll(): void {
  for (const one of document.querySelectorAll<HTMLTimeElement>('time.ago'))
    one.textContent = sinceOrUntil(one.dateTime)
}

function sinceOrUntil(iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000
  const far = Math.abs(seconds)
  if (far < 60) return seconds > 0 ? 'in a moment' : 'just now'
  if (far >= 7 * 86_400) return dayOf(iso)
  const [minutes, hours, days] = [far / 60, far / 3600, far / 86_400].map(Math.trunc)
  const said = days ? `${days} ${days === 1 ? 'day' : 'days'}` : hours ? `${hours} h` : `${minutes} min`
  return seconds > 0 ? `in ${said}` : `${said} ago`
}

/** Returns the seconds until `iso` by a clock that is `clock` milliseconds ahead of `steadyNow()`. */
export function secondsUntil(iso: string, clock: number): number {
  return (Date.parse(iso) - (steadyNow() + clock)) / 1000
}

/** "1 h 5 min", "4 min 3 s", "12 s"; whole seconds, never negative. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [days, hours, minutes, rest] = [
    Math.floor(whole / 86_400),
    Math.floor((whole % 86_400) / 3600),
    Math.floor((whole % 3600) / 60),
    whole % 60,
  ]
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  if (minutes > 0) return `${minutes} min ${rest} s`
  return `${rest} s`
}

/** Seconds before expiry at which the time left is announced to screen readers; between them it is only shown. */
const THRESHOLDS = [600, 300, 60, 30]

/** A live count-down by `at.clock`, which may be corrected later. Call `stop` when it leaves the page; `timeUp` runs at zero. */
export function timeLeft(at: { review: { expires_at: string }; clock: number }, timeUp: () => void) {
  const value = el('span', { class: 'time-left-value' })
  const element = el('p', { class: 'time-left', role: 'timer' }, value)
  let last = Number.POSITIVE_INFINITY
  const tick = (): void => {
    const left = secondsUntil(at.review.expires_at, at.clock)
    value.textContent = left > 0 ? `Expires in ${duration(left)}` : 'Expired'
    element.classList.toggle('urgent', left <= 60)
    const passed = THRESHOLDS.find(
      (threshold) => left <= threshold && last > threshold && Number.isFinite(last),
    )
    if (passed !== undefined) announce(`Expires in ${duration(passed)}`)
    last = left
    if (left > 0) return
    clearInterval(timer)
    timeUp()
  }
  const timer = setInterval(tick, 1000)
  tick()
  return { element, stop: () => clearInterval(timer) }
}
