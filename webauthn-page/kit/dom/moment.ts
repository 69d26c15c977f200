import { steadyNow } from '../api/request.ts'
import { announce, el } from './element.ts'

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** A point in time in the reader's own zone, the exact UTC text as tooltip and machine value. */
export function moment(iso: string): HTMLTimeElement {
  return el('time', { datetime: iso, title: iso }, FORMAT.format(new Date(iso)))
}

/** The same as plain text, for a tooltip. */
export function exactly(iso: string): string {
  return FORMAT.format(new Date(iso))
}

/** Only the day, for lists. */
export function day(iso: string): HTMLTimeElement {
  return el('time', { datetime: iso, title: iso }, DAY.format(new Date(iso)))
}

const MINUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const TWO_DAYS_MS = 2 * 86_400_000

/** The day, and within two days of now the minute, too: there the day alone tells nothing apart. */
export function dayOrMinute(iso: string): HTMLTimeElement {
  const at = new Date(iso)
  const format = Math.abs(Date.now() - at.getTime()) < TWO_DAYS_MS ? MINUTE : DAY
  return el('time', { datetime: iso, title: iso }, format.format(at))
}

/** Seconds until `iso` by a clock that runs `clock` milliseconds ahead of `steadyNow()`. */
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

/** Seconds before expiry at which a screen reader hears the time left; in between it is only shown. */
const THRESHOLDS = [600, 300, 60, 30]

/** A live count-down by `at.clock`, which may be set anew. Call `stop` when it leaves the page; `timeUp` runs once at zero. */
export function timeLeft(
  at: { review: { expires_at: string }; clock: number },
  timeUp: () => void,
): { element: HTMLElement; stop(): void } {
  const value = el('span', { class: 'time-left-value' })
  const element = el('p', { class: 'time-left', role: 'timer' }, value)
  let last = Number.POSITIVE_INFINITY
  const tick = (): void => {
    const left = secondsUntil(at.review.expires_at, at.clock)
    value.textContent = left > 0 ? `${duration(left)} left to decide` : 'The time is up'
    element.classList.toggle('urgent', left <= 60)
    const passed = THRESHOLDS.find(
      (threshold) => left <= threshold && last > threshold && Number.isFinite(last),
    )
    if (passed !== undefined) announce(`${duration(passed)} left to decide`)
    last = left
    if (left > 0) return
    clearInterval(timer)
    timeUp()
  }
  const timer = setInterval(tick, 1000)
  tick()
  return { element, stop: () => clearInterval(timer) }
}
