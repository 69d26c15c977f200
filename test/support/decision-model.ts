import type { Outcome } from '../../src/domain/receipt.ts'

/** What the rules of deciding say, written down a second time and without the code under test. People are numbers. */
export interface Model {
  /** Who stands in for whom now. */
  delegates: Map<number, number>
  /** Who may decide in the account: its owner and its active approvers. */
  members: Set<number>
  requests: ModelRequest[]
}

export interface ModelRequest {
  /** In the order in which the request names them; fixed when it was made. */
  named: readonly number[]
  quorum: number
  status: 'pending' | 'approved' | 'rejected' | 'expired'
  votes: ModelVote[]
}

interface ModelVote {
  /** Who acted. */
  hands: number
  whose: number
  decision: Outcome
}

/** Whose vote the person's would be, or why they have none. */
export function mayVote(
  model: Model,
  request: ModelRequest,
  person: number,
): { whose: number } | { code: string } {
  const acting = request.named.includes(person)
    ? [person]
    : request.named.filter((one) => model.delegates.get(one) === person && model.members.has(person))
  if (acting.length === 0) return { code: 'not_found' }
  if (request.status !== 'pending') return { code: 'not_pending' }
  if (request.votes.some(({ hands }) => hands === person)) return { code: 'already_voted' }
  const whose = acting.find((one) => !request.votes.some((vote) => vote.whose === one))
  return whose === undefined ? { code: 'already_voted' } : { whose }
}

/** Casts a vote that may be cast. @returns what a service must answer: `voted`, or the refusal's code */
export function vote(model: Model, request: ModelRequest, person: number, decision: Outcome): string {
  const found = mayVote(model, request, person)
  if ('code' in found) return found.code
  request.votes.push({ hands: person, whose: found.whose, decision })
  request.status = outcomeOf(request)
  return 'voted'
}

/** One rejection rejects; as many different people as the quorum approve. */
export function outcomeOf({ votes, quorum }: ModelRequest): 'pending' | Outcome {
  if (votes.some(({ decision }) => decision === 'rejected')) return 'rejected'
  return new Set(votes.map(({ whose }) => whose)).size >= quorum ? 'approved' : 'pending'
}

/** Whether there is a signature of a vote: only of those that agree with the outcome, so never of one that wants another. */
export function isSigned({ status }: ModelRequest, { decision }: ModelVote): boolean {
  return decision === status
}

/** Everything about a request that a person who decides a batch is shown, and that can change. */
export function shownOf(model: Model, request: ModelRequest, person: number): string {
  return JSON.stringify([mayVote(model, request, person), request.votes])
}
