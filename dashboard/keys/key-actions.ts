import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, post, remove } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { div, el, hint } from '../../webauthn-page/kit/dom/element.ts'
import { type NoticeSlot, noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { proven } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { RowPanel } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { showPendingRequests } from '../requests/withdraw.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { type Key, keysShape, newKeyShape, secretsShape } from './key-shapes.ts'
import { namedKey } from './key-words.ts'

/** Asks the person first, then revokes the key. The slot shows a failure. */
export async function revokeKey(
  key: Pick<Key, 'id' | 'name' | 'key_prefix'>,
  slot: NoticeSlot,
  context: PageContext,
): Promise<void> {
  const sure = await askFirst(
    'Revoke this API key?',
    'Revoke',
    ...namedKey(key),
    ' stops working at once, everywhere it is used. This cannot be undone. Its pending requests stay in the inboxes, ',
    'marked; if there are any, you see them next and can withdraw them.',
  )
  if (!sure) return
  await slot.attempt(async () => {
    await remove(`/account/api-keys/${key.id}`, okShape)
    await showPendingRequests(context, ['key', key.id], 'The API key is revoked.')
  })
}

/** Loads all keys of the account, including revoked ones. @throws RequestFailure, ShapeError */
export async function loadKeys(): Promise<Key[]> {
  return (await get('/account/api-keys', keysShape)).data
}

/** Makes a key, after a proof of presence if the service asks for one. @returns undefined if the person did not confirm */
export function makeKey(wanted: {
  name: string
  sandbox: boolean
  scopes?: readonly string[]
  source_control?: boolean
}) {
  const purpose = ['Confirm the new API key ', callerText(wanted.name), '.']
  return proven(purpose, () => post('/account/api-keys', wanted, newKeyShape))
}

/** @returns undefined when the person did not confirm. @throws RequestFailure, ShapeError; Error for a revoked key */
async function loadSecret(keyId: string): Promise<string | undefined> {
  const purpose = 'Confirm that you want to see the secret that signs the callbacks of this API key.'
  const answer = await proven(purpose, () => get('/account/webhook-secret', secretsShape))
  if (answer === undefined) return undefined
  const key = answer.keys.find(({ id }) => id === keyId)
  if (key === undefined) throw new Error('This key has been revoked. Reload the page.')
  return key.webhook_signing_secret
}

/** Shows the secret that signs the callbacks of this key's requests. @throws RequestFailure, ShapeError */
export async function signingSecret(key: Key, panel: RowPanel): Promise<void> {
  const secret = await loadSecret(key.id)
  if (secret === undefined) return
  panel.show(
    div(
      'panel-form',
      el('h3', {}, 'Callback signing secret of this key'),
      hint(
        'Callbacks of requests made with this key carry ',
        el('code', {}, 'X-Service-Signature'),
        ' and ',
        el('code', {}, 'webhook-signature'),
        ', HMACs under this secret. Either proves who sent a callback; only the receipt in it proves that a person decided. The secret stays the same as long as the key exists.',
      ),
      secretBox(secret, 'the signing secret'),
      buttonRow(button('Hide it', 'quiet', panel.close)),
    ),
  )
}

/** The callback signing secret of a new key, behind a button: few people need it, and it is a secret. */
export function secretOnDemand(keyId: string): HTMLElement {
  const slot = noticeSlot()
  const place = div('panel-form')
  const show = async (): Promise<void> => {
    const secret = await loadSecret(keyId)
    if (secret === undefined) return
    const box = secretBox(secret, 'the signing secret')
    place.replaceChildren(box)
    box.querySelector('button')?.focus()
  }
  place.append(
    hint(
      'A receiver of callbacks checks ',
      el('code', {}, 'webhook-signature'),
      ' or ',
      el('code', {}, 'X-Service-Signature'),
      ' with the signing secret of this key. It can be shown again later, below the key.',
    ),
    slot.element,
    buttonRow(button('Show the signing secret', 'quiet', () => slot.attempt(show))),
  )
  return place
}
