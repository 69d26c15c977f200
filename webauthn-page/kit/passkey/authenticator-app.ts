import type { TotpSecret } from '../api/contract.ts'
import { refusedWith } from '../api/request.ts'
import { button, buttonRow, copyable, copyButton, downloadButton, submitButton } from '../dom/button.ts'
import { type Child, div, el, hint, link, p } from '../dom/element.ts'
import { codeField, form, readCode, tick, wrong } from '../dom/form.ts'
import { noticeSlot, sentenceOf } from '../dom/notice.ts'
import { qrImage } from '../dom/qr-image.ts'

/** QR code, secret as text and the field for the first code. `finish` sends the code; a code it refuses is shown at the field. */
export function totpSetup(
  { secret, qr_svg, otpauth_url }: TotpSecret,
  finish: (code: string) => Promise<void>,
): HTMLElement {
  const code = codeField('The 6 digits the app shows for Countersign after you added it.')
  const slot = noticeSlot()
  const send = (): Promise<void> =>
    slot.attempt(
      async () => {
        const digits = readCode(code)
        if (digits === undefined) return
        await finish(digits).catch((error: unknown) => {
          code.input.value = ''
          if (!refusedWith(['totp_refused'], error)) throw error
          wrong(code, sentenceOf(error))
        })
      },
      { code },
    )
  return div(
    'totp-setup',
    el(
      'ol',
      { class: 'steps' },
      el(
        'li',
        {},
        ...waysIn(qrImage(qr_svg, 'QR code with the secret that is also shown below'), otpauth_url),
        hint('If neither works, type this secret into the app:'),
        copyable(el('code', { class: 'secret' }, grouped(secret)), secret, 'the secret'),
      ),
      el('li', {}, 'Enter the code the app shows.'),
    ),
    form({}, send, code.row, slot.element, submitButton('Confirm the code')),
  )
}

/** The QR code and the link. A phone cannot scan its own screen, so there the link comes first. */
function waysIn(qr: HTMLElement, url: string): Child[] {
  // Only an `otpauth://totp/` address becomes a link, whatever the answer holds.
  const here =
    url.startsWith('otpauth://totp/') &&
    p(link(url, 'Open it in an app on this device', { class: 'button plain' }))
  return matchMedia('(max-width: 43.99rem)').matches
    ? ['Add Countersign to your authenticator app, or scan this code from another device.', here, qr]
    : ['Open your authenticator app and scan this code.', qr, here]
}

function grouped(secret: string): string {
  return secret.replace(/(.{4})(?=.)/g, '$1 ')
}

/** The ten backup codes, shown once; `done` is called only after the person has ticked that they are saved. */
export function backupCodes(codes: readonly string[], done: () => void): HTMLElement {
  const text = `${codes.join('\n')}\n`
  const slot = noticeSlot()
  const saved = tick('checkbox', 'I saved them')
  const proceed = button('Continue', 'primary', () => {
    if (saved.input.checked) return done()
    slot.show('info', 'Save the codes first, then tick “I saved them”. They are not shown again.')
    saved.input.focus()
  })
  return el(
    'section',
    { class: 'card', 'aria-label': 'Backup codes' },
    p(
      'If you lose the app, each code signs you in once, in a browser where you signed up or set up the app. They never approve anything. ',
      el('strong', {}, 'They are shown only now.'),
    ),
    el('ul', { class: 'backup-codes' }, ...codes.map((code) => el('li', {}, el('code', {}, code)))),
    buttonRow(
      copyButton(text, 'all backup codes'),
      downloadButton('Download', 'countersign-backup-codes.txt', 'text/plain', text),
    ),
    saved.row,
    slot.element,
    proceed,
  )
}
