import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post, remove } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { rawKeyBox } from '../parts/key-commands.ts'
import type { RowPanel } from '../parts/row-panel.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { save } from './edit-key.ts'
import { type Key, newKeyShape } from './key-shapes.ts'
import { namedKey, rulesWords } from './key-words.ts'
import { onceOnly } from './new-key-view.ts'
import { secretOnDemand } from './secret-on-demand.ts'
import { switchOverPath } from './switch-over.ts'

/** Says what rotating is, makes the new key, and leads to the page on which the old one is revoked. */
export function rotateKey(key: Key, panel: RowPanel, context: PageContext): void {
  const go = button('Make the new key', 'primary', async () => {
    panel.slot.clear()
    try {
      const made = await makeSuccessor(key)
      if (made !== undefined) panel.show(successorView(made, key, context))
    } catch (error) {
      panel.slot.fail(error)
    }
  })
  panel.show(
    el(
      'div',
      { class: 'panel-form' },
      el('h3', {}, 'Rotate this key in three steps'),
      el('p', {}, ...namedKey(key)),
      el(
        'ol',
        { class: 'steps' },
        el('li', {}, 'A new key with the same name and the same rules is made. The old one keeps working.'),
        el('li', {}, 'You put the new key wherever the old one is used.'),
        el('li', {}, 'You revoke the old key, when you see that the new one is in use.'),
      ),
      el(
        'p',
        { class: 'hint' },
        'Each key sees only its own requests: wait with step 3 until what the old one asked is decided and read.',
      ),
      el('div', { class: 'buttons' }, go, button('Cancel', 'plain', panel.close)),
    ),
  )
}

/**
 * A key as the given one. It is handed out only with all its rules: when the confirmation fails, it is revoked again.
 * @returns undefined when the person cancelled
 */
async function makeSuccessor({
  name,
  sandbox,
  scopes,
  source_control,
  policy,
}: Key): Promise<{ rawKey: string; key: Key } | undefined> {
  const made = await post('/account/api-keys', { name, sandbox, scopes, source_control }, newKeyShape)
  const { raw_key: rawKey, key } = made
  if (policy === null) return { rawKey, key }
  try {
    const purpose = el(
      'span',
      {},
      'Confirm that the new key ',
      ...namedKey(key),
      ' gets the rules of the one it replaces.',
      ...rulesWords({ policy }, []),
    )
    if (await save(key.id, { policy }, purpose)) return { rawKey, key }
  } catch (error) {
    await withdraw(key, sentenceOf(error))
    throw error
  }
  await withdraw(key, 'You did not confirm its rules.')
  return undefined
}

/** @throws Error that names the key left behind */
async function withdraw({ id, key_prefix }: Key, why: string): Promise<void> {
  try {
    await remove(`/account/api-keys/${id}`, okShape)
  } catch {
    throw new Error(
      `${why} The new key ${key_prefix}… was made without these rules and could not be revoked: revoke it.`,
    )
  }
}

function successorView(
  { rawKey, key }: { rawKey: string; key: Key },
  old: Key,
  context: PageContext,
): HTMLElement {
  return el(
    'div',
    { class: 'panel-form' },
    el('h3', {}, 'The new key'),
    el('p', {}, onceOnly()),
    rawKeyBox(rawKey),
    secretOnDemand(key.id),
    el(
      'div',
      { class: 'buttons' },
      button('I saved the new key', 'primary', () => context.go(switchOverPath(old.id, key.id))),
    ),
  )
}
