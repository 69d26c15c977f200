import { sessionWithCodesShape, totpSecretShape } from '../kit/api/contract.ts'
import { post } from '../kit/api/request.ts'
import { button } from '../kit/dom/button.ts'
import { el } from '../kit/dom/element.ts'
import { notice } from '../kit/dom/notice.ts'
import { showScene } from '../kit/dom/stage.ts'
import { backupCodes } from '../kit/passkey/backup-codes.ts'
import { passkeysWork } from '../kit/passkey/ceremony.ts'
import { totpSetup } from '../kit/passkey/totp-setup.ts'
import type { Enrolment } from './factor-choice.ts'

/** The way without a passkey: secret, first code, backup codes. */
export async function enrolTotp({ token, slot, person, fields, back }: Enrolment): Promise<void> {
  slot.clear()
  const who = person()
  if (who === undefined) return
  try {
    const secret = await post('/enrollment/totp/options', { token, ...who }, totpSecretShape)
    const setup = totpSetup(secret, async (code) => {
      const { backup_codes } = await post('/enrollment/totp', { token, code }, sessionWithCodesShape)
      const saved = backupCodes(backup_codes, () => location.replace('/'))
      showScene('Backup codes', el('div', {}, el('h1', {}, 'Save your backup codes'), saved))
    })
    const scene = el(
      'div',
      {},
      el('h1', {}, 'Set up your authenticator app'),
      beforeYouFinish(),
      el('div', { class: 'card' }, setup),
      el(
        'div',
        { class: 'buttons' },
        button(passkeysWork() ? 'Back: use a passkey instead' : 'Back', 'plain', back),
      ),
    )
    showScene('Authenticator app', scene)
  } catch (error) {
    slot.fail(error, fields)
  }
}

/** Whoever has only codes cannot sign in on a second device (T15), which is better learnt now than then. */
function beforeYouFinish(): HTMLElement {
  return notice(
    'warning',
    'codes and backup codes sign you in only on browsers where you enrolled or set up the app before. On a new device, or once you clear this browser’s data, they do not let you in; a passkey does.',
  )
}
