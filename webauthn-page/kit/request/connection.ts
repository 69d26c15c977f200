import { el } from '../dom/element.ts'
import { formatter } from '../dom/moment.ts'

/** Whether the service answers, as a page that asks it every few seconds knows. */
export interface Connection {
  /** Says that what is on the screen may be out of date, from when it is, and nothing while the service answers. */
  element: HTMLElement
  alive(): void
  lost(): void
  /** From now on `hold` hears why nothing can be sent, and undefined when it can. */
  follow(hold: (why: string | undefined) => void): void
}

const clockTime = formatter({ timeStyle: 'medium' })

export function createConnection(): Connection {
  const element = el('p', { class: 'connection', role: 'status' })
  let heard = new Date()
  let hold: (why: string | undefined) => void = () => {}
  const show = (text: string): void => {
    element.textContent = text
    hold(text === '' ? undefined : text)
  }
  const connection = {
    element,
    alive: () => {
      heard = new Date()
      show('')
    },
    lost: () => {
      const why = navigator.onLine ? 'The service does not answer.' : 'You are offline.'
      show(`${why} This is how it was at ${clockTime(heard)}. You can decide when the service answers again.`)
    },
    follow: (next: typeof hold) => {
      hold = next
      show(element.textContent ?? '')
    },
  }
  addEventListener('offline', connection.lost)
  return connection
}
