import { button, buttonRow } from './button.ts'
import { announcements, type Child, el, freshId, p } from './element.ts'

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
    dialog.append(el('h2', { id }, title), ...parts, announcements())
    // Heard with the title when it opens: the focus goes to what can be done.
    const about = dialog.querySelector(':scope > p')
    if (about !== null) {
      about.id = `${id}-about`
      dialog.setAttribute('aria-describedby', about.id)
    }
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
      // Pressing twice must not do it.
      button('Cancel', 'quiet', () => close(), { autofocus: true }),
    ),
  ])
  return answer === true
}
