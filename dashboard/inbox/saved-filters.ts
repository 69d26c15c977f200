import { visibleString } from '../../src/domain/text.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { openDialog } from '../../webauthn-page/kit/dom/dialog.ts'
import { announce, el, hint, link } from '../../webauthn-page/kit/dom/element.ts'
import { field } from '../../webauthn-page/kit/dom/form.ts'
import { keep, kept } from '../../webauthn-page/kit/dom/kept.ts'

/** Filters of the inbox under a name that the person gave them. `query`: of the inbox's address. */
interface SavedFilter {
  name: string
  query: string
}

/** Where this browser keeps them: name and query of each in a line. They hold no request. */
const KEPT = 'inbox-filters'
const MOST = 20

/** Returns what this browser has saved. */
export function savedFilters(): SavedFilter[] {
  return (kept('localStorage', KEPT) ?? '').split('\n').flatMap((line) => {
    const [name = '', query = ''] = line.split('\t')
    return name === '' ? [] : [{ name, query }]
  })
}

function save(filters: readonly SavedFilter[]): boolean {
  const lines = filters.map(({ name, query }) => `${name}\t${query}`)
  return keep('localStorage', KEPT, lines.length === 0 ? null : lines.join('\n'))
}

/** The saved filters as links, each with a button that removes it, and the button that saves those of the address. */
export function savedFilterRow(): HTMLElement {
  const element = el('div', { class: 'saved-filters' })
  const show = (): void => {
    const filters = savedFilters()
    const rows = filters.map((filter) => savedRow(filter, show))
    const query = filterQuery()
    const isNew = query !== '' && filters.every((one) => one.query !== query)
    const more = isNew && button('Save these filters', 'quiet', () => askName(query, show))
    element.replaceChildren(...rows, ...(more === false ? [] : [more]))
    element.hidden = element.childElementCount === 0
  }
  show()
  element.addEventListener('filters-changed', show)
  return element
}

function savedRow({ name, query }: SavedFilter, show: () => void): HTMLElement {
  const remove = button(
    '×',
    'quiet',
    () => {
      save(savedFilters().filter((one) => one.name !== name))
      announce('Filter removed')
      show()
    },
    { 'aria-label': `Remove the filter ${visibleString(name)}` },
  )
  const current = query === filterQuery()
  return el(
    'span',
    { class: 'saved-filter' },
    link(`/?${query}`, visibleString(name), { 'aria-current': current && 'true' }),
    remove,
  )
}

/** The filters of the address, without the rest of it. */
function filterQuery(): string {
  const query = new URLSearchParams(location.search)
  for (const name of [...query.keys()])
    if (!['q', 'by', 'of', 'impact', 'group', 'sort'].includes(name)) query.delete(name)
  return query.toString()
}

async function askName(query: string, show: () => void): Promise<void> {
  const name = field({ label: 'Name', name: 'filter', attributes: { maxlength: 40, autocomplete: 'off' } })
  const given = await openDialog<string>('Save these filters', (close) => [
    hint('They are kept in this browser.'),
    name.row,
    buttonRow(
      button('Save', 'primary', () => {
        const words = name.input.value.replace(/\s+/g, ' ').trim()
        if (words === '') name.setError('Enter a name.')
        else close(words)
      }),
      button('Cancel', 'quiet', () => close()),
    ),
  ])
  if (given === undefined) return
  const others = savedFilters().filter((one) => one.name !== given)
  if (save([...others, { name: given, query }].slice(-MOST))) announce('Filters saved')
  else announce('This browser does not let the page store filters.')
  show()
}
