import { cutText, more } from '../../src/domain/cut-text.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Child, div, el, freshId, lede, link } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/form.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { methodWord, type WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { callerName, callerText, textWarnings } from '../../webauthn-page/kit/show/caller-text.ts'
import { keysShape } from '../keys/key-shapes.ts'
import { repeatedNames } from '../keys/key-words.ts'
import { type Choice, type ChoiceField, choiceField, dayField } from '../parts/fields.ts'
import { filterForm, findPage, foundList } from '../parts/filtered-list.ts'
import { type Filters, filtersIn, forService, withFilters } from '../parts/filters.ts'
import { shortcuts } from '../parts/shortcuts.ts'
import type { ListPage } from '../parts/show-more.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { loadPeople } from './people-names.ts'
import { type RequestRow, requestPageShape } from './request-shapes.ts'

/** `/requests`: everything that was ever asked in the account, newest first, as far as the person may see it. */
export async function requestsPage(context: PageContext): Promise<PageView> {
  const filters = filtersIn(context.query, REQUEST_FILTERS)
  const load = (more: Iterable<readonly [string, string]> = []): Promise<ListPage<RequestRow>> =>
    get(
      withFilters(context.ofAccount('/account/requests'), [...forService(filters), ...more]),
      requestPageShape,
    )
  const [found, keys, person] = await Promise.all([
    findPage(REQUEST_FILTERS, load),
    loadKeys(context),
    loadPeople(context),
  ])
  const table = requestTable(context.href, person)
  const scene = div(
    'history',
    el('h1', {}, 'Requests'),
    lede(ledeFor(context)),
    filterForm({
      ...requestFilterFields(filters, keys),
      filters,
      wrong: found.wrong,
      apply: (chosen) => context.go(withFilters(context.href('/requests'), chosen)),
      clear: context.href('/requests'),
    }),
    ...(found.page === undefined
      ? []
      : foundList({
          called: ['request', 'requests'],
          filters,
          first: found.page,
          load: (cursor) => load([['cursor', cursor]]),
          list: table.element,
          add: table.add,
          none: emptyFor(context),
        })),
  )
  const search = (): void => scene.querySelector<HTMLElement>('[name="q"]')?.focus()
  shortcuts([{ key: '/', does: 'Search', run: search }], context.signal)
  return { title: 'Requests', scene, wide: true }
}

function ledeFor({ account }: PageContext): string {
  return account.role === 'approver'
    ? 'Every request that named you, decided or not.'
    : 'Every request of this account, decided or not.'
}

/** Only the owner may list the keys. */
async function loadKeys({ account }: PageContext): Promise<KnownKey[] | undefined> {
  if (!account.own || account.role !== 'owner') return undefined
  return (await get('/account/api-keys?limit=100', keysShape)).data
}

function emptyFor({ account }: PageContext): string {
  return account.role === 'approver'
    ? 'Once a request names you as an approver, it stays listed here.'
    : 'Once an application or agent asks for an approval with a key of this account, it stays listed here.'
}

/** As the service and the address name them. */
const REQUEST_FILTERS = ['q', 'status', 'high_impact', 'sandbox', 'key', 'from', 'to'] as const

const ANY = ['', 'Any'] as const
const CHOICES: Record<'status' | 'high_impact' | 'sandbox', readonly Choice[]> = {
  status: [
    ANY,
    ['pending', 'Pending'],
    ['approved', 'Approved'],
    ['rejected', 'Rejected'],
    ['expired', 'Expired or withdrawn'],
  ],
  high_impact: [ANY, ['true', 'High impact only'], ['false', 'Not high impact']],
  sandbox: [ANY, ['false', 'Live only'], ['true', 'Sandbox only']],
}

/** An API key by which a list can be narrowed. */
interface KnownKey {
  id: string
  name: string
  key_prefix: string
}

/** The fields of the history's filters; without `keys` one names a key by its id. */
function requestFilterFields(
  filters: Filters,
  keys: readonly KnownKey[] | undefined,
): { search: Field; others: (Field | ChoiceField)[] } {
  const value = (name: string): string => filters.get(name) ?? ''
  const choice = (name: keyof typeof CHOICES, label: string): ChoiceField =>
    choiceField({ label, name, choices: CHOICES[name], value: value(name) })
  return {
    search: field({
      label: 'Search',
      name: 'q',
      hint: 'Words of the action, or the whole id of a request or a receipt.',
      attributes: { type: 'search', value: value('q'), autocomplete: 'off' },
    }),
    others: [
      choice('status', 'Status'),
      choice('high_impact', 'Impact'),
      choice('sandbox', 'Live or sandbox'),
      keyField(value('key'), keys),
      dayField('from', 'Asked on or after', value('from')),
      dayField('to', 'Asked on or before', value('to')),
    ],
  }
}

function keyField(value: string, keys: readonly KnownKey[] | undefined): Field | ChoiceField {
  if (keys === undefined)
    return field({
      label: 'Id of the API key',
      name: 'key',
      attributes: { value, autocomplete: 'off', placeholder: 'key_…' },
    })
  const twice = repeatedNames(keys)
  const choices = keys.map(
    ({ id, name, key_prefix }) => [id, twice.has(name) ? `${name} (${key_prefix}…)` : name] as const,
  )
  return choiceField({ label: 'API key', name: 'key', choices: [ANY, ...choices], value })
}

/** UTF-16 units of an action in the list; the request's own page shows all of it. */
const SHOWN = 160

/** The table of the history; on narrow screens its rows are cards. */
function requestTable(
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
    [el('div', {}, callerName(row.requested_by.key_name)), div('hint', moment(row.created_at))],
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
    div(
      'row-marks',
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
    if (status !== 'pending') return [el('span', { class: 'hint' }, 'No decision')]
    return [
      quorum.needed > 1 && el('div', {}, `${quorum.approved} of ${quorum.needed} approvals`),
      div('hint', 'Open until ', moment(expires_at)),
    ]
  }
  return [
    el('div', {}, person(decision.approver), ` · ${methodWord(decision.method)}`),
    decision.delegate !== undefined && div('hint', 'by the delegate ', person(decision.delegate)),
    typeof decided_at === 'string' && div('hint', moment(decided_at)),
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
      div('cell', ...content),
    )
  }
  return {
    element,
    add: (rows) => body.append(...rows.map((row) => el('tr', { role: 'row' }, ...row.map(cell)))),
  }
}
