import type { Outcome } from '../../src/domain/receipt.ts'
import { decisionOptionsShape, type Review, voteAnswerShape } from '../kit/api/contract.ts'
import { post } from '../kit/api/request.ts'
import { usePasskey } from '../kit/passkey/ceremony.ts'
import { audience } from '../kit/request/audience.ts'
import { checkIntent, shownIntent } from '../kit/request/check-intent.ts'

export interface Ballot {
  decision: Outcome
  comment: string
  /** A code instead of the passkey. */
  totp?: string
}

/**
 * Gets a fresh proof of presence for exactly what is shown, then posts the decision.
 * `asking` hears when the passkey prompt opens and when it was answered.
 * @throws MismatchError before the passkey is asked, CeremonyError, RequestFailure
 */
export async function submitDecision(
  review: Review,
  { decision, comment, totp }: Ballot,
  asking: (open: boolean) => void,
): Promise<void> {
  const path = `/approvals/${review.id}/decision`
  const words = comment.trim() === '' ? {} : { comment: comment.trim() }
  if (totp !== undefined) {
    await post(path, { decision, ...words, totp }, voteAnswerShape)
    return
  }
  const { intent, options } = await post(`${path}/options`, { decision }, decisionOptionsShape)
  await checkIntent(intent, options, shownIntent(review, decision, audience()))
  asking(true)
  const passkey = await usePasskey(options)
  asking(false)
  await post(path, { decision, ...words, passkey }, voteAnswerShape)
}
