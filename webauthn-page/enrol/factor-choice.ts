import { creationOptionsShape, sessionShape } from '../kit/api/contract.ts'
import { post } from '../kit/api/request.ts'
import { button } from '../kit/dom/button.ts'
import { el } from '../kit/dom/element.ts'
import { type Field, field, NAME_LENGTH } from '../kit/dom/field.ts'
import type { NoticeSlot } from '../kit/dom/notice.ts'
import { createPasskey, deviceName, passkeysWork, stopPrompt } from '../kit/passkey/ceremony.ts'
import { promptNote } from '../kit/passkey/prompt-note.ts'
import { enrolTotp } from './enrol-totp.ts'
import { type Person, wrong } from './person-fields.ts'

export interface Enrolment {
  token: string
  slot: NoticeSlot
  /** E-mail and name of the first owner; empty for an invited person; undefined while the fields are wrong. */
  person(): Person | Record<string, never> | undefined
  fields: Record<string, Field>
  /** Shows this choice again, with what was typed. */
  back(): void
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
    el('h2', {}, 'Passkey'),
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
      'Codes from an app work too. A fake site could trick you out of a code; a passkey cannot be used there. Codes sign you in only on browsers where you enrolled before, and high-impact requests may insist on a passkey.',
    ),
    button('Use an authenticator app', 'plain', () => {
      stopPrompt()
      return enrolTotp(enrolment)
    }),
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
    slot.show('info', ...promptNote())
    const credential = await createPasskey(options)
    slot.clear()
    await post('/enrollment/passkey', { token, passkey_name: passkeyName, credential }, sessionShape)
    location.replace('/')
  } catch (error) {
    slot.fail(error, { ...fields, passkey_name: name })
  }
}
