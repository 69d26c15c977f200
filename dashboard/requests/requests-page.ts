import { methodWord } from '../../src/domain/request.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Child, div, el, freshId, hint, lede, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/form.ts'
import { ago } from '../../webauthn-page/kit/dom/moment.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { byName, SANDBOX_DECIDED, type WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { callerText, warningNames } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Key, keysShape } from '../keys/key-shapes.ts'
import { repeatedNames } from '../keys/key-words.ts'
import { type Member, membersShape } from '../members/member-shapes.ts'
import { type Choice, type ChoiceField, choiceField, dayField, searchField } from '../parts/fields.ts'
import { filteredList } from '../parts/filtered-list.ts'
import { type Filters, withFilters } from '../parts/filters.ts'
import { stateTag, tag } from '../parts/rows.ts'
import { policyTrouble } from '../settings/policy-warnings.ts'
import { type Policy, policyShape } from '../settings/settings-shapes.ts'
import { isOwned } from '../shell/account-view.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { overviewShape, type RequestPage, type RequestRow, requestPageShape } from './request-shapes.ts'
import { withdrawButton } from './withdraw.ts'

/** `/requests`: all requests of the account, newest first, as far as the person may see them. */
export async function requestsPage(context: PageContext): Promise<PageView> {
  // The list is complete without.
  const counting = totalsOf(context).catch(() => undefined)
  const known = await loadKnown(context)
  const totals = await counting
  const list = await filteredList<RequestRow, RequestPage>({
    context,
    path: '/requests',
    names: REQUEST_FILTERS,
    fields: (filters) => requestFilterFields(filters, known),
    shape: requestPageShape,
    list: (filters) => {
      // They would read as what the search found.
      if (totals !== undefined) totals.hidden = filters.has('q')
      return requestTable(context, filters.get('status') === 'pending')
    },
    called: ['request', 'requests'],
    none: emptyFor(context),
  })
  const trouble = known?.policy ? policyTrouble(known.policy, context.href) : []
  const head = [el('h1', {}, 'Requests'), totals ?? lede(ledeFor(context))]
  const scene = div('history', ...head, ...trouble, ...list)
  return { title: 'Requests', scene, wide: true }
}

/** Days over which the page says how many requests there were. */
const TOTAL_DAYS = 30
const NUMBER = new Intl.NumberFormat()

/**
 * How many live requests of the last days are in each state, each leading to its list: as the overview counts them, which the
 * service keeps. A search looks at requests one by one, so that what it would find in all is not counted.
 * @throws RequestFailure, ShapeError
 */
async function totalsOf({ account, ofAccount, href }: PageContext): Promise<HTMLElement | undefined> {
  if (account.role === 'approver') return undefined
  const address = withFilters(ofAccount('/account/overview'), [['days', String(TOTAL_DAYS)]])
  const { total, days } = await get(address, overviewShape)
  const { pending, approved, rejected, expired, withdrawn } = total
  const from = days[0]?.day ?? ''
  const states = [
    ['pending', pending, 'pending'],
    ['approved', approved, 'approved'],
    ['rejected', rejected, 'rejected'],
    ['expired', expired + withdrawn, 'expired or withdrawn'],
  ] as const
  const links = states.map(([status, count, words]) => {
    const filters = [
      ['status', status],
      ['sandbox', 'false'],
      ['from', from],
    ] as const
    return link(withFilters(href('/requests'), filters), `${NUMBER.format(count)} ${words}`)
  })
  const parts = links.flatMap((one, at): Child[] => [at === 0 ? '' : ' · ', one])
  return hint(`Live requests of the last ${TOTAL_DAYS} days (UTC): `, ...parts)
}

/** Decisions that an empty inbox shows. */
const LATELY = 5

/** The account's latest decisions, as far as the person may see them; undefined if there are none. @throws RequestFailure, ShapeError */
export async function decidedLately(context: PageContext): Promise<HTMLElement | undefined> {
  const path = context.ofAccount('/account/requests')
  const more = `${path.includes('?') ? '&' : '?'}limit=${LATELY}&status=`
  const pages = await Promise.all(
    ['approved', 'rejected'].map((status) => get(path + more + status, requestPageShape)),
  )
  const time = ({ decided_at }: RequestRow): string => decided_at ?? ''
  const rows = pages.flatMap(({ data }) => data).sort((a, b) => time(b).localeCompare(time(a)))
  if (rows.length === 0) return undefined
  const table = requestTable(context, false)
  for (const page of pages) table.learn(page)
  table.add(rows.slice(0, LATELY))
  const id = freshId('lately')
  return el(
    'section',
    { class: 'section-body', 'aria-labelledby': id },
    el('h2', { id }, 'Decided lately'),
    table.element,
    p(link(context.href('/requests'), 'All requests')),
  )
}

function ledeFor({ account }: PageContext): string {
  return account.role === 'approver'
    ? 'Every request that named you, decided or not.'
    : 'Every request of this account, decided or not.'
}

/** The keys and people by whose names the list can be filtered. */
interface Known {
  keys: readonly Pick<Key, 'id' | 'name' | 'key_prefix'>[]
  people: readonly Pick<Member, 'user_id' | 'name'>[]
  /** Loaded where a person's requests are listed: whoever removes an approver is led there. */
  policy: Policy | undefined
}

/** Loads the names for the filters; undefined for all but the owner, who alone may list keys and members. */
async function loadKnown(context: PageContext): Promise<Known | undefined> {
  if (!isOwned(context.account)) return undefined
  const [keys, members, policy] = await Promise.all([
    get('/account/api-keys', keysShape),
    get('/account/members', membersShape),
    context.query.has('person') ? get('/account/policy', policyShape) : undefined,
  ])
  return { keys: keys.data, people: members.data.filter(({ state }) => state === 'active'), policy }
}

function emptyFor({ account }: PageContext): string {
  return account.role === 'approver'
    ? 'Once a request names you as an approver, it stays listed here.'
    : 'Once a caller makes a request with a key of this account, it stays listed here.'
}

/** The filters, as the service and the page's address name them. */
const REQUEST_FILTERS = ['q', 'status', 'high_impact', 'sandbox', 'key', 'person', 'from', 'to'] as const

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

/** The fields of the history's filters; where no names are known, a key or person is entered by its id. */
function requestFilterFields(
  filters: Filters,
  known: Known | undefined,
): { search: Field; others: (Field | ChoiceField)[] } {
  const value = (name: string): string => filters.get(name) ?? ''
  const choice = (name: keyof typeof CHOICES, label: string): ChoiceField =>
    choiceField({ label, name, choices: CHOICES[name], value: value(name) })
  return {
    search: searchField(value('q'), 'Action, or a whole id'),
    others: [
      choice('status', 'Status'),
      choice('high_impact', 'Impact'),
      choice('sandbox', 'Live or sandbox'),
      keyField(value('key'), known?.keys),
      personField(value('person'), known?.people),
      dayField('from', 'Created on or after', value('from')),
      dayField('to', 'Created on or before', value('to')),
    ],
  }
}

/** The filter for an approver. Of a removed person the service lists only the id, which is in the address. */
function personField(value: string, people: Known['people'] | undefined): Field | ChoiceField {
  if (people === undefined) return idField('person', 'Id of the approver', 'usr_…', value)
  const choices = people.map(({ user_id, name }) => [user_id, name] as const)
  const gone = value === '' || people.some(({ user_id }) => user_id === value) ? [] : [goneChoice(value)]
  return choiceField({ label: 'Approver', name: 'person', choices: [ANY, ...choices, ...gone], value })
}

const goneChoice = (id: string): Choice => [id, `No longer a member: ${id}`]

function keyField(value: string, keys: Known['keys'] | undefined): Field | ChoiceField {
  if (keys === undefined) return idField('key', 'Id of the API key', 'key_…', value)
  const twice = repeatedNames(keys)
  const choices = keys.map(
    ({ id, name, key_prefix }) => [id, twice.has(name) ? `${name} (${key_prefix}…)` : name] as const,
  )
  return choiceField({ label: 'API key', name: 'key', choices: [ANY, ...choices], value })
}

function idField(name: string, label: string, placeholder: string, value: string): Field {
  return field({ label, name, attributes: { value, autocomplete: 'off', placeholder } })
}

/** The table of the history; on narrow screens a row has two lines. The owner can withdraw all pending rows at once. */
function requestTable(context: PageContext, isWaiting: boolean) {
  const { href, user } = context
  const names: Record<string, string> = {}
  const person = byName(names)
  const table = dataTable('Requests', [
    { name: 'Status', look: 'col-status' },
    { name: 'Action, in the caller’s words', look: 'col-action' },
    { name: 'Requested by', look: 'col-asker' },
    { name: 'Decided', look: 'col-decided' },
    { name: 'Requested', look: 'col-when' },
  ])
  const ids: string[] = []
  const slot = noticeSlot()
  const withdraw = withdrawButton('Withdraw', () => ids, slot, context)
  return {
    element:
      isWaiting && isOwned(context.account)
        ? div('results', div('list-tools', withdraw), slot.element, table.element)
        : table.element,
    learn: (page: RequestPage) => Object.assign(names, page.names, { [user.approver]: user.name }),
    /** @returns the link in the first of the new rows */
    add: (rows: readonly RequestRow[]): HTMLElement | undefined => {
      const made = rows.map((row) => {
        const open = link(href(`/a/${encodeURIComponent(row.id)}`), '', { class: 'row-link' })
        open.append(el('span', { class: 'inbox-action' }, callerText(row.action)))
        return { open, cells: cellsOf(row, open, person) }
      })
      table.add(made.map(({ cells }) => cells))
      ids.push(...rows.map(({ id }) => id))
      withdraw.textContent = ids.length === 1 ? 'Withdraw this request' : `Withdraw these ${ids.length}`
      return made[0]?.open
    },
  }
}

function cellsOf(row: RequestRow, open: HTMLElement, person: WritePerson): TableRow {
  const { action, high_impact, sandbox, requested_by } = row
  const marks = [sandbox === true && tag('Sandbox'), ...warningNames(action).map((name) => tag(name, 'warn'))]
  return [
    [stateTag(row)],
    [
      high_impact && tag('High impact', 'severe'),
      open,
      marks.some((mark) => mark !== false) && el('span', { class: 'row-marks' }, ...marks),
    ],
    [callerText(requested_by.key_name)],
    decidedCell(row, person),
    [ago(row.created_at)],
  ]
}

function decidedCell(
  { status, decision, decided_at, expires_at, quorum }: RequestRow,
  person: WritePerson,
): Child[] {
  if (decision === undefined) {
    if (status !== 'pending') return [el('span', { class: 'hint' }, 'No decision')]
    return [
      quorum.needed > 1 && `${quorum.approved} of ${quorum.needed} approvals · `,
      'expires ',
      ago(expires_at),
    ]
  }
  // The no-break space keeps the dot from beginning a line.
  const when = typeof decided_at === 'string' ? ['\u00a0· ', ago(decided_at)] : []
  if (decision.method === 'sandbox') return [SANDBOX_DECIDED, ...when]
  const standing = decision.delegate === undefined ? [] : [' by the delegate ', person(decision.delegate)]
  const together = status === 'approved' && quorum.needed > 1
  const last = together && `${quorum.approved} of ${quorum.needed} approvals · last by `
  return [last, person(decision.approver), ...standing, ` · ${methodWord(decision.method)}`, ...when]
}

/** The name of a column; `look` is the class of its cells. */
interface Column {
  name: string
  look: string
}

/** The content of each cell; the link in one of them has the whole row as its target. */
type TableRow = readonly (readonly Child[])[]

/**
 * A dense table whose rows fold into two lines on narrow screens. The roles are explicit, because a browser may drop them
 * when the style changes how table elements are displayed.
 */
function dataTable(label: string, columns: readonly Column[]) {
  const body = el('tbody', { role: 'rowgroup' })
  const head = columns.map(({ name, look }) =>
    el('th', { role: 'columnheader', scope: 'col', class: look }, name),
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
    add: (rows: readonly TableRow[]) =>
      body.append(...rows.map((row) => el('tr', { role: 'row' }, ...row.map(cell)))),
  }
}
