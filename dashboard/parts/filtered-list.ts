import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, el, link } from '../../webauthn-page/kit/dom/element.ts'
import type { Field } from '../../webauthn-page/kit/dom/field.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import type { ChoiceField } from './fields.ts'
import type { Filters } from './filters.ts'

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
  const form = el(
    'form',
    { class: 'filter-form', role: 'search', novalidate: true },
    search.row,
    el(
      'details',
      { class: 'filters', open: set > 0 },
      el('summary', {}, set === 0 ? 'Filters' : `Filters: ${set} set`),
      el('div', { class: 'filter-fields' }, ...others.map(({ row }) => row)),
    ),
    el(
      'div',
      { class: 'buttons' },
      submitButton('Search'),
      filters.size > 0 && link(clear, 'Clear all', { class: 'button plain' }),
    ),
  )
  const refused = fields.find(({ input }) => input.name === wrong?.name)
  refused?.setError(wrong?.sentence)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void runOnce(form, async () => {
      await apply(valuesOf(fields))
      showOutcome()
    })
  })
  return form
}

function valuesOf(fields: readonly (Field | ChoiceField)[]): Filters {
  return new Map(
    fields.flatMap(({ input }) => {
      const value = input.value.trim()
      return value === '' ? [] : [[input.name, value] as const]
    }),
  )
}

/** Whoever searched wants to read what was found, or what is wrong, not the name of the page again. */
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
