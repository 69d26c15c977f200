import { RequestFailure } from '../../../webauthn-page/kit/api/request.ts'
import { type CheckedReview, loadReview } from '../../../webauthn-page/kit/request/checked-review.ts'
import { inOrder } from '../in-order.ts'

/** At once: more would only queue up in the browser. */
const TOGETHER = 6

/**
 * Reads what the requests are about and checks each against the hash that is signed; those that this person cannot decide
 * any more are left out.
 * @throws MismatchError, RequestFailure, ShapeError
 */
export async function loadBatch(ids: readonly string[]): Promise<CheckedReview[]> {
  const found: CheckedReview[] = []
  for (let from = 0; from < ids.length; from += TOGETHER) {
    const some = await Promise.all(ids.slice(from, from + TOGETHER).map(loadIfThere))
    found.push(...some.filter((checked) => checked !== undefined))
  }
  const open = found.filter(({ review }) => review.status === 'pending' && review.may_decide)
  const order = inOrder(open.map(({ review }) => review))
  return order.flatMap((review) => open.filter((checked) => checked.review === review))
}

async function loadIfThere(id: string): Promise<CheckedReview | undefined> {
  try {
    return await loadReview(id)
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 404) return undefined
    throw error
  }
}
