import type { Member } from '../domain/account.ts'
import type { StoreConnection } from './connect.ts'
import { UNEXPIRED } from './filters.ts'

/** The pending requests that name the same people, told apart from what they were a moment ago. */
interface InboxMark {
  /** Ids of all people named. */
  approvers: string[]
  /** Another text after any change to these requests. */
  mark: string
}

interface SeatRow {
  _id: string
  members?: Pick<Member, 'user_id' | 'role' | 'state'>[]
}

interface MarkRow {
  _id: string[]
  count: number
  versions: number
  newest: Date
  keys: string[]
}

export type InboxStore = ReturnType<typeof createInboxStore>

/**
 * Reads over requests, users and accounts for all people who watch an inbox at once: one query each, however many they are. A group changes with every write to one of its
 * requests: a vote raises a version, one that is gone lowers the count, and one that came in its place is younger than all
 * others; and when a key that asked for one of them is revoked.
 */
export function createInboxStore(connection: StoreConnection) {
  const requests = connection.collection('requests')
  const users = connection.collection<{ _id: string; delegate?: { user_id: string } }>('users')
  const keys = connection.collection<{ _id: string }>('api_keys')
  const accounts = connection.collection<SeatRow>('accounts')
  return {
    /** Marks of what is pending, unexpired by the database's clock, for any of these people; no dry-runs. */
    async marks(userIds: readonly string[]): Promise<InboxMark[]> {
      const waiting = {
        'requirement.approvers.user_id': { $in: [...userIds] },
        status: 'pending',
        sandbox: false,
        $expr: UNEXPIRED,
      }
      const group = {
        _id: '$requirement.approvers.user_id',
        count: { $sum: 1 },
        versions: { $sum: '$version' },
        newest: { $max: '$created_at' },
        keys: { $addToSet: '$api_key_id' },
      }
      const pipeline = [{ $match: waiting }, { $group: group }]
      const rows = await requests.aggregate<MarkRow>(pipeline).toArray()
      const asking = [...new Set(rows.flatMap((row) => row.keys))]
      const lost = { _id: { $in: asking }, revoked_at: { $ne: null } }
      const revoked = asking.length === 0 ? [] : await keys.find(lost, { projection: { _id: 1 } }).toArray()
      return rows.map(toMark(new Set(revoked.map(({ _id }) => _id))))
    },
    /** Who of these people stands in at `now`, and for whom. */
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
    /** Marks of what each of these people is in other people's accounts: as a delegate they decide only where they are approvers. */
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

function toMark(revoked: ReadonlySet<string>): (row: MarkRow) => InboxMark {
  return ({ _id, count, versions, newest, keys }) => {
    const lost = keys.filter((key) => revoked.has(key)).length
    return { approvers: _id, mark: `${_id.join()}:${count}:${versions}:${newest.getTime()}:${lost}` }
  }
}
