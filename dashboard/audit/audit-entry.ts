import { copyButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, el, hint, link } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText, textWarnings } from '../../webauthn-page/kit/show/caller-text.ts'
import { withFilters } from '../parts/filters.ts'
import type { AuditEntry } from './audit-shapes.ts'
import { auditWords, partsOf, valueWord } from './audit-words.ts'

/** What an entry is read with. */
export interface Reading {
  /** What people and keys are called now. */
  names: ReadonlyMap<string, string>
  /** Id of who reads. */
  reader: string
  href(path: string): string
}

/** One entry: a sentence, when and from where, the details, and all of it raw. */
export function auditItem(entry: AuditEntry, reading: Reading): HTMLElement {
  const { at, actor, subject, type } = entry
  return el(
    'li',
    { class: 'audit-entry' },
    el('p', { class: 'audit-sentence' }, ...sentenceOf(entry, reading), '.'),
    hint(
      moment(at),
      actor.address !== undefined && ' · from ',
      actor.address !== undefined && el('span', { class: 'mono' }, callerText(actor.address)),
      ' · ',
      el('code', { class: 'mono' }, callerText(type)),
      ...allBy(actor, reading),
    ),
    details(entry, reading),
    el(
      'div',
      { class: 'audit-about' },
      el('span', { class: 'hint' }, 'About '),
      aboutName(subject, reading),
      idElement(subject, reading),
      copyButton(subject, `the id ${subject}`),
      onlyLink('subject', subject, 'All about this', reading),
    ),
    rawEntry(entry),
  )
}

/** Leads to what the same person or key did; the filter takes ids, which people do not know by heart. */
function allBy({ kind, id }: AuditEntry['actor'], reading: Reading): Child[] {
  if (id === undefined || !['user', 'api_key', 'internal'].includes(kind)) return []
  const whom = kind === 'user' ? 'this person' : 'this key'
  return [' · ', onlyLink('actor', id, `All by ${id === reading.reader ? 'you' : whom}`, reading)]
}

function onlyLink(filter: 'actor' | 'subject', id: string, words: string, { href }: Reading): HTMLElement {
  const attributes = { 'aria-label': `${words} (${id})` }
  return link(withFilters(href('/audit'), [[filter, id]]), words, attributes)
}

function sentenceOf(entry: AuditEntry, reading: Reading): Child[] {
  const [, sentence] = auditWords(entry.type)
  return partsOf(sentence).map(({ words, name }, position) => {
    if (name === undefined) return words
    const first = position === 0
    if (name === 'actor') return actorName(entry, first, reading)
    if (name === 'subject') return whoOrWhat(entry.subject, first, reading)
    const value = entry.detail[name]
    return value === undefined ? 'unknown' : callerText(valueWord(String(value)))
  })
}

function actorName({ actor }: AuditEntry, first: boolean, reading: Reading): Child {
  switch (actor.kind) {
    case 'user':
    case 'api_key':
    case 'internal':
      return whoOrWhat(actor.id ?? '', first, reading)
    case 'chat':
      return el(
        'span',
        {},
        begin('somebody in chat (', first),
        el('span', { class: 'mono' }, callerText(actor.id ?? '')),
        ')',
      )
    case 'cli':
      return begin('the command line', first)
    case 'service':
      return 'Countersign'
    default:
      return actor.kind === 'public' ? begin('somebody', first) : callerText(actor.kind)
  }
}

/**
 * A person or key by name, as far as it is known. What it is stands before the name, so that a name such as "Countersign"
 * cannot pass as the service (T44).
 */
function whoOrWhat(id: string, first: boolean, { names, reader, href }: Reading): HTMLElement {
  if (id === reader) return el('strong', {}, begin('you', first))
  const name = names.get(id)
  const shown = name === undefined ? el('span', { class: 'mono' }, callerText(id)) : callerText(name)
  if (id.startsWith('key_'))
    return el('span', {}, begin('the API key ', first), pageLink(href('/keys'), shown))
  const kind = id.startsWith('usr_') && name === undefined
  return el('span', {}, kind && begin('the person ', first), el('strong', {}, shown))
}

function begin(words: string, first: boolean): string {
  return first ? `${words.charAt(0).toUpperCase()}${words.slice(1)}` : words
}

/** What it is called now, beside its id. */
function aboutName(id: string, { names }: Reading): HTMLElement | undefined {
  const name = names.get(id)
  return name === undefined ? undefined : el('span', {}, callerText(name))
}

/** An id that leads to its page where it has one. */
function idElement(id: string, { href }: Reading): HTMLElement {
  const path = pathOf(id)
  const text = el('span', { class: 'mono' }, callerText(id))
  return path === undefined ? text : pageLink(href(path), text)
}

function pathOf(id: string): string | undefined {
  if (/^req_\w{26}$/.test(id)) return `/requests/${id}`
  if (/^whk_\w{26}$/.test(id)) return `/integrations/webhooks/${id}`
  return /^key_\w{26}$/.test(id) ? '/keys' : undefined
}

function pageLink(address: string, content: HTMLElement): HTMLElement {
  const element = link(address, '')
  element.append(content)
  return element
}

function details({ detail }: AuditEntry, reading: Reading): HTMLElement | undefined {
  const facts = Object.entries(detail)
  if (facts.length === 0) return undefined
  return el(
    'ul',
    { class: 'audit-details', 'aria-label': 'Details' },
    ...facts.map(([name, value]) =>
      el(
        'li',
        {},
        el('span', { class: 'hint' }, `${name.replaceAll('_', ' ')}: `),
        name === 'approvers' && typeof value === 'string'
          ? el('span', {}, ...listed(value.split(' '), reading))
          : detailValue(value, reading),
      ),
    ),
  )
}

/** Several ids, by name where there is one. */
function listed(ids: readonly string[], reading: Reading): Child[] {
  return ids.flatMap((id, position) => [position > 0 && ', ', detailValue(id, reading)])
}

function detailValue(value: string | number | boolean, reading: Reading): HTMLElement {
  if (typeof value === 'boolean') return el('span', {}, value ? 'yes' : 'no')
  if (typeof value === 'number') return el('span', {}, String(value))
  const name = reading.names.get(value)
  if (name !== undefined) return el('span', {}, callerText(name))
  if (pathOf(value) !== undefined) return idElement(value, reading)
  return el('span', {}, callerText(valueWord(value)), ...textWarnings(value))
}

/** Made when it is opened: few are, and there may be hundreds on the page. */
function rawEntry({ raw, seq }: AuditEntry): HTMLElement {
  const element = el('details', { class: 'exact' }, el('summary', {}, `Entry ${seq}, raw`))
  element.addEventListener(
    'toggle',
    () => {
      const json = JSON.stringify(raw, null, 2)
      const attributes = {
        class: 'exact-text',
        tabindex: 0,
        role: 'group',
        'aria-label': `Entry ${seq}, raw`,
      }
      element.append(el('pre', attributes, callerText(json)), copyButton(json, 'the raw entry'))
    },
    { once: true },
  )
  return element
}
