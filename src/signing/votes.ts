import type { VerifyResult } from './verify-core.ts'

/** The receipts in one JSON text: that of the decision, and one for each vote where several people had to agree. */
export interface Receipts {
  /** Absent for a bare list of votes. */
  decision?: object
  votes: object[]
}

/** More people than can ever have to agree on one request. */
export const MAX_VOTES = 100

/** Fields around a decision that hold for each of its votes, too. The status does not: it is the outcome of all. */
const SHARED = ['id', 'request_id', 'action', 'context', 'expires_at', 'sandbox'] as const

/** Takes the votes out of a decision (`votes`), an answer with a decision, or a list of votes. Reads nothing else. */
export function splitVotes(json: object): Receipts {
  if (Array.isArray(json)) return { votes: json.map(asObject) }
  const outer = new Map<string, unknown>(Object.entries(json))
  const decision = outer.get('decision')
  const inner = isObject(decision) ? listIn(decision) : undefined
  if (inner !== undefined) {
    const around = SHARED.filter((name) => outer.has(name)).map((name) => [name, outer.get(name)])
    return {
      decision: json,
      votes: inner.map((vote) => ({ ...Object.fromEntries(around), decision: vote })),
    }
  }
  return { decision: json, votes: listIn(json) ?? [] }
}

/**
 * Why votes that are each signed by themselves do not belong together: about one request, by different people, and the
 * decision one of them. Undefined when they do, or when there are none.
 * @param decision the result for the decision; undefined for a bare list of votes
 */
export function problemOfVotes(
  decision: VerifyResult | undefined,
  votes: readonly VerifyResult[],
): string | undefined {
  if (votes.length === 0) return undefined
  const payloads = votes.flatMap((result) => (result.valid ? [result.payload] : []))
  if (payloads.length < votes.length) return 'One of the votes does not hold.'
  const different = (values: readonly string[]): boolean => new Set(values).size === values.length
  const [first] = payloads
  if (payloads.some(({ rid }) => rid !== first?.rid)) return 'The votes are about different requests.'
  if (!different(payloads.map(({ did }) => did))) return 'One vote is there twice.'
  if (!different(payloads.map(({ approver }) => approver))) return 'One person is counted twice.'
  if (decision === undefined || !decision.valid) return undefined
  const { payload } = decision
  if (!payloads.some((vote) => vote.did === payload.did && vote.nonce === payload.nonce))
    return 'The decision is none of the votes.'
  const others = payloads.filter((vote) => vote.decision !== payload.decision)
  if (payload.decision === 'approved' && others.length > 0)
    return 'One of the votes is a rejection, which would have rejected the request.'
  return undefined
}

function listIn(decision: object): object[] | undefined {
  const votes = Object.hasOwn(decision, 'votes') ? Reflect.get(decision, 'votes') : undefined
  return Array.isArray(votes) ? votes.map(asObject) : undefined
}

/** What is no object is no receipt either, and is refused as an empty one. */
function asObject(value: unknown): object {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
