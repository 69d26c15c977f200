import { get } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, hint, lede, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/form.ts'
import { type Choice, type ChoiceField, choiceField, dayField } from '../parts/fields.ts'
import { filterForm, findPage, foundList, RESULTS_ID } from '../parts/filtered-list.ts'
import { type Filters, filtersIn, forService, withFilters } from '../parts/filters.ts'
import { section } from '../parts/section.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { auditItem } from './audit-entry.ts'
import { type AuditPage, auditPageShape } from './audit-shapes.ts'
import { AUDIT_WORDS } from './audit-words.ts'

type Load = (more?: Iterable<readonly [string, string]>) => Promise<AuditPage>

/** `/audit`: what happened in the account, newest first, as far as the person may see it. */
export async function auditPage(context: PageContext): Promise<PageView> {
  const filters = filtersIn(context.query, AUDIT_FILTERS)
  const load: Load = (more = []) =>
    get(withFilters(context.ofAccount('/account/audit'), [...forService(filters), ...more]), auditPageShape)
  const { page, wrong } = await findPage(AUDIT_FILTERS, load)
  const everything = context.account.role !== 'approver'
  const scene = el(
    'div',
    { class: 'history' },
    el('h1', {}, 'Audit log'),
    lede(everything ? EVERYTHING : OWN),
    filterForm({
      ...auditFilterFields(filters),
      filters,
      wrong,
      apply: (chosen) => context.go(withFilters(context.href('/audit'), chosen)),
      clear: context.href('/audit'),
    }),
    ...(page === undefined ? [] : entries(context, filters, page, load)),
    page !== undefined &&
      exportSection(`/api/v1${context.ofAccount('/account/audit/export')}`, filters, everything),
  )
  return { title: 'Audit log', scene, wide: true }
}

const EVERYTHING = 'Everything that happened in this account, in a chain that shows every later change.'
const OWN = 'What happened with the requests that name you, and what you did yourself.'

function entries(context: PageContext, filters: Filters, page: AuditPage, load: Load): HTMLElement[] {
  const list = el('ol', { class: 'audit-entries', 'aria-labelledby': RESULTS_ID })
  const reading = { names: new Map<string, string>(), reader: context.user.id, href: context.href }
  const learn = (named: AuditPage): AuditPage => {
    for (const [id, name] of named.names ?? []) reading.names.set(id, name)
    return named
  }
  return foundList({
    called: ['entry', 'entries'],
    filters,
    first: learn(page),
    load: async (cursor) => learn(await load([['cursor', cursor]])),
    list,
    add: (rows) => {
      const items = rows.map((row) => auditItem(row, reading))
      list.append(...items)
      return items[0]?.querySelector('button') ?? undefined
    },
    none: 'Whatever happens from now on is listed here.',
  })
}

/** As the service and the address name them. */
const AUDIT_FILTERS = ['q', 'type', 'subject', 'actor', 'from', 'to'] as const

/** The fields of the filters. */
function auditFilterFields(filters: Filters): { search: Field; others: (Field | ChoiceField)[] } {
  const value = (name: string): string => filters.get(name) ?? ''
  const idField = (name: string, label: string, hint: string): Field =>
    field({ label, name, hint, attributes: { value: value(name), autocomplete: 'off' } })
  return {
    search: field({
      label: 'Search',
      name: 'q',
      hint: 'Part of a type, an id, an address or a detail. Names are not in the entries; search for their ids.',
      attributes: { type: 'search', value: value('q'), autocomplete: 'off' },
    }),
    others: [
      choiceField({ label: 'What happened', name: 'type', choices: typeChoices(), value: value('type') }),
      idField('subject', 'About', 'The whole id of a request, key, person or webhook.'),
      idField('actor', 'By', 'The whole id of a person or key, or: service, cli, public, chat.'),
      dayField('from', 'On or after', value('from')),
      dayField('to', 'On or before', value('to')),
    ],
  }
}

function typeChoices(): Choice[] {
  const groups = Object.entries(AUDIT_WORDS).map(([group, types]) => ({
    group,
    choices: Object.entries(types).map(([type, [name]]) => [type, name] as const),
  }))
  return [['', 'Anything'], ...groups]
}

/** Downloads of everything the filters find, not only of what is shown. `address` is the export of the chosen account. */
function exportSection(address: string, filters: Filters, everything: boolean): HTMLElement {
  const part = section(
    'Take it with you',
    filters.size === 0
      ? `Every entry ${everything ? 'of this account' : 'that you may see'}, in one file.`
      : 'Every entry these filters find, not only those shown here, in one file.',
  )
  const download = (format: 'ndjson' | 'csv', label: string): HTMLElement =>
    link(withFilters(address, [['format', format], ...forService(filters)]), label, {
      class: 'button plain',
      download: true,
    })
  part.body.append(
    buttonRow(download('ndjson', 'Download as NDJSON'), download('csv', 'Download as CSV')),
    p(...holds()),
    hint(...howToCheck()),
  )
  return part.element
}

function holds(): Child[] {
  return [
    'Each entry has its number in the trail, id, type, time, who did it and from where, what it is about, the details, and ',
    'the hash that ties it to everything before it. NDJSON is one entry a line, for programs; CSV opens in a spreadsheet, ',
    'and no cell of it can start a formula.',
  ]
}

function howToCheck(): Child[] {
  return [
    'Whoever runs the service can prove that nothing was changed since: ',
    el('code', {}, 'npx countersign audit check --expect <seq>:<hash>'),
    ', with number and hash of an entry in the file.',
  ]
}
