import { post, RequestFailure } from '../../../webauthn-page/kit/api/request.ts'
import { usePasskey } from '../../../webauthn-page/kit/passkey/ceremony.ts'
import { type BatchItem, batchAnswerShape, batchOptionsShape } from './batch-shapes.ts'
import { checkBatch, type ShownBatch } from './check-batch.ts'

/** With what the person confirms, and what they say to every caller. */
export interface BatchBallot {
  comment: string
  /** A code instead of the passkey. */
  totp: string | undefined
}

/**
 * Gets one fresh proof of presence for exactly the list that is shown, then posts it.
 * `asking` hears when the passkey prompt opens and when it was answered.
 * @throws MismatchError before the passkey is asked, CeremonyError, RequestFailure
 */
export async function submitBatch(
  shown: ShownBatch,
  { comment, totp }: BatchBallot,
  asking: (open: boolean) => void,
): Promise<BatchItem[]> {
  const items = shown.reviews.map(({ id }) => ({ id, decision: shown.decision }))
  const said = await post('/approvals/decisions/options', { items }, batchOptionsShape)
  await checkBatch(said, shown)
  const words = comment.trim() === '' ? {} : { comment: comment.trim() }
  const proof = totp === undefined ? { passkey: await asked(said.options, asking) } : { totp }
  const body = { batch_id: said.batch_id, ...words, ...proof }
  return (await post('/approvals/decisions', body, batchAnswerShape)).data
}

async function asked(
  options: Parameters<typeof usePasskey>[0] | undefined,
  asking: (open: boolean) => void,
): ReturnType<typeof usePasskey> {
  if (options === undefined)
    throw new RequestFailure(403, 'method_not_enrolled', 'No passkey of yours can confirm these requests.')
  asking(true)
  try {
    return await usePasskey(options)
  } finally {
    asking(false)
  }
}
