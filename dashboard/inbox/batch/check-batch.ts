import type { Outcome } from '../../../src/domain/receipt.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import type { Review } from '../../../webauthn-page/kit/api/contract.ts'
import {
  checkChallenge,
  checkStatement,
  MismatchError,
  sha256Hex,
  shownIntent,
} from '../../../webauthn-page/kit/request/checked-review.ts'
import type { BatchOptions } from './batch-shapes.ts'

/** What the person has on the screen and the button they pressed. */
export interface ShownBatch {
  reviews: readonly Review[]
  decision: Outcome
  /** Reference of the person who acts. */
  actor: string
  audience: string
}

/**
 * Refuses to go on unless the batch lists exactly what is shown, in that order, by the hash of an intent that says exactly
 * what is shown, and the challenge is the hash of that batch (T16, T18): one item exchanged, left out or added between
 * showing and signing is caught here, before the passkey.
 * @throws MismatchError naming the field
 */
export async function checkBatch(said: BatchOptions, shown: ShownBatch): Promise<void> {
  const { reviews, decision, actor, audience } = shown
  if (said.intents.length !== reviews.length) throw differs('number of requests')
  const items = await Promise.all(
    reviews.map(async (review, at) => {
      const intent = said.intents[at] ?? {}
      checkStatement(intent, shownIntent(review, decision, audience))
      return { rid: review.id, decision, intent_sha256: await sha256Hex(canonicalize(intent)) }
    }),
  )
  const { salt, items: listed, ...rest } = said.batch
  checkStatement({ salt, ...rest }, { typ: 'human-approval/batch/v1', aud: audience, approver: actor })
  if (canonicalize(listed ?? null) !== canonicalize(items)) throw differs('list of requests')
  if (said.options !== undefined) await checkChallenge(said.batch, said.options)
}

function differs(field: string): MismatchError {
  return new MismatchError(
    `The service asked for a signature on something other than what is shown here (${field}).`,
  )
}
