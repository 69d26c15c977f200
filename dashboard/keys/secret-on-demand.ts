import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { secretBox } from '../parts/secret-box.ts'
import { loadSecret } from './signing-secret.ts'

/** The callback signing secret of a key that was just made, behind a button: few need it, and it is a secret. */
export function secretOnDemand(keyId: string): HTMLElement {
  const slot = noticeSlot()
  const place = el('div', { class: 'panel-form' })
  const show = button('Show the signing secret', 'quiet', async () => {
    slot.clear()
    try {
      const secret = await loadSecret(keyId)
      if (secret === undefined) return slot.show('error', 'This key is revoked by now.')
      const box = secretBox(secret, 'the signing secret')
      place.replaceChildren(box)
      box.querySelector('button')?.focus()
    } catch (error) {
      slot.fail(error)
    }
  })
  place.append(
    el(
      'p',
      { class: 'hint' },
      'A receiver of callbacks checks ',
      el('code', {}, 'X-Service-Signature'),
      ' with the signing secret of this key. It can be shown again later, below the key.',
    ),
    slot.element,
    el('div', { class: 'buttons' }, show),
  )
  return place
}
