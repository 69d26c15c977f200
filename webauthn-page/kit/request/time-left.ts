import { announce } from '../dom/announce.ts'
import { el } from '../dom/element.ts'
import { duration, secondsUntil } from '../dom/moment.ts'

/** Seconds before expiry at which a screen reader hears the time left; in between it is only shown. */
const THRESHOLDS = [600, 300, 60, 30]

/** A live count-down. Call `stop` when it leaves the page; `timeUp` runs once at zero. */
export function timeLeft(
  { review, clock }: { review: { expires_at: string }; clock: number },
  timeUp: () => void,
): { element: HTMLElement; stop(): void } {
  const value = el('span', { class: 'time-left-value' })
  const element = el('p', { class: 'time-left', role: 'timer' }, value)
  let last = Number.POSITIVE_INFINITY
  const tick = (): void => {
    const left = secondsUntil(review.expires_at, clock)
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
