import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, hint } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, filled, form, NAME_LENGTH } from '../../webauthn-page/kit/dom/form.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { allOrSome, checkBox, quorumField, readQuorum } from '../parts/fields.ts'
import type { RowPanel } from '../parts/rows.ts'
import { WAYS_OUT } from '../settings/policy-warnings.ts'
import type { Done } from '../shell/page-entry.ts'
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
export async function editKey(key: Key, panel: RowPanel, done: Done): Promise<void> {
  const account = await get('/account/policy', accountPolicyShape)
  const name = field({
    label: 'Name',
    name: 'name',
    hint: 'Approvers see it as the one who asks. Open requests keep the name they were made under.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: key.name },
  })
  const sourceControl = checkBox('For a source-control integration', {
    hint: 'All its requests are high impact: approvers who have a passkey must use it.',
    checked: key.source_control,
  })
  const policy = policyFields(account, key.policy)
  const send = async (): Promise<void> => {
    const called = filled(name, 'Give the key a name.')
    if (called === undefined) return
    const rules = policy.read()
    if (rules === undefined) return
    const change = changeOf(key, { name: called, source_control: sourceControl.input.checked, policy: rules })
    if (Object.keys(change).length === 0) return panel.close()
    const about = rulesWords(change, account.approvers)
    const purpose = ['Confirm the new rules of the API key ', ...namedKey(key), '.', ...about]
    try {
      if (await save(key.id, change, purpose)) await done('The API key is changed.')
    } catch (error) {
      if (!(error instanceof RequestFailure && error.code === 'no_eligible_approver')) throw error
      panel.slot.show('error', `with these rules no one could approve what this key asks. ${WAYS_OUT}`)
    }
  }
  panel.show(
    form(
      { class: 'panel-form', 'aria-label': 'Edit this API key' },
      () => panel.slot.attempt(send, { name, ...policy.fields }),
      name.row,
      sourceControl.row,
      policy.element,
      buttonRow(submitButton('Save'), button('Cancel', 'plain', panel.close)),
    ),
  )
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
export async function save(id: string, change: KeyChange, purpose: readonly Child[]): Promise<boolean> {
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
  const quorum = quorumField(
    'Approvals needed, at least',
    `The account asks for ${account.quorum}. Leave it empty to ask for no more.`,
    policy?.quorum,
  )
  const passkeys = checkBox(
    'Passkeys only',
    forced(account.passkey_only, policy?.passkey_only, 'No code counts.'),
  )
  const impact = checkBox(
    'Every request is high impact',
    forced(account.high_impact, policy?.high_impact, 'Approvers who have a passkey must use it.'),
  )
  const element = el(
    'fieldset',
    { class: 'policy-fields' },
    el('legend', {}, 'Own policy'),
    hint(
      'Stricter rules for the requests of this key alone. Together with the account’s policy, the stricter rule counts.',
    ),
    who.element,
    quorum.row,
    passkeys.row,
    impact.row,
  )
  const read = (): KeyPolicy | null | undefined => {
    const asked = who.read()
    const most = Array.isArray(asked) ? asked.length : account.approvers.length
    const none = quorum.input.value.trim() === ''
    const needed = none ? undefined : readQuorum(quorum, most, 'Only one person approves')
    if (asked === undefined || (needed === undefined && !none)) return undefined
    const said: KeyPolicy = {
      approvers: asked === 'all' ? undefined : asked,
      quorum: needed,
      passkey_only: own(passkeys.input),
      high_impact: own(impact.input),
    }
    return Object.values(said).every((value) => value === undefined) ? null : said
  }
  return { element, fields: { 'policy.quorum': quorum }, read }
}

/** What the account demands of all its keys, a key cannot change. */
function forced(byAccount: boolean, byKey: boolean | undefined, hint: string) {
  return byAccount
    ? { hint: 'The policy of the account asks for it already.', checked: true, disabled: true }
    : { hint, checked: byKey === true }
}

function own(input: HTMLInputElement): true | undefined {
  return input.checked && !input.disabled ? true : undefined
}

/** Who of the account's approvers is asked. @param named those the key names now; undefined for all */
function approverChoice(people: readonly PolicyApprover[], named: readonly string[] | undefined) {
  const gone = (named ?? []).filter((id) => !people.some(({ user_id }) => user_id === id)).length
  return allOrSome({
    legend: 'Who is asked',
    all: 'All approvers of the account',
    some: 'Only these of them',
    isAll: named === undefined,
    choices: people.map(({ user_id, name, email }) => ({
      value: user_id,
      label: el('span', {}, callerText(name), ' ', el('span', { class: 'kind' }, callerText(email))),
      checked: named?.includes(user_id) === true,
    })),
    missing: 'Choose at least one approver.',
    note: gone > 0 ? goneWords(gone) : undefined,
  })
}

function goneWords(gone: number): string {
  return gone === 1
    ? 'One person this key names is no longer an approver of the account and drops out when you save another policy.'
    : `${gone} people this key names are no longer approvers of the account and drop out when you save another policy.`
}
