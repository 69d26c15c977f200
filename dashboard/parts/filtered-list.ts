import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import type { Shape } from '../../webauthn-page/kit/api/shape.ts'
import { submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, form } from '../../webauthn-page/kit/dom/form.ts'
import { timeZone } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot, sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { replaceAddress } from '../shell/shown-address.ts'
import type { ChoiceField } from './fields.ts'
import { downloadWords } from './file-buttons.ts'
import { type Filters, filtersIn, forService, withFilters } from './filters.ts'
import type { ListPage } from './read-on.ts'
import { shortcuts } from './shortcuts.ts'
import { showMore } from './show-more.ts'

/** The heading of what the filters found: after Enter the focus goes there. */
export const RESULTS_ID = 'results'

/** Where the rows of one answer go. */
interface RowList<T> {
  element: HTMLElement
  /** Adds rows. @returns what the focus can go to in the first of them */
  add(rows: readonly T[]): HTMLElement | undefined
}

interface FilteredList<T, Page extends ListPage<T>> {
  context: PageContext
  /** Of this page in the dashboard, and below `/account` of its list and file in the API. */
  path: string
  /** The filters, as the service and the address name them. */
  names: readonly string[]
  /** The search is always in sight; the others stand behind "Filters", open while one of them is set. */
  fields(filters: Filters): { search: Field; others: readonly (Field | ChoiceField)[] }
  shape: Shape<Page>
  /** A new list, empty, of what these filters find. */
  list(filters: Filters): RowList<T> & { learn?(page: Page): void }
  /** What one entry and several are called. */
  called: readonly [one: string, many: string]
  /** Said where there is nothing at all. */
  none: string
  /** What stands below a list. */
  below?(): HTMLElement
}

/**
 * A list that is narrowed as one types. What is chosen goes into the address, so that it can be kept, and the file has exactly
 * what the filters find.
 * @throws RequestFailure, ShapeError
 */
export async function filteredList<T, Page extends ListPage<T>>(
  options: FilteredList<T, Page>,
): Promise<HTMLElement[]> {
  const { context, path, names } = options
  let filters = filtersIn(context.query, names)
  const { search, others } = options.fields(filters)
  // The button beside it says the same.
  search.row.querySelector('label')?.classList.add('visually-hidden')
  const fields = [search, ...others]
  const slot = noticeSlot()
  const results = div('results')
  const { clear, folded, say } = aroundFilters(context.href(path), others, filters)
  let asked = 0
  const look = async (): Promise<void> => {
    asked += 1
    const mine = asked
    const loading = get(addressOf(options, filters), options.shape)
    const found = await loading.catch((error: unknown) => aboutFilter(error, names))
    if (mine !== asked) return
    const wrong = found instanceof RequestFailure ? found : undefined
    for (const { input, setError } of fields)
      setError(input.name === wrong?.field ? sentenceOf(wrong) : undefined)
    results.replaceChildren(...(found instanceof RequestFailure ? [] : foundList(options, filters, found)))
  }
  const find = async (): Promise<void> => {
    await slot.attempt(look)
    announce(results.querySelector('h2')?.textContent ?? '')
  }
  let finding = Promise.resolve()
  const apply = (): Promise<void> => {
    const now = valuesOf(fields)
    // Enter may come while what was typed is looked for: the focus goes to what that finds.
    if (withFilters('', now) === withFilters('', filters)) return finding
    filters = now
    replaceAddress(withFilters(context.href(path), filters))
    say(filters)
    finding = find()
    return finding
  }
  await look()
  const send = (): Promise<void> => apply().then(showOutcome)
  const parts = [search.row, submitButton('Search'), clear, folded, slot.element]
  const element = form({ class: 'filter-form', role: 'search' }, send, ...parts)
  applyWhileTyping(element, apply)
  shortcuts([{ key: '/', does: 'Search', run: () => search.input.focus() }], context.signal)
  return [element, results]
}

/** The way back to everything, and the filters that are not always in sight. */
function aroundFilters(address: string, others: readonly (Field | ChoiceField)[], first: Filters) {
  const clear = link(address, 'Clear all', { class: 'button plain' })
  const summary = el('summary', {})
  const isSet = (filters: Filters): number => others.filter(({ input }) => filters.has(input.name)).length
  const say = (filters: Filters): void => {
    const set = isSet(filters)
    summary.textContent = set === 0 ? 'Filters' : `Filters: ${set} set`
    clear.hidden = filters.size === 0
  }
  say(first)
  const rows = div('filter-fields', ...others.map(({ row }) => row))
  return { clear, say, folded: el('details', { class: 'filters', open: isSet(first) > 0 }, summary, rows) }
}

const PAUSE_MS = 250

/** After a short pause of the typing; a choice counts at once. */
function applyWhileTyping(element: HTMLElement, apply: () => Promise<void>): void {
  let pause: ReturnType<typeof setTimeout> | undefined
  element.addEventListener('input', ({ target }) => {
    clearTimeout(pause)
    const typed = target instanceof HTMLInputElement && ['text', 'search'].includes(target.type)
    pause = setTimeout(() => void apply(), typed ? PAUSE_MS : 0)
  })
}

function addressOf(
  { context, path }: Pick<FilteredList<never, never>, 'context' | 'path'>,
  filters: Filters,
  more: readonly (readonly [string, string])[] = [],
): string {
  return withFilters(context.ofAccount(`/account${path}`), [...forService(filters, timeZone), ...more])
}

function valuesOf(fields: readonly (Field | ChoiceField)[]): Filters {
  return new Map(
    fields.flatMap(({ input }) => {
      const value = input.value.trim()
      return value === '' ? [] : [[input.name, value] as const]
    }),
  )
}

/** After a search a person wants to read what was found, or what is wrong. */
function showOutcome(): void {
  const refused = document.querySelector<HTMLElement>('.filter-form [aria-invalid="true"]')
  const heading = document.querySelector<HTMLElement>(`#${RESULTS_ID}`)
  if (refused !== null) refused.focus()
  else heading?.focus()
}

/** A refusal that names one of the filters is no failure of the page. @throws every other error */
function aboutFilter(error: unknown, names: readonly string[]): RequestFailure {
  if (error instanceof RequestFailure && names.includes(error.field ?? '')) return error
  throw error
}

/** What the filters found: how much it is, the files, the list or why it is empty, and the way to more. */
function foundList<T, Page extends ListPage<T>>(
  options: FilteredList<T, Page>,
  filters: Filters,
  first: Page,
): HTMLElement[] {
  const { called, none, shape, below } = options
  const [, many] = called
  const list = options.list(filters)
  const heading = el('h2', { id: RESULTS_ID, tabindex: -1 })
  const empty = p(first.next_cursor === null ? nothingIn(called, filters, none) : nothingYet(many))
  const files = div('file-buttons', ...exportLinks(options, filters))
  const head = div('results-head', heading, files)
  let shown = 0
  const show = (rows: readonly T[], complete: boolean): HTMLElement | undefined => {
    shown += rows.length
    heading.textContent = countOf(shown, complete, filters, called)
    list.element.hidden = shown === 0
    empty.hidden = shown > 0
    files.hidden = shown === 0
    return list.add(rows)
  }
  list.learn?.(first)
  show(first.data, first.next_cursor === null)
  const load = async (cursor: string): Promise<Page> => {
    const page = await get(addressOf(options, filters, [['cursor', cursor]]), shape)
    list.learn?.(page)
    return page
  }
  const more = showMore(first, { load, add: show, called })
  return [head, empty, list.element, more, ...(below === undefined ? [] : [below()])]
}

/** Everything the filters find, not only what is shown. */
function exportLinks(
  { context, path }: Pick<FilteredList<never, never>, 'context' | 'path'>,
  filters: Filters,
): HTMLElement[] {
  const address = `/api/v1${context.ofAccount(`/account${path}/export`)}`
  return (['csv', 'ndjson'] as const).map((format) => {
    const href = withFilters(address, [['format', format], ...forService(filters, timeZone)])
    return el('a', { href, class: 'button quiet', download: true }, downloadWords(format))
  })
}

function countOf(
  shown: number,
  complete: boolean,
  filters: Filters,
  [one, many]: readonly [string, string],
): string {
  if (shown === 0) return filters.size === 0 && complete ? `No ${many} yet` : 'Nothing matches'
  const count = shown === 1 ? one : `${shown} ${many}`
  const found = filters.size === 0 ? '' : ' found'
  if (!complete) return `Newest ${count}${found}`
  return `${shown === 1 ? `1 ${one}` : count}${found}`
}

/** A search looks at so many entries at a time, so that nothing found yet may not be all. */
function nothingYet(many: string): string {
  return `Nothing among the newest ${many}. “Show more” looks further back.`
}

function nothingIn([one]: readonly [string, string], filters: Filters, none: string): string {
  if (filters.size === 0) return none
  if (!filters.has('q'))
    return `No ${one} fits these filters. Take one of them away, or look at another time.`
  if (filters.size === 1) return `No ${one} fits this search. Try fewer words of it, or clear it.`
  return `No ${one} fits this search and these filters. Shorten the search, or take a filter away.`
}
