import { button } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, facts, link } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Section, section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import type { Key } from './key-shapes.ts'
import { loadKeys } from './load-keys.ts'
import { revokeKey } from './revoke-key.ts'

const POLL_MS = 5000

/** Where both keys of a rotation are shown. */
export function switchOverPath(old: string, fresh: string): string {
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
    el('p', {}, verdict(old, fresh)),
  ]
}

/** Times are to the minute: in the same minute nobody can tell. */
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
  return el(
    'div',
    { class: 'buttons' },
    revoke,
    link(context.href('/keys'), 'Later', { class: 'button plain' }),
  )
}
