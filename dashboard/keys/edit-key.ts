import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { checkBox } from '../parts/fields.ts'
import type { RowPanel } from '../parts/row-panel.ts'
import { WAYS_OUT } from '../settings/policy-warnings.ts'
import {
  type AccountPolicy,
  accountPolicyShape,
  type Key,
  type KeyPolicy,
  type PolicyApprover,
} from './key-shapes.ts'
import { namedKey, rulesWords } from './key-words.ts'

/** What is to be changed; what is left out stays. */
interface KeyChange {
  name?: string
  source_control?: boolean
  policy?: KeyPolicy | null
}

/** The form for name, source-control mark and own policy of a key. @throws RequestFailure, ShapeError */
export async function editKey(
  key: Key,
  panel: RowPanel,
  done: (message: string) => Promise<void>,
): Promise<void> {
  const account = await get('/account/policy', accountPolicyShape)
  const name = field({
    label: 'Name',
    name: 'name',
    hint: 'Approvers see it as the one who asks. Open requests keep the name they were made under.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: key.name },
  })
  const sourceControl = checkBox('For a source-control integration', {
    hint: 'All its requests are high impact: whoever has a passkey must use it.',
    checked: key.source_control,
  })
  const policy = policyFields(account, key.policy)
  const form = el(
    'form',
    { novalidate: true, class: 'panel-form', 'aria-label': 'Edit this API key' },
    name.row,
    sourceControl.row,
    policy.element,
    el('div', { class: 'buttons' }, submitButton('Save'), button('Cancel', 'plain', panel.close)),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    panel.slot.clear()
    if (name.input.value.trim() === '') {
      name.setError('Give the key a name.')
      return name.input.focus()
    }
    const rules = policy.read()
    if (rules === undefined) return
    const change = changeOf(key, {
      name: name.input.value.trim(),
      source_control: sourceControl.input.checked,
      policy: rules,
    })
    if (Object.keys(change).length === 0) return panel.close()
    void runOnce(form, async () => {
      try {
        const purpose = el(
          'span',
          {},
          'Confirm the new rules of the API key ',
          ...namedKey(key),
          '.',
          ...rulesWords(change, account.approvers),
        )
        if (await save(key.id, change, purpose)) await done('The API key is changed.')
      } catch (error) {
        if (error instanceof RequestFailure && error.code === 'no_eligible_approver')
          panel.slot.show('error', `with these rules nobody could approve what this key asks. ${WAYS_OUT}`)
        else panel.slot.fail(error, { name, ...policy.fields })
      }
    })
  })
  panel.show(form)
}

function changeOf(key: Key, said: Required<KeyChange>): KeyChange {
  return {
    ...(said.name === key.name ? {} : { name: said.name }),
    ...(said.source_control === key.source_control ? {} : { source_control: said.source_control }),
    ...(samePolicy(said.policy, key.policy) ? {} : { policy: said.policy }),
  }
}

function samePolicy(one: KeyPolicy | null, other: KeyPolicy | null): boolean {
  const written = (policy: KeyPolicy | null): string =>
    JSON.stringify([
      policy?.approvers?.toSorted() ?? null,
      policy?.quorum ?? null,
      policy?.passkey_only === true,
      policy?.high_impact === true,
    ])
  return written(one) === written(other)
}

/** Rules need a fresh proof, a name does not; `purpose` says what is confirmed. @returns false when the person cancelled */
export async function save(id: string, change: KeyChange, purpose: Child): Promise<boolean> {
  const rules = change.policy !== undefined || change.source_control !== undefined
  if (!rules) {
    await patch(`/account/api-keys/${id}`, change, okShape)
    return true
  }
  const proof = await stepUp('key.change', purpose, id)
  if (proof === undefined) return false
  await patch(`/account/api-keys/${id}`, { ...change, proof }, okShape)
  return true
}

/** The fields of a key's own policy: it adds to the account's and takes nothing away. */
interface PolicyFields {
  element: HTMLElement
  /** By the names of the service's refusals. */
  fields: Record<string, Field>
  /** What they say now: null for no policy of its own; undefined when something is wrong, and the fields say so. */
  read(): KeyPolicy | null | undefined
}

function policyFields(account: AccountPolicy, policy: KeyPolicy | null): PolicyFields {
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

/** Who of the account's approvers is asked. */
interface ApproverChoice {
  element: HTMLElement
  /** Undefined: all of them, later ones too. `nobody`: a choice of none, and the fields say so. */
  read(): string[] | undefined | 'nobody'
}

/** @param named those the key names now; undefined for all */
function approverChoice(
  people: readonly PolicyApprover[],
  named: readonly string[] | undefined,
): ApproverChoice {
  const group = freshId('who')
  const error = el('p', { class: 'field-error', id: `${group}-error` })
  const all = radio(group, 'All approvers of the account', named === undefined)
  const some = radio(group, 'Only these of them', named !== undefined)
  const boxes = people.map(({ user_id, name, email }) => {
    const label = el('span', {}, callerText(name), ' ', el('span', { class: 'kind' }, callerText(email)))
    return { user_id, ...checkBox(label, { checked: named?.includes(user_id) === true }) }
  })
  const list = el('div', { class: 'sub-fields' }, ...boxes.map(({ row }) => row))
  const gone = (named ?? []).filter((id) => !people.some(({ user_id }) => user_id === id)).length
  const follow = (): void => {
    list.hidden = !some.input.checked
    error.replaceChildren()
  }
  for (const { input } of [all, some, ...boxes]) input.addEventListener('change', follow)
  follow()
  const element = el(
    'fieldset',
    { 'aria-describedby': error.id },
    el('legend', {}, 'Who is asked'),
    all.row,
    some.row,
    list,
    gone > 0 && el('p', { class: 'hint' }, goneWords(gone)),
    error,
  )
  return {
    element,
    read() {
      if (!some.input.checked) return undefined
      const chosen = boxes.filter(({ input }) => input.checked).map(({ user_id }) => user_id)
      if (chosen.length > 0) return chosen
      error.textContent = 'Choose at least one approver.'
      boxes[0]?.input.focus()
      return 'nobody'
    },
  }
}

function goneWords(gone: number): string {
  return gone === 1
    ? 'One person this key names is no approver of the account any more and drops out when you save another policy.'
    : `${gone} people this key names are no approvers of the account any more and drop out when you save another policy.`
}

function radio(group: string, label: Child, checked: boolean): { row: HTMLElement; input: HTMLInputElement } {
  const id = freshId('choice')
  const input = el('input', { type: 'radio', name: group, id, checked })
  return { row: el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)), input }
}
