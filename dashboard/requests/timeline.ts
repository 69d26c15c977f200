import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'
import { ago } from '../../webauthn-page/kit/dom/moment.ts'
import type { WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { type Reading, sentenceOf } from '../audit/audit-sentence.ts'
import { auditPageShape } from '../audit/audit-shapes.ts'
import { type Attempt, PLATFORMS } from '../parts/delivery-words.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import type { RequestLog } from './request-shapes.ts'

/** Something that happened with a request. */
interface Step {
  at: string
  words: readonly Child[]
}

/**
 * What happened with a request, in order: what the audit log has of it, who opened it, and for its owner what was posted and
 * delivered.
 * @throws RequestFailure, ShapeError
 */
export async function timelineSection(
  { id, seen = [] }: Pick<Review, 'id' | 'seen'>,
  log: RequestLog | undefined,
  context: PageContext,
  person: WritePerson,
): Promise<HTMLElement | undefined> {
  const { account, user, href, ofAccount } = context
  // As the entries of the audit log call the reader.
  const whoever = (reference: string, you: string): HTMLElement =>
    reference === user.approver ? el('strong', {}, you) : person(reference)
  const { data, names } = await get(ofAccount(`/account/audit?subject=${id}&limit=100`), auditPageShape)
  const reading: Reading = {
    names: new Map(Object.entries(names)),
    reader: user.id,
    href,
    owner: account.own && account.role === 'owner',
  }
  // The log has the newest first; of one instant, too: a vote comes before the outcome it makes.
  const audited = data.reverse().map((entry): Step => ({ at: entry.at, words: sentenceOf(entry, reading) }))
  const opened = seen.map(
    ({ approver, at }): Step => ({ at, words: [whoever(approver, 'You'), ' opened the request'] }),
  )
  const steps = [...audited, ...opened, ...sent(log, (reference) => whoever(reference, 'you'))].sort(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  )
  if (steps.length === 0) return undefined
  const part = section('Timeline', 'What is on record, in order.')
  part.body.append(
    el(
      'ol',
      { class: 'timeline', 'aria-label': 'Timeline' },
      ...steps.map(({ at, words }) => el('li', {}, ago(at), el('p', {}, ...words))),
    ),
  )
  return part.element
}

/** Where it was posted, and who was sent the outcome. */
function sent(log: RequestLog | undefined, person: WritePerson): Step[] {
  const cards = (log?.cards ?? []).flatMap(({ platform, approver, attempts }): Step[] => {
    const at = firstAccepted(attempts)
    const whom = approver === undefined ? ['a channel'] : [person(approver)]
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
