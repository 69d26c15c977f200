import type { RequestStatus } from '../domain/request.ts'
import type { HistoryPage, RequestHistory } from '../flow/history-ports.ts'
import type { ListPosition } from '../flow/ports.ts'
import type { StoreConnection } from './connect.ts'
import type { RequestDocument } from './request-schema.ts'
import { fromDocument } from './requests.ts'

const NEWEST_FIRST = { created_at: -1, _id: -1 } as const
const UNEXPIRED = { $expr: { $gt: ['$expires_at', '$$NOW'] } }
const EXPIRED = { $expr: { $lte: ['$expires_at', '$$NOW'] } }

/** How a person is part of a request. Two queries, since each has an index and both together have none. */
const PARTS = ['requirement.approvers.user_id', 'votes.user_id'] as const

type Filter = Record<string, unknown>

/** Reads over requests; each is answered in the order of an index. */
export function createRequestHistory(connection: StoreConnection): RequestHistory {
  const collection = connection.collection<RequestDocument>('requests')
  const find = async <Row extends ListPosition>(
    query: HistoryPage,
    read: (filter: Filter, limit: number) => Promise<Row[]>,
  ): Promise<Row[]> => {
    const { person_id, limit } = query
    const filter = filterOf(query)
    if (person_id === undefined) return read(filter, limit)
    const found = await Promise.all(PARTS.map((part) => read({ [part]: person_id, ...filter }, limit)))
    const all = new Map(found.flat().map((row) => [row.id, row]))
    return [...all.values()].sort(newestFirst).slice(0, limit)
  }
  return {
    page: (query) =>
      find(query, async (filter, limit) => {
        const found = await collection.find(filter).sort(NEWEST_FIRST).limit(limit).toArray()
        return found.map(fromDocument)
      }),
    outlines: (query) =>
      find(query, async (filter, limit) => {
        const projection = { created_at: 1, action: 1, high_impact: 1, sandbox: 1 }
        const rows = collection.find(filter, { projection, batchSize: limit + 1 })
        const found = await rows.sort(NEWEST_FIRST).limit(limit).toArray()
        return found.map(({ _id, created_at, action, high_impact, sandbox }) => {
          return { id: _id, created_at, action, high_impact, sandbox }
        })
      }),
    async concerning(ids, personId) {
      const part = PARTS.map((path) => ({ [path]: personId }))
      const filter: Filter = { _id: { $in: [...ids] }, $or: part }
      const found = await collection.find(filter, { projection: { _id: 1 } }).toArray()
      return new Set(found.map(({ _id }) => _id))
    },
  }
}

function filterOf(query: HistoryPage): Filter {
  const { account_id, status, api_key_id, id, from, to, before } = query
  const made = {
    ...(from === undefined ? {} : { $gte: from }),
    ...(to === undefined ? {} : { $lt: to }),
    // Says less than the position does, but in a way that an index can begin at.
    ...(before === undefined ? {} : { $lte: before.created_at }),
  }
  return {
    account_id,
    ...(api_key_id === undefined ? {} : { api_key_id }),
    ...(id === undefined ? {} : { [id.startsWith('dec_') ? 'decision.id' : '_id']: id }),
    ...(Object.keys(made).length === 0 ? {} : { created_at: made }),
    $and: [inStatus(status), beforePosition(before)],
  }
}

/** By the database's clock a request that lapsed unnoticed counts as expired, as every read of it will say. */
function inStatus(status: RequestStatus | undefined): Filter {
  if (status === 'pending') return { status, ...UNEXPIRED }
  if (status === 'expired') return { $or: [{ status }, { status: 'pending', ...EXPIRED }] }
  return status === undefined ? {} : { status }
}

function beforePosition(before: ListPosition | undefined): Filter {
  if (before === undefined) return {}
  const { created_at, id } = before
  return { $or: [{ created_at: { $lt: created_at } }, { created_at, _id: { $lt: id } }] }
}

function newestFirst(a: ListPosition, b: ListPosition): number {
  const later = b.created_at.getTime() - a.created_at.getTime()
  if (later !== 0) return later
  return a.id < b.id ? 1 : -1
}
