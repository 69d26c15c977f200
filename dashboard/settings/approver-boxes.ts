import { el } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { Member } from '../members/member-shapes.ts'
import { checkBox } from '../parts/check-box.ts'
import type { Policy } from './settings-shapes.ts'

/** Who of the account is asked. Nobody ticked means the owner alone. */
export interface ApproverBoxes {
  element: HTMLElement
  /** User ids. */
  read(): string[]
}

export function approverBoxes(policy: Policy, members: readonly Member[]): ApproverBoxes {
  const able = members.filter(({ role, state }) => role !== 'auditor' && state === 'active')
  const named = new Set(policy.approvers.map(({ user_id }) => user_id))
  const boxes = able.map(({ user_id, name, email, role, has_passkey, has_totp }) => {
    const label = el(
      'span',
      {},
      callerText(name),
      role === 'owner' && ' (you)',
      ' ',
      el('span', { class: 'kind' }, callerText(email)),
    )
    const hint = has_passkey
      ? undefined
      : has_totp
        ? 'has codes, no passkey'
        : 'has no passkey and no codes yet'
    const checked = named.size === 0 ? role === 'owner' : named.has(user_id)
    return { user_id, ...checkBox(label, { checked, ...(hint === undefined ? {} : { hint }) }) }
  })
  const element = el(
    'fieldset',
    {},
    el('legend', {}, 'Approvers'),
    el(
      'p',
      { class: 'hint' },
      able.length === 1 ? 'Invite people on the members page to name more.' : 'Nobody ticked: you alone.',
    ),
    ...boxes.map(({ row }) => row),
  )
  return {
    element,
    read: () => boxes.filter(({ input }) => input.checked).map(({ user_id }) => user_id),
  }
}
