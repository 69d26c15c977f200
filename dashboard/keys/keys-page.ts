import { visibleString } from '../../src/domain/text.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { remove } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import {
  type Attributes,
  type Child,
  div,
  el,
  facts,
  hint,
  link,
  p,
} from '../../webauthn-page/kit/dom/element.ts'
import { field } from '../../webauthn-page/kit/dom/form.ts'
import { ago, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { nameWarnings } from '../../webauthn-page/kit/show/chat.ts'
import { fileButtons } from '../parts/file-buttons.ts'
import { withFilters } from '../parts/filters.ts'
import { ENDS, type RowPanel, rowPanel, tag } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { keepInAddress } from '../shell/shown-address.ts'
import { loadKeys, makeKey, revokeKey, secretOnDemand, signingSecret } from './key-actions.ts'
import { editKey, newKeySection, onceOnly, SCOPES, save } from './key-forms.ts'
import type { Key } from './key-shapes.ts'
import { namedKey, policyWords, repeatedNames, rulesWords } from './key-words.ts'

/** `/keys`: the API keys of the account. */
export async function keysPage(context: PageContext): Promise<PageView> {
  const keys = await loadKeys()
  const none = p('Every key is revoked. Create a new one below.')
  const create = newKeySection(keys.length === 0, context.done, () => {
    none.textContent =
      'Every other key is revoked. Your new one is below; it is listed here once you have saved it.'
  })
  const scene = div(
    'keys',
    el('h1', {}, 'API keys'),
    switchOver(keys, context),
    // An owner without a key came to create one.
    ...(keys.length === 0 ? [create] : [listSection(keys, none, context), create]),
  )
  return { title: 'API keys', scene, wide: true }
}

/** The list of keys; `none` takes the place of the live keys if there are none. */
function listSection(keys: readonly Key[], none: HTMLElement, context: PageContext): HTMLElement {
  const part = section(
    'Keys of this account',
    'Callers make requests with them. Each key sees only its own requests. Revoking a key takes effect at once and cannot be undone.',
  )
  const twice = repeatedNames(keys.filter((key) => key.revoked_at === null))
  const calledIn = ({ name, key_prefix }: Key): string => (twice.has(name) ? `${name} ${key_prefix}…` : name)
  const rows = (wanted: readonly Key[]): HTMLElement =>
    el('ul', { class: 'entries' }, ...wanted.map((key) => keyEntry(key, calledIn(key), context)))
  const live = keys.filter((key) => key.revoked_at === null)
  const revoked = keys.filter((key) => key.revoked_at !== null)
  const gone = el('details', {}, el('summary', {}, `Revoked keys (${revoked.length})`), rows(revoked))
  const shown = (): readonly Key[] => {
    const found = [...part.body.querySelectorAll<HTMLElement>('.entry:not([hidden])')].map(({ id }) => id)
    return keys.filter(({ id }) => found.includes(id))
  }
  const file = fileButtons({
    name: 'api-keys',
    columns: KEY_COLUMNS,
    rows: shown,
    slot: part.slot,
  })
  const search = keys.length > 1 || context.query.has('q') ? keySearch(part.body, gone, context) : ''
  part.body.append(
    div('list-tools', search, file),
    live.length > 0 ? rows(live) : none,
    revoked.length > 0 ? gone : '',
  )
  return part.element
}

const KEY_COLUMNS = {
  id: ({ id }: Key) => id,
  name: ({ name }: Key) => name,
  key_prefix: ({ key_prefix }: Key) => key_prefix,
  sandbox: ({ sandbox }: Key) => String(sandbox),
  scopes: ({ scopes }: Key) => scopes.join(' '),
  source_control: ({ source_control }: Key) => String(source_control),
  created_at: ({ created_at }: Key) => created_at,
  last_used_at: ({ last_used_at }: Key) => last_used_at ?? '',
  revoked_at: ({ revoked_at }: Key) => revoked_at ?? '',
}

/** Filters the keys by name, prefix or id while the person types; the address keeps the text. */
function keySearch(list: HTMLElement, revoked: HTMLDetailsElement, { query }: PageContext): HTMLElement {
  const search = field({
    label: 'Find a key',
    name: 'q',
    attributes: { type: 'search', value: query.get('q') ?? '', autocomplete: 'off' },
  })
  const narrow = (): void => {
    const wanted = folded(search.input.value.trim())
    for (const entry of list.querySelectorAll<HTMLElement>('[data-key]'))
      entry.hidden = !folded(entry.dataset.key ?? '').includes(wanted)
    if (wanted !== '') revoked.open = revoked.querySelector('[data-key]:not([hidden])') !== null
  }
  search.input.addEventListener('input', () => {
    narrow()
    keepInAddress([{ name: 'q', value: search.input.value.trim() }])
  })
  queueMicrotask(narrow)
  return search.row
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * One key in a line, linked to its requests; a live key also has its actions in place.
 * @param called its name in the labels of its buttons, distinct from every other key in the list
 */
function keyEntry(key: Key, called: string, context: PageContext): HTMLElement {
  const asked = link(withFilters(context.href('/requests'), [['key', key.id]]), '', {
    class: 'row-link',
    'aria-label': `Requests of the API key ${visibleString(called)}`,
  })
  asked.append(callerText(key.name))
  const about = div(
    'key-about entry-line',
    el('p', { class: 'entry-name' }, asked, ...keyTags(key)),
    hint(el('code', {}, `${key.key_prefix}…`), ...times(key)),
    key.scopes.length < SCOPES.length && hint('Only for: ', key.scopes.join(', ')),
    ...nameWarnings(key.name),
    key.policy !== null && hint(`Own policy: ${policyWords(key.policy)}`),
  )
  const found = { class: 'entry', id: key.id, 'data-key': `${key.name} ${key.key_prefix} ${key.id}` }
  if (key.revoked_at !== null) return el('li', found, about)
  const panel = rowPanel()
  const named = (verb: string): Attributes => ({
    'aria-label': `${verb} the API key ${visibleString(called)}`,
  })
  return el(
    'li',
    found,
    about,
    div(
      'entry-buttons',
      panel.opener('Edit', named('Edit'), () => editKey(key, panel, context.done)),
      panel.opener('Rotate', named('Rotate'), () => rotateKey(key, panel, context)),
      panel.opener('Signing secret', named('Signing secret of'), () => signingSecret(key, panel)),
      panel.opener('Revoke', { ...named('Revoke'), class: ENDS }, () => revokeKey(key, panel.slot, context)),
    ),
    panel.element,
  )
}

/** Tags for the kind of key. */
function keyTags(key: Key): HTMLElement[] {
  return [
    key.sandbox ? tag('Sandbox') : tag('Live', 'live'),
    ...(key.source_control ? [tag('Source control', 'warn')] : []),
    ...(key.policy === null ? [] : [tag('Own policy')]),
  ]
}

function times(key: Key): Child[] {
  const used = key.last_used_at === null ? ['never used'] : ['last used ', ago(key.last_used_at)]
  const gone = key.revoked_at === null ? [] : [' · revoked ', ago(key.revoked_at)]
  // A phone has room for one line: the last use says more than the creation.
  const look = key.last_used_at === null ? undefined : 'not-on-phones'
  return [el('span', { class: look }, ' · created ', ago(key.created_at)), ' · ', ...used, ...gone]
}

/** Explains the rotation, makes the new key, and leads to the page on which the old key is revoked. */
function rotateKey(key: Key, panel: RowPanel, context: PageContext): void {
  const make = async (): Promise<void> => {
    const made = await makeSuccessor(key)
    if (made !== undefined) panel.show(successorView(made, key, context), 'once')
  }
  const go = button('Make the new key', 'primary', () => panel.slot.attempt(make))
  panel.show(
    div(
      'panel-form',
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
        'Each key sees only its own requests: before step 3, wait until the requests of the old one are decided and read.',
      ),
      buttonRow(go, button('Cancel', 'plain', panel.close)),
    ),
  )
}

/**
 * Makes a key with the name and rules of the given one. The new key is handed out only with all its rules: if their
 * confirmation fails, it is revoked again.
 * @returns undefined if the person cancelled
 */
async function makeSuccessor({
  name,
  sandbox,
  scopes,
  source_control,
  policy,
}: Key): Promise<{ rawKey: string; key: Key } | undefined> {
  const made = await makeKey({ name, sandbox, scopes, source_control })
  if (made === undefined) return undefined
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

/** Revokes the new key. @throws Error that names the key, if it could not be revoked */
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
  return div(
    'panel-form',
    el('h3', {}, 'The new key'),
    p(onceOnly()),
    secretBox(rawKey, 'the API key'),
    secretOnDemand(key.id),
    buttonRow(button('I saved the new key', 'primary', () => context.go(switchOverPath(old.id, key.id)))),
  )
}

const POLL_MS = 5000

/** The path of the page that shows both keys of a rotation. */
function switchOverPath(old: string, fresh: string): string {
  return `/keys?${new URLSearchParams({ old, new: fresh })}`
}

/**
 * The second half of a rotation, whose keys the address names: when both keys were last used, and the button to revoke the
 * old one. Undefined if one of them is revoked or missing.
 */
function switchOver(keys: readonly Key[], context: PageContext): HTMLElement | undefined {
  const { query } = context
  const pair = pairIn(keys, query)
  if (pair === undefined) return undefined
  const part = section(
    'Switch over to the new key',
    'Put the new key wherever the old one is used. This page updates automatically; you can return to it later by its address.',
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

/** Tells whether the old key is still in use. Times are to the minute: within the same minute the order is unknown. */
function verdict(old: Key, fresh: Key): string {
  if (fresh.last_used_at === null)
    return 'The new key has not been used yet: its caller still needs the old one.'
  if (old.last_used_at !== null && old.last_used_at >= fresh.last_used_at)
    return 'The old key is still in use somewhere.'
  return 'The new key is in use, and the old one has not been used since. You can revoke the old one.'
}

function choices(part: Section, { old }: Pair, context: PageContext): HTMLElement {
  const revoke = button('Revoke the old key', 'danger', () =>
    revokeKey(old, part.slot, { ...context, done: (message) => context.go('/keys', message) }),
  )
  return buttonRow(revoke, link(context.href('/keys'), 'Later', { class: 'button plain' }))
}
