import {
  backupCodesShape,
  type Factors,
  okShape,
  totpSecretShape,
} from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { backupCodes, totpSetup } from '../../webauthn-page/kit/passkey/authenticator-app.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { type Section, section } from '../parts/section.ts'

type Done = (message: string) => Promise<void>

/** Codes of an authenticator app and the backup codes that come with them. */
export function codesSection({ totp, backup_codes_left }: Factors, done: Done): HTMLElement {
  const part = section(
    'Authenticator app',
    'Codes for where a passkey does not reach. A fake site could trick you out of a code; a passkey cannot be used there.',
  )
  if (!totp.enabled) {
    part.body.append(
      el('p', {}, 'No authenticator app is set up.'),
      button('Set up an authenticator app', 'plain', () => setUp(part, done)),
    )
    return part.element
  }
  part.body.append(
    el(
      'div',
      { class: 'entry' },
      el('p', {}, 'In use', ...(totp.since === null ? [] : [' since ', day(totp.since)]), '.'),
      button('Remove', 'quiet', () => removeTotp(part, done), {
        'aria-label': 'Remove the authenticator app',
      }),
    ),
    el(
      'div',
      { class: 'entry' },
      el(
        'p',
        {},
        el('strong', {}, `${backup_codes_left} of 10`),
        ' backup codes left. They sign you in and never decide.',
      ),
      button('Renew', 'quiet', () => renew(part, done), { 'aria-label': 'Renew the backup codes' }),
    ),
  )
  part.body.append(knownBrowsersOnly())
  return part.element
}

/** What the page of an enrolment says, too (T15). */
function knownBrowsersOnly(): HTMLElement {
  return el(
    'p',
    { class: 'note' },
    'Codes and backup codes sign you in only on browsers where you enrolled or set up the app before. On a new device, or once you clear this browser’s data, they do not let you in; a passkey does.',
  )
}

async function setUp(part: Section, done: Done): Promise<void> {
  part.slot.clear()
  try {
    const proof = await stepUp(
      'totp.add',
      'Confirm with what you already have before an authenticator app is added.',
    )
    if (proof === undefined) return
    const secret = await post('/me/totp/options', { proof }, totpSecretShape)
    const finish = async (code: string): Promise<void> => {
      const { backup_codes } = await post('/me/totp', { code }, backupCodesShape)
      showCodes(part, backup_codes, () => done('Your authenticator app is set up.'))
    }
    part.body.replaceChildren(totpSetup(secret, finish))
  } catch (error) {
    part.slot.fail(error)
  }
}

async function removeTotp(part: Section, done: Done): Promise<void> {
  part.slot.clear()
  try {
    const proof = await stepUp(
      'totp.remove',
      'Confirm that codes shall no longer sign you in or decide for you.',
    )
    if (proof === undefined) return
    await post('/me/totp/remove', { proof }, okShape)
    await done('The authenticator app is removed.')
  } catch (error) {
    part.slot.fail(error)
  }
}

async function renew(part: Section, done: Done): Promise<void> {
  part.slot.clear()
  try {
    const proof = await stepUp(
      'backup_codes.renew',
      'Confirm that you want ten new codes. The old ones stop working.',
    )
    if (proof === undefined) return
    const { backup_codes } = await post('/me/backup-codes', { proof }, backupCodesShape)
    showCodes(part, backup_codes, () => done('Your new backup codes work from now on.'))
  } catch (error) {
    part.slot.fail(error)
  }
}

function showCodes(part: Section, codes: readonly string[], saved: () => Promise<void>): void {
  const heading = el('h3', { tabindex: -1 }, 'Save your backup codes')
  part.body.replaceChildren(
    heading,
    knownBrowsersOnly(),
    backupCodes(codes, () => void saved()),
  )
  heading.focus()
}
