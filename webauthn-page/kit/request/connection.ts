import { el } from '../dom/element.ts'
import { formatter } from '../dom/moment.ts'

/** Whether the service answers, as a page that asks it every few seconds knows. */
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
    /** Says that what is on the screen may be out of date, from when it is, and nothing while the service answers. */
    element,
    alive: (): void => {
      heard = new Date()
      show('')
    },
    lost: (): void => {
      const why = navigator.onLine ? 'The service does not answer.' : 'You are offline.'
      show(`${why} This is how it was at ${clockTime(heard)}. You can decide when the service answers again.`)
    },
    /** From now on `next` hears why nothing can be sent, and undefined when it can. */
    follow: (next: typeof hold): void => {
      hold = next
      show(element.textContent ?? '')
    },
  }
  addEventListener('offline', connection.lost)
  return connection
}
