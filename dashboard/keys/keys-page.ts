import { el } from '../../webauthn-page/kit/dom/element.ts'
import { section } from '../parts/section.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { keyEntry } from './key-entry.ts'
import type { Key } from './key-shapes.ts'
import { repeatedNames } from './key-words.ts'
import { loadKeys } from './load-keys.ts'
import { newKeySection } from './new-key-form.ts'
import { switchOver } from './switch-over.ts'

/** `/keys`: the API keys of the account. */
export async function keysPage(context: PageContext): Promise<PageView> {
  const keys = await loadKeys()
  const none = el('p', {}, 'Every key is revoked. Create a new one below.')
  const create = newKeySection(keys.length === 0, context.done, () => {
    none.textContent =
      'Every other key is revoked. Your new one is below; it is listed here once you have saved it.'
  })
  const scene = el(
    'div',
    { class: 'keys' },
    el('h1', {}, 'API keys'),
    switchOver(keys, context),
    // Whoever has none came for one.
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
