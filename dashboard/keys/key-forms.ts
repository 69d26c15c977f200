import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, div, el, hint, kind, link } from '../../webauthn-page/kit/dom/element.ts'
import { filled, form, nameField } from '../../webauthn-page/kit/dom/form.ts'
import { confirmed, type Proof } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { allOrSome, checkBox, quorumField, readQuorum, someOf } from '../parts/fields.ts'
import type { RowPanel } from '../parts/rows.ts'
import { askCommand, command, secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import { waysOut } from '../settings/policy-warnings.ts'
import { type Policy, policyShape } from '../settings/settings-shapes.ts'
import type { Done } from '../shell/page-entry.ts'
import { makeKey, secretOnDemand } from './key-actions.ts'
import type { Key, KeyPolicy } from './key-shapes.ts'
import { namedKey, rulesWords } from './key-words.ts'

/** The changes to a key; a missing field stays as it is. */
interface KeyChange {
  name?: string
  source_control?: boolean
  policy?: KeyPolicy | null
}

/** Shows the form for a key's name, source-control mark and own policy. @throws RequestFailure, ShapeError */
export async function editKey(key: Key, panel: RowPanel, done: Done): Promise<void> {
  const account = await get('/account/policy', policyShape)
  const name = nameField(
    'Name',
    'Approvers see it as “Requested by”. Pending requests keep the name they were made under.',
    { required: true, value: key.name },
  )
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
      panel.slot.show(
        'error',
        `with these rules no one could approve requests of this key. ${waysOut(account.confirmed_only)}`,
      )
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
      policy?.approvers === undefined ? null : [...policy.approvers].sort(),
      policy?.quorum ?? null,
      policy?.passkey_only === true,
      policy?.high_impact === true,
    ])
  return written(one) === written(other)
}

/** Saves the change. Rules need a fresh proof, a name does not; `purpose` is shown. @returns false if the person cancelled */
export async function save(id: string, change: KeyChange, purpose: readonly Child[]): Promise<boolean> {
  const rules = change.policy !== undefined || change.source_control !== undefined
  if (!rules) {
    await patch(`/account/api-keys/${id}`, change, okShape)
    return true
  }
  const send = (proof?: Proof) => patch(`/account/api-keys/${id}`, { ...change, proof }, okShape)
  return (await confirmed(purpose, send, 'key.change', id)) !== undefined
}

/**
 * The fields of a key's own policy, which adds to the account's policy and removes nothing. `fields` has them by the names
 * that the service's refusals use.
 */
function policyFields(account: Policy, policy: KeyPolicy | null) {
  const who = approverChoice(account.approvers, policy?.approvers)
  const quorum = quorumField(
    'Approvals needed, at least',
    `The account requires ${account.quorum}. Leave it empty to require no more.`,
    policy?.quorum,
  )
  const passkeys = checkBox(
    'Passkeys only',
    forced(account.passkey_only, policy?.passkey_only, 'Codes are not accepted.'),
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
  /** Reads the fields: null for no policy of its own; undefined if a field is wrong, which the field then says. */
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

/** The state of a box: a key cannot change a rule that the account sets for all its keys. */
function forced(byAccount: boolean, byKey: boolean | undefined, hint: string) {
  return byAccount
    ? { hint: 'The policy of the account already requires it.', checked: true, disabled: true }
    : { hint, checked: byKey === true }
}

function own(input: HTMLInputElement): true | undefined {
  return input.checked && !input.disabled ? true : undefined
}

/** The choice of the approvers who are asked. @param named the ids that the key names now; undefined for all approvers */
function approverChoice(people: Policy['approvers'], named: readonly string[] | undefined) {
  const gone = (named ?? []).filter((id) => !people.some(({ user_id }) => user_id === id)).length
  return allOrSome({
    legend: 'Approvers',
    all: 'All approvers of the account',
    some: 'Only these of them',
    isAll: named === undefined,
    choices: people.map(({ user_id, name, email }) => ({
      value: user_id,
      label: el('span', {}, callerText(name), ' ', kind(callerText(email))),
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

/** The warning above a new key: it is shown only once. */
export function onceOnly(): HTMLElement {
  return el(
    'span',
    {},
    'Copy it now. ',
    el('strong', {}, 'It is shown only this once'),
    ' and cannot be recovered.',
  )
}

/**
 * The raw key, shown once, and the way from a first request to a receipt that was checked.
 * @param first the account had none before
 */
function newKeyView(rawKey: string, { id, sandbox }: Key, first: boolean, done: Done): HTMLElement {
  return div(
    'new-key',
    secretBox(rawKey, 'the API key'),
    el('h3', {}, first ? 'Make your first request' : 'Make a request'),
    hint('Run this in a terminal. The answer contains the id of the request.'),
    command(askCommand(rawKey, origin), 'the command that makes a request'),
    el('h3', {}, 'Next steps'),
    el(
      'ol',
      { class: 'steps' },
      sandbox
        ? el('li', {}, 'Wait a few seconds: a sandbox request is approved automatically, without a person.')
        : el(
            'li',
            {},
            'The request appears in your ',
            link('/', 'inbox'),
            ' automatically. Review it and decide.',
          ),
      el(
        'li',
        {},
        'Read the decision, with the id in place of ',
        el('code', {}, 'req_…'),
        '. The call answers as soon as there is a decision.',
        command(read(rawKey), 'the command that reads the decision'),
      ),
      el(
        'li',
        {},
        'Check the receipt yourself, in the folder of Countersign:',
        command(verify(sandbox), 'the command that checks the receipt'),
      ),
    ),
    el('h3', {}, 'If it uses callbacks'),
    secretOnDemand(id),
    buttonRow(button('I saved the key', 'primary', () => done())),
  )
}

function read(rawKey: string): string {
  return [
    `curl '${location.origin}/api/v1/approvals/req_…/wait?timeout=25' \\`,
    `  -H 'Authorization: Bearer ${rawKey}' > decision.json`,
  ].join('\n')
}

function verify(sandbox: boolean): string {
  const keys = `--jwks ${location.origin}/.well-known/jwks.json`
  return ['npx countersign verify decision.json \\', `  ${keys}${sandbox ? ' --allow-sandbox' : ''}`].join(
    '\n',
  )
}

/**
 * The form for a new key; it becomes the key, shown once. `first`: the account has had none yet. `made` runs as soon as
 * there is one.
 */
export function newKeySection(first: boolean, done: Done, made: () => void): HTMLElement {
  const part = section(
    first ? 'Create your first API key' : 'Create an API key',
    'A caller (an application or agent) makes requests with it. Requests of a sandbox key are decided automatically, for testing.',
  )
  part.body.append(keyForm(part, first, done, made))
  return part.element
}

function keyForm(part: Section, first: boolean, done: Done, made: () => void): HTMLElement {
  const name = nameField('Name of the key', 'Approvers see it as “Requested by”, for example “deploy-bot”.', {
    required: true,
  })
  const sandbox = checkBox('Sandbox key: every request is a dry run', {
    hint: 'No approver is notified; its receipts say that they come from the sandbox.',
  })
  const sourceControl = checkBox('For a source-control integration', {
    hint: 'All its requests are high impact: approvers who have a passkey must use it.',
  })
  const scopes = someOf({
    legend: 'Permissions',
    choices: SCOPES.map(([value, label]) => ({ value, label, checked: true })),
    missing: 'Choose at least one.',
  })
  const create = async (): Promise<void> => {
    const said = filled(name, 'Give the key a name.')
    if (said === undefined) return
    const chosen = scopes.read()
    if (chosen === undefined) return
    const wanted = {
      name: said,
      sandbox: sandbox.input.checked,
      scopes: chosen,
      source_control: sourceControl.input.checked,
    }
    const answer = await makeKey(wanted)
    if (answer === undefined) return
    const { raw_key: rawKey, key } = answer
    const view = newKeyView(rawKey, key, first, done)
    part.turnInto('Your new API key', onceOnly(), view)
    made()
  }
  return form(
    { class: 'key-form' },
    () => part.slot.attempt(create, { name }),
    name.row,
    sandbox.row,
    sourceControl.row,
    scopes.element,
    submitButton(first ? 'Create your first API key' : 'Create an API key'),
  )
}

/** The scopes of a key, each with its words for people. */
export const SCOPES: readonly (readonly [scope: string, words: string])[] = [
  ['approval:create', 'Make requests, remind, withdraw, consume approvals'],
  ['approval:read', 'Read requests and wait for decisions'],
  ['approval:verify', 'Verify receipts'],
]
