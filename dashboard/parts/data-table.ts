import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'

/** The content of each cell. */
export type TableRow = readonly (readonly Child[])[]

/** What a column is called, or a name only screen readers need. */
type Column = string | { hidden: string }

/**
 * A table whose rows become cards on narrow screens. The roles are named, because a browser may forget them when the
 * style makes something else of the boxes; the names of the columns then stand beside the values.
 */
export function dataTable(
  label: string,
  columns: readonly Column[],
): { element: HTMLElement; add(rows: readonly TableRow[]): void } {
  const body = el('tbody', { role: 'rowgroup' })
  const head = columns.map((column) =>
    el(
      'th',
      { role: 'columnheader', scope: 'col' },
      typeof column === 'string' ? column : el('span', { class: 'visually-hidden' }, column.hidden),
    ),
  )
  const element = el(
    'table',
    { class: 'data-table', role: 'table', 'aria-label': label },
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head)),
    body,
  )
  const cell = (content: readonly Child[], index: number): HTMLElement => {
    const column = columns[index]
    return el(
      'td',
      { role: 'cell', 'data-label': typeof column === 'string' ? column : undefined },
      el('div', { class: 'cell' }, ...content),
    )
  }
  return {
    element,
    add: (rows) => body.append(...rows.map((row) => el('tr', { role: 'row' }, ...row.map(cell)))),
  }
}
