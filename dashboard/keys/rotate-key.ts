import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post, remove } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, facts, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { RowPanel } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { save } from './edit-key.ts'
import { loadKeys, revokeKey, secretOnDemand } from './key-actions.ts'
import { type Key, newKeyShape } from './key-shapes.ts'
import { namedKey, rulesWords } from './key-words.ts'
import { onceOnly } from './new-key.ts'

/** Says what rotating is, makes the new key, and leads to the page on which the old one is revoked. */
export function rotateKey(key: Key, panel: RowPanel, context: PageContext): void {
  const make = async (): Promise<void> => {
    const made = await makeSuccessor(key)
    if (made !== undefined) panel.show(successorView(made, key, context))
  }
  const go = button('Make the new key', 'primary', () => panel.slot.attempt(make))
  panel.show(
    el(
      'div',
      { class: 'panel-form' },
      el('h3', {}, 'Rotate this key in three steps'),
      p(...namedKey(key)),
      el(
        'ol',
        { class: 'steps' },
        el('li', {}, 'A new key with the same name and the same rules is made. The old one keeps working.'),
        el('li', {}, 'You put the new key wherever the old one is used.'),
        el('li', {}, 'You revoke the old key, when you see that the new one is in use.'),
      ),
      hint(
        'Each key sees only its own requests: wait with step 3 until what the old one asked is decided and read.',
      ),
      buttonRow(go, button('Cancel', 'plain', panel.close)),
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
    const purpose = [
      'Confirm that the new key ',
      ...namedKey(key),
      ' gets the rules of the one it replaces.',
      ...rulesWords({ policy }, []),
    ]
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
    p(onceOnly()),
    secretBox(rawKey, 'the API key'),
    secretOnDemand(key.id),
    buttonRow(button('I saved the new key', 'primary', () => context.go(switchOverPath(old.id, key.id)))),
  )
}

const POLL_MS = 5000

/** Where both keys of a rotation are shown. */
function switchOverPath(old: string, fresh: string): string {
  return `/keys?${new URLSearchParams({ old, new: fresh })}`
}

/**
 * The second half of a rotation, as the address says: when both keys were used last, and the way to revoke the old one. Not
 * there when one of them is gone.
 */
export function switchOver(keys: readonly Key[], context: PageContext): HTMLElement | undefined {
  const { query } = context
  const pair = pairIn(keys, query)
  if (pair === undefined) return undefined
  const part = section(
    'Switch over to the new key',
    'Put the new key wherever the old one is used. This page follows by itself; you can come back to it later by its address.',
  )
  const body = el('div', { class: 'switch-over', 'aria-live': 'polite' })
  part.body.append(body, choices(part, pair, context))
  let shown = ''
  const show = ({ old, fresh }: Pair): void => {
    const state = `${old.last_used_at} ${fresh.last_used_at}`
    if (state !== shown) body.replaceChildren(...pairView(old, fresh))
    shown = state
  }
  show(pair)
  whileVisible(part.element, POLL_MS, async () => {
    const now = await loadKeys().catch(() => undefined)
    const found = now && pairIn(now, query)
    if (found !== undefined) show(found)
    return true
  })
  return part.element
}

interface Pair {
  old: Key
  fresh: Key
}

function pairIn(keys: readonly Key[], query: URLSearchParams): Pair | undefined {
  const live = (name: string): Key | undefined =>
    keys.find(({ id, revoked_at }) => id === query.get(name) && revoked_at === null)
  const [old, fresh] = [live('old'), live('new')]
  return old === undefined || fresh === undefined || old === fresh ? undefined : { old, fresh }
}

function pairView(old: Key, fresh: Key): HTMLElement[] {
  const used = (key: Key): Child[] => [
    el('code', {}, `${key.key_prefix}…`),
    ' ',
    ...(key.last_used_at === null ? ['never used'] : ['last used ', moment(key.last_used_at)]),
  ]
  return [
    facts(['Name', callerText(fresh.name)], ['New key', ...used(fresh)], ['Old key', ...used(old)]),
    p(verdict(old, fresh)),
  ]
}

/** Times are to the minute: in the same minute the order is unknown. */
function verdict(old: Key, fresh: Key): string {
  if (fresh.last_used_at === null)
    return 'The new key was not used yet: whoever uses the old one still needs it.'
  if (old.last_used_at !== null && old.last_used_at >= fresh.last_used_at)
    return 'The old key is still in use somewhere.'
  return 'The new key is in use, and the old one was not used since. You can revoke the old one.'
}

function choices(part: Section, { old }: Pair, context: PageContext): HTMLElement {
  const revoke = button('Revoke the old key', 'danger', () =>
    revokeKey(old, part.slot, (message) => context.go('/keys', message)),
  )
  return buttonRow(revoke, link(context.href('/keys'), 'Later', { class: 'button plain' }))
}
