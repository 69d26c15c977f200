import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { checkBox } from '../parts/check-box.ts'
import type { RowPanel } from '../parts/row-panel.ts'
import { WAYS_OUT } from '../settings/policy-warnings.ts'
import { accountPolicyShape, type Key, type KeyPolicy } from './key-shapes.ts'
import { namedKey, rulesWords } from './key-words.ts'
import { policyFields } from './policy-fields.ts'

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
