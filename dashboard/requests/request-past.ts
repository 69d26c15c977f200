import type { Review } from '../../webauthn-page/kit/api/contract.ts'
import { orNone } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { div } from '../../webauthn-page/kit/dom/element.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { loadSimilar, precedentsView } from '../../webauthn-page/kit/request/precedents.ts'
import { byName } from '../../webauthn-page/kit/request/request-words.ts'
import { readPages } from '../parts/read-pages.ts'
import { accountsOf, type CurrentSession, isOwned } from '../shell/account-view.ts'
import { waysOf } from '../shell/addresses.ts'
import type { Done } from '../shell/page-entry.ts'
import { similarSection } from './similar-requests.ts'
import { withdrawButton } from './withdraw.ts'

/**
 * What is known of a request besides what is decided on: earlier ones and, for the people of its account, as far as their role
 * goes, its timeline, what was sent, and the owner's way to withdraw it. `done` reopens the page.
 * @throws RequestFailure, ShapeError
 */
export async function requestPast(
  review: Review,
  { user, accounts: all }: CurrentSession,
  done: Done,
): Promise<HTMLElement[]> {
  const accounts = accountsOf(user, all)
  const account = accounts.find(({ id }) => id === review.requester.account)
  const similar = await loadSimilar(review.id)
  // Who may decide has them above the caller's text.
  const known =
    review.status === 'pending' && !review.may_decide && similar ? precedentsView(similar) : undefined
  const parts = [known, similarSection(similar)]
  if (account !== undefined) {
    const reader = { user, account, ...waysOf(account, accounts) }
    const person = byName({ ...review.names, [user.approver]: user.name })
    const { loadLog, sentSection, timelineSection } = await import('./request-log.ts')
    const log = isOwned(account) ? await orNone(loadLog(review.id)) : undefined
    // The list of what was sent begins with its first page; the timeline has all.
    const sent = log && { ...log, ...(await readPages(log, (cursor) => loadLog(review.id, cursor))) }
    parts.push(await timelineSection(review, sent, reader, person))
    if (log !== undefined) parts.push(sentSection(review.id, log, reader.href, person))
    if (log !== undefined && review.status === 'pending') parts.push(withdrawal(review.id, done))
  }
  return parts.filter((part) => part !== undefined)
}

function withdrawal(id: string, done: Done): HTMLElement {
  const slot = noticeSlot()
  const withdraw = withdrawButton('Withdraw the request', () => [id], slot, { done })
  return div('section-body', slot.element, buttonRow(withdraw))
}
