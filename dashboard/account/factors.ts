import {
  backupCodesShape,
  creationOptionsShape,
  type Factors,
  okShape,
  type PasskeyEntry,
  totpSecretShape,
} from '../../webauthn-page/kit/api/contract.ts'
import { post } from '../../webauthn-page/kit/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { backupCodes, totpSetup } from '../../webauthn-page/kit/passkey/authenticator-app.ts'
import {
  createPasskey,
  deviceName,
  passkeysWork,
  promptNote,
} from '../../webauthn-page/kit/passkey/ceremony.ts'
import { type Proof, stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Section, section } from '../parts/section.ts'

/** `done` reloads the page's data and shows its sentence. */
export function passkeysSection(
  { passkeys }: Factors,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const part = section(
    'Passkeys',
    'They sign you in and confirm your decisions. Keep two, on different devices.',
  )
  const list = el('ul', { class: 'entries' }, ...passkeys.map((entry) => passkeyRow(part, entry, done)))
  const add = button('Add a passkey', 'plain', async () => {
    part.slot.clear()
    try {
      const proof = await stepUp(
        'passkey.add',
        'Confirm with what you already have before a new passkey is added.',
      )
      if (proof === undefined) return
      const form = newPasskeyForm(part, proof, done, () => {
        part.body.replaceChildren(...usual)
        add.focus()
      })
      part.body.replaceChildren(list, form)
      form.querySelector('input')?.focus()
    } catch (error) {
      part.slot.fail(error)
    }
  })
  const usual = [
    passkeys.length > 0 ? list : el('p', {}, 'You have no passkey yet.'),
    passkeysWork() ? add : el('p', { class: 'note' }, 'This browser cannot create passkeys here.'),
  ]
  part.body.append(...usual)
  return part.element
}

function passkeyRow(
  part: Section,
  entry: PasskeyEntry,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const removal = button(
    'Remove',
    'quiet',
    async () => {
      part.slot.clear()
      try {
        const proof = await stepUp(
          'passkey.remove',
          el(
            'span',
            {},
            'Confirm with another passkey or a code that the passkey ',
            el('strong', {}, callerText(entry.name)),
            ' shall go.',
          ),
          entry.id,
        )
        if (proof === undefined) return
        await post(`/me/passkeys/${entry.id}/remove`, { proof }, okShape)
        await done('The passkey is removed.')
      } catch (error) {
        part.slot.fail(error)
      }
    },
    { 'aria-label': `Remove the passkey ${entry.name}` },
  )
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el(
        'p',
        { class: 'entry-name' },
        callerText(entry.name),
        entry.synced && tag('Synced'),
        entry.suspended && tag('Suspended', 'warn'),
      ),
      el(
        'p',
        { class: 'hint' },
        'Created ',
        day(entry.created_at),
        ' · ',
        ...(entry.last_used_at === null ? ['never used'] : ['last used ', day(entry.last_used_at)]),
      ),
      entry.suspended &&
        el(
          'p',
          { class: 'field-error' },
          'Its counter went backwards, which can mean a copy. It no longer works; remove it.',
        ),
    ),
    removal,
  )
}

function tag(text: string, look = ''): HTMLElement {
  return el('span', { class: `tag ${look}` }, text)
}

/** A second press creates the passkey: browsers want a gesture of its own for it. `failed` brings back what was there. */
function newPasskeyForm(
  part: Section,
  proof: Proof,
  done: (message: string) => Promise<void>,
  failed: () => void,
): HTMLElement {
  const name = field({
    label: 'Name of the new passkey',
    name: 'name',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', value: deviceName() },
  })
  const form = el('form', { novalidate: true }, name.row, submitButton('Create the passkey'))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (name.input.value.trim() === '') return name.setError('Give the passkey a name.')
    void runOnce(form, async () => {
      try {
        const { options } = await post('/me/passkeys/options', { proof }, creationOptionsShape)
        part.slot.show('info', ...promptNote())
        const credential = await createPasskey(options)
        part.slot.clear()
        await post('/me/passkeys', { name: name.input.value.trim(), credential }, okShape)
        await done('The new passkey is ready.')
      } catch (error) {
        failed()
        part.slot.fail(error)
      }
    })
  })
  return form
}

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
