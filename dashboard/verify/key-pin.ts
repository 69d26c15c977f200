import { visibleString } from '../../src/domain/text.ts'
import { examineJwks } from '../../src/signing/examine-receipt.ts'
import { JwksError } from '../../src/signing/jwks.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { field } from '../../webauthn-page/kit/dom/field.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'

/**
 * Takes a key set that somebody saved earlier: from then on nothing is fetched, and the service can no longer choose the
 * keys it is checked by. `changed` is told the keys, or undefined when they are put away again.
 */
export function keyPin(changed: (keys: VerificationKey[] | undefined) => Promise<void>): HTMLElement {
  const jwks = field({
    label: 'Key set (jwks.json)',
    name: 'jwks',
    multiline: true,
    hint: 'The JSON that you saved from /.well-known/jwks.json of the service, at a time when you trusted it.',
    attributes: { rows: 4, autocomplete: 'off' },
  })
  const slot = noticeSlot()
  const form = el(
    'form',
    { novalidate: true },
    jwks.row,
    submitButton('Use this key set', 'plain'),
    slot.element,
  )
  const forget = async (): Promise<void> => {
    jwks.input.value = ''
    slot.show('info', 'The keys that this service publishes are used again.')
    await changed(undefined)
  }
  const use = async (): Promise<void> => {
    slot.clear()
    try {
      const keys = await examineJwks(parsed(jwks.input.value))
      const count = keys.length === 1 ? 'This one key is' : `These ${keys.length} keys are`
      slot.show(
        'success',
        `${count} used from now on. Receipts are checked without any call. `,
        button('Put it away', 'quiet', forget),
      )
      await changed(keys)
    } catch (error) {
      if (!(error instanceof JwksError)) throw error
      jwks.setError(`This key set cannot be used: ${visibleString(error.message)}.`)
      jwks.input.focus()
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void runOnce(form, use)
  })
  return el(
    'details',
    { class: 'exact' },
    el('summary', {}, 'Use a key set that you saved'),
    el('div', { class: 'exact-body' }, lede(), form),
  )
}

function lede(): HTMLElement {
  return el(
    'p',
    { class: 'hint' },
    'Otherwise the keys come from this service itself. With a key set of your own you need not trust it, nor be online.',
  )
}

/** What is no JSON is no key set. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
