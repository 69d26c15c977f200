import { el } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/field.ts'
import { checkBox } from '../parts/check-box.ts'
import { approverChoice } from './approver-choice.ts'
import type { AccountPolicy, KeyPolicy } from './key-shapes.ts'

/** The fields of a key's own policy: it adds to the account's and takes nothing away. */
export interface PolicyFields {
  element: HTMLElement
  /** By the names of the service's refusals. */
  fields: Record<string, Field>
  /** What they say now: null for no policy of its own; undefined when something is wrong, and the fields say so. */
  read(): KeyPolicy | null | undefined
}

export function policyFields(account: AccountPolicy, policy: KeyPolicy | null): PolicyFields {
  const who = approverChoice(account.approvers, policy?.approvers)
  const quorum = field({
    label: 'Approvals needed, at least',
    name: 'quorum',
    hint: `The account asks for ${account.quorum}. Leave it empty to ask for no more.`,
    attributes: {
      inputmode: 'numeric',
      autocomplete: 'off',
      maxlength: 2,
      class: 'input short-input',
      value: policy?.quorum,
    },
  })
  const passkeys = checkBox(
    'Passkeys only',
    forced(account.passkey_only, policy?.passkey_only, 'No code counts.'),
  )
  const impact = checkBox(
    'Every request is high impact',
    forced(account.high_impact, policy?.high_impact, 'Whoever has a passkey must use it.'),
  )
  const element = el(
    'fieldset',
    { class: 'policy-fields' },
    el('legend', {}, 'Own policy'),
    el(
      'p',
      { class: 'hint' },
      'Stricter rules for the requests of this key alone. Together with the account’s policy, the stricter rule counts.',
    ),
    who.element,
    quorum.row,
    passkeys.row,
    impact.row,
  )
  const read = (): KeyPolicy | null | undefined => {
    const approvers = who.read()
    const needed = readQuorum(quorum, approvers?.length ?? account.approvers.length)
    if (approvers === 'nobody' || needed === 'wrong') return undefined
    const said: KeyPolicy = {
      approvers,
      quorum: needed,
      passkey_only: own(passkeys.input),
      high_impact: own(impact.input),
    }
    return Object.values(said).every((value) => value === undefined) ? null : said
  }
  return { element, fields: { 'policy.quorum': quorum }, read }
}

/** What the account demands of everybody, a key cannot change. */
function forced(byAccount: boolean, byKey: boolean | undefined, hint: string) {
  return byAccount
    ? { hint: 'The policy of the account asks for it already.', checked: true, disabled: true }
    : { hint, checked: byKey === true }
}

function own(input: HTMLInputElement): true | undefined {
  return input.checked && !input.disabled ? true : undefined
}

function readQuorum(quorum: Field, most: number): number | undefined | 'wrong' {
  const said = quorum.input.value.trim()
  if (said === '') return undefined
  const needed = /^\d+$/.test(said) ? Number(said) : 0
  if (needed >= 1 && needed <= most) return needed
  quorum.setError(most === 1 ? 'Only one person approves: enter 1.' : `Enter a number from 1 to ${most}.`)
  quorum.input.focus()
  return 'wrong'
}
