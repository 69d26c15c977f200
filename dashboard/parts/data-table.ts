import { type Child, div, el } from '../../webauthn-page/kit/dom/element.ts'

/** What a column is called; `look` is the class of its cells, `hidden` a name that only screen readers need. */
export interface Column {
  name: string
  look: string
  hidden?: boolean
}

/** The content of each cell; the link in one of them has the whole row as its target. */
export type TableRow = readonly (readonly Child[])[]

/**
 * A dense table whose rows fold into two lines on narrow screens. The roles are named, because a browser may forget them when
 * the style makes something else of the boxes.
 */
export function dataTable(
  label: string,
  columns: readonly Column[],
): { element: HTMLElement; add(rows: readonly TableRow[]): void } {
  const body = el('tbody', { role: 'rowgroup' })
  const head = columns.map(({ name, look, hidden = false }) =>
    el(
      'th',
      { role: 'columnheader', scope: 'col', class: look },
      hidden ? el('span', { class: 'visually-hidden' }, name) : name,
    ),
  )
  const element = el(
    'table',
    { class: 'data-table', role: 'table', 'aria-label': label },
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head)),
    body,
  )
  const cell = (content: readonly Child[], at: number): HTMLElement =>
    el('td', { role: 'cell', class: columns[at]?.look }, div('cell', ...content))
  return {
    element,
    add: (rows) => body.append(...rows.map((row) => el('tr', { role: 'row' }, ...row.map(cell)))),
  }
}
