import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { Member } from '../members/member-shapes.ts'
import type { Policy } from './settings-shapes.ts'

/** A policy as it is sent: people by their ids; nobody means the owner alone. */
type Rules = Omit<Policy, 'approvers' | 'reachable'> & { approvers: readonly string[] }

/** What is confirmed with a new policy, all of it: whoever sat down at an open page must not slip something in (T34). */
export function policyPurpose(rules: Rules, members: readonly Member[]): HTMLElement {
  const { approvers, quorum, passkey_only, high_impact, reminders } = rules
  const named = members.filter(({ user_id, role }) =>
    approvers.length === 0 ? role === 'owner' : approvers.includes(user_id),
  )
  const percents = reminders.map((fraction) => `${Math.round(fraction * 100)} %`).join(', ')
  return el(
    'span',
    {},
    'Confirm the new policy of the account. Approvers: ',
    ...named.flatMap(({ name }, index): Child[] => [index > 0 && ', ', el('strong', {}, callerText(name))]),
    '. Approvals needed: ',
    el('strong', {}, `${quorum}`),
    '. Passkeys only: ',
    yesNo(passkey_only),
    '. Every request is high impact: ',
    yesNo(high_impact),
    `. Reminders: ${percents === '' ? 'none' : percents}.`,
  )
}

function yesNo(said: boolean): HTMLElement {
  return el('strong', {}, said ? 'yes' : 'no')
}
