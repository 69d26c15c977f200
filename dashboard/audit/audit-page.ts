import { RequestFailure, silence } from '../../webauthn-page/kit/api/request.ts'
import { button, copyButton } from '../../webauthn-page/kit/dom/button.ts'
import {
  type Child,
  div,
  el,
  exactText,
  facts,
  folded,
  hint,
  lede,
  link,
  mono,
  p,
} from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field } from '../../webauthn-page/kit/dom/form.ts'
import { ago, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice, noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText, textWarnings } from '../../webauthn-page/kit/show/caller-text.ts'
import { callersLegend } from '../inbox/pending.ts'
import { type Choice, type ChoiceField, choiceField, dayField, searchField } from '../parts/fields.ts'
import { filteredList, RESULTS_ID } from '../parts/filtered-list.ts'
import { type Filters, withFilters } from '../parts/filters.ts'
import { command } from '../parts/secret-box.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { aboutElement, idElement, pathOf, type Reading, readingOf, sentenceOf } from './audit-sentence.ts'
import {
  type AuditEntry,
  type AuditPage,
  auditPageShape,
  type LogKeys,
  logKeysShape,
} from './audit-shapes.ts'
import { AUDIT_WORDS, valueWord } from './audit-words.ts'

/** `/audit`: the account's audit log, newest entry first, as far as the person may see it. */
export async function auditPage(context: PageContext): Promise<PageView> {
  const everything = context.account.role !== 'approver'
  const list = await filteredList<AuditEntry, AuditPage>({
    context,
    path: '/audit',
    names: AUDIT_FILTERS,
    fields: auditFilterFields,
    shape: auditPageShape,
    list: () => entryList(context),
    called: ['entry', 'entries'],
    none: 'Every change is listed here from now on.',
    below: () => div('results', aboutLog(), aboutFiles()),
  })
  const scene = div(
    'history',
    el('h1', {}, 'Audit log'),
    lede(everything ? EVERYTHING : OWN),
    callersLegend(),
    ...list,
  )
  return { title: 'Audit log', scene, wide: true }
}

const EVERYTHING =
  'Every change made in this account. The entries are chained, so that a later alteration shows.'
const OWN = 'Events of the requests that name you, and your own actions.'

function entryList(context: PageContext) {
  const list = el('ol', { class: 'audit-entries', 'aria-labelledby': RESULTS_ID })
  const reading = readingOf(context)
  const outcomes = new Set<string>()
  return {
    element: list,
    learn: reading.learn,
    add: (rows: readonly AuditEntry[]): HTMLElement | undefined => {
      for (const row of rows) if (isOutcome(row)) outcomes.add(momentOf(row))
      const [votes, others] = [new Map<string, AuditEntry>(), [] as AuditEntry[]]
      for (const row of rows) {
        if (row.type === 'approval.voted' && outcomes.has(momentOf(row))) votes.set(momentOf(row), row)
        else others.push(row)
      }
      const items = others.map((row) =>
        auditItem(row, reading, isOutcome(row) ? votes.get(momentOf(row)) : undefined),
      )
      list.append(...items)
      return items[0]?.querySelector('button') ?? undefined
    },
  }
}

function isOutcome({ type }: AuditEntry): boolean {
  return type === 'approval.approved' || type === 'approval.rejected'
}

/** Names what one write records of a decision: the deciding vote and the outcome, which make one line. */
function momentOf({ subject, at, actor }: AuditEntry): string {
  return [subject, at, actor.id].join()
}

/** The filters, as the service and the page's address name them. */
const AUDIT_FILTERS = ['q', 'type', 'subject', 'actor', 'key', 'from', 'to'] as const

/** The fields of the filters. */
function auditFilterFields(filters: Filters): { search: Field; others: (Field | ChoiceField)[] } {
  const value = (name: string): string => filters.get(name) ?? ''
  const idField = (name: string, label: string, hint: string): Field =>
    field({ label, name, hint, attributes: { value: value(name), autocomplete: 'off' } })
  return {
    search: searchField(value('q'), 'Name, id, address, detail'),
    others: [
      choiceField({ label: 'Event', name: 'type', choices: typeChoices(), value: value('type') }),
      idField('subject', 'About', 'A person or key by name, or any whole id.'),
      idField('actor', 'By', 'A person or key by name or id, or: service, cli, public, chat.'),
      idField('key', 'API key', 'Name or id: the entries of this key and of its requests.'),
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

function aboutFiles(): HTMLElement {
  return folded(
    'About the files',
    p(
      'Each entry has its number in the trail, id, type, time, who did it and from where, what it is about, the details, and ',
      'the hash that links it to all entries before it; beside these, the current names of who did it and of the person or ',
      'key it is about, and the beginning of the action, which the trail does not hold. NDJSON is one entry a line, for programs; CSV opens in a spreadsheet, ',
      'and no cell in it can start a formula.',
    ),
    hint(...howToCheck()),
  )
}

function howToCheck(): Child[] {
  return [
    'The operator of the service can prove that nothing has changed since: ',
    el('code', {}, 'npx countersign audit check --expect <seq>:<hash>'),
    ', with number and hash of an entry in the file.',
  ]
}

/** What the log has by now, and what anybody needs to check it without trusting this service. Loaded once it is wanted. */
function aboutLog(): HTMLElement {
  const slot = noticeSlot()
  const body = div('exact-body', slot.element)
  const part = folded('The log, and how others check it', body)
  const load = async (): Promise<void> => {
    const keys = logKeysShape(JSON.parse((await fetchOpen('/.well-known/countersign-log')) ?? ''), 'log')
    body.append(...logView(keys, await fetchOpen(`${new URL(keys.url).pathname}/checkpoint`)))
  }
  part.addEventListener('toggle', () => void slot.attempt(load), { once: true })
  return part
}

/**
 * Fetches what is public, past the browser's copy: that may name a log that ended.
 * @returns undefined where the log is stopped. @throws RequestFailure when there is no answer, or another refusal
 */
async function fetchOpen(path: string): Promise<string | undefined> {
  const response = await fetch(path, { credentials: 'omit', redirect: 'error', cache: 'no-cache' }).catch(
    () => undefined,
  )
  const text = await response?.text().catch(() => undefined)
  if (response === undefined || text === undefined) throw silence()
  const { ok, status } = response
  if (ok) return text
  if (text.includes('"log_rolled_back"')) return undefined
  const failed = `The log failed to load; the service answered with status ${status}. Reload the page in a moment.`
  throw new RequestFailure(status, 'no_log', status === 404 ? 'The log has signed nothing yet.' : failed)
}

/** @param checkpoint the newest, a signed note; undefined where the log signs nothing more */
function logView(
  { origin, vkey, url, witnesses, former }: LogKeys,
  checkpoint: string | undefined,
): HTMLElement[] {
  const [text = '', signatures = ''] = checkpoint?.split('\n\n') ?? []
  const names = witnesses.map(({ vkey: key }) => key.split('+')[0] ?? '')
  const signed = names.flatMap((name) => cosignedBy(name, signatures))
  const policy = [
    ...[vkey, ...former.map((ended) => ended.vkey)].flatMap((key) => (key === undefined ? [] : `log ${key}`)),
    ...witnesses.map((witness, at) => `witness w${at + 1} ${witness.vkey}`),
    ...(names.length > 1 ? [`group witnesses any ${names.map((_, at) => `w${at + 1}`).join(' ')}`] : []),
    `quorum ${['none', 'w1'][names.length] ?? 'witnesses'}`,
  ]
  const monitor = `countersign log monitor ${new URL(url).origin} --state log.json --policy trust.policy`
  return [
    checkpoint === undefined
      ? notice('warning', ...STOPPED)
      : facts(
          ['Entries in the log', new Intl.NumberFormat().format(Number(text.split('\n')[1]))],
          ['Witnessed by', ...(signed.length > 0 ? signed : ['nobody yet'])],
          ['Log', mono(origin)],
        ),
    p(
      'Every entry of this page is in a log that only grows, as a hash. Keep these lines as ',
      el('code', {}, 'trust.policy'),
      ', in a place that this service cannot change:',
    ),
    command(policy.join('\n'), 'the trust policy'),
    former.length > 0 &&
      hint(
        'The log went on under another key after a restore. Add the first line to the file, and keep its old lines: older bundles need them.',
      ),
    hint(
      'With them, ',
      link('/verify', 'the check of a receipt'),
      ' also proves that the log has the decision, and this command that the log only grew since its last run. ',
      names.length > 0
        ? 'The witnesses see that everybody is shown the same log:'
        : 'One reader cannot know that others are shown the same log; with witnesses they can:',
    ),
    command(monitor, 'the command of the monitor'),
  ].filter((part) => part !== false)
}

const STOPPED: Child[] = [
  'the service was restored from a backup, so its log is stopped (log_rolled_back). It goes on once the operator runs ',
  el('code', {}, 'countersign log renew --after <file>'),
  ', with the last checkpoint that others have (docs/proof.md#after-a-restore).',
]

/** Says when the witness signed; the line holds a key id of 4 bytes, then the time in 8 (C2SP tlog-cosignature). */
function cosignedBy(name: string, signatures: string): HTMLElement[] {
  const line = signatures.split('\n').find((one) => one.startsWith(`— ${name} `))
  const bytes = Uint8Array.from(atob(line?.split(' ')[2] ?? ''), (character) => character.charCodeAt(0))
  if (bytes.length < 12) return []
  const at = new Date(Number(new DataView(bytes.buffer).getBigUint64(4)) * 1000)
  return [p(mono(callerText(name)), ' ', ago(at.toISOString()))]
}

/**
 * One entry in a line: time, sentence and address; the rest is built when the entry is opened.
 * @param vote the vote that decided, which has no line of its own
 */
function auditItem(entry: AuditEntry, reading: Reading, vote?: AuditEntry): HTMLElement {
  const { at, actor, subject, detail } = entry
  const more = div('audit-more')
  more.hidden = true
  const toggle = button(
    'More',
    'quiet',
    () => {
      if (!more.hasChildNodes()) more.append(...everythingOf(entry, reading, vote))
      more.hidden = !more.hidden
      toggle.setAttribute('aria-expanded', String(!more.hidden))
    },
    { 'aria-expanded': 'false', 'aria-label': `More of entry ${entry.seq}` },
  )
  const sentence = sentenceOf(entry, reading)
  // A delivery has no page of its own: link to its request and its receiver.
  const about = [...new Set([subject, detail.request_id, detail.target])]
    .filter((id) => typeof id === 'string' && pathOf(id, reading) !== undefined)
    .map((id) => aboutElement(String(id), reading))
  return el(
    'li',
    { class: 'audit-entry' },
    ago(at),
    el('p', { class: 'audit-sentence' }, ...sentence, '.'),
    div('audit-where hint', ...about),
    div('audit-where hint', actor.address !== undefined && mono(callerText(actor.address))),
    toggle,
    more,
  )
}

function everythingOf(entry: AuditEntry, reading: Reading, vote?: AuditEntry): HTMLElement[] {
  const { at, actor, subject, type } = entry
  const parts = [
    hint(moment(at), ' · ', el('code', { class: 'mono' }, callerText(type)), ...allBy(actor, reading)),
    details({ ...entry, detail: { ...vote?.detail, ...entry.detail } }, reading),
    div(
      'audit-about',
      el('span', { class: 'hint' }, 'About '),
      aboutName(subject, reading),
      idElement(subject, reading),
      copyButton(subject, `the id ${subject}`),
      onlyLink('subject', subject, 'All entries about this', reading),
    ),
    rawEntry(entry),
    vote && rawEntry(vote),
  ]
  return parts.filter((part) => part !== undefined)
}

/** Links to everything the same person or key did: the filter takes ids, which nobody knows by heart. */
function allBy({ kind, id }: AuditEntry['actor'], reading: Reading): Child[] {
  if (id === undefined || !['user', 'api_key', 'internal'].includes(kind)) return []
  const whom = kind === 'user' ? 'this person' : 'this key'
  const all = [' · ', onlyLink('actor', id, `All by ${id === reading.reader ? 'you' : whom}`, reading)]
  return kind === 'user' ? all : [...all, ' · ', onlyLink('key', id, 'All of its requests', reading)]
}

function onlyLink(
  filter: 'actor' | 'subject' | 'key',
  id: string,
  words: string,
  { href }: Reading,
): HTMLElement {
  const attributes = { 'aria-label': `${words} (${id})` }
  return link(withFilters(href('/audit'), [[filter, id]]), words, attributes)
}

/** The current name of a person or key, shown beside the id; undefined when it is not known. */
function aboutName(id: string, { names }: Reading): HTMLElement | undefined {
  const name = names.get(id)
  return name === undefined ? undefined : el('span', {}, callerText(name))
}

function details({ detail }: AuditEntry, reading: Reading): HTMLElement | undefined {
  // Hashes serve `countersign audit check`; the exported files contain them.
  const facts = Object.entries(detail).filter(([name]) => !name.endsWith('_sha256'))
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

/** Several ids, each by its name if it has one. */
function listed(ids: readonly string[], reading: Reading): Child[] {
  return ids.flatMap((id, position) => [position > 0 && ', ', detailValue(id, reading)])
}

function detailValue(value: string | number | boolean, reading: Reading): HTMLElement {
  if (typeof value === 'boolean') return el('span', {}, value ? 'yes' : 'no')
  if (typeof value === 'number') return el('span', {}, String(value))
  const name = reading.names.get(value)
  if (name !== undefined) return el('span', {}, callerText(name))
  if (pathOf(value, reading) !== undefined) return idElement(value, reading)
  return el('span', {}, callerText(valueWord(value)), ...textWarnings(value))
}

/** The raw entry, built when it is opened: few are, and the page may hold hundreds. */
function rawEntry(entry: AuditEntry): HTMLElement {
  const title = `Entry ${entry.seq}, raw`
  const element = folded(title)
  element.addEventListener(
    'toggle',
    () => {
      const json = JSON.stringify(entry, null, 2)
      element.append(exactText(title, callerText(json)), copyButton(json, 'the raw entry'))
    },
    { once: true },
  )
  return element
}
