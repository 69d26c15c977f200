import {
  creationOptionsShape,
  sessionShape,
  sessionWithCodesShape,
  totpSecretShape,
} from '../kit/api/contract.ts'
import { post } from '../kit/api/request.ts'
import { deviceName } from '../kit/device-name.ts'
import { button, buttonRow } from '../kit/dom/button.ts'
import { el, p } from '../kit/dom/element.ts'
import { EMAIL_LENGTH, type Field, field, filled, NAME_LENGTH, wrong } from '../kit/dom/form.ts'
import { type NoticeSlot, notice } from '../kit/dom/notice.ts'
import { plainScene, showScene } from '../kit/dom/stage.ts'
import { backupCodes, totpSetup } from '../kit/passkey/authenticator-app.ts'
import { createPasskey, passkeysWork, promptNote, stopPrompt } from '../kit/passkey/ceremony.ts'

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
    p(
      'Your fingerprint, face or screen lock, or a security key. It works only at this address, so nobody can trick you into giving it away. Recommended.',
    ),
    passkeyName.row,
    button('Create a passkey', 'primary', () => enrolPasskey(enrolment, passkeyName)),
  )
  const totp = el(
    'section',
    { class: 'choice', 'aria-label': 'Authenticator app' },
    el('h2', {}, works ? 'No passkey on this device?' : 'Authenticator app'),
    p(
      'Codes from an app work too. A fake site could trick you out of a code; a passkey cannot be used there. Codes sign you in only on browsers where you enrolled before, and high-impact requests may insist on a passkey.',
    ),
    button('Use an authenticator app', 'plain', () => {
      stopPrompt()
      return enrolTotp(enrolment)
    }),
  )
  const missing = p(
    'This browser cannot create passkeys here. Use an authenticator app, or open the link in another browser.',
  )
  return [works ? passkey : missing, enrolment.slot.element, totp]
}

async function enrolPasskey({ token, slot, person, fields }: Enrolment, name: Field): Promise<void> {
  const work = async (): Promise<void> => {
    const who = person()
    const passkeyName = who && filled(name, 'Give the passkey a name.')
    if (passkeyName === undefined) return
    const { options } = await post('/enrollment/passkey/options', { token, ...who }, creationOptionsShape)
    slot.show('info', ...promptNote())
    const credential = await createPasskey(options)
    slot.clear()
    await post('/enrollment/passkey', { token, passkey_name: passkeyName, credential }, sessionShape)
    location.replace('/')
  }
  await slot.attempt(work, { ...fields, passkey_name: name })
}

interface Person {
  email: string
  name: string
}

/** Who the first owner is. `read` gives undefined after it marked the fields that are wrong. */
export function personFields(): {
  element: HTMLElement
  fields: Record<string, Field>
  read(): Person | undefined
} {
  const email = field({
    label: 'E-mail',
    name: 'email',
    hint: 'Colleagues know you by it here, and you give it when you sign in with a code. No e-mail is sent to it.',
    attributes: { type: 'email', autocomplete: 'email', required: true, maxlength: EMAIL_LENGTH },
  })
  const name = field({
    label: 'Your name',
    name: 'name',
    attributes: { autocomplete: 'name', required: true, maxlength: NAME_LENGTH },
  })
  const read = (): Person | undefined => {
    const values = { email: email.input.value.trim(), name: name.input.value.trim() }
    if (values.name === '') wrong(name, 'Enter your name.')
    if (!/^\S+@\S+$/.test(values.email)) wrong(email, 'Enter your e-mail address, such as ana@example.com.')
    return values.name === '' || !/^\S+@\S+$/.test(values.email) ? undefined : values
  }
  return {
    element: el('div', { class: 'person-fields' }, email.row, name.row),
    fields: { email, name },
    read,
  }
}

/** The way without a passkey: secret, first code, backup codes. */
async function enrolTotp({ token, slot, person, fields, back }: Enrolment): Promise<void> {
  const work = async (): Promise<void> => {
    const who = person()
    if (who === undefined) return
    const secret = await post('/enrollment/totp/options', { token, ...who }, totpSecretShape)
    const setup = totpSetup(secret, async (code) => {
      const { backup_codes } = await post('/enrollment/totp', { token, code }, sessionWithCodesShape)
      const saved = backupCodes(backup_codes, () => location.replace('/'))
      showScene('Backup codes', plainScene('Save your backup codes', saved))
    })
    const scene = plainScene(
      'Set up your authenticator app',
      beforeYouFinish(),
      el('div', { class: 'card' }, setup),
      buttonRow(button(passkeysWork() ? 'Back: use a passkey instead' : 'Back', 'plain', back)),
    )
    showScene('Authenticator app', scene)
  }
  await slot.attempt(work, fields)
}

/** A person with codes alone cannot sign in on a second device (T15), which is better learnt now than then. */
function beforeYouFinish(): HTMLElement {
  return notice(
    'warning',
    'codes and backup codes sign you in only on browsers where you enrolled or set up the app before. On a new device, or once you clear this browser’s data, they do not let you in; a passkey does.',
  )
}
