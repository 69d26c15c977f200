import { button } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'

/** Asks before something that cannot be undone. */
export function askFirst(question: string, yes: string, ...explanation: Child[]): Promise<boolean> {
  return new Promise((resolve) => {
    const titleId = freshId('ask')
    const dialog = el('dialog', { class: 'dialog', 'aria-labelledby': titleId })
    let answer = false
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(answer)
    })
    const confirm = button(yes, 'danger', () => {
      answer = true
      dialog.close()
    })
    dialog.append(
      el('h2', { id: titleId }, question),
      el('p', {}, ...explanation),
      el(
        'div',
        { class: 'buttons' },
        confirm,
        button('Cancel', 'quiet', () => dialog.close()),
      ),
    )
    document.body.append(dialog)
    dialog.showModal()
  })
}
