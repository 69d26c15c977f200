import { get } from '../../webauthn-page/kit/api/request.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { filterForm, RESULTS_ID } from '../parts/filter-form.ts'
import { type Filters, filtersIn, forService, withFilters } from '../parts/filters.ts'
import { findPage } from '../parts/find-page.ts'
import { showMore } from '../parts/show-more.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { auditItem } from './audit-entry.ts'
import { AUDIT_FILTERS, auditFilterFields } from './audit-filters.ts'
import { type AuditEntry, type AuditPage, auditPageShape } from './audit-shapes.ts'
import { exportSection } from './export-section.ts'

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
    el('p', { class: 'lede' }, everything ? EVERYTHING : OWN),
    filterForm({
      ...auditFilterFields(filters),
      filters,
      wrong,
      apply: (chosen) => context.go(withFilters(context.href('/audit'), chosen)),
      clear: context.href('/audit'),
    }),
    ...(page === undefined ? [] : results(context, filters, page, load)),
    page !== undefined &&
      exportSection(`/api/v1${context.ofAccount('/account/audit/export')}`, filters, everything),
  )
  return { title: 'Audit log', scene, wide: true }
}

const EVERYTHING = 'Everything that happened in this account, in a chain that shows every later change.'
const OWN = 'What happened with the requests that name you, and what you did yourself.'

function results(context: PageContext, filters: Filters, page: AuditPage, load: Load): HTMLElement[] {
  const heading = el('h2', { id: RESULTS_ID, tabindex: -1 })
  const list = el('ol', { class: 'audit-entries', 'aria-labelledby': RESULTS_ID })
  const reading = { names: new Map<string, string>(), reader: context.user.id, href: context.href }
  const none = nothing(filters, page.next_cursor === null)
  let shown = 0
  const add = (entries: readonly AuditEntry[], complete: boolean): HTMLElement | undefined => {
    shown += entries.length
    heading.textContent = countOf(shown, complete, filters)
    const items = entries.map((entry) => auditItem(entry, reading))
    list.append(...items)
    list.hidden = shown === 0
    none.hidden = shown > 0
    return items[0]?.querySelector('button') ?? undefined
  }
  const learn = (named: AuditPage): AuditPage => {
    for (const [id, name] of named.names ?? []) reading.names.set(id, name)
    return named
  }
  add(learn(page).data, page.next_cursor === null)
  return [
    heading,
    none,
    list,
    showMore(page, {
      load: async (cursor) => learn(await load([['cursor', cursor]])),
      add,
      said: (count) => (count === 1 ? '1 more entry' : `${count} more entries`),
    }),
  ]
}

function countOf(shown: number, complete: boolean, filters: Filters): string {
  const found = filters.size === 0 ? '' : ' found'
  if (shown === 0) return filters.size === 0 && complete ? 'No entries yet' : 'Nothing matches'
  if (!complete) return shown === 1 ? `The newest entry${found}` : `The newest ${shown} entries${found}`
  return shown === 1 ? `1 entry${found}` : `${shown} entries${found}`
}

/** A search looks at so many entries at a time, so that nothing found yet may not be all. */
function nothing(filters: Filters, complete: boolean): HTMLElement {
  if (!complete) return el('p', {}, 'Nothing among the newest entries. “Show more” looks further back.')
  return el(
    'p',
    {},
    filters.size === 0
      ? 'Whatever happens from now on is listed here.'
      : 'No entry fits these filters. Take one of them away, or look at another time.',
  )
}
