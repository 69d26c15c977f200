import { given } from '../../domain/given.ts'
import type { Precedent } from '../../domain/precedents.ts'
import type { ApprovalRequest, RequestStatus } from '../../domain/request.ts'
import type { Clock } from '../../ports/ports.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { beforePosition, during, type ListPosition, mergeNewest, NEWEST_FIRST } from '../mongo/filters.ts'
import { kindSha256 } from '../schema/note-kinds.ts'
import { type RequestDocument, requestOf } from './request-schema.ts'
import { partsOfStatus } from './requests.ts'

/** Selects requests of one account. */
export interface HistoryFilter {
  account_id: string
  /** Only those that name this person, or on which they voted. */
  person_id?: string
  /** A request that has lapsed by the database's clock counts as expired, even while its stored `status` is pending. */
  status?: RequestStatus
  /** Of the expired ones only those that were withdrawn, or only the others. */
  withdrawn?: boolean
  /** Of the approved ones only those that were consumed. */
  consumed?: true
  api_key_id?: string
  /** Id of the request or of its decision. */
  id?: string
  /** Made at that time or later. */
  from?: Date
  /** Made before that time. */
  to?: Date
}

/** A page of these requests, newest first. */
export interface HistoryPage extends HistoryFilter {
  limit: number
  /** Exclusive position: only older requests. */
  before?: ListPosition
}

/** A request's position in a list, and the fields that a search reads. */
export interface RequestOutline extends ListPosition {
  action: string
  high_impact: boolean
  sandbox: boolean
}

/** A decided request of a kind; `people`: those whom it names, and who voted. */
type DecidedOfKind = Precedent & { people: string[] }

/** The fields that tie a person to a request. One query each: each field has an index, and their `$or` has none. */
const PARTS = ['requirement.approvers.user_id', 'votes.user_id'] as const

type Filter = Record<string, unknown>

export type RequestHistory = ReturnType<typeof createRequestHistory>

/** Reads an account's past requests for people; an index gives each read its order. */
export function createRequestHistory(connection: StoreConnection, clock: Pick<Clock, 'now'>) {
  const collection = requestsIn(connection)
  const find = async <Row extends ListPosition>(
    query: HistoryPage,
    read: (filter: Filter, limit: number) => Promise<Row[]>,
  ): Promise<Row[]> => {
    const { person_id, limit, status } = query
    const parts: Filter[] = person_id === undefined ? [{}] : PARTS.map((part) => ({ [part]: person_id }))
    const reads: Row[][] = []
    for (const inStatus of partsOfStatus(status, clock.now())) {
      const filter = { ...filterOf(query), ...inStatus }
      reads.push(...(await Promise.all(parts.map((part) => read({ ...part, ...filter }, limit)))))
    }
    return mergeNewest(reads, limit)
  }
  return {
    page: (query: HistoryPage): Promise<ApprovalRequest[]> =>
      find(query, async (filter, limit) => {
        const found = await collection.find(filter).sort(NEWEST_FIRST).limit(limit).toArray()
        return found.map(requestOf)
      }),
    /** Reads the same page as `page`, in outline. */
    outlines: (query: HistoryPage): Promise<RequestOutline[]> =>
      find(query, async (filter, limit) => {
        const projection = { created_at: 1, action: 1, high_impact: 1, sandbox: 1 }
        const rows = collection.find(filter, { projection, batchSize: limit + 1 })
        const found = await rows.sort(NEWEST_FIRST).limit(limit).toArray()
        return found.map(({ _id, created_at, action, high_impact, sandbox }) => {
          return { id: _id, created_at, action, high_impact, sandbox }
        })
      }),
    ...kindReads(collection),
    /** Returns the ids of requests that these keys made for the account: at most `limit` of them, or those `among` the given ids. */
    async madeWith(
      keyIds: readonly string[],
      { account_id, among, limit = 0 }: { account_id?: string; among?: readonly string[]; limit?: number },
    ): Promise<string[]> {
      const part = given({ account_id, _id: among && { $in: [...among] } })
      const projection = { _id: 1 } as const
      const found = collection.find({ ...part, api_key_id: { $in: [...keyIds] } }, { projection, limit })
      return (await found.toArray()).map(({ _id }) => _id)
    },
    /** Returns the actions, by id, of those of these requests that belong to the account, or that name the person or have a vote of theirs. */
    async actionsOf(
      ids: readonly string[],
      whose: { account_id: string } | { person_id: string },
    ): Promise<Map<string, string>> {
      const part: Filter =
        'account_id' in whose ? whose : { $or: PARTS.map((path) => ({ [path]: whose.person_id })) }
      const found = collection.find({ _id: { $in: [...ids] }, ...part }, { projection: { action: 1 } })
      return new Map((await found.toArray()).map(({ _id, action }) => [_id, action]))
    },
    /** Returns which of these requests name the person, or have a vote of theirs. */
    async concerning(ids: readonly string[], personId: string): Promise<Set<string>> {
      const part = PARTS.map((path) => ({ [path]: personId }))
      const filter: Filter = { _id: { $in: [...ids] }, $or: part }
      const found = await collection.find(filter, { projection: { _id: 1 } }).toArray()
      return new Set(found.map(({ _id }) => _id))
    },
  }
}

function kindReads(collection: ReturnType<typeof requestsIn>) {
  return {
    /** Returns the latest requests of this kind (`kindOf`) that people decided, without the one of that id. */
    async decidedOfKind(kind: string, without: string, limit: number): Promise<DecidedOfKind[]> {
      const filter: Filter = { kind_sha256: kindSha256(kind), erased_at: null, _id: { $ne: without } }
      const projection = {
        context_json: 1,
        'decision.decision': 1,
        'decision.decided_at': 1,
        'requirement.approvers.user_id': 1,
        'votes.user_id': 1,
      }
      const found = collection.find(filter, { projection, batchSize: limit + 1 })
      const rows = await found.sort({ 'decision.decided_at': -1 }).limit(limit).toArray()
      return rows.flatMap(({ context_json, decision, requirement, votes }) => {
        if (decision === undefined) return []
        const people = [...requirement.approvers, ...votes].map(({ user_id }) => user_id)
        return [{ ...decision, context_json, people }]
      })
    },
  }
}

function requestsIn(connection: StoreConnection) {
  return connection.collection<RequestDocument>('requests')
}

function filterOf(query: HistoryPage): Filter {
  const { account_id, api_key_id, id, from, to, before, withdrawn, consumed } = query
  return {
    account_id,
    ...(api_key_id === undefined ? {} : { api_key_id }),
    ...(id === undefined ? {} : { [id.startsWith('dec_') ? 'decision.id' : '_id']: id }),
    ...(withdrawn === undefined ? {} : { cancelled: withdrawn ? true : { $exists: false } }),
    ...(consumed === undefined ? {} : { consumed_at: { $exists: true } }),
    ...during('created_at', from, to, before?.created_at),
    ...beforePosition(before),
  }
}
