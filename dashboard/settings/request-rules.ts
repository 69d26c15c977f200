import { okShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { patch } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { field, form } from '../../webauthn-page/kit/dom/form.ts'
import { choiceField } from '../parts/fields.ts'
import { section } from '../parts/section.ts'
import type { Done } from '../shell/page-entry.ts'
import type { Account } from './settings-shapes.ts'

/** Waiting times in seconds, within the 60 seconds to 7 days that the service accepts. */
const TTLS = [
  ['300', '5 minutes'],
  ['900', '15 minutes'],
  ['1800', '30 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['28800', '8 hours'],
  ['86400', '1 day'],
  ['259200', '3 days'],
  ['604800', '7 days'],
] as const

/** How long a request to the owner's account is pending if its caller does not say. */
export function expirySection({ default_ttl_seconds }: User, done: Done): HTMLElement {
  const part = section('Expiry', 'When a request expires if its caller does not say.')
  const wanted = String(default_ttl_seconds)
  const known = TTLS.some(([seconds]) => seconds === wanted)
  const ttl = choiceField({
    label: 'Requests expire after',
    name: 'default_ttl_seconds',
    choices: known ? TTLS : [[wanted, `${wanted} seconds`], ...TTLS],
    value: wanted,
  })
  const save = async (): Promise<void> => {
    await patch('/me', { default_ttl_seconds: Number(ttl.input.value) }, okShape)
    await done('The expiry of new requests is saved.')
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'Expiry' },
      () => part.slot.attempt(save),
      ttl.row,
      buttonRow(submitButton('Save the expiry')),
    ),
  )
  return part.element
}

/** What approvers choose from, with one press, when they reject. */
export function reasonsSection({ reject_reasons }: Account, done: Done): HTMLElement {
  const part = section(
    'Reasons for rejecting',
    'Approvers choose one with a press; the caller gets it in the comment.',
  )
  const reasons = field({
    label: 'Reasons',
    name: 'reject_reasons',
    hint: 'One a line, at most 8. Empty for none.',
    multiline: true,
    attributes: { spellcheck: 'true', rows: Math.max(3, reject_reasons.length + 1) },
  })
  reasons.input.value = reject_reasons.join('\n')
  const save = async (): Promise<void> => {
    const lines = reasons.input.value.split('\n').map((line) => line.trim())
    await patch('/account', { reject_reasons: lines.filter((line) => line !== '') }, okShape)
    await done('The reasons for rejecting are saved.')
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'Reasons for rejecting' },
      () => part.slot.attempt(save, { reject_reasons: reasons }),
      reasons.row,
      buttonRow(submitButton('Save the reasons')),
    ),
  )
  return part.element
}
