import { post } from '../../webauthn-page/kit/api/request.ts'
import { runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { checkBox } from '../parts/check-box.ts'
import { type Section, section } from '../parts/section.ts'
import { newKeyShape } from './key-shapes.ts'
import { newKeyView, onceOnly } from './new-key-view.ts'
import { scopeFields } from './scope-fields.ts'

type Done = (message?: string) => Promise<void>

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
    hint: 'Nobody is asked; its receipts say that they are of the sandbox.',
  })
  const sourceControl = checkBox('For a source-control integration', {
    hint: 'All its requests are high impact: whoever has a passkey must use it.',
  })
  const scopes = scopeFields()
  const form = el(
    'form',
    { novalidate: true, class: 'key-form' },
    name.row,
    sandbox.row,
    sourceControl.row,
    scopes.element,
    submitButton(first ? 'Create your first API key' : 'Create an API key', first ? 'primary' : 'plain'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    const said = name.input.value.trim()
    if (said === '') {
      name.setError('Give the key a name.')
      return name.input.focus()
    }
    const chosen = scopes.read()
    if (chosen === undefined) return
    const wanted = {
      name: said,
      sandbox: sandbox.input.checked,
      scopes: chosen,
      source_control: sourceControl.input.checked,
    }
    void runOnce(form, async () => {
      try {
        const { raw_key: rawKey, key } = await post('/account/api-keys', wanted, newKeyShape)
        const view = newKeyView({ rawKey, key, first }, location.origin, () => done())
        part.turnInto('Your new API key', onceOnly(), view)
        made()
      } catch (error) {
        part.slot.fail(error, { name })
      }
    })
  })
  return form
}
