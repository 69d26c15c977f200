import type { ApprovalRequest, Vote } from './request.ts'

/** The most days of which figures are shown, and are kept. */
export const MOST_DAYS = 90

/** How a request ended, or that it has not. Withdrawn ones are apart from the expired. */
export const ENDINGS = ['approved', 'rejected', 'expired', 'withdrawn', 'pending'] as const
type Ending = (typeof ENDINGS)[number]

/** Number of requests by how they ended. */
export type Endings = Record<Ending, number>

/** The fields of a live request that the figures count. */
export type Figured = Pick<
  ApprovalRequest,
  'id' | 'status' | 'created_at' | 'expires_at' | 'cancelled' | 'api_key_id' | 'seen'
> & {
  decided_at?: Date
  votes: Pick<Vote, 'user_id' | 'approver' | 'delegate' | 'decision' | 'at' | 'reason'>[]
}

/** One person's votes. `looks`: seconds from the first sight of a request to the vote, where the service saw both. */
interface VotesOf {
  approved: number
  rejected: number
  looks: number[]
}

/** What the requests of some time add up to. `waits`: seconds from request to decision. */
export interface Tally {
  endings: Endings
  waits: number[]
  keys: Map<string, Endings>
  people: Map<string, VotesOf>
  /** Votes by the reason that was chosen for them. */
  reasons: Map<string, number>
}

export function newTally(): Tally {
  return { endings: noEndings(), waits: [], keys: new Map(), people: new Map(), reasons: new Map() }
}

function noEndings(): Endings {
  return { approved: 0, rejected: 0, expired: 0, withdrawn: 0, pending: 0 }
}

/** Returns how the request ended; one that has lapsed is expired, even while its stored `status` is pending. */
function endingOf(request: Figured, now: Date): Ending {
  if (request.cancelled === true) return 'withdrawn'
  const { status, expires_at } = request
  return status === 'pending' && expires_at.getTime() <= now.getTime() ? 'expired' : status
}

/** Checks whether the request can still end otherwise: a decision from just before its expiry may not have been read yet. */
export function isOpen({ status, expires_at }: Figured, now: Date): boolean {
  return status === 'pending' && expires_at.getTime() > now.getTime() - LATE_MS
}

/** Milliseconds by which another clock may differ, and a write may be on its way. */
export const LATE_MS = 60_000

/** Counts one more request. */
export function count(tally: Tally, request: Figured, now: Date): void {
  const ending = endingOf(request, now)
  tally.endings[ending] += 1
  entryOf(tally.keys, request.api_key_id, noEndings)[ending] += 1
  if (request.decided_at !== undefined)
    tally.waits.push(secondsBetween(request.created_at, request.decided_at))
  for (const vote of request.votes) {
    const person = entryOf(tally.people, vote.user_id, () => ({ approved: 0, rejected: 0, looks: [] }))
    person[vote.decision] += 1
    if (vote.reason !== undefined) add(tally.reasons, vote.reason, 1)
    const seen = request.seen?.find(({ approver }) => approver === (vote.delegate ?? vote.approver))
    if (seen !== undefined) person.looks.push(secondsBetween(seen.at, vote.at))
  }
}

/** Adds `part` to `sum`. */
export function addTally(sum: Tally, part: Tally): void {
  addEndings(sum.endings, part.endings)
  // One by one: spread into `push`, a long list would overflow the stack.
  for (const wait of part.waits) sum.waits.push(wait)
  for (const [id, endings] of part.keys) addEndings(entryOf(sum.keys, id, noEndings), endings)
  for (const [reason, times] of part.reasons) add(sum.reasons, reason, times)
  for (const [id, { approved, rejected, looks }] of part.people) {
    const person = entryOf(sum.people, id, () => ({ approved: 0, rejected: 0, looks: [] }))
    person.approved += approved
    person.rejected += rejected
    for (const look of looks) person.looks.push(look)
  }
}

function add(counts: Map<string, number>, name: string, times: number): void {
  counts.set(name, (counts.get(name) ?? 0) + times)
}

function addEndings(sum: Endings, part: Endings): void {
  for (const ending of ENDINGS) sum[ending] += part[ending]
}

function entryOf<Value>(map: Map<string, Value>, id: string, make: () => Value): Value {
  const known = map.get(id)
  if (known !== undefined) return known
  const made = make()
  map.set(id, made)
  return made
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1000
}

/** Returns the value below which this share of the values lies, by nearest rank; undefined for no values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}

/** Who decides sooner after the first sight of a request has hardly read it. */
export const QUICK_SECONDS = 3

/** With fewer votes, neither figure says anything. */
const ENOUGH_LOOKS = 10
const ENOUGH_VOTES = 50
const MUCH = 0.25

/** `quick`: a quarter of the votes came within 3 s of the first sight. `never_rejects`: not once in 50 votes or more. */
export type AttentionNote = 'quick' | 'never_rejects'

/** What an approver's votes say about how closely requests are read. */
export function attentionOf({ approved, rejected, looks }: VotesOf): {
  median_look?: number
  quick: number
  notes: AttentionNote[]
} {
  const quick = looks.filter((seconds) => seconds < QUICK_SECONDS).length
  const notes: AttentionNote[] = []
  if (looks.length >= ENOUGH_LOOKS && quick >= MUCH * looks.length) notes.push('quick')
  if (rejected === 0 && approved >= ENOUGH_VOTES) notes.push('never_rejects')
  const median = percentile(looks, 0.5)
  return { ...(median === undefined ? {} : { median_look: median }), quick, notes }
}
