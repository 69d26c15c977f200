import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Child, el, hint, link } from '../../webauthn-page/kit/dom/element.ts'
import { ago } from '../../webauthn-page/kit/dom/moment.ts'
import type { WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { type Reading, readingOf, sentenceOf } from '../audit/audit-sentence.ts'
import { type AuditEntry, type AuditPage, auditPageShape } from '../audit/audit-shapes.ts'
import { type Attempt, PLATFORMS, RECIPIENTS } from '../parts/delivery-words.ts'
import { withFilters } from '../parts/filters.ts'
import { readPages } from '../parts/read-pages.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import type { RequestLog } from './request-shapes.ts'

/** One event in the life of a request. */
interface Step {
  at: string
  words: readonly Child[]
}

/**
 * The timeline of a request: its entries in the audit log, who opened it and, for the account's owner, its cards and
 * deliveries.
 * @throws RequestFailure, ShapeError
 */
export async function timelineSection(
  { id, seen = [] }: Pick<Review, 'id' | 'seen'>,
  log: RequestLog | undefined,
  context: PageContext,
  person: WritePerson,
): Promise<HTMLElement | undefined> {
  const { user, href, ofAccount } = context
  // Calls the reader "you", as the entries of the audit log do.
  const whoever = (reference: string, you: string): HTMLElement =>
    reference === user.approver ? el('strong', {}, you) : person(reference)
  const reading = readingOf(context)
  const load = async (cursor: string): Promise<AuditPage> => {
    const page = await get(ofAccount(`/account/audit?subject=${id}&limit=100${cursor}`), auditPageShape)
    reading.learn(page)
    return page
  }
  const trail = await readPages(await load(''), (cursor) => load(`&cursor=${encodeURIComponent(cursor)}`))
  // The log is newest first, even within one instant: reversed, a vote comes before the outcome that it brings about.
  const audited = stepsOf(trail.data.reverse(), reading)
  const opened = seen.map(
    ({ approver, at }): Step => ({ at, words: [whoever(approver, 'You'), ' opened the request'] }),
  )
  const steps = [...audited, ...opened, ...sent(log, (reference) => whoever(reference, 'you'))].sort(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  )
  if (steps.length === 0) return undefined
  const part = section('Timeline', 'All events of this request, oldest first.')
  if (!trail.complete)
    part.body.append(
      hint(
        'The earliest entries are not shown: there are too many. ',
        link(withFilters(href('/audit'), [['subject', id]]), 'The audit log'),
        ' has all of them.',
      ),
    )
  part.body.append(
    el(
      'ol',
      { class: 'timeline', 'aria-label': 'Timeline' },
      ...steps.map(({ at, words }) => el('li', {}, ago(at), el('p', {}, ...words))),
    ),
  )
  return part.element
}

/**
 * Anyone may check a receipt, as often as they like: repeated checks make one line, in the place of the first. The vote that
 * decided makes one line with the outcome.
 */
function stepsOf(entries: readonly AuditEntry[], reading: Reading): Step[] {
  const alike = new Map<unknown, AuditEntry[]>()
  const outcome = entries.find(({ type }) => type === 'approval.approved' || type === 'approval.rejected')
  const deciding = entries
    .filter(({ type, actor }) => type === 'approval.voted' && actor.id === outcome?.actor.id)
    .at(-1)
  for (const entry of entries) {
    if (entry === deciding) continue
    const { type, actor, detail } = entry
    const check = type === 'approval.verified'
    const key = check ? `${actor.kind} ${actor.id} ${detail.result}` : entry
    const before = alike.get(key)
    if (before === undefined) alike.set(key, [entry])
    else before.push(entry)
  }
  return [...alike.values()].flatMap(([first, ...again]) => {
    if (first === undefined) return []
    const last = again.at(-1)
    const often = last === undefined ? [] : [`, ${again.length + 1} times, the last `, ago(last.at)]
    return [{ at: first.at, words: [...sentenceOf(first, reading), ...often] }]
  })
}

/** The cards that were posted, and the deliveries that were delivered or given up. */
function sent(log: RequestLog | undefined, person: WritePerson): Step[] {
  const cards = (log?.cards ?? []).flatMap(({ platform, recipient, approver, attempts }): Step[] => {
    const at = firstAccepted(attempts)
    const whom = approver === undefined ? [RECIPIENTS[recipient].replace(/^A/, 'a')] : [person(approver)]
    return at === undefined ? [] : [{ at, words: [`Posted in ${PLATFORMS[platform]} to `, ...whom] }]
  })
  const deliveries = (log?.data ?? []).flatMap(({ target, event_type, state, attempts }): Step[] => {
    const at = attempts.at(-1)?.at
    if (at === undefined || (state !== 'delivered' && state !== 'dead')) return []
    const what = target === 'callback' ? 'The callback' : `The webhook of ${event_type}`
    return [{ at, words: [`${what} was ${state === 'delivered' ? 'delivered' : 'given up'}`] }]
  })
  return [...cards, ...deliveries]
}

function firstAccepted(attempts: readonly Attempt[]): string | undefined {
  return attempts.find(({ outcome }) => outcome === 'accepted' || outcome === 'http_200')?.at
}
