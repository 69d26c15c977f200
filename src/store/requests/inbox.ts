import type { Member } from '../../domain/account.ts'
import type { Requirement } from '../../domain/policy.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { UNEXPIRED } from '../mongo/filters.ts'

interface SeatRow {
  _id: string
  members?: Pick<Member, 'user_id' | 'role' | 'state'>[]
}

interface PendingRow {
  _id: string
  requirement: Pick<Requirement, 'approvers'>
  version: number
  created_at: Date
  api_key_id: string
}

/** The pending requests that name the same approvers. */
interface Group {
  approvers: string[]
  count: number
  versions: number
  newest: number
  /** Revoked keys among those that made the requests. */
  lost: Set<string>
}

/** The batch size, so that the rows of a look nearly always fit in one answer. */
const ROWS = 5000

export type InboxStore = ReturnType<typeof createInboxStore>

/**
 * Reads requests, users and accounts for all people who watch an inbox: one query each, however many people. A group's mark
 * changes with every write to its requests: a vote raises a version, a request that leaves lowers the count, and a request
 * that takes its place is younger than all others. It also changes when a key that made one of the requests is revoked.
 */
export function createInboxStore(connection: StoreConnection) {
  const requests = connection.collection('requests')
  const users = connection.collection<{ _id: string; delegate?: { user_id: string } }>('users')
  const keys = connection.collection<{ _id: string }>('api_keys')
  const accounts = connection.collection<SeatRow>('accounts')
  return {
    /** Returns the marks of requests pending for any of these people and unexpired by the database's clock; no dry-runs. */
    async marks(userIds: readonly string[]) {
      const waiting = {
        'requirement.approvers.user_id': { $in: [...userIds] },
        status: 'pending',
        sandbox: false,
        $expr: UNEXPIRED,
      }
      // A projection, not `$group`: for that the embedded store would read whole documents, and no more than 100 MiB of them.
      const projection = { requirement: 1, version: 1, created_at: 1, api_key_id: 1 }
      const rows = await requests.find<PendingRow>(waiting, { projection, batchSize: ROWS }).toArray()
      const asking = [...new Set(rows.map((row) => row.api_key_id))]
      const lost = { _id: { $in: asking }, revoked_at: { $ne: null } }
      const revoked = asking.length === 0 ? [] : await keys.find(lost, { projection: { _id: 1 } }).toArray()
      return marksOf(rows, new Set(revoked.map(({ _id }) => _id)))
    },
    /** Returns which of these people stand in for someone at `now`, and for whom. */
    async standIns(
      userIds: readonly string[],
      now: Date,
    ): Promise<{ delegate: string; principal: string }[]> {
      const active = {
        'delegate.user_id': { $in: [...userIds] },
        'delegate.starts_at': { $lte: now },
        'delegate.ends_at': { $gt: now },
      }
      const found = await users.find(active, { projection: { 'delegate.user_id': 1 } }).toArray()
      return found.flatMap(({ _id, delegate }) =>
        delegate === undefined ? [] : [{ delegate: delegate.user_id, principal: _id }],
      )
    },
    /** Marks each person's role in other people's accounts: as a delegate they decide only where they are approvers. */
    async seats(userIds: readonly string[]): Promise<{ user_id: string; mark: string }[]> {
      const wanted = new Set(userIds)
      const projection = { 'members.user_id': 1, 'members.role': 1, 'members.state': 1 }
      const holding = { 'members.user_id': { $in: [...userIds] } }
      const found = await accounts.find(holding, { projection }).sort({ _id: 1 }).toArray()
      return found.flatMap(({ _id, members = [] }) =>
        members
          .filter(({ user_id }) => wanted.has(user_id))
          .map(({ user_id, role, state }) => ({ user_id, mark: `${_id}:${role}:${state}` })),
      )
    },
  }
}

/** Returns each group's approver ids, and a text that differs after any change to the group's requests. */
function marksOf(rows: readonly PendingRow[], revoked: ReadonlySet<string>) {
  const groups = new Map<string, Group>()
  for (const { requirement, version, created_at, api_key_id } of rows) {
    const approvers = requirement.approvers.map(({ user_id }) => user_id)
    const name = approvers.join()
    const group = groups.get(name) ?? { approvers, count: 0, versions: 0, newest: 0, lost: new Set() }
    groups.set(name, group)
    group.count += 1
    group.versions += version
    group.newest = Math.max(group.newest, created_at.getTime())
    if (revoked.has(api_key_id)) group.lost.add(api_key_id)
  }
  return [...groups].map(([name, { approvers, count, versions, newest, lost }]) => {
    return { approvers, mark: `${name}:${count}:${versions}:${newest}:${lost.size}` }
  })
}
