import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, form } from '../../webauthn-page/kit/dom/form.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import type { ChoiceField } from './fields.ts'
import type { Filters } from './filters.ts'
import { type ListPage, showMore } from './show-more.ts'

/** The heading of what the filters found: the focus goes there. */
export const RESULTS_ID = 'results'

interface FilterFormOptions {
  /** Always in sight. */
  search: Field
  /** Behind "Filters", which stands open while one of them is set. */
  others: readonly (Field | ChoiceField)[]
  filters: Filters
  /** What the service said about one of them. */
  wrong?: { name: string; sentence: string } | undefined
  /** Opens the page with these filters. */
  apply(filters: Filters): Promise<void>
  /** Address of the page without filters. */
  clear: string
}

/** Narrows a list; what is chosen goes into the address, so that it can be kept and Back leads to it. */
export function filterForm(options: FilterFormOptions): HTMLElement {
  const { search, others, filters, wrong, apply, clear } = options
  const fields = [search, ...others]
  const set = others.filter(({ input }) => filters.has(input.name)).length
  const refused = fields.find(({ input }) => input.name === wrong?.name)
  refused?.setError(wrong?.sentence)
  const send = async (): Promise<void> => {
    await apply(valuesOf(fields))
    showOutcome()
  }
  return form(
    { class: 'filter-form', role: 'search' },
    send,
    search.row,
    el(
      'details',
      { class: 'filters', open: set > 0 },
      el('summary', {}, set === 0 ? 'Filters' : `Filters: ${set} set`),
      div('filter-fields', ...others.map(({ row }) => row)),
    ),
    buttonRow(
      submitButton('Search'),
      filters.size > 0 && link(clear, 'Clear all', { class: 'button plain' }),
    ),
  )
}

function valuesOf(fields: readonly (Field | ChoiceField)[]): Filters {
  return new Map(
    fields.flatMap(({ input }) => {
      const value = input.value.trim()
      return value === '' ? [] : [[input.name, value] as const]
    }),
  )
}

/** After a search a person wants to read what was found, or what is wrong, not the name of the page again. */
function showOutcome(): void {
  const refused = document.querySelector<HTMLElement>('.filter-form [aria-invalid="true"]')
  const heading = document.querySelector<HTMLElement>(`#${RESULTS_ID}`)
  if (refused !== null) refused.focus()
  else heading?.focus()
  if (heading !== null) announce(heading.textContent)
}

/** The first page of a list, or what the service said about one of the filters. */
export type Found<Page> =
  | { page: Page; wrong?: undefined }
  | { page?: undefined; wrong: { name: string; sentence: string } }

/** Loads a list; a refusal that names one of the filters is no failure of the page. @throws RequestFailure, ShapeError */
export async function findPage<Page>(
  names: readonly string[],
  load: () => Promise<Page>,
): Promise<Found<Page>> {
  try {
    return { page: await load() }
  } catch (error) {
    const name = error instanceof RequestFailure ? error.field : undefined
    if (name === undefined || !names.includes(name)) throw error
    return { wrong: { name, sentence: sentenceOf(error) } }
  }
}

interface FoundList<T> {
  /** What one entry and several are called. */
  called: readonly [one: string, many: string]
  filters: Filters
  first: ListPage<T>
  load(cursor: string): Promise<ListPage<T>>
  list: HTMLElement
  /** Adds rows to the list. @returns what the focus can go to in the first of them */
  add(rows: readonly T[]): HTMLElement | undefined
  /** Said where there is nothing at all. */
  none: string
}

/** What the filters found: how much it is, the list or why it is empty, and the way to more. */
export function foundList<T>({ called, filters, first, load, list, add, none }: FoundList<T>): HTMLElement[] {
  const [one, many] = called
  const heading = el('h2', { id: RESULTS_ID, tabindex: -1 })
  const empty = p(first.next_cursor === null ? nothingIn(called, filters, none) : nothingYet(many))
  let shown = 0
  const show = (rows: readonly T[], complete: boolean): HTMLElement | undefined => {
    shown += rows.length
    heading.textContent = countOf(shown, complete, filters, called)
    list.hidden = shown === 0
    empty.hidden = shown > 0
    return add(rows)
  }
  show(first.data, first.next_cursor === null)
  const said = (count: number): string => (count === 1 ? `1 more ${one}` : `${count} more ${many}`)
  return [heading, empty, list, showMore(first, { load, add: show, said })]
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
  if (!complete) return `The newest ${count}${found}`
  return `${shown === 1 ? `1 ${one}` : count}${found}`
}

/** A search looks at so many entries at a time, so that nothing found yet may not be all. */
function nothingYet(many: string): string {
  return `Nothing among the newest ${many}. “Show more” looks further back.`
}

function nothingIn([one]: readonly [string, string], filters: Filters, none: string): string {
  return filters.size === 0
    ? none
    : `No ${one} fits these filters. Take one of them away, or look at another time.`
}
