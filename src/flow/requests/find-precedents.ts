import { type Account, may, roleIn } from '../../domain/account.ts'
import { kindOf, likenessOf } from '../../domain/likeness.ts'
import { departuresFrom, MOST_PRECEDENTS, type Precedents } from '../../domain/precedents.ts'
import { type ApprovalRequest, contextOf } from '../../domain/request.ts'
import type { FlowDeps } from '../deps.ts'

/**
 * Says what people decided about earlier requests of the same key and kind, as far as this person may see those, and how this request
 * differs from what they approved. A caller can influence it only through requests that people decided.
 * @returns undefined when there is nothing to say: the request has no kind, or none of its kind was decided and it names no tool
 */
export async function findPrecedents(
  deps: Pick<FlowDeps, 'history'>,
  request: ApprovalRequest,
  personId: string,
  account: Account | undefined,
): Promise<Precedents | undefined> {
  const [likeness, kind] = [likenessOf(request), kindOf(request)]
  if (likeness === undefined || kind === undefined || request.erased_at !== undefined) return undefined
  const all = await deps.history.decidedOfKind(kind, request.id, MOST_PRECEDENTS)
  const own = account === undefined || !may(roleIn(account, personId), 'read_all')
  const seen = own ? all.filter(({ people }) => people.includes(personId)) : all
  const at_least = all.length === MOST_PRECEDENTS
  const [last] = seen
  // Among the older ones there may be some that the person may see.
  if (last === undefined && (at_least || likeness.by === 'fields')) return undefined
  return {
    likeness,
    own,
    approved: seen.filter(({ decision }) => decision === 'approved').length,
    rejected: seen.filter(({ decision }) => decision === 'rejected').length,
    at_least,
    last,
    departures: departuresFrom(seen, contextOf(request)),
  }
}
