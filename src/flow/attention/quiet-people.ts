import { quietSince, quietUntil } from '../../domain/attention.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * Towards whom the request's key is silent at `at` (`domain/attention.ts`), and until when. Counted from the decisions
 * themselves, so nothing can be lost or counted twice, and asking again later about the same moment gives the same answer.
 * @returns user ids with the end of the silence
 */
export async function quietPeople(
  { requests }: Pick<FlowDeps, 'requests'>,
  { api_key_id }: Pick<ApprovalRequest, 'api_key_id'>,
  at: Date,
): Promise<Map<string, Date>> {
  const times = new Map<string, Date[]>()
  for (const rejection of await requests.rejections(api_key_id, quietSince(at))) {
    times.set(rejection.user_id, [...(times.get(rejection.user_id) ?? []), rejection.at])
  }
  const quiet = [...times].flatMap(([userId, rejected]): [string, Date][] => {
    const until = quietUntil(rejected, at)
    return until === undefined ? [] : [[userId, until]]
  })
  return new Map(quiet)
}
