import { type Child, el, link, mono } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { withFilters } from '../parts/filters.ts'
import { isOwned } from '../shell/account-view.ts'
import type { PageContext } from '../shell/page-entry.ts'
import type { AuditEntry, AuditPage } from './audit-shapes.ts'
import { auditSentence, partsOf, valueWord } from './audit-words.ts'

/** The context in which an entry is shown. */
export type Reading = ReturnType<typeof readingOf>

/** Who reads, and for which account. */
export type Reader = Pick<PageContext, 'user' | 'href' | 'account'>

/** Returns the context in which the entries of a page are shown: the reader, and the names that the service knows. */
export function readingOf({ user, href, account }: Reader) {
  const names = new Map<string, string>()
  const actions = new Map<string, string>()
  return {
    /** The beginnings of the actions of requests, by id. */
    actions,
    /** The current names of people and keys, by id. */
    names,
    learn: (page: AuditPage) => {
      for (const [id, name] of Object.entries(page.names)) names.set(id, name)
      for (const [id, action] of Object.entries(page.actions)) actions.set(id, action)
    },
    /** Id of the reader. */
    reader: user.id,
    /** Whether the reader owns the account: only the owner has pages of members and keys. */
    owner: isOwned(account),
    href,
  }
}

/** The entry as a sentence. */
export function sentenceOf(entry: AuditEntry, reading: Reading): Child[] {
  return partsOf(auditSentence(entry)).map(({ words, name }, position) => {
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
      return el('span', {}, begin('a chat user (', first), mono(callerText(actor.id ?? '')), ')')
    case 'cli':
      return begin('the command line', first)
    case 'service':
      return 'Countersign'
    default:
      return actor.kind === 'public' ? begin('a visitor', first) : callerText(actor.kind)
  }
}

/**
 * A person or key, by name if it is known. The kind stands before a key's name, so that a key named "Countersign"
 * cannot pass as the service (T44).
 */
function whoOrWhat(id: string, first: boolean, reading: Reading): HTMLElement {
  const { names, reader, href } = reading
  if (id === reader) return el('strong', {}, begin('you', first))
  const name = names.get(id)
  const shown = name === undefined ? mono(callerText(id)) : callerText(name)
  const path = pathOf(id, reading)
  const linked = path === undefined ? el('strong', {}, shown) : pageLink(href(path), shown)
  if (id.startsWith('key_')) return el('span', {}, begin('the API key ', first), linked)
  const kind = id.startsWith('usr_') && name === undefined
  return el('span', {}, kind && begin('the person ', first), linked)
}

function begin(words: string, first: boolean): string {
  return first ? `${words.charAt(0).toUpperCase()}${words.slice(1)}` : words
}

/** An id, linked to its page if it has one. */
export function idElement(id: string, reading: Reading): HTMLElement {
  const { href } = reading
  const path = pathOf(id, reading)
  const text = mono(callerText(id))
  return path === undefined ? text : pageLink(href(path), text)
}

/** A request by its action, in the tint of the caller's words; anything else by its id. */
export function aboutElement(id: string, reading: Reading): HTMLElement {
  const action = reading.actions.get(id)
  if (action === undefined) return idElement(id, reading)
  const words = el('span', { class: 'inbox-action' }, callerText(action))
  return pageLink(reading.href(`/a/${id}`), words)
}

/** The path of the id's page; for a reader without pages of members and keys, of a list filtered by the id. */
export function pathOf(id: string, { owner }: Reading): string | undefined {
  if (/^req_\w{26}$/.test(id)) return `/a/${id}`
  if (/^whk_\w{26}$/.test(id) && owner) return `/integrations/webhooks/${id}`
  if (/^key_\w{26}$/.test(id)) return owner ? `/keys?q=${id}` : `/requests?key=${id}`
  if (!/^usr_\w{26}$/.test(id)) return undefined
  return owner ? '/members' : withFilters('/audit', [['actor', id]])
}

function pageLink(address: string, content: HTMLElement): HTMLElement {
  const element = link(address, '')
  element.append(content)
  return element
}
