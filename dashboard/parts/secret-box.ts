import { copyButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'

/** A secret to be copied; `what` completes the name of the button ("Copy the signing secret"). */
export function secretBox(secret: string, what: string): HTMLElement {
  return el(
    'div',
    { class: 'copyable secret-box' },
    el('code', { class: 'mono' }, secret),
    copyButton(secret, what),
  )
}
