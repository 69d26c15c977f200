import { foldText, holdsText } from '../../src/domain/search.ts'
import { pendingShape } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { openDialog } from '../../webauthn-page/kit/dom/dialog.ts'
import { type Child, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { savedFilters } from '../inbox/saved-filters.ts'

/** Something to go to: its words, by which it is found, and the element that shows them. */
interface Target {
  href: string
  words: string
  shown: Child
  kind: string
}

/** The most entries that are offered at once. */
const OFFERED = 12

/** Opens the palette: pages, saved filters and pending requests, found by typing. Resolves once it is closed. */
export async function openPalette(): Promise<void> {
  if (document.querySelector('dialog[open]') !== null) return
  const href = await openDialog<string>('Go to', (close) => [paletteList(close)])
  if (href !== undefined) location.assign(href)
}

function paletteList(close: (href: string) => void): HTMLElement {
  const [listId, targets] = [freshId('palette'), pagesAndFilters()]
  const list = el('ul', { id: listId, class: 'palette-list', role: 'listbox', 'aria-label': 'Found' })
  const input = el('input', {
    ...{
      class: 'input',
      type: 'search',
      placeholder: 'Page, filter or pending request',
      autocomplete: 'off',
    },
    ...{ role: 'combobox', 'aria-label': 'Go to', 'aria-controls': listId, 'aria-expanded': 'true' },
    ...{ 'aria-autocomplete': 'list', autofocus: true },
  })
  let found: Target[] = []
  let at = 0
  const mark = (): void => {
    for (const [index, row] of [...list.children].entries()) {
      row.setAttribute('aria-selected', String(index === at))
      if (index === at) {
        input.setAttribute('aria-activedescendant', row.id)
        row.scrollIntoView({ block: 'nearest' })
      }
    }
  }
  const offer = (): void => {
    const wanted = foldText(input.value.trim())
    found = targets.filter(({ words }) => holdsText(words, wanted)).slice(0, OFFERED)
    at = 0
    list.replaceChildren(...found.map((target) => rowOf(target, close)))
    if (found.length === 0) input.removeAttribute('aria-activedescendant')
    mark()
  }
  input.addEventListener('input', offer)
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const chosen = found[at]
    if (event.key === 'Enter' && chosen !== undefined) close(chosen.href)
    if (step === undefined || found.length === 0) return
    event.preventDefault()
    at = (at + step + found.length) % found.length
    mark()
  })
  offer()
  void pendingTargets().then((pending) => {
    targets.push(...pending)
    offer()
  })
  return el('div', { class: 'palette' }, input, list)
}

function rowOf({ href, shown, kind }: Target, close: (href: string) => void): HTMLElement {
  const row = el(
    'li',
    { role: 'option', id: freshId('option') },
    shown,
    ' ',
    el('span', { class: 'hint' }, kind),
  )
  row.addEventListener('click', () => close(href))
  return row
}

function pagesAndFilters(): Target[] {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('#navigation a')]
  const pages = links.map(({ href, textContent }) => ({
    href,
    words: textContent,
    shown: textContent,
    kind: 'page',
  }))
  const filters = savedFilters().map(({ name, query }) => ({
    ...{ href: `/?${query}`, words: name, shown: name, kind: 'saved filter' },
  }))
  return [...pages, ...filters]
}

/** The first pending requests; none if they cannot be read. */
async function pendingTargets(): Promise<Target[]> {
  const pending = await get('/me/pending', pendingShape).catch(() => ({ data: [] }))
  return pending.data.map(({ id, action, requested_by }) => ({
    href: `/a/${encodeURIComponent(id)}`,
    words: [id, action, requested_by.key_name, requested_by.account_name].join('\n'),
    shown: callerText(action),
    kind: 'pending request',
  }))
}
