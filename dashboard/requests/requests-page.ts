import { get } from '../../webauthn-page/kit/api/request.ts'
import { el, lede } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/form.ts'
import { repeatedNames } from '../keys/key-words.ts'
import { type Choice, type ChoiceField, choiceField, dayField } from '../parts/fields.ts'
import { filterForm, findPage, foundList } from '../parts/filtered-list.ts'
import { type Filters, filtersIn, forService, withFilters } from '../parts/filters.ts'
import type { ListPage } from '../parts/show-more.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { loadPeople } from './people-names.ts'
import { keyNamesShape, type RequestRow, requestPageShape } from './request-shapes.ts'
import { requestTable } from './request-table.ts'

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
  const scene = el(
    'div',
    { class: 'history' },
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
  return (await get('/account/api-keys?limit=100', keyNamesShape)).data
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
