import {
  addTally,
  count,
  type Figured,
  isOpen,
  LATE_MS,
  MOST_DAYS,
  newTally,
  percentile,
  type Tally,
} from '../../domain/overview.ts'
import type { User } from '../../domain/user.ts'
import type { Overview } from '../../domain/views.ts'
import type { Clock } from '../../ports/ports.ts'
import type { Stores } from '../../store/stores.ts'
import type { FlowDeps, Overviews } from '../deps.ts'
import { accessTo } from '../people/accounts.ts'
import { peopleOf } from '../people/names.ts'

const DAY_MS = 86_400_000

/** Accounts whose figures are kept; the one that was looked at longest ago makes room. */
const MOST_ACCOUNTS = 50

/** What is known of an account: requests that are over are counted once, by the day (UTC) they were made. */
interface Known {
  days: Map<string, Tally>
  /** Pending requests when last read, by id. */
  open: Set<string>
  /** Everything made before is in `days` or `open`. */
  readTo: Date
}

/**
 * Keeps the figures of accounts in memory, so that a look reads only what is new or was pending: the first look at an account
 * after a start reads up to 90 days, at some 20 µs a request. What has been counted stays, also when the request is deleted.
 */
export function createOverviews(deps: { figures: Stores['figures']; clock: Clock }): Overviews {
  const known = new Map<string, Known>()
  const reading = new Map<string, Promise<Map<string, Tally>>>()
  const look = async (accountId: string): Promise<Map<string, Tally>> => {
    const now = deps.clock.now()
    const first = dayOf(new Date(now.getTime() - MOST_DAYS * DAY_MS))
    const account = known.get(accountId) ?? { days: new Map(), open: new Set(), readTo: new Date(first) }
    known.delete(accountId)
    const days = await readOn(deps.figures, accountId, account, now)
    for (const day of account.days.keys()) if (day < first) account.days.delete(day)
    known.set(accountId, account)
    for (const id of known.keys()) if (known.size > MOST_ACCOUNTS) known.delete(id)
    return days
  }
  return {
    byDay(accountId) {
      const under = reading.get(accountId)
      if (under !== undefined) return under
      const started = look(accountId).finally(() => reading.delete(accountId))
      reading.set(accountId, started)
      return started
    },
  }
}

/** Counts what ended since the last look. @returns the days, with what is pending or may be incomplete on top */
async function readOn(
  figures: Stores['figures'],
  accountId: string,
  account: Known,
  now: Date,
): Promise<Map<string, Tally>> {
  const passing = new Map<string, Tally>()
  const take = (request: Figured, settled: boolean) => {
    const stays = settled && !isOpen(request, now)
    if (settled && !stays) account.open.add(request.id)
    const days = stays ? account.days : passing
    const day = dayOf(request.created_at)
    const tally = days.get(day) ?? newTally()
    days.set(day, tally)
    count(tally, request, now)
  }
  const open = [...account.open]
  account.open.clear()
  for (const request of await figures.byId(open)) take(request, true)
  const settledBefore = new Date(now.getTime() - LATE_MS)
  for await (const request of figures.since(accountId, account.readTo))
    take(request, request.created_at < settledBefore)
  if (settledBefore > account.readTo) account.readTo = settledBefore
  return merged(account.days, passing)
}

function merged(days: ReadonlyMap<string, Tally>, passing: ReadonlyMap<string, Tally>): Map<string, Tally> {
  const all = new Map(days)
  for (const [day, part] of passing) {
    const sum = newTally()
    for (const one of [days.get(day), part]) if (one !== undefined) addTally(sum, one)
    all.set(day, sum)
  }
  return all
}

/** The day in UTC, such as `2026-11-29`. */
function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** Undelivered events are counted up to here. */
const MOST_DEAD = 100

/**
 * Reads the figures of an account, for its owner and its auditors.
 * @throws Refusal `not_found` for malformed, unknown and foreign accounts, and for approvers
 */
export async function readOverview(
  deps: FlowDeps,
  person: User,
  { account: wanted, days }: { account?: string; days: number },
): Promise<Overview> {
  const { account } = await accessTo(deps, person, 'read_all', wanted)
  const now = deps.clock.now()
  const [byDay, oldest, keys, people, dead] = await Promise.all([
    deps.overviews.byDay(account.id),
    deps.figures.oldestPending(account.id, now),
    deps.apiKeys.list(account.id),
    peopleOf(deps, account),
    deps.deliveries.list({ account_id: account.id, given_up: true, limit: MOST_DEAD }),
  ])
  const names = Array.from({ length: days }, (_, ago) => dayOf(new Date(now.getTime() - ago * DAY_MS)))
  const total = newTally()
  const shown = names.reverse().map((day) => {
    const tally = byDay.get(day) ?? newTally()
    addTally(total, tally)
    return { day, endings: tally.endings }
  })
  const median = percentile(total.waits, 0.5)
  const p90 = percentile(total.waits, 0.9)
  return {
    ...{ account, days: shown, total, oldest, deadLetters: dead.length },
    waits: median === undefined || p90 === undefined ? undefined : { median, p90 },
    names: new Map([...keys, ...people].map(({ id, name }) => [id, name])),
  }
}
