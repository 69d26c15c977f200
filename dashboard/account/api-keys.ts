import { type ApiKeyEntry, apiKeysShape, newApiKeyShape, okShape } from '../../webauthn-page/api/contract.ts'
import { get, post, RequestFailure, remove } from '../../webauthn-page/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/dom/button.ts'
import { el, freshId } from '../../webauthn-page/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/dom/field.ts'
import { day } from '../../webauthn-page/dom/moment.ts'
import { callerText } from '../../webauthn-page/show/caller-text.ts'
import { askFirst } from '../parts/ask-first.ts'
import { type Section, section } from '../parts/section.ts'
import { newKeyView, onceOnly } from './new-key-view.ts'

/** All keys of the account, or undefined when this person owns none and may see none. */
export async function loadApiKeys(): Promise<ApiKeyEntry[] | undefined> {
  const keys: ApiKeyEntry[] = []
  let cursor = ''
  try {
    // A bound on pages: a service that never ends its list must not keep this page busy for ever.
    for (let page = 0; page < 50; page += 1) {
      const { data, next_cursor } = await get(`/account/api-keys${cursor}`, apiKeysShape)
      keys.push(...data)
      if (next_cursor === null) break
      cursor = `?cursor=${encodeURIComponent(next_cursor)}`
    }
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 403) return undefined
    throw error
  }
  return keys
}

type Done = (message?: string) => Promise<void>

export function apiKeysSection(keys: readonly ApiKeyEntry[], done: Done): HTMLElement {
  const first = keys.length === 0
  const part = section(
    first ? 'Create your first API key' : 'API keys',
    first
      ? 'An application or agent uses it to ask for approvals. A sandbox key decides by itself, for trying things out.'
      : 'Applications and agents ask with them. Revoking works at once and cannot be undone.',
  )
  const live = keys.filter((key) => key.revoked_at === null)
  const revoked = keys.filter((key) => key.revoked_at !== null)
  part.body.append(
    live.length > 0 ? el('ul', { class: 'entries' }, ...live.map((key) => keyRow(part, key, done))) : '',
    keyForm(part, first, done),
    revoked.length > 0
      ? el(
          'details',
          {},
          el('summary', {}, `Revoked keys (${revoked.length})`),
          el('ul', { class: 'entries' }, ...revoked.map((key) => keyRow(part, key, done))),
        )
      : '',
  )
  return part.element
}

function keyForm(part: Section, first: boolean, done: Done): HTMLElement {
  const name = field({
    label: 'Name of the key',
    name: 'name',
    hint: 'Approvers see it as the one who asks, for example “deploy-bot”.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true },
  })
  const id = freshId('sandbox')
  const sandbox = el('input', { type: 'checkbox', id })
  const form = el(
    'form',
    { novalidate: true, class: 'key-form' },
    name.row,
    el(
      'p',
      { class: 'check' },
      sandbox,
      ' ',
      el('label', { for: id }, 'Sandbox key: every request is a dry run'),
    ),
    submitButton(first ? 'Create your first API key' : 'Create an API key', first ? 'primary' : 'plain'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    if (name.input.value.trim() === '') {
      name.setError('Give the key a name.')
      return name.input.focus()
    }
    void runOnce(form, async () => {
      try {
        const made = await post(
          '/account/api-keys',
          { name: name.input.value.trim(), sandbox: sandbox.checked },
          newApiKeyShape,
        )
        const key = { rawKey: made.raw_key, sandbox: made.key.sandbox }
        part.turnInto(
          'Your new API key',
          onceOnly(),
          newKeyView(key, location.origin, () => done()),
        )
      } catch (error) {
        part.slot.fail(error, { name })
      }
    })
  })
  return form
}

function keyRow(part: Section, key: ApiKeyEntry, done: Done): HTMLElement {
  const used = key.last_used_at === null ? ['never used'] : ['last used ', day(key.last_used_at)]
  const revoke = async (): Promise<void> => {
    part.slot.clear()
    const sure = await askFirst(
      'Revoke this API key?',
      'Revoke',
      callerText(key.name),
      ' stops working at once, everywhere it is used. This cannot be undone.',
    )
    if (!sure) return
    try {
      await remove(`/account/api-keys/${key.id}`, okShape)
      await done('The API key is revoked.')
    } catch (error) {
      part.slot.fail(error)
    }
  }
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el(
        'p',
        { class: 'entry-name' },
        callerText(key.name),
        key.sandbox && el('span', { class: 'tag' }, 'Sandbox'),
      ),
      el(
        'p',
        { class: 'hint' },
        el('code', {}, `${key.key_prefix}…`),
        ' · created ',
        day(key.created_at),
        ' · ',
        ...used,
      ),
    ),
    key.revoked_at === null
      ? button('Revoke', 'quiet', revoke, { 'aria-label': `Revoke the API key ${key.name}` })
      : el('span', { class: 'hint' }, 'Revoked ', day(key.revoked_at)),
  )
}
