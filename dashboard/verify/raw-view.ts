import { toBase64 } from '../../src/signing/base64.ts'
import type { ReceiptInput } from '../../src/signing/receipt-input.ts'
import { copyButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, facts } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'

/** The bytes that were checked, as text; `believed` is false where the signature does not cover them. */
export function rawView({ payload, signature, kid }: ReceiptInput, believed: boolean): HTMLElement {
  const text = new TextDecoder().decode(payload)
  const label = believed ? 'Signed text' : 'Text as received, not to be believed'
  return el(
    'details',
    { class: 'exact' },
    el('summary', {}, 'Raw payload and signature'),
    el(
      'div',
      { class: 'exact-body' },
      el('pre', { class: 'exact-text', tabindex: 0, role: 'group', 'aria-label': label }, callerText(text)),
      el('p', { class: 'note' }, believed ? 'These are the signed bytes, letter by letter.' : `${label}.`),
      el('div', {}, copyButton(text, 'the payload')),
      facts(
        [
          'Signature',
          el(
            'div',
            { class: 'copyable' },
            el('code', { class: 'mono' }, toBase64(signature)),
            copyButton(toBase64(signature), 'the signature'),
          ),
        ],
        kid === undefined ? undefined : ['Key id', el('span', { class: 'mono' }, callerText(kid))],
      ),
    ),
  )
}
