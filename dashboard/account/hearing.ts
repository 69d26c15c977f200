import type { codeSentAnswer, hearingAnswer } from '../../src/http/api/hearing.ts'
import type { pushTestAnswer } from '../../src/http/api/push.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { okShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, post } from '../../webauthn-page/kit/api/request.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { div, el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, wrong } from '../../webauthn-page/kit/dom/form.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { checkBox, choiceField } from '../parts/fields.ts'
import { entry } from '../parts/rows.ts'
import { type OrFailure, orFailure, type Section, section, showFailure } from '../parts/section.ts'
import { volumeFields } from '../parts/volumes.ts'
import type { Done } from '../shell/page-entry.ts'
import { zones } from './times.ts'

type Hearing = Answer<typeof hearingAnswer>
const hearingShape = answer<Hearing>()
const sentShape = answer<Answer<typeof codeSentAnswer>>()
const testShape = answer<Answer<typeof pushTestAnswer>>()

/** @throws RequestFailure 401 */
export function loadHearing(): Promise<OrFailure<Hearing>> {
  return orFailure(get('/me/notifications', hearingShape))
}

/** "E-mail": confirms the address with which the person signs in; tests it and turns it off. */
export function mailSection(hearing: OrFailure<Hearing>, { email }: User, done: Done): HTMLElement {
  const part = section(
    'E-mail',
    'Mails name your pending requests. To decide, you need the page and your passkey or code.',
  )
  if ('failure' in hearing) return showFailure(part, hearing.failure, () => done())
  const { mail } = hearing
  if (mail === null) part.body.append(p('This service sends no e-mail.'))
  else if (mail.state === 'on') part.body.append(el('ul', { class: 'entries' }, row(part, mail, email, done)))
  else part.body.append(confirmation(part, mail, email, done))
  return part.element
}

type Mail = NonNullable<Hearing['mail']>

function row(part: Section, { id, last_sent_at }: Mail, email: string, done: Done): HTMLElement {
  const off = async (): Promise<void> => {
    const sure = await askFirst('Turn e-mail off?', 'Turn off', 'Mails no longer tell you of requests.')
    if (!sure) return
    await post(`/me/push/${id}/remove`, {}, okShape)
    await done('E-mail is turned off.')
  }
  const test = async (): Promise<void> => {
    const { sent } = await post(`/me/push/${id}/test`, {}, testShape)
    if (sent) part.slot.show('success', 'A test is on its way. If it does not arrive, look among the spam.')
    else part.slot.show('warning', REFUSED)
  }
  return entry(
    [callerText(email)],
    [hint(...(last_sent_at === null ? ['nothing sent yet'] : ['last sent ', day(last_sent_at)]))],
    buttonRow(
      button('Send a test', 'quiet', () => part.slot.attempt(test), {
        'aria-label': 'Send a test by e-mail',
      }),
      button('Turn off', 'quiet', () => part.slot.attempt(off), { 'aria-label': 'Turn e-mail off' }),
    ),
  )
}

const REFUSED = 'The mail relay did not accept the mail. Tell the operator of this service.'

/** Sends the code, and takes it back. */
function confirmation(part: Section, { state }: Mail, email: string, done: Done): HTMLElement {
  const send = async (): Promise<void> => {
    const { sent } = await post('/me/mail', {}, sentShape)
    if (!sent) return part.slot.show('warning', REFUSED)
    await done('A code is on its way to your address.')
  }
  const ask = (label: string, look: 'primary' | 'quiet') => button(label, look, () => part.slot.attempt(send))
  if (state !== 'unconfirmed')
    return div(
      'section-body',
      state === 'bounced' && hint('Your address refused our last mail, so nothing more was sent there.'),
      p('A code goes to ', callerText(email), ', to show that it is yours.'),
      buttonRow(ask('Turn on e-mail', 'primary')),
    )
  const code = field({
    label: 'Code from the mail',
    name: 'mail-code',
    hint: `The 8 digits that were sent to ${email}; they count for 30 minutes.`,
    attributes: {
      inputmode: 'numeric',
      autocomplete: 'one-time-code',
      maxlength: 12,
      class: 'input code-input',
    },
  })
  const confirm = async (): Promise<void> => {
    const said = filled(code, 'Enter the code.')
    if (said === undefined) return
    await post('/me/mail/confirm', { code: said }, hearingShape)
    await done('Mails tell you of your pending requests now.')
  }
  return form(
    { class: 'stacked', 'aria-label': 'Code from the mail' },
    () => part.slot.attempt(confirm, { code }),
    code.row,
    buttonRow(submitButton('Confirm the address'), ask('Send a new code', 'quiet')),
  )
}

/** "What you are told": which requests each channel tells, and the hours in which they keep still. */
export function hearingSection(hearing: OrFailure<Hearing>, done: Done): HTMLElement {
  const part = section(
    'What you are told',
    'Changes of your own passkeys and codes are told by each channel, always. Your inbox has every request.',
  )
  if ('failure' in hearing) return showFailure(part, hearing.failure, () => done())
  const { volumes, quiet_hours, mail } = hearing
  const own = checkBox('Choose myself', {
    hint: 'Otherwise the owner of each account chooses.',
    checked: volumes !== null,
  })
  const fields = volumeFields(volumes ?? ALL, mail !== null)
  const quiet = quietFields(quiet_hours)
  const follow = (): void => {
    fields.element.hidden = !own.input.checked
  }
  own.input.addEventListener('change', follow)
  follow()
  const save = async (): Promise<void> => {
    const hours = quiet.read()
    if (hours === undefined) return
    const wanted = { volumes: own.input.checked ? fields.read() : null, quiet_hours: hours }
    await patch('/me/notifications', wanted, hearingShape)
    await done('What you are told is saved.')
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'What you are told' },
      () => part.slot.attempt(save),
      own.row,
      fields.element,
      quiet.element,
      buttonRow(submitButton('Save what I am told')),
    ),
  )
  return part.element
}

const ALL = { chat: 'all', browser: 'all', mail: 'all' } as const

/** Quiet hours; `read` returns null for none, undefined after it has shown what is wrong. */
function quietFields(given: Hearing['quiet_hours']) {
  const on = checkBox('Quiet hours', {
    hint: 'Browsers and mails keep still then, and tell afterwards what still waits. Slack and Teams have quiet hours of their own.',
    checked: given !== null,
  })
  const time = (name: string, label: string, value: string) =>
    field({ label, name, attributes: { type: 'time', value } })
  const from = time('quiet-from', 'They begin at', given?.from ?? '22:00')
  const to = time('quiet-to', 'They end at', given?.to ?? '07:00')
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const zone = choiceField({
    label: 'Time zone of quiet hours',
    name: 'quiet-zone',
    choices: zones(),
    value: given?.time_zone ?? own,
  })
  const list = div('section-body sub-fields', from.row, to.row, zone.row)
  const follow = (): void => {
    list.hidden = !on.input.checked
  }
  on.input.addEventListener('change', follow)
  follow()
  return {
    element: div('section-body', on.row, list),
    read() {
      if (!on.input.checked) return null
      if (from.input.value === '') return wrong(from, 'Enter when they begin.')
      if (to.input.value === '') return wrong(to, 'Enter when they end.')
      if (from.input.value === to.input.value)
        return wrong(to, 'Enter another time than that at which they begin.')
      return { from: from.input.value, to: to.input.value, time_zone: zone.input.value }
    },
  }
}
