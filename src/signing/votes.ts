import { type ReceiptRefusal, refuse } from './receipt-error.ts'
import type { VerifiedReceipt, VerifyResult } from './verify-core.ts'

/** The receipts in one JSON text: the decision's, and one per vote where several people had to agree. */
export interface Receipts {
  /** Absent for a bare list of votes. */
  decision?: object
  votes: object[]
  /** Approvals without a signature: a rejected request has such. */
  unsigned: UnsignedVote[]
  /** Present when there is a list of votes, even an empty one. */
  listed?: true
}

/** A vote that nothing proves; `approver` names whose vote it allegedly is, if that is a reference. */
export interface UnsignedVote {
  approver?: string
}

/** The verdict on a receipt, and the valid votes next to it. */
export interface JudgedTogether {
  result: VerifyResult
  /** The object that `result` is about: the decision or, of a bare list of valid votes, the newest. */
  shown: object
  votes: VerifiedReceipt[]
  unsigned: UnsignedVote[]
}

/** Judges a receipt with the votes next to it, or a bare list of votes: one refusal refuses all. @param check judges one alone */
export function judgeTogether(json: unknown, check: (json: unknown) => VerifyResult): JudgedTogether {
  const { decision, votes, unsigned, listed } = splitVotes(
    typeof json === 'object' && json !== null ? json : {},
  )
  const shown = decision ?? votes[0] ?? {}
  const alone = check(shown)
  if (!alone.valid) return { result: named(shown, alone), shown, votes: [], unsigned: [] }
  const refused = (problem: string) => ({ result: disagreement(problem), shown, votes: [], unsigned: [] })
  if (votes.length + unsigned.length > MAX_VOTES) return refused(`There are more than ${MAX_VOTES} votes.`)
  const checked = votes.map(check)
  const problem = problemOfVotes(decision && alone, checked, unsigned, listed)
  if (problem !== undefined) return refused(problem)
  const holding = checked.filter((vote) => vote.valid)
  const at = decision === undefined ? newest(checked) : -1
  const main = holding[at] ?? alone
  const unproven = [main, ...holding].some((one) => one.unproven)
  const result = unproven ? { ...main, unproven } : main
  return { result, shown: votes[at] ?? shown, votes: holding, unsigned }
}

/** Names the code of an error of the service that was saved in place of a receipt: it tells more than what is missing. */
function named(json: object, refused: ReceiptRefusal): ReceiptRefusal {
  const code: unknown = Reflect.get(json, 'error')
  if (typeof code !== 'string' || !/^[a-z_]{1,60}$/.test(code)) return refused
  if (['decision', ...OF_RECEIPTS].some((name) => Object.hasOwn(json, name))) return refused
  return { ...refused, message: `This is an error answer of the service, not a receipt: ${code}.` }
}

/** Returns the index of the vote that decided, among valid votes: the newest; of votes of the same second, the last one. */
export function newest(votes: readonly VerifyResult[]): number {
  const times = votes.map((vote) => (vote.valid ? vote.payload.ts : 0))
  return times.lastIndexOf(Math.max(...times))
}

/** @param problem the sentence from `problemOfVotes` */
export function disagreement(problem: string): ReceiptRefusal {
  const refusal = refuse('receipt_votes_disagree', 'votes')
  return { ...refusal, message: `${refusal.message} ${problem}` }
}

/** More votes than a request can ever need. */
export const MAX_VOTES = 100

/** Fields around a decision that also apply to each of its votes. The status does not: it is the outcome of all votes. */
const SHARED = ['id', 'request_id', 'action', 'context', 'expires_at', 'sandbox'] as const

/** Takes the votes out of a decision (`votes`), an answer or event with a decision, or a list of votes. Reads nothing else. */
export function splitVotes(whole: object): Receipts {
  if (Array.isArray(whole)) return sorted(whole.map(asObject))
  const json = outOfEvent(whole)
  const outer = new Map<string, unknown>(Object.entries(json))
  const decision = outer.get('decision')
  const [own, inner] = [listIn(json), isObject(decision) ? listIn(decision) : undefined]
  // An empty list inside does not hide the one beside it.
  if (inner !== undefined && (inner.length > 0 || own === undefined)) {
    const around = SHARED.filter((name) => outer.has(name)).map((name) => [name, outer.get(name)])
    const { votes, ...others } = sorted(inner)
    const whole = votes.map((vote) => ({ ...Object.fromEntries(around), decision: vote }))
    return { decision: json, votes: whole, ...others }
  }
  return { decision: json, ...(own === undefined ? { votes: [], unsigned: [] } : sorted(own)) }
}

const EVENT = ['id', 'type', 'created_at', 'data']

/**
 * Unwraps an account webhook's body, which has the answer as `data`, and keeps its `type`, which names the outcome too. With other
 * fields beside it, people could read those.
 */
function outOfEvent(json: object): object {
  const fields = new Map<string, unknown>(Object.entries(json))
  const [type, data] = [fields.get('type'), fields.get('data')]
  const isEvent = typeof type === 'string' && type.startsWith('approval.')
  return isEvent && isObject(data) && [...fields.keys()].every((name) => EVENT.includes(name))
    ? { ...data, type }
    : json
}

/** Fields that mark an object as a receipt, even a broken one: only an approval with none of them is an unsigned vote. */
const OF_RECEIPTS = [
  'signed_payload',
  'canonical_payload',
  'signature',
  'public_key_id',
  'public_key',
  'signed_receipt',
  'payload',
]

function sorted(votes: readonly object[]): Receipts {
  const [signed, unsigned]: [object[], UnsignedVote[]] = [[], []]
  for (const vote of votes) {
    const fields = new Map<string, unknown>(Object.entries(vote))
    const bare = fields.get('decision') === 'approved' && !OF_RECEIPTS.some((name) => fields.has(name))
    if (bare) unsigned.push(namedBy(fields.get('approver')))
    else signed.push(vote)
  }
  return { votes: signed, unsigned, listed: true }
}

function namedBy(approver: unknown): UnsignedVote {
  return typeof approver === 'string' && /^[0-9a-f]{16}$/.test(approver) ? { approver } : {}
}

/**
 * Returns why votes, each judged alone before, do not belong together; undefined when they do, or when there is no list. They
 * must be about one request, by and for different people, as many as the statement asks for, and the decision must be one of them.
 * Votes of both outcomes never belong together: the service signs one outcome, and a rejected request's approvals stay unsigned.
 * @param decision the result for the decision; undefined for a bare list of votes
 * @param votes the results for the signed ones
 * @param listed whether there is a list, which may be empty
 */
export function problemOfVotes(
  decision: VerifyResult | undefined,
  votes: readonly VerifyResult[],
  unsigned: readonly UnsignedVote[],
  listed?: true,
): string | undefined {
  if (votes.length + unsigned.length === 0) return listed && decision && tooFew(decision, [decision], 0)
  const payloads = votes.flatMap((result) => (result.valid ? [result.payload] : []))
  if (payloads.length < votes.length) return 'One of the votes is invalid.'
  const different = (values: readonly string[]): boolean => new Set(values).size === values.length
  const [first] = payloads
  if (payloads.some(({ rid }) => rid !== first?.rid)) return 'The votes are about different requests.'
  if (!different(payloads.map(({ did }) => did))) return 'One vote is there twice.'
  const acted = votes.flatMap((vote) => (vote.valid ? (vote.delegate ?? vote.payload.approver) : []))
  if (!different(payloads.map(({ approver }) => approver)) || !different(acted))
    return 'One person is counted twice.'
  if (payloads.some((vote) => vote.decision !== first?.decision))
    return 'One of the votes is a rejection, so the request was rejected and no approval of it was signed.'
  if (unsigned.length > 0 && first?.decision === 'approved')
    return 'One of the votes is not signed, as only the approvals of a rejected request are.'
  // The service alone could have had two people agree to two things under one request.
  for (const part of [0, 1]) {
    const asked = votes.flatMap((vote) => (vote.valid && vote.asked?.[part]) || [])
    if (new Set(asked).size > 1) return 'The votes are about different statements.'
  }
  const few = tooFew(votes[0], [...votes, ...(decision === undefined ? [] : [decision])], votes.length)
  if (few !== undefined) return few
  if (decision === undefined || !decision.valid) return undefined
  const { payload } = decision
  if (!payloads.some((vote) => vote.did === payload.did && vote.nonce === payload.nonce))
    return 'The decision is not among the votes.'
  return undefined
}

/** Checks the quorum. A quorum of one needs no list, so an empty list beside it proves nothing. */
function tooFew(
  one: VerifyResult | undefined,
  all: readonly VerifyResult[],
  came: number,
): string | undefined {
  if (one?.valid !== true || one.payload.decision !== 'approved') return undefined
  const quorum = Math.max(1, ...all.map((result) => (result.valid ? (result.stated?.quorum ?? 1) : 1)))
  if (came >= quorum || quorum === 1) return undefined
  return `The statement requires ${quorum} approvals; only ${came} came with the receipt.`
}

/** Returns a caution for an approval that came without the list of the votes which, by its statement, it took. */
export function missingVotes(
  { payload, stated }: VerifiedReceipt,
  votes: readonly unknown[],
): string | undefined {
  if (votes.length > 0 || payload.decision !== 'approved' || (stated?.quorum ?? 1) === 1) return undefined
  return `Only 1 of the ${stated?.quorum} approvals that the statement requires is here. Get the whole answer: its list "votes" has all of them.`
}

/** Returns when the key of a receipt, or of a vote next to it, was revoked after it had signed; undefined when none was. */
export function revokedAt(result: VerifiedReceipt, votes: readonly VerifiedReceipt[]): Date | undefined {
  return [result, ...votes].find(({ keyRevokedAt }) => keyRevokedAt !== undefined)?.keyRevokedAt
}

/** Returns the caution of a restore, if the receipt or a vote next to it has one. */
export function restoreDoubt(result: VerifiedReceipt, votes: readonly VerifiedReceipt[]): string | undefined {
  return [result, ...votes].find(({ restoreCaution }) => restoreCaution !== undefined)?.restoreCaution
}

/** Returns the cautions about a receipt that is valid, as are all votes next to it. */
export function cautionsAbout(result: VerifiedReceipt, votes: readonly VerifiedReceipt[]): string[] {
  const revoked = revokedAt(result, votes)
  const whose = result.keyRevokedAt === undefined ? 'The key of one vote' : 'The key'
  const cautions = [
    revoked &&
      `${whose} was revoked later, at ${revoked.toISOString()}. A thief could have back-dated this receipt; look for other evidence.`,
    missingVotes(result, votes),
    restoreDoubt(result, votes),
  ]
  return cautions.filter((caution) => caution !== undefined)
}

/** Reads the list of votes. Anything but a list counts as one invalid vote; null counts as an empty list. */
function listIn(decision: object): object[] | undefined {
  if (!Object.hasOwn(decision, 'votes')) return undefined
  const votes: unknown = Reflect.get(decision, 'votes') ?? []
  return Array.isArray(votes) ? votes.map(asObject) : [{}]
}

/** Turns a value that is no object, and so no receipt, into an empty object, which is refused. */
function asObject(value: unknown): object {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
