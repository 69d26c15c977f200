import { visibleString } from '../../src/domain/text.ts'
import {
  backupCodesShape,
  creationOptionsShape,
  type Factors,
  okShape,
  type PasskeyEntry,
  totpSecretShape,
  type User,
} from '../../webauthn-page/kit/api/contract.ts'
import { post, put } from '../../webauthn-page/kit/api/request.ts'
import { list, object, text } from '../../webauthn-page/kit/api/shape.ts'
import { deviceName } from '../../webauthn-page/kit/device-name.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, hint, kind, link, note, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, form, nameField, wrong } from '../../webauthn-page/kit/dom/form.ts'
import { day, moment, timeZone } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { backupCodes, totpSetup } from '../../webauthn-page/kit/passkey/authenticator-app.ts'
import {
  createPasskey,
  type PasskeyHints,
  passkeyPlaces,
  passkeysWork,
} from '../../webauthn-page/kit/passkey/ceremony.ts'
import { isLockedOut } from '../../webauthn-page/kit/passkey/no-factor.ts'
import { readName } from '../../webauthn-page/kit/passkey/read-name.ts'
import { confirmed, type Proof, stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { authenticatorWords } from '../parts/authenticator-words.ts'
import { checkBox, choiceField } from '../parts/fields.ts'
import { ENDS, entry, tag } from '../parts/rows.ts'
import { type Section, section } from '../parts/section.ts'
import { atWallTime, wallTime } from '../parts/wall-time.ts'
import type { Done } from '../shell/page-entry.ts'

/** The person's passkeys. `done` reloads the page's data and shows the sentence it is given. */
export function passkeysSection(factors: Factors, done: Done): HTMLElement {
  const { passkeys, can_attest } = factors
  const removable = !isLockedOut(factors)
  const part = section(
    'Passkeys',
    'They sign you in and confirm your decisions. Keep two, on different devices.',
  )
  const list = el(
    'ul',
    { class: 'entries' },
    ...passkeys.map((one) => passkeyRow(part, one, removable, done)),
  )
  const ask = async (): Promise<void> => {
    const proof = await stepUp(
      'passkey.add',
      'Confirm with what you already have before a new passkey is added.',
    )
    if (proof === undefined) return
    const asked = newPasskeyForm(
      part,
      { proof, can_attest, taken: passkeys.map((one) => one.name) },
      done,
      () => {
        part.body.replaceChildren(...usual)
        add.focus()
      },
    )
    part.body.replaceChildren(list, asked)
    asked.querySelector('input')?.focus()
  }
  const add = button('Add a passkey', 'plain', () => part.slot.attempt(ask))
  const usual = [
    passkeys.length > 0 ? list : p('You have no passkey yet.'),
    passkeysWork() ? add : note('This browser cannot create passkeys here.'),
  ]
  part.body.append(...usual)
  return part.element
}

function passkeyRow(
  part: Section,
  { id, name, suspended, created_at, last_used_at, ...made }: PasskeyEntry,
  removable: boolean,
  done: Done,
): HTMLElement {
  const drop = async (): Promise<void> => {
    const purpose = [
      'Confirm with another passkey or a code that the passkey ',
      callerName(name),
      ' is to be removed.',
    ]
    const proof = await stepUp('passkey.remove', purpose, id)
    if (proof === undefined) return
    await post(`/me/passkeys/${id}/remove`, { proof }, okShape)
    await done('The passkey is removed.')
  }
  const used = last_used_at === null ? ['never used'] : ['last used ', day(last_used_at)]
  return entry(
    [callerText(name), made.synced && tag('Synced'), suspended && tag('Suspended', 'warn')],
    [hint(authenticatorWords(made), ' · created ', day(created_at), ' · ', ...used)],
    removable &&
      button('Remove', 'quiet', () => part.slot.attempt(drop), {
        'aria-label': `Remove the passkey ${visibleString(name)}`,
        class: ENDS,
      }),
  )
}

/** Returns the name, or with a number that no passkey of the person has yet. */
function newName(name: string, taken: readonly string[]): string {
  const names = [name, ...taken.map((_, at) => `${name} ${at + 2}`)]
  return names.find((one) => !taken.includes(one)) ?? name
}

/** Creates the passkey on a second press: browsers require a gesture for it. `failed` restores the previous content. */
function newPasskeyForm(
  part: Section,
  { proof, can_attest, taken }: { proof: Proof; can_attest: boolean | undefined; taken: readonly string[] },
  done: Done,
  failed: () => void,
): HTMLElement {
  const about = 'To keep it on a phone, choose another device in your browser’s prompt, and then the phone.'
  const name = nameField('Name of the new passkey', taken.length > 0 ? about : undefined, {
    value: newName(deviceName(), taken),
  })
  const make = checkBox('Verify its model', {
    hint: 'Your browser asks whether this service may see the model of the authenticator. Some accounts accept only such passkeys.',
    checked: false,
  })
  const create = async (hints: PasskeyHints): Promise<void> => {
    const said = readName(name, 'Give the passkey a name.')
    if (said === undefined) return
    try {
      const asked = { proof, attested: make.input.checked }
      const { options } = await post('/me/passkeys/options', asked, creationOptionsShape)
      const credential = await createPasskey({ ...options, hints }, part.slot)
      await post('/me/passkeys', { name: said, credential }, okShape)
      await done('The new passkey is ready.')
    } catch (error) {
      failed()
      part.slot.fail(error)
    }
  }
  const rows = [name.row, ...(can_attest === true ? [make.row] : [])]
  return form({}, () => create(['client-device']), ...rows, passkeyPlaces(create))
}

/** The authenticator app's codes, and the backup codes that come with them. */
export function codesSection({ totp, backup_codes_left }: Factors, done: Done): HTMLElement {
  const part = section(
    'Authenticator app',
    'Codes are for places where a passkey cannot be used. A fake site could steal a code; a passkey does not work there.',
  )
  if (!totp.enabled) {
    part.body.append(
      p(
        totp.since === null
          ? 'No authenticator app is set up.'
          : 'Your codes are switched off: too many wrong ones were entered. Set the app up again to get new ones.',
      ),
      button('Set up an authenticator app', 'plain', () => setUp(part, done)),
    )
    return part.element
  }
  part.body.append(
    div(
      'entry',
      p('In use', ...(totp.since === null ? [] : [' since ', day(totp.since)]), '.'),
      button('Remove', 'quiet', () => removeTotp(part, done), {
        'aria-label': 'Remove the authenticator app',
        class: ENDS,
      }),
    ),
    div(
      'entry',
      p(
        el('strong', {}, `${backup_codes_left} of 10`),
        ' backup codes left. They sign you in and never decide.',
      ),
      button('Renew', 'quiet', () => renew(part, done), { 'aria-label': 'Renew the backup codes' }),
    ),
  )
  part.body.append(knownBrowsersOnly())
  return part.element
}

/** The same warning as on the enrolment page (T15). */
function knownBrowsersOnly(): HTMLElement {
  return note(
    'Codes and backup codes sign you in only in browsers where you signed up or set up the app before. On a new device, or after you clear this browser’s data, use a passkey.',
  )
}

function setUp(part: Section, done: Done): Promise<void> {
  return part.slot.attempt(async () => {
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
    const usual = [...part.body.childNodes]
    const heading = el('h3', { tabindex: -1 }, 'Add Countersign to the app')
    const cancel = button('Cancel', 'quiet', () => {
      part.body.replaceChildren(...usual)
      part.body.querySelector('button')?.focus()
    })
    part.body.replaceChildren(heading, totpSetup(secret, finish), buttonRow(cancel))
    heading.focus()
  })
}

function removeTotp(part: Section, done: Done): Promise<void> {
  return part.slot.attempt(async () => {
    const proof = await stepUp(
      'totp.remove',
      'Confirm that codes will no longer sign you in or decide for you.',
    )
    if (proof === undefined) return
    await post('/me/totp/remove', { proof }, okShape)
    await done('The authenticator app is removed.')
  })
}

function renew(part: Section, done: Done): Promise<void> {
  return part.slot.attempt(async () => {
    const proof = await stepUp(
      'backup_codes.renew',
      'Confirm that you want ten new codes. The old ones stop working.',
    )
    if (proof === undefined) return
    const { backup_codes } = await post('/me/backup-codes', { proof }, backupCodesShape)
    showCodes(part, backup_codes, () => done('Your new backup codes work from now on.'))
  })
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

export const candidatesShape = object({ data: list(object({ user_id: text, email: text, name: text })) })

/** A person who may be the delegate. */
type Candidate = ReturnType<typeof candidatesShape>['data'][number]

/** The delegate, who decides for the person for a limited time. */
export function delegateSection(user: User, candidates: readonly Candidate[], done: Done): HTMLElement {
  const part = section(
    'Delegate',
    'While you are away, another person can decide for you with their own passkey. The signed statement of each decision then names both of you.',
  )
  if (user.delegate !== null) part.body.append(current(part, user.delegate, done))
  else if (candidates.length === 0)
    part.body.append(
      p(
        'No one can stand in for you yet: a delegate must be the owner or an approver of an account in which you also decide.',
      ),
    )
  else part.body.append(delegateForm(part, candidates, done))
  return part.element
}

function current(part: Section, delegate: NonNullable<User['delegate']>, done: Done): HTMLElement {
  const { name, email, starts_at, ends_at } = delegate
  const end = async (): Promise<void> => {
    await part.slot.attempt(async () => {
      await post('/me/delegate/remove', {}, okShape)
      await done('You no longer have a delegate.')
    })
  }
  return div(
    'entry',
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, callerText(name), ' ', kind(callerText(email))),
      hint('From ', moment(starts_at), ' until ', moment(ends_at)),
    ),
    button('End', 'quiet', end, { 'aria-label': 'End the delegation' }),
  )
}

function delegateForm(part: Section, candidates: readonly Candidate[], done: Done): HTMLElement {
  const who = choiceField({
    label: 'Who decides for you',
    name: 'user_id',
    choices: candidates.map(({ user_id, name, email }) => [user_id, `${name} (${email})`] as const),
    value: candidates[0]?.user_id ?? '',
  })
  const starts = timeField('From', 'starts_at', new Date())
  const ends = timeField('Until', 'ends_at', new Date(Date.now() + 7 * 86_400_000))
  const send = async (): Promise<void> => {
    const [starts_at, ends_at] = [readTime(starts), readTime(ends)]
    if (starts_at === undefined || ends_at === undefined) return
    if (ends_at <= starts_at) return wrong(ends, 'It must end after it begins.')
    const user_id = who.input.value
    const delegate = candidates.find((one) => one.user_id === user_id)
    const purpose = [
      'Confirm that ',
      el('strong', {}, callerText(delegate?.name ?? user_id), ' (', callerText(delegate?.email ?? ''), ')'),
      ' decides for you from ',
      moment(starts_at),
      ' until ',
      moment(ends_at),
      '.',
    ]
    const send = (given?: Proof) =>
      put('/me/delegate', { user_id, starts_at, ends_at, proof: given }, okShape)
    const set = await confirmed(purpose, send, 'delegate.change', user_id)
    if (set !== undefined) await done('Your delegate is set.')
  }
  return form(
    { class: 'stacked', 'aria-label': 'Delegate' },
    () => part.slot.attempt(send, { starts_at: starts, ends_at: ends }),
    who.row,
    div('pair', starts.row, ends.row),
    buttonRow(submitButton('Let them decide for me', 'plain')),
  )
}

/** A field for a time in the reader's own time zone, to the minute. */
function timeField(label: string, name: string, value: Date): Field {
  const attributes = { type: 'datetime-local', required: true, value: wallTime(value, timeZone).slice(0, 16) }
  return field({ label, name, attributes })
}

function readTime(time: Field): string | undefined {
  const read = atWallTime(time.input.value, timeZone)
  if (!Number.isNaN(read.getTime())) return read.toISOString()
  return wrong(time, 'Enter a day and a time.')
}

/** Says below the heading that a passkey is suspended. */
export function tellSuspended(scene: HTMLElement): void {
  const said = 'one of your passkeys is suspended, because a copy of it may exist. '
  scene.querySelector('h1')?.after(notice('warning', said, link('/account', 'See your account'), '.'))
}
