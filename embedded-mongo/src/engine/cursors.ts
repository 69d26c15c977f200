import { randomBytes } from 'node:crypto'
import { Long } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import type { Steps } from './slice.ts'
import { MAX_DOCUMENT_BYTES } from './store-record.ts'

/** MongoDB's default first batch, and its default cursor timeout. */
const FIRST_BATCH = 101
const IDLE_MS = 10 * 60 * 1000
/** The most cursors open at once; beyond that, a new one replaces the longest idle one. */
const MAX_CURSORS = 1000

interface OpenCursor {
  /** 0 until the cursor is kept. */
  id: Long
  namespace: string
  session: string | undefined
  rest: Iterator<Uint8Array | undefined>
  /** A document taken from `rest` that did not fit into the previous batch. */
  held: Uint8Array | undefined
  usedAt: number
  /** Whether a `getMore` is reading the cursor. */
  busy: boolean
  /** `performance.now()` when the last batch was done; `idled` is called with the time until the next batch. */
  doneAt: number
  idled: (ms: number) => void
}

/** The origin of a cursor and the size of its first batch. */
export interface CursorRequest {
  namespace: string
  session: string | undefined
  batchSize: number | undefined
  singleBatch?: boolean
  /** Called with the client's time between two batches, in milliseconds, which no time limit counts. */
  idled(ms: number): void
}

/** One batch of a cursor: `documents` are BSON, `id` is 0 when there are no more. */
export interface Batch {
  id: Long
  namespace: string
  name: 'firstBatch' | 'nextBatch'
  documents: Uint8Array[]
}

/**
 * Open cursors. A cursor holds its place in an index or a collection and reads on from there, so a later batch shows what
 * was written meanwhile; it returns no document twice. The result of a sort without an index is held whole, as it was when
 * it was read.
 */
export class Cursors {
  readonly #open = new Map<string, OpenCursor>();

  /**
   * Opens a cursor and returns its first batch. `documents` are encoded, or undefined when the slice is over; `now` is in
   * milliseconds.
   */
  *open(documents: Iterable<Uint8Array | undefined>, request: CursorRequest, now: number): Steps<Batch> {
    const cursor: OpenCursor = {
      id: Long.ZERO,
      namespace: request.namespace,
      session: request.session,
      rest: documents[Symbol.iterator](),
      held: undefined,
      usedAt: now,
      busy: false,
      doneAt: 0,
      idled: request.idled,
    }
    const batch = yield* takeBatch(cursor, request.batchSize ?? FIRST_BATCH)
    if (batch.more && request.singleBatch !== true) this.#keep(cursor)
    return { id: cursor.id, namespace: request.namespace, name: 'firstBatch', documents: batch.documents }
  }

  /** @throws MongoError 43 when the cursor is gone, 13 when it belongs to another namespace or session, 235 when in use */
  *getMore(
    id: Long,
    request: { namespace: string; session: string | undefined; batchSize: number | undefined },
    now: number,
  ): Steps<Batch> {
    const cursor = this.#open.get(id.toString())
    if (cursor === undefined) throw new MongoError(43, `cursor id ${id.toString()} not found`)
    if (cursor.namespace !== request.namespace) {
      throw new MongoError(
        13,
        `Requested getMore on namespace '${request.namespace}', but cursor belongs to a different namespace ${cursor.namespace}`,
      )
    }
    if (cursor.session !== request.session) {
      throw new MongoError(
        13,
        `Cannot run getMore on cursor ${id.toString()}, which belongs to another session`,
      )
    }
    if (cursor.busy) throw new MongoError(235, `cursor id ${id.toString()} is already in use`)
    cursor.usedAt = now
    cursor.busy = true
    cursor.idled(performance.now() - cursor.doneAt)
    let more = false
    let documents: Uint8Array[]
    try {
      // 0 and absent both mean "as many as fit".
      ;({ documents, more } = yield* takeBatch(cursor, request.batchSize || Number.POSITIVE_INFINITY))
    } finally {
      cursor.busy = false
      cursor.doneAt = performance.now()
      if (!more) this.#open.delete(id.toString())
    }
    const left = more ? cursor.id : Long.ZERO
    return { id: left, namespace: cursor.namespace, name: 'nextBatch', documents }
  }

  /** Returns whether the cursor was open; as in MongoDB, the id alone identifies it. */
  kill(id: Long): boolean {
    return this.#open.delete(id.toString())
  }

  killSession(session: string): void {
    for (const [id, cursor] of this.#open) if (cursor.session === session) this.#open.delete(id)
  }

  /** Forgets the cursors of these namespaces. */
  killNamespaces(matches: (namespace: string) => boolean): void {
    for (const [id, cursor] of this.#open) if (matches(cursor.namespace)) this.#open.delete(id)
  }

  /** Forgets cursors that no client has read for ten minutes. */
  expire(now: number): void {
    for (const [id, cursor] of this.#open) if (now - cursor.usedAt > IDLE_MS) this.#open.delete(id)
  }

  #keep(cursor: OpenCursor): void {
    if (this.#open.size >= MAX_CURSORS) {
      const [oldest] = [...this.#open.values()].sort((a, b) => a.usedAt - b.usedAt)
      if (oldest !== undefined) this.#open.delete(oldest.id.toString())
    }
    cursor.id = randomCursorId()
    cursor.doneAt = performance.now()
    this.#open.set(cursor.id.toString(), cursor)
  }
}

/** Takes up to `limit` documents that together fit into one reply; a single document always does. */
function* takeBatch(cursor: OpenCursor, limit: number): Steps<{ documents: Uint8Array[]; more: boolean }> {
  const documents: Uint8Array[] = []
  let bytes = 0
  while (documents.length < limit) {
    const next = cursor.held ?? (yield* take(cursor.rest))
    cursor.held = undefined
    if (next === undefined) return { documents, more: false }
    bytes += next.length
    if (documents.length > 0 && bytes > MAX_DOCUMENT_BYTES) {
      cursor.held = next
      return { documents, more: true }
    }
    documents.push(next)
  }
  // Whether another document follows is not looked up: that may change before the next batch.
  return { documents, more: true }
}

function* take(documents: Iterator<Uint8Array | undefined>): Steps<Uint8Array | undefined> {
  for (;;) {
    const { done, value } = documents.next()
    if (done === true) return undefined
    if (value !== undefined) return value
    yield
  }
}

/** Positive and unguessable; 0 means "exhausted" on the wire. */
function randomCursorId(): Long {
  const bytes = randomBytes(8)
  return new Long(bytes.readInt32LE(0) | 1, bytes.readInt32LE(4) & 0x7fffffff)
}
