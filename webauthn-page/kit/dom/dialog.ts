import { button, buttonRow } from './button.ts'
import { type Child, el, freshId, p } from './element.ts'

/**
 * Opens a window above the page. `fill` makes its content below the title; it is given what closes the window.
 * @returns what the window was closed with; undefined when the person left it another way
 */
export function openDialog<T>(
  title: string,
  fill: (close: (answer?: T) => void) => readonly Child[],
): Promise<T | undefined> {
  return new Promise((resolve) => {
    const id = freshId('dialog')
    const dialog = el('dialog', { class: 'dialog', 'aria-labelledby': id })
    let answer: T | undefined
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(answer)
    })
    const close = (given?: T): void => {
      answer = given
      dialog.close()
    }
    const parts = fill(close).filter((part) => part !== undefined && part !== false)
    dialog.append(el('h2', { id }, title), ...parts)
    document.body.append(dialog)
    dialog.showModal()
  })
}

/** Asks before something that cannot be undone. */
export async function askFirst(question: string, yes: string, ...explanation: Child[]): Promise<boolean> {
  const answer = await openDialog<true>(question, (close) => [
    p(...explanation),
    buttonRow(
      button(yes, 'danger', () => close(true)),
      button('Cancel', 'quiet', () => close()),
    ),
  ])
  return answer === true
}
