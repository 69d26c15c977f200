import { el } from '../kit/dom/element.ts'

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

/** Says that what is on the screen may be out of date, from when it is, and nothing while the service answers. */
export function createConnection(): { element: HTMLElement; alive(): void; lost(): void } {
  const element = el('p', { class: 'connection', role: 'status' })
  let heard = new Date()
  return {
    element,
    alive: () => {
      heard = new Date()
      element.textContent = ''
    },
    lost: () => {
      const why = navigator.onLine ? 'The service does not answer.' : 'You are offline.'
      element.textContent = `${why} This is how it was at ${CLOCK.format(heard)}.`
    },
  }
}
