import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, freshId, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { attachmentList } from '../../webauthn-page/kit/request/attachments.ts'
import {
  type CheckedReview,
  loadReview,
  MismatchError,
} from '../../webauthn-page/kit/request/checked-review.ts'
import { loadSimilar, precedentsView } from '../../webauthn-page/kit/request/precedents.ts'
import { heldNotice, quorumView } from '../../webauthn-page/kit/request/request-panel.ts'
import { signedFacts } from '../../webauthn-page/kit/request/request-scene.ts'
import { revokedKeyNote } from '../../webauthn-page/kit/request/request-words.ts'
import { callerBox } from '../../webauthn-page/kit/show/caller-box.ts'
import { callerName } from '../../webauthn-page/kit/show/caller-text.ts'
import { similarSection } from '../requests/similar-requests.ts'
import { canDecide, pageOf } from './inbox-row.ts'
import { forWhom } from './pending.ts'

/** Loads everything about a request, to be shown beside the list. @throws RequestFailure, ShapeError */
export async function readingOf(request: PendingRequest): Promise<HTMLElement[]> {
  try {
    const [checked, similar] = await Promise.all([loadReview(request.id), loadSimilar(request.id)])
    const parts = [...reading(request, checked), similarSection(similar)]
    parts.splice(1, 0, similar && precedentsView(similar))
    return parts.filter((part) => part !== undefined)
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error
    return [notice('error', error.message, ' Do not decide this request. Tell the operator of this service.')]
  }
}

/** Everything that a signature on the request would cover, with the service's warnings before it. */
export function everythingSigned({ review, context }: CheckedReview, actionId: string): HTMLElement[] {
  const { action, context_json: contextJson, requested_by, on_behalf_of } = review
  const attachments = attachmentList(review)
  const keyName = requested_by.key_name
  const box = callerBox({ action, context, contextJson, keyName, actionId, attachments })
  const notes = [revokedKeyNote(requested_by), forWhom(on_behalf_of)].filter((note) => note !== undefined)
  return [...notes, box, signedFacts(review)]
}

function reading(request: PendingRequest, checked: CheckedReview): HTMLElement[] {
  const { review } = checked
  const actionId = freshId('action')
  const { key_name, account_name } = review.requested_by
  const parts = [
    div(
      'reading-head',
      request.high_impact && el('p', { class: 'badge high-impact' }, 'High impact'),
      canDecide(request)
        ? wayToDecide(review.id, actionId)
        : review.held
          ? heldNotice()
          : p('You have no factor to confirm it with. ', link('/account', 'Set up a passkey or codes'), '.'),
    ),
    ...everythingSigned(checked, actionId),
    hint(
      'Countersign knows the caller as the API key ',
      callerName(key_name),
      ' of the account ',
      callerName(account_name),
      '. Expires ',
      moment(review.expires_at),
      '.',
    ),
    review.quorum.needed > 1 ? quorumView(review) : undefined,
  ]
  return parts.filter((part) => part !== undefined)
}

/** Neither link decides: the page they lead to asks for the passkey or code. */
function wayToDecide(id: string, actionId: string): HTMLElement {
  const to = (wanted: 'approve' | 'reject', words: string): HTMLElement =>
    link(`${pageOf({ id })}?d=${wanted}`, words, {
      class: `button ${wanted}`,
      'aria-describedby': actionId,
    })
  return div(
    'section-body',
    buttonRow(to('reject', 'Reject…'), to('approve', 'Approve…')),
    hint('You confirm on the next page. A signed decision cannot be undone.'),
  )
}
