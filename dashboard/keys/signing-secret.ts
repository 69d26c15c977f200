import { get } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import type { RowPanel } from '../parts/row-panel.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Key, secretsShape } from './key-shapes.ts'

/** @throws RequestFailure, ShapeError */
export async function loadSecret(keyId: string): Promise<string | undefined> {
  const { keys } = await get('/account/webhook-secret', secretsShape)
  return keys.find(({ id }) => id === keyId)?.webhook_signing_secret
}

/** Shows what the callbacks of this key's requests are signed with. @throws RequestFailure, ShapeError */
export async function signingSecret(key: Key, panel: RowPanel): Promise<void> {
  const secret = await loadSecret(key.id)
  if (secret === undefined) return panel.slot.show('error', 'This key is revoked by now. Reload the page.')
  panel.show(
    el(
      'div',
      { class: 'panel-form' },
      el('h3', {}, 'Callback signing secret of this key'),
      el(
        'p',
        { class: 'hint' },
        'Callbacks of requests made with this key carry ',
        el('code', {}, 'X-Service-Signature'),
        ', an HMAC under this secret. Only the receiver of the callbacks needs it; it never changes while the key lives.',
      ),
      secretBox(secret, 'the signing secret'),
      el('div', { class: 'buttons' }, button('Hide it', 'quiet', panel.close)),
    ),
  )
}
