import { LONGEST_SEARCH } from '../../src/domain/search.ts'
import { visibleString } from '../../src/domain/text.ts'
import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { div, el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { tick } from '../../webauthn-page/kit/dom/form.ts'
import { keepInAddress } from '../shell/shown-address.ts'

/**
 * The filters of the list. Their values are in the address (`inboxFilter`), so that Back and a reload keep them. `changed` runs
 * when the person changes a value.
 */
export function waitingFilter(changed: () => void) {
  const query = new URLSearchParams(location.search)
  const chosen = (): void => {
    keepInAddress([text, asker, of, impact, group, sort].map((part) => part.inAddress()))
    changed()
  }
  const text = searchBox(query, chosen)
  const sort = sortChoice(query, chosen)
  const asker = nameChoice('by', 'Requested by', 'Requested by anyone', query, chosen)
  const of = nameChoice('of', 'Account', 'Any account', query, chosen)
  const impact = tickFilter('High impact only', 'impact', 'high', query, chosen)
  const group = tickFilter('Group like requests', 'group', 'kind', query, chosen)
  const narrow = div('inbox-narrow', impact.element, group.element, asker.element, of.element, sort.element)
  narrow.id = freshId('filters')
  const toggle = el(
    'button',
    { type: 'button', class: 'button quiet inbox-toggle', 'aria-controls': narrow.id },
    'Filters',
  )
  const open = (opened: boolean): void => {
    narrow.classList.toggle('open', opened)
    toggle.setAttribute('aria-expanded', String(opened))
  }
  toggle.addEventListener('click', () => open(!narrow.classList.contains('open')))
  // On a phone they are folded, unless one of them hides something.
  open(['by', 'of', 'impact', 'group', 'sort'].some((name) => query.has(name)))
  return {
    element: div('inbox-filters', text.input, toggle, narrow),
    /** Moves the focus to the search. */
    search: () => text.input.focus(),
    /** Offers the values that occur in the waiting requests, and hides a filter that has fewer than two. */
    offer(waiting: readonly PendingRequest[]): void {
      asker.offer(waiting.map(({ requested_by }) => requested_by.key_name))
      of.offer(waiting.map(({ requested_by }) => requested_by.account_name))
      impact.offer(new Set(waiting.map(({ high_impact }) => high_impact)).size > 1)
      const kinds = waiting.flatMap(({ kind }) => kind ?? [])
      group.offer(new Set(kinds).size < kinds.length)
      for (const one of [text.input, sort.element, toggle])
        one.hidden = waiting.length < 2 && query.get('q') === null && query.get('sort') === null
    },
  }
}

function nameChoice(name: string, label: string, any: string, query: URLSearchParams, chosen: () => void) {
  const id = freshId(name)
  const select = el('select', { id, class: 'select' })
  const element = el('p', {}, el('label', { for: id, class: 'visually-hidden' }, label), select)
  const offer = (values: readonly string[]): void => {
    const wanted = select.value
    const names = [...new Set([...values, wanted].filter((value) => value !== ''))].sort()
    const options = [...select.options].slice(1).map(({ value }) => value)
    element.hidden = names.length < 2 && wanted === ''
    if (options.join('\n') === names.join('\n')) return
    // An option cannot isolate the direction of its text: hidden characters are written out.
    select.replaceChildren(
      el('option', { value: '' }, any),
      ...names.map((value) => el('option', { value }, visibleString(value))),
    )
    select.value = wanted
  }
  const first = query.get(name) ?? ''
  select.append(el('option', { value: '' }, any), el('option', { value: first }, visibleString(first)))
  select.value = first
  select.addEventListener('change', chosen)
  return {
    element,
    offer,
    inAddress: () => ({ name, value: select.value }),
  }
}

function tickFilter(label: string, name: string, on: string, query: URLSearchParams, chosen: () => void) {
  const { row: element, input: box } = tick('checkbox', label, { checked: query.get(name) === on })
  box.addEventListener('change', chosen)
  return {
    element,
    /** Shows it while it can make a difference. */
    offer: (useful: boolean) => {
      element.hidden = !box.checked && !useful
    },
    inAddress: () => ({ name, value: box.checked ? on : '' }),
  }
}

function searchBox(query: URLSearchParams, chosen: () => void) {
  const input = el('input', {
    ...{ type: 'search', class: 'input', placeholder: 'Search', maxlength: LONGEST_SEARCH },
    ...{ 'aria-label': 'Search pending requests', autocomplete: 'off', value: query.get('q') ?? '' },
  })
  input.addEventListener('input', chosen)
  return { input, inAddress: () => ({ name: 'q', value: input.value.trim() }) }
}

/** The orders, as `inboxOrder` knows them. */
const ORDERS = [
  ['', 'Expires first'],
  ['new', 'Newest first'],
  ['by', 'By caller'],
] as const

function sortChoice(query: URLSearchParams, chosen: () => void) {
  const options = ORDERS.map(([value, words]) => el('option', { value }, words))
  const element = el('select', { class: 'select', 'aria-label': 'Order' }, ...options)
  element.value = query.get('sort') ?? ''
  if (element.selectedIndex < 0) element.value = ''
  element.addEventListener('change', chosen)
  return { element, inAddress: () => ({ name: 'sort', value: element.value }) }
}
