import { el } from '../dom/element.ts'
import { formatter } from '../dom/moment.ts'

/** Tracks whether the service answers, for a page that polls it every few seconds. */
export type Connection = ReturnType<typeof createConnection>

const clockTime = formatter({ timeStyle: 'medium' })

export function createConnection() {
  const element = el('p', { class: 'connection', role: 'status' })
  let heard = new Date()
  let hold: (why: string | undefined) => void = () => {}
  const show = (text: string): void => {
    element.textContent = text
    hold(text === '' ? undefined : text)
  }
  const connection = {
    /** Warns that the screen may be out of date, and since when; empty while the service answers. */
    element,
    alive: (): void => {
      heard = new Date()
      show('')
    },
    lost: (): void => {
      const why = navigator.onLine ? 'The service does not respond.' : 'You are offline.'
      show(
        `${why} This page shows the state at ${clockTime(heard)}. You can decide when the service responds again.`,
      )
    },
    /** From now on calls `next` with the reason why nothing can be sent, or with undefined when sending is possible. */
    follow: (next: typeof hold): void => {
      hold = next
      show(element.textContent ?? '')
    },
  }
  addEventListener('offline', connection.lost)
  return connection
}
