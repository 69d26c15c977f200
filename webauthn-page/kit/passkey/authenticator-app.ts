import type { TotpSecret } from '../api/contract.ts'
import { button, copyButton, downloadButton, runOnce, submitButton } from '../dom/button.ts'
import { el, freshId } from '../dom/element.ts'
import { codeField, readCode } from '../dom/field.ts'
import { noticeSlot } from '../dom/notice.ts'

/** QR code, secret as text and the field for the first code. `finish` sends the code; what it throws is shown at the field. */
export function totpSetup(
  { secret, qr_svg }: TotpSecret,
  finish: (code: string) => Promise<void>,
): HTMLElement {
  const code = codeField('The 6 digits the app shows for Countersign after you added it.')
  const slot = noticeSlot()
  const form = el('form', { novalidate: true }, code.row, slot.element, submitButton('Confirm the code'))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    slot.clear()
    const digits = readCode(code)
    if (digits === undefined) return
    void runOnce(form, () =>
      finish(digits).catch((error: unknown) => {
        slot.fail(error, { code })
        code.input.value = ''
      }),
    )
  })
  return el(
    'div',
    { class: 'totp-setup' },
    el(
      'ol',
      { class: 'steps' },
      el(
        'li',
        {},
        'Open your authenticator app and scan this code.',
        qrImage(qr_svg),
        el('p', { class: 'hint' }, 'If you cannot scan it, type this secret into the app:'),
        el(
          'div',
          { class: 'copyable' },
          el('code', { class: 'secret' }, grouped(secret)),
          copyButton(secret, 'the secret'),
        ),
      ),
      el('li', {}, 'Enter the code the app shows.'),
    ),
    form,
  )
}

/** As an image the SVG cannot run script or load anything, whatever it holds. */
function qrImage(svg: string): HTMLElement {
  const image = el('img', {
    class: 'qr',
    width: 200,
    height: 200,
    alt: 'QR code with the secret that is also written below',
  })
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  return image
}

function grouped(secret: string): string {
  return secret.replace(/(.{4})(?=.)/g, '$1 ')
}

/** The ten one-time codes, shown once; `done` is called only after the person said that they are saved. */
export function backupCodes(codes: readonly string[], done: () => void): HTMLElement {
  const text = `${codes.join('\n')}\n`
  const slot = noticeSlot()
  const id = freshId('saved')
  const saved = el('input', { type: 'checkbox', id })
  const proceed = button('Continue', 'primary', () => {
    if (saved.checked) return done()
    slot.show('warning', 'Save the codes first, then tick “I saved them”. They are not shown again.')
    saved.focus()
  })
  return el(
    'section',
    { class: 'card', 'aria-label': 'Backup codes' },
    el(
      'p',
      {},
      'Each code signs you in once when your phone is gone. They never approve anything. ',
      el('strong', {}, 'They are shown only now.'),
    ),
    el('ul', { class: 'backup-codes' }, ...codes.map((code) => el('li', {}, el('code', {}, code)))),
    el(
      'div',
      { class: 'buttons' },
      copyButton(text, 'all backup codes'),
      downloadButton('Download', 'countersign-backup-codes.txt', 'text/plain', text),
    ),
    el('p', { class: 'check' }, saved, ' ', el('label', { for: id }, 'I saved them')),
    slot.element,
    proceed,
  )
}
