import { type Decider, methodsFor, whoseVote, whyNot } from '../../domain/eligibility.ts'
import { type Refusal, type RefusalCode, refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import { decidersFor } from '../people/delegates.ts'
import type { ReadyToDecide } from '../ready-to-decide.ts'
import { settleRequest } from '../settle-request.ts'

type ReadDeps = Parameters<typeof settleRequest>[0] & Parameters<typeof decidersFor>[0]

/** A request of a batch as this person finds it now. */
export interface ReadyItem extends ReadyToDecide {
  methods: ('passkey' | 'totp')[]
}

/** A request of a batch, ready or not. */
export type ReadItem = { id: string } & ({ ready: ReadyItem } | { refused: Refusal })

/** Reads all of them up to date, in the order of their ids; the checks are those of a lone decision (`readyToDecide`). */
export async function readItems(deps: ReadDeps, person: User, ids: readonly string[]): Promise<ReadItem[]> {
  const found = await deps.requests.findMany(ids.filter((id) => isId('req', id)))
  const deciderOf = await decidersFor(deps, person, found)
  const byId = new Map(found.map((request) => [request.id, request]))
  const readOne = async (id: string): Promise<ReadItem> => {
    const request = byId.get(id)
    if (request === undefined) return { id, refused: refusal('not_found') }
    const decider = deciderOf(request)
    // Before the request is settled: whom it does not concern must not even make it expire.
    const foreign = whyNot(request, decider)
    if (foreign?.code === 'not_found') return { id, refused: foreign }
    return { id, ...judge(await settleRequest(deps, request), decider) }
  }
  return Promise.all(ids.map(readOne))
}

function judge(
  request: ReadyToDecide['request'],
  decider: Decider,
): { ready: ReadyItem } | { refused: Refusal } {
  const refused = whyNot(request, decider)
  const whose = whoseVote(request, decider)
  if (refused !== undefined || whose === undefined) return { refused: refused ?? refusal('already_voted') }
  return { ready: { request, whose, methods: methodsFor(request, decider) } }
}

/**
 * All of them ready, or one refusal for all: of the kinds that stand in the way the gravest, with the ids it holds for.
 * @throws Refusal `not_found`, `not_pending`, `sandbox_request`, `already_voted`, `passkey_required`, each with `ids`
 */
export function allReady(items: readonly ReadItem[]): ReadyItem[] {
  const refused = items.flatMap((item) => ('refused' in item ? [{ id: item.id, refused: item.refused }] : []))
  const [first] = refused
  if (first === undefined) return items.flatMap((item) => ('ready' in item ? [item.ready] : []))
  const code = GRAVITY.find((code) => refused.some((one) => one.refused.code === code))
  if (code === undefined) throw first.refused
  throw refusal(code, { ids: refused.filter((one) => one.refused.code === code).map(({ id }) => id) })
}

/** The order in which a lone decision is checked. */
const GRAVITY = [
  'not_found',
  'not_pending',
  'sandbox_request',
  'already_voted',
  'passkey_required',
] as const satisfies RefusalCode[]
