import { put, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import type { Member } from '../members/member-shapes.ts'
import { checkBox } from '../parts/check-box.ts'
import { section } from '../parts/section.ts'
import { approverBoxes } from './approver-boxes.ts'
import { policyPurpose } from './policy-purpose.ts'
import { policyWarnings, WAYS_OUT } from './policy-warnings.ts'
import { reminderField } from './reminder-field.ts'
import { type Policy, policyShape } from './settings-shapes.ts'

/** Who decides, and how. Open requests keep the policy they were made under. */
export function policySection(
  policy: Policy,
  members: readonly Member[],
  done: (message: string) => Promise<void>,
): HTMLElement {
  const part = section(
    'Policy',
    'Who decides about requests of this account. It counts from the next request on; one rejection always rejects.',
  )
  const who = approverBoxes(policy, members)
  const quorum = quorumField(policy.quorum)
  const passkeys = checkBox('Passkeys only', {
    hint: 'Nobody can decide with a code from an authenticator app.',
    checked: policy.passkey_only,
  })
  const impact = checkBox('Every request is high impact', {
    hint: 'Whoever has a passkey must use it. Callers can mark single requests, too.',
    checked: policy.high_impact,
  })
  const reminders = reminderField(policy.reminders)
  const form = el(
    'form',
    { novalidate: true, class: 'stacked', 'aria-label': 'Policy' },
    who.element,
    quorum.row,
    passkeys.row,
    impact.row,
    reminders.row,
    el('div', { class: 'buttons' }, submitButton('Save the policy')),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    const approvers = who.read()
    const needed = readQuorum(quorum, Math.max(1, approvers.length))
    const reminded = reminders.read()
    if (needed === undefined || reminded === undefined) return
    void runOnce(form, async () => {
      try {
        const rules = {
          approvers,
          quorum: needed,
          passkey_only: passkeys.input.checked,
          high_impact: impact.input.checked,
          reminders: reminded,
        }
        const proof = await stepUp('policy.change', policyPurpose(rules, members))
        if (proof === undefined) return
        await put('/account/policy', { ...rules, proof }, policyShape)
        await done('The policy is saved.')
      } catch (error) {
        if (error instanceof RequestFailure && error.code === 'no_eligible_approver')
          part.slot.show('error', `with this policy nobody could approve anything. ${WAYS_OUT}`)
        else part.slot.fail(error, { quorum, reminders })
      }
    })
  })
  part.body.append(...policyWarnings(policy), form)
  return part.element
}

function quorumField(quorum: number): Field {
  return field({
    label: 'Approvals needed',
    name: 'quorum',
    hint: 'How many different people must approve.',
    attributes: {
      inputmode: 'numeric',
      autocomplete: 'off',
      maxlength: 2,
      class: 'input short-input',
      value: quorum,
    },
  })
}

function readQuorum(quorum: Field, most: number): number | undefined {
  const said = quorum.input.value.trim()
  const needed = /^\d+$/.test(said) ? Number(said) : 0
  if (needed >= 1 && needed <= most) return needed
  quorum.setError(most === 1 ? 'Only one person is named: enter 1.' : `Enter a number from 1 to ${most}.`)
  quorum.input.focus()
  return undefined
}
