import { setTimeout as pause } from 'node:timers/promises'
import { refusal } from '../../domain/errors.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { KeyWatch } from '../../store/requests/key-signal.ts'
import type { FlowDeps } from '../deps.ts'
import type { Caller } from '../keys/authenticate-caller.ts'
import { settleRequest } from './settle-request.ts'
import {
  AWAY_MS,
  begin,
  hasPatience,
  type Known,
  knownOf,
  mostMs,
  type Patience,
  type Wait,
} from './wait-for-decision.ts'

/** Most pending requests with which a watch begins, the newest: a live key can hardly have more. */
const MOST_OPEN = 500

/** Requests read in one command, and held in memory while they are sent: each may be large. */
const SLICE = 10

/** Most requests of which the last state is remembered. */
const MOST_SENT = 2_000

/** Milliseconds after which the versions of the pending requests are compared, in case a change was noticed by nothing else. */
const WHOLE_MS = 10_000

/**
 * What a watch knows: `open`: the pending requests; `sent`: how the requests last looked; `todo`: those still to read; `listed`:
 * the pending requests were yielded once; `compared`: when their versions were last compared.
 */
interface Memory {
  open: Map<string, Known>
  sent: Map<string, string>
  todo: Set<string>
  listed: boolean
  compared: number
}

/**
 * Yields the key's pending requests, then `listed`, then each of its requests when it is new or looks different, until patience
 * ends. After a gap in which changes may have been missed it begins anew.
 * @throws Refusal `invalid or missing API key` when the key is revoked meanwhile (T54)
 */
export async function* watchKey(
  deps: FlowDeps,
  { key }: Caller,
  wait: Wait,
): AsyncGenerator<ApprovalRequest | 'listed', void, undefined> {
  const patience = begin(deps, wait)
  const watch = deps.keyChanges.watch(key.id)
  const memory: Memory = { open: new Map(), sent: new Map(), todo: new Set(), listed: false, compared: 0 }
  try {
    let gap = true
    let compare = true
    while (hasPatience(deps, patience)) {
      const read = await unlessAway(deps, { memory, patience }, async () => {
        if (compare || deps.clock.steady() - memory.compared > WHOLE_MS)
          await compareOpen(deps, key.id, memory)
        compare = false
        return readSome(deps, key.id, memory)
      })
      yield* read ?? []
      if (read === undefined || memory.todo.size > 0) continue
      if (gap) yield 'listed'
      memory.listed = true
      gap = await nextNews(deps, watch, memory, patience)
      compare = gap
    }
  } finally {
    watch.close()
  }
}

/** Does the work. A store that is away for a moment does not end a stream that has begun. @returns undefined if it is away */
async function unlessAway<T>(
  deps: FlowDeps,
  { memory, patience }: { memory: Memory; patience: Patience },
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!deps.storeIsDown(error) || !memory.listed || !hasPatience(deps, patience)) throw error
    await pause(AWAY_MS, undefined, { signal: patience.signal }).catch(() => {})
    return undefined
  }
}

/** Notes in `todo` the pending requests that are new or have another version, and those that are pending no more. */
async function compareOpen({ requests, clock }: FlowDeps, keyId: string, memory: Memory): Promise<void> {
  const { open, todo } = memory
  const pending = await requests.pendingOf(keyId, MOST_OPEN)
  const ids = new Set(pending.map(({ id }) => id))
  for (const { id, version } of pending.reverse()) if (open.get(id)?.version !== version) todo.add(id)
  for (const id of open.keys()) if (!ids.has(id)) todo.add(id)
  memory.compared = clock.steady()
}

/** Reads some of `todo`. @returns those that look different from when they were last returned */
async function readSome(
  deps: FlowDeps,
  keyId: string,
  { open, sent, todo }: Memory,
): Promise<ApprovalRequest[]> {
  const ids = [...todo].slice(0, SLICE)
  if (ids.length === 0) return []
  // The key is read at the same moment, so that nothing is told after its revocation (T54).
  const [found, revoked] = await Promise.all([
    deps.requests.findMany(ids),
    deps.apiKeys.revokedAmong([keyId]),
  ])
  if (revoked.length > 0) throw refusal('invalid or missing API key')
  const requests = await Promise.all(found.map((request) => settleRequest(deps, request)))
  for (const id of ids) {
    todo.delete(id)
    open.delete(id)
  }
  return ids
    .flatMap((id) => requests.find((request) => request.id === id) ?? [])
    .filter((request) => {
      if (request.status === 'pending') open.set(request.id, knownOf(deps, request))
      const looks = looksOf(request)
      if (sent.get(request.id) === looks) return false
      remember(sent, request.id, looks)
      return true
    })
}

/** Names all that can change in how a caller sees a request. */
function looksOf({ status, cancelled, consumed_at, erased_at }: ApprovalRequest): string {
  return [status, cancelled, consumed_at?.getTime(), erased_at?.getTime()].join()
}

function remember(sent: Map<string, string>, id: string, looks: string): void {
  sent.delete(id)
  sent.set(id, looks)
  const [oldest] = sent.keys()
  if (sent.size > MOST_SENT && oldest !== undefined) sent.delete(oldest)
}

/**
 * Waits until there is something to read and notes it in `todo`: what changed, what is due, and what has another version.
 * @returns whether changes may have been missed
 * @throws Refusal `invalid or missing API key`
 */
async function nextNews(
  deps: FlowDeps,
  watch: KeyWatch,
  { open, todo }: Memory,
  patience: Patience,
): Promise<boolean> {
  const known = [...open.values()]
  const ms = Math.min(mostMs(deps, known, patience, AWAY_MS / 2), WHOLE_MS)
  const news = await watch.next(ms, patience.signal)
  if (news === undefined) return false
  if (news.revoked) throw refusal('invalid or missing API key')
  for (const id of news.changed) todo.add(id)
  const now = deps.clock.now()
  for (const [id, { due, expires_at }] of open) if (due <= now || expires_at <= now) todo.add(id)
  return news.gap
}
