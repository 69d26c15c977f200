import { cutText, more } from '../../src/domain/cut-text.ts'
import { type Child, el, freshId, link } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { methodWord, type WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { callerName, callerText, textWarnings } from '../../webauthn-page/kit/show/caller-text.ts'
import type { RequestRow } from './request-shapes.ts'

/** UTF-16 units of an action in the list; the request's own page shows all of it. */
const SHOWN = 160

/** The table of the history; on narrow screens its rows are cards. */
export function requestTable(
  href: (path: string) => string,
  person: WritePerson,
): {
  element: HTMLElement
  /** @returns the link in the first of the new rows */
  add(rows: readonly RequestRow[]): HTMLElement | undefined
} {
  const table = dataTable('Requests', [
    'Status',
    'Action, as the caller wrote it',
    'Asked by',
    'Decided',
    { hidden: 'Open' },
  ])
  return {
    element: table.element,
    add: (rows) => {
      const made = rows.map((row) => tableRow(row, href, person))
      table.add(made.map(({ cells }) => cells))
      return made[0]?.open
    },
  }
}

function tableRow(
  row: RequestRow,
  href: (path: string) => string,
  person: WritePerson,
): { cells: TableRow; open: HTMLAnchorElement } {
  const actionId = freshId('action')
  const open = link(href(`/requests/${encodeURIComponent(row.id)}`), 'Show', {
    class: 'button quiet',
    'aria-describedby': actionId,
  })
  const cells: TableRow = [
    statusCell(row),
    [el('div', { class: 'caller-cell', id: actionId }, ...actionText(row.action))],
    [
      el('div', {}, callerName(row.requested_by.key_name)),
      el('div', { class: 'hint' }, moment(row.created_at)),
    ],
    decidedCell(row, person),
    [open],
  ]
  return { cells, open }
}

/** The beginning of the action; what is missing is counted, outside the text of the caller. */
function actionText(action: string): Child[] {
  const { text, left } = cutText(action, SHOWN)
  return [
    el('div', {}, callerText(text), left > 0 && el('span', { class: 'cut' }, ` ${more(left)}`)),
    ...textWarnings(action),
  ]
}

function statusCell({ status, cancelled, high_impact, sandbox }: RequestRow): Child[] {
  const state = cancelled === true ? 'withdrawn' : status
  return [
    el(
      'div',
      { class: 'row-marks' },
      el('span', { class: `state-tag ${state}` }, `${state.charAt(0).toUpperCase()}${state.slice(1)}`),
      high_impact && el('span', { class: 'tag severe' }, 'High impact'),
      sandbox === true && el('span', { class: 'tag' }, 'Sandbox'),
    ),
  ]
}

function decidedCell(
  { status, decision, decided_at, expires_at, quorum }: RequestRow,
  person: WritePerson,
): Child[] {
  if (decision === undefined) {
    if (status !== 'pending') return [el('span', { class: 'hint' }, 'By nobody')]
    return [
      quorum.needed > 1 && el('div', {}, `${quorum.approved} of ${quorum.needed} approvals`),
      el('div', { class: 'hint' }, 'Open until ', moment(expires_at)),
    ]
  }
  return [
    el('div', {}, person(decision.approver), ` · ${methodWord(decision.method)}`),
    decision.delegate !== undefined &&
      el('div', { class: 'hint' }, 'by the delegate ', person(decision.delegate)),
    typeof decided_at === 'string' && el('div', { class: 'hint' }, moment(decided_at)),
  ]
}

/** The content of each cell. */
type TableRow = readonly (readonly Child[])[]

/** What a column is called, or a name only screen readers need. */
type Column = string | { hidden: string }

/**
 * A table whose rows become cards on narrow screens. The roles are named, because a browser may forget them when the
 * style makes something else of the boxes; the names of the columns then stand beside the values.
 */
function dataTable(
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
