import { button, buttonRow } from './button.ts'
import { announcements, type Child, el, freshId, p } from './element.ts'

/**
 * Opens a dialog above the page. `fill` makes the content below the title and gets the function that closes the dialog.
 * @returns the answer given to that function; undefined when the person closed the dialog in another way
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
    // The focus goes to the first control, so a screen reader reads this text only as a description of the dialog.
    const about = dialog.querySelector(':scope > p')
    if (about !== null) {
      about.id = `${id}-about`
      dialog.setAttribute('aria-describedby', about.id)
    }
    document.body.append(dialog)
    dialog.showModal()
  })
}

/** Asks for confirmation before something that cannot be undone. */
export async function askFirst(question: string, yes: string, ...explanation: Child[]): Promise<boolean> {
  const answer = await openDialog<true>(question, (close) => [
    p(...explanation),
    buttonRow(
      button(yes, 'danger', () => close(true)),
      // Cancel has the focus: a key pressed twice must not confirm.
      button('Cancel', 'quiet', () => close(), { autofocus: true }),
    ),
  ])
  return answer === true
}
