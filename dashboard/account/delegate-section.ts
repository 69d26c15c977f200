import { okShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { get, post, put } from '../../webauthn-page/kit/api/request.ts'
import { list, object, text } from '../../webauthn-page/kit/api/shape.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, form, wrong } from '../../webauthn-page/kit/dom/form.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { choiceField } from '../parts/fields.ts'
import { type Section, section } from '../parts/section.ts'
import type { Done } from '../shell/page-entry.ts'

const candidatesShape = object({ data: list(object({ user_id: text, email: text, name: text })) })

/** A person who may be the delegate. */
export type Candidate = ReturnType<typeof candidatesShape>['data'][number]

/** @throws RequestFailure, ShapeError */
export async function loadCandidates(): Promise<Candidate[]> {
  return (await get('/me/delegate/candidates', candidatesShape)).data
}

/** Who decides for the person for a while. */
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
  return el(
    'div',
    { class: 'entry' },
    el(
      'div',
      {},
      el(
        'p',
        { class: 'entry-name' },
        callerText(name),
        ' ',
        el('span', { class: 'kind' }, callerText(email)),
      ),
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
    const proof = await stepUp('delegate.change', purpose, user_id)
    if (proof === undefined) return
    await put('/me/delegate', { user_id, starts_at, ends_at, proof }, okShape)
    await done('Your delegate is set.')
  }
  return form(
    { class: 'stacked', 'aria-label': 'Delegate' },
    () => part.slot.attempt(send, { starts_at: starts, ends_at: ends }),
    who.row,
    el('div', { class: 'pair' }, starts.row, ends.row),
    buttonRow(submitButton('Let them decide for me', 'plain')),
  )
}

/** In the reader's own zone, to the minute. */
function timeField(label: string, name: string, value: Date): Field {
  const local = new Date(value.getTime() - value.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  return field({ label, name, attributes: { type: 'datetime-local', required: true, value: local } })
}

function readTime(time: Field): string | undefined {
  const read = new Date(time.input.value)
  if (!Number.isNaN(read.getTime())) return read.toISOString()
  return wrong(time, 'Enter a day and a time.')
}
