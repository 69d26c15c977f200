import { post } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, hint, link } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, NAME_LENGTH } from '../../webauthn-page/kit/dom/form.ts'
import { checkBox, someOf } from '../parts/fields.ts'
import { askCommand, command, secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { Done } from '../shell/page-entry.ts'
import { secretOnDemand } from './key-actions.ts'
import { type Key, newKeyShape } from './key-shapes.ts'

interface NewKey {
  rawKey: string
  /** Whether the account had none before. */
  first: boolean
  key: Pick<Key, 'id' | 'sandbox'>
}

/** What to know before reading on. */
export function onceOnly(): HTMLElement {
  return el(
    'span',
    {},
    'Copy it now. ',
    el('strong', {}, 'It is shown only this once'),
    ' and cannot be recovered.',
  )
}

/** The raw key, shown once, and the way from a first request to a receipt that was checked. */
function newKeyView(
  { rawKey, first, key: { id, sandbox } }: NewKey,
  origin: string,
  done: () => Promise<void>,
): HTMLElement {
  return el(
    'div',
    { class: 'new-key' },
    secretBox(rawKey, 'the API key'),
    el('h3', {}, first ? 'Ask for your first approval' : 'Ask for an approval'),
    hint('Run this in a terminal. The answer holds the id of the request.'),
    command(askCommand(rawKey, origin), 'the command that asks for an approval'),
    el('h3', {}, 'What comes next'),
    el(
      'ol',
      { class: 'steps' },
      sandbox
        ? el('li', {}, 'Wait a few seconds: a sandbox request is approved by itself, without a person.')
        : el(
            'li',
            {},
            'The request appears in your ',
            link('/', 'inbox'),
            ' by itself. Look at it and decide.',
          ),
      el(
        'li',
        {},
        'Read the decision, with the id in place of ',
        el('code', {}, 'req_…'),
        '. The call answers as soon as there is a decision.',
        command(read(rawKey, origin), 'the command that reads the decision'),
      ),
      el(
        'li',
        {},
        'Check the receipt yourself, in the folder of Countersign:',
        command(verify(origin, sandbox), 'the command that checks the receipt'),
      ),
    ),
    el('h3', {}, 'If it uses callbacks'),
    secretOnDemand(id),
    buttonRow(button('I saved the key', 'primary', done)),
  )
}

function read(rawKey: string, origin: string): string {
  return [
    `curl '${origin}/api/v1/approvals/req_…/wait?timeout=25' \\`,
    `  -H 'Authorization: Bearer ${rawKey}' > decision.json`,
  ].join('\n')
}

function verify(origin: string, sandbox: boolean): string {
  const keys = `--jwks ${origin}/.well-known/jwks.json`
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
    'An application or agent uses it to ask for approvals. A sandbox key decides by itself, for trying things out.',
  )
  part.body.append(keyForm(part, { first, done, made }))
  return part.element
}

interface KeyForm {
  first: boolean
  done: Done
  made(): void
}

function keyForm(part: Section, { first, done, made }: KeyForm): HTMLElement {
  const name = field({
    label: 'Name of the key',
    name: 'name',
    hint: 'Approvers see it as the one who asks, for example “deploy-bot”.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true },
  })
  const sandbox = checkBox('Sandbox key: every request is a dry run', {
    hint: 'No approver is asked; its receipts say that they come from the sandbox.',
  })
  const sourceControl = checkBox('For a source-control integration', {
    hint: 'All its requests are high impact: approvers who have a passkey must use it.',
  })
  const scopes = someOf({
    legend: 'What it may do',
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
    const { raw_key: rawKey, key } = await post('/account/api-keys', wanted, newKeyShape)
    const view = newKeyView({ rawKey, key, first }, location.origin, () => done())
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
    submitButton(first ? 'Create your first API key' : 'Create an API key', first ? 'primary' : 'plain'),
  )
}

/** What a key may be used for, and how people call it. */
export const SCOPES: readonly (readonly [scope: string, words: string])[] = [
  ['approval:create', 'Ask for approvals, remind, withdraw, use them up'],
  ['approval:read', 'Read requests and wait for decisions'],
  ['approval:verify', 'Verify receipts'],
]
