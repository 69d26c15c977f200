import { visibleString } from '../../src/domain/text.ts'
import { type Attributes, type Child, el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { dayOrMinute } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { nameWarnings } from '../../webauthn-page/kit/show/chat.ts'
import { rowPanel, tag } from '../parts/rows.ts'
import { section } from '../parts/section.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { editKey } from './edit-key.ts'
import { loadKeys, revokeKey, signingSecret } from './key-actions.ts'
import type { Key } from './key-shapes.ts'
import { policyWords, repeatedNames } from './key-words.ts'
import { newKeySection, SCOPES } from './new-key.ts'
import { rotateKey, switchOver } from './rotate-key.ts'

/** `/keys`: the API keys of the account. */
export async function keysPage(context: PageContext): Promise<PageView> {
  const keys = await loadKeys()
  const none = p('Every key is revoked. Create a new one below.')
  const create = newKeySection(keys.length === 0, context.done, () => {
    none.textContent =
      'Every other key is revoked. Your new one is below; it is listed here once you have saved it.'
  })
  const scene = el(
    'div',
    { class: 'keys' },
    el('h1', {}, 'API keys'),
    switchOver(keys, context),
    // An owner without a key came for one.
    ...(keys.length === 0 ? [create] : [listSection(keys, none, context), create]),
  )
  return { title: 'API keys', scene, wide: true }
}

/** `none` stands where the live keys would. */
function listSection(keys: readonly Key[], none: HTMLElement, context: PageContext): HTMLElement {
  const part = section(
    'Keys of this account',
    'Applications and agents ask with them. Each sees only its own requests. Revoking works at once and cannot be undone.',
  )
  const twice = repeatedNames(keys.filter((key) => key.revoked_at === null))
  const calledIn = ({ name, key_prefix }: Key): string => (twice.has(name) ? `${name} ${key_prefix}…` : name)
  const rows = (wanted: readonly Key[]): HTMLElement =>
    el('ul', { class: 'entries' }, ...wanted.map((key) => keyEntry(key, calledIn(key), context)))
  const live = keys.filter((key) => key.revoked_at === null)
  const revoked = keys.filter((key) => key.revoked_at !== null)
  part.body.append(
    live.length > 0 ? rows(live) : none,
    revoked.length > 0
      ? el('details', {}, el('summary', {}, `Revoked keys (${revoked.length})`), rows(revoked))
      : '',
  )
  return part.element
}

/**
 * One key in the list: what it is, and for a live one what can be done with it, in place.
 * @param called how its buttons name it: apart from every other key in the list
 */
function keyEntry(key: Key, called: string, context: PageContext): HTMLElement {
  const about = el(
    'div',
    { class: 'key-about' },
    el('p', { class: 'entry-name' }, callerText(key.name), ...keyTags(key)),
    hint(el('code', {}, `${key.key_prefix}…`), ...times(key)),
    key.scopes.length < SCOPES.length && hint('Only for: ', key.scopes.join(', ')),
    ...nameWarnings(key.name),
    key.policy !== null && hint(`Own policy: ${policyWords(key.policy)}`),
  )
  if (key.revoked_at !== null) return el('li', { class: 'entry' }, about)
  const panel = rowPanel()
  const named = (verb: string): Attributes => ({
    'aria-label': `${verb} the API key ${visibleString(called)}`,
  })
  return el(
    'li',
    { class: 'entry' },
    about,
    el(
      'div',
      { class: 'entry-buttons' },
      panel.opener('Edit', named('Edit'), () => editKey(key, panel, context.done)),
      panel.opener('Rotate', named('Rotate'), () => rotateKey(key, panel, context)),
      panel.opener(
        'Signing secret',
        { 'aria-label': `Signing secret of the API key ${visibleString(called)}` },
        () => signingSecret(key, panel),
      ),
      panel.opener('Revoke', named('Revoke'), () => revokeKey(key, panel.slot, context.done)),
    ),
    panel.element,
  )
}

/** What kind of key it is. */
function keyTags(key: Key): HTMLElement[] {
  return [
    key.sandbox ? tag('Sandbox') : tag('Live', 'live'),
    ...(key.source_control ? [tag('Source control', 'warn')] : []),
    ...(key.policy === null ? [] : [tag('Own policy')]),
  ]
}

function times(key: Key): Child[] {
  const used = key.last_used_at === null ? ['never used'] : ['last used ', dayOrMinute(key.last_used_at)]
  const gone = key.revoked_at === null ? [] : [' · revoked ', dayOrMinute(key.revoked_at)]
  return [' · created ', dayOrMinute(key.created_at), ' · ', ...used, ...gone]
}
