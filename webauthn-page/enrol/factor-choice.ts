import {
  creationOptionsShape,
  sessionShape,
  sessionWithCodesShape,
  totpSecretShape,
} from '../api/contract.ts'
import { post } from '../api/request.ts'
import { button } from '../dom/button.ts'
import { el } from '../dom/element.ts'
import { type Field, field, NAME_LENGTH } from '../dom/field.ts'
import type { NoticeSlot } from '../dom/notice.ts'
import { showScene } from '../dom/stage.ts'
import { backupCodes } from '../passkey/backup-codes.ts'
import { createPasskey, deviceName, passkeysWork } from '../passkey/ceremony.ts'
import { totpSetup } from '../passkey/totp-setup.ts'
import { type Person, wrong } from './person-fields.ts'

export interface Enrolment {
  token: string
  slot: NoticeSlot
  /** E-mail and name of the first owner; empty for an invited person; undefined while the fields are wrong. */
  person(): Person | Record<string, never> | undefined
  fields: Record<string, Field>
}

/** Passkey first, codes as the way out. */
export function factorChoice(enrolment: Enrolment): HTMLElement[] {
  const works = passkeysWork()
  const passkeyName = field({
    label: 'Name of this passkey',
    name: 'passkey_name',
    hint: 'To tell your devices apart later.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', value: deviceName() },
  })
  const passkey = el(
    'section',
    { class: 'choice', 'aria-label': 'Passkey' },
    el('h2', {}, 'Biometric (this device)'),
    el(
      'p',
      {},
      'Your fingerprint, face or screen lock, or a security key. It works only at this address, so nobody can trick you into giving it away. Recommended.',
    ),
    passkeyName.row,
    button('Create a passkey', 'primary', () => enrolPasskey(enrolment, passkeyName)),
  )
  const totp = el(
    'section',
    { class: 'choice', 'aria-label': 'Authenticator app' },
    el('h2', {}, works ? 'No passkey on this device?' : 'Authenticator app'),
    el(
      'p',
      {},
      'Codes from an app work too, but a false page could ask you for one. High-impact requests may insist on a passkey.',
    ),
    button('Use an authenticator app', 'plain', () => enrolTotp(enrolment)),
  )
  const missing = el(
    'p',
    {},
    'This browser cannot create passkeys here. Use an authenticator app, or open the link in another browser.',
  )
  return [works ? passkey : missing, enrolment.slot.element, totp]
}

async function enrolPasskey({ token, slot, person, fields }: Enrolment, name: Field): Promise<void> {
  slot.clear()
  const who = person()
  if (who === undefined) return
  const passkeyName = name.input.value.trim()
  if (passkeyName === '') return wrong(name, 'Give the passkey a name.')
  try {
    const { options } = await post('/enrollment/passkey/options', { token, ...who }, creationOptionsShape)
    const credential = await createPasskey(options)
    await post('/enrollment/passkey', { token, passkey_name: passkeyName, credential }, sessionShape)
    location.replace('/account')
  } catch (error) {
    slot.fail(error, { ...fields, passkey_name: name })
  }
}

async function enrolTotp({ token, slot, person, fields }: Enrolment): Promise<void> {
  slot.clear()
  const who = person()
  if (who === undefined) return
  try {
    const secret = await post('/enrollment/totp/options', { token, ...who }, totpSecretShape)
    const setup = totpSetup(secret, async (code) => {
      const { backup_codes } = await post('/enrollment/totp', { token, code }, sessionWithCodesShape)
      const saved = backupCodes(backup_codes, () => location.replace('/account'))
      showScene('Backup codes', el('div', {}, el('h1', {}, 'Save your backup codes'), saved))
    })
    showScene(
      'Authenticator app',
      el('div', {}, el('h1', {}, 'Set up your authenticator app'), el('div', { class: 'card' }, setup)),
    )
  } catch (error) {
    slot.fail(error, fields)
  }
}
