import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import type { Shape } from '../../webauthn-page/kit/api/shape.ts'
import { submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, form } from '../../webauthn-page/kit/dom/form.ts'
import { timeZone } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot, sentenceAt } from '../../webauthn-page/kit/dom/notice.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { replaceAddress } from '../shell/shown-address.ts'
import type { ChoiceField } from './fields.ts'
import { downloadWords } from './file-buttons.ts'
import { type Filters, filtersIn, forService, withFilters } from './filters.ts'
import type { ListPage } from './read-pages.ts'
import { shortcuts } from './shortcuts.ts'
import { showMore } from './show-more.ts'

/** Id of the heading of the results: after Enter the focus goes there. */
export const RESULTS_ID = 'results'

/** The list to which the rows of an answer are added. */
interface RowList<T> {
  element: HTMLElement
  /** Adds rows. @returns the element in the first of them that can take the focus */
  add(rows: readonly T[]): HTMLElement | undefined
}

interface FilteredList<T, Page extends ListPage<T>> {
  context: PageContext
  /** The path of this page in the dashboard and, below `/account`, of its list and file in the API. */
  path: string
  /** The filters, as the service and the address name them. */
  names: readonly string[]
  /** The search is always in sight; the others are folded under "Filters", which is open at first if one of them is set. */
  fields(filters: Filters): { search: Field; others: readonly (Field | ChoiceField)[] }
  shape: Shape<Page>
  /** Makes a new, empty list for the results of these filters. */
  list(filters: Filters): RowList<T> & { learn?(page: Page): void }
  /** The nouns for one entry and for several. */
  called: readonly [one: string, many: string]
  /** The sentence for a list without any entry. */
  none: string
  /** Makes the part below a list. */
  below?(): HTMLElement
}

/**
 * A list that is filtered while the person types. The address keeps the filters, so that it can be bookmarked, and the file
 * has exactly the entries that the filters find.
 * @throws RequestFailure, ShapeError
 */
export async function filteredList<T, Page extends ListPage<T>>(
  options: FilteredList<T, Page>,
): Promise<HTMLElement[]> {
  const { context, path, names } = options
  let filters = filtersIn(context.query, names)
  const { search, others } = options.fields(filters)
  // The button beside the field has the same words as its label.
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
      setError(wrong !== undefined && input.name === wrong.field ? sentenceAt(wrong) : undefined)
    results.replaceChildren(...(found instanceof RequestFailure ? [] : foundList(options, filters, found)))
  }
  const find = async (): Promise<void> => {
    await slot.attempt(look)
    announce(results.querySelector('h2')?.textContent ?? '')
  }
  let finding = Promise.resolve()
  const apply = (): Promise<void> => {
    const now = valuesOf(fields)
    // Enter may come while the search for the typed text is under way: the focus then goes to its results.
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

/** The link that clears all filters, and the filters that are folded. */
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

/** Applies the filters after a short pause in typing; a choice counts at once. */
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

/** Moves the focus after a search: to the field that was refused, or else to the results. */
function showOutcome(): void {
  const refused = document.querySelector<HTMLElement>('.filter-form [aria-invalid="true"]')
  const heading = document.querySelector<HTMLElement>(`#${RESULTS_ID}`)
  if (refused !== null) refused.focus()
  else heading?.focus()
}

/** Returns a refusal that names one of the filters: it is no failure of the page. @throws every other error */
function aboutFilter(error: unknown, names: readonly string[]): RequestFailure {
  if (error instanceof RequestFailure && names.includes(error.field ?? '')) return error
  throw error
}

/** The results of the filters: their number, the files, the list or why it is empty, and "Show more". */
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

/** Links to files with everything that the filters find, not only the shown entries. */
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

/** A search looks at a limited number of entries at a time: an empty first page may not be the end. */
function nothingYet(many: string): string {
  return `Nothing among the newest ${many}. “Show more” looks further back.`
}

function nothingIn([one]: readonly [string, string], filters: Filters, none: string): string {
  if (filters.size === 0) return none
  if (!filters.has('q')) return `No ${one} matches these filters. Remove one of them, or choose another time.`
  if (filters.size === 1) return `No ${one} matches this search. Use fewer words, or clear it.`
  return `No ${one} matches this search and these filters. Shorten the search, or remove a filter.`
}
