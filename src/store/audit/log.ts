import { mongo, Schema } from 'mongoose'
import { given } from '../../domain/given.ts'
import { outcomesOf } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { unlessTaken } from '../mongo/failures.ts'
import { date, number, part, text } from '../mongo/fields.ts'

/** A log over the audit trail, as far as its last checkpoint. Each log but the first goes on for one that was rolled back. */
export interface LogHead {
  /** 1, 2 …; the highest is the one that grows. */
  number: number
  /** Names the log in its checkpoints; never changes. */
  origin: string
  /** How many times the store had been restored when the log began: after one more, the log may have been longer than it is here. */
  restores: number
  /** The last known checkpoint of the log before, which is this log's first entry; absent in the first log. */
  follows?: string
  size: number
  /** The signed checkpoint of that size; absent before the first. */
  note?: string
  signed_at?: Date
  /** Since when nothing more is signed. */
  rolled_back_at?: Date
  /** The newest checkpoint that a witness cosigned, with all cosignatures that there are, and its size. */
  cosigned_note?: string
  cosigned_size?: number
  /** Until then it is shown, although the log has grown beyond it; absent since the newest one was shown without cosignatures. */
  cosigned_until?: Date
}

/** What a witness of a log last said. */
interface WitnessState {
  /** The checkpoint that it cosigned last, as far as is known here. */
  size: number
  /** Its cosignature on that, a line of a note; absent when only the size is known. */
  line?: string
  at: Date
  /** Since when it has not cosigned, though asked, and why not at first. */
  failing?: { since: Date; why: string }
}

type WitnessDocument = WitnessState & { _id: string }

const witnessSchema = new Schema<WitnessDocument>(
  { _id: text, size: number, line: String, at: date, failing: part },
  STRICT_SCHEMA,
)

/** A tile with its hashes, 32 bytes each. */
interface FilledTile {
  level: number
  index: number
  width: number
  hashes: readonly Uint8Array[]
}

type HeadDocument = Omit<LogHead, 'number'> & { _id: number }

const headSchema = new Schema<HeadDocument>(
  {
    _id: number,
    origin: text,
    restores: number,
    follows: String,
    size: number,
    note: String,
    signed_at: Date,
    rolled_back_at: Date,
    cosigned_note: String,
    cosigned_size: Number,
    cosigned_until: Date,
  },
  STRICT_SCHEMA,
)

/** A tile: `_id` is `<log>/<level>/<index>`, `w` the number of hashes in `h`, 32 bytes each. */
interface TileDocument {
  _id: string
  w: number
  h: mongo.Binary
}

const tileSchema = new Schema<TileDocument>(
  { _id: text, w: number, h: { type: Buffer, required: true } },
  STRICT_SCHEMA,
)

export type LogStore = ReturnType<typeof createLogStore>

/**
 * The logs of a store, on mongoose. The head moves only from the size that was read, and a tile only becomes wider: whatever two
 * processes do at once, or one that stands still does late, there is one history.
 */
export function createLogStore(connection: StoreConnection) {
  const heads = connection.model<HeadDocument>('LogHead', headSchema, 'log_head')
  return {
    ...createTiles(connection),
    ...createWitnessStates(connection),
    /** Returns the log that grows; undefined before the first start of this version. */
    async current(): Promise<LogHead | undefined> {
      const [last] = await heads.find().sort({ _id: -1 }).limit(1).lean<HeadDocument[]>()
      return last && toHead(last)
    },
    async find(number: number): Promise<LogHead | undefined> {
      const found = await heads.findById(number).lean<HeadDocument>()
      return found ? toHead(found) : undefined
    },
    /** Returns all logs of the store, oldest first. */
    all: async (): Promise<LogHead[]> =>
      (await heads.find().sort({ _id: 1 }).lean<HeadDocument[]>()).map(toHead),
    /** Begins a log. @returns false if it is there already */
    begin: ({ number: _id, ...head }: LogHead): Promise<boolean> =>
      unlessTaken(() => heads.create({ _id, ...head })),
    /** Moves the head to a larger tree. @returns false if another process was faster, or the log was stopped */
    async advance(
      { number: _id, size, cosigned_size }: LogHead,
      next: { size: number; note: string; signed_at: Date; cosigned_until?: Date },
    ): Promise<boolean> {
      const read = { _id, size, rolled_back_at: null, cosigned_size: cosigned_size ?? null }
      const { modifiedCount } = await heads.updateOne(read, { $set: next })
      return modifiedCount === 1
    },
    /**
     * Stores a cosigned checkpoint. If the log has grown meanwhile, it is shown until the time given; without one, not before a later
     * checkpoint is cosigned.
     * @returns false if another process was faster
     */
    async cosign(
      { number: _id, cosigned_size: before }: LogHead,
      { cosigned_until, ...next }: { cosigned_note: string; cosigned_size: number; cosigned_until?: Date },
    ): Promise<boolean> {
      const read = { _id, cosigned_size: before ?? null }
      const newest = await heads.updateOne({ ...read, size: next.cosigned_size }, { $set: next })
      if (newest.matchedCount === 1) return true
      const change =
        cosigned_until === undefined
          ? { $set: next, $unset: { cosigned_until: 1 as const } }
          : { $set: { ...next, cosigned_until } }
      return (await heads.updateOne(read, change)).matchedCount === 1
    },
    /** Stops a log for ever. @returns whether this call did */
    async stop({ number: _id }: LogHead, rolled_back_at: Date): Promise<boolean> {
      const { modifiedCount } = await heads.updateOne(
        { _id, rolled_back_at: null },
        { $set: { rolled_back_at } },
      )
      return modifiedCount === 1
    },
  }
}

/** The tiles of the logs. */
function createTiles(connection: StoreConnection) {
  const model = connection.model<TileDocument>('LogTile', tileSchema, 'log_tiles')
  const tiles = connection.collection<TileDocument>(model.collection.name)
  return {
    /** Stores tiles; one that is there with as many hashes, or more, stays as it is. */
    async fill(log: number, filled: readonly FilledTile[]): Promise<void> {
      const writes = filled.map(({ level, index, width: w, hashes }) => {
        const $set = { w, h: new mongo.Binary(Buffer.concat(hashes)) }
        return {
          updateOne: {
            filter: { _id: `${log}/${level}/${index}`, w: { $lt: w } },
            update: { $set },
            upsert: true,
          },
        }
      })
      // Taken: the filter found no narrower tile, and the insert that it then tries meets the wider one.
      const outcomes = await outcomesOf(writes.length, () => tiles.bulkWrite(writes, { ordered: false }))
      for (const outcome of outcomes) if (outcome instanceof Error) throw outcome
    },
    /** Reads tiles. @returns the hashes of each, all that there are, under `<level>/<index>` */
    async tiles(
      log: number,
      wanted: readonly { level: number; index: number }[],
    ): Promise<ReadonlyMap<string, readonly Uint8Array[]>> {
      if (wanted.length === 0) return new Map()
      const _id = { $in: wanted.map(({ level, index }) => `${log}/${level}/${index}`) }
      const found = await tiles.find({ _id }, { batchSize: wanted.length + 1 }).toArray()
      return new Map(found.map(({ _id: id, h }) => [id.slice(id.indexOf('/') + 1), hashesIn(h)]))
    },
  }
}

/** What the witnesses of a log last said. */
function createWitnessStates(connection: StoreConnection) {
  const witnesses = connection.model<WitnessDocument>('LogWitness', witnessSchema, 'log_witnesses')
  return {
    /** Returns what a witness last said of a log. @param witness name and id of its key */
    async witness(log: number, witness: string): Promise<WitnessState | undefined> {
      const found = await witnesses.findById(`${log}/${witness}`).lean<WitnessDocument>()
      if (!found) return undefined
      const { _id, ...state } = found
      return state
    },
    /** Notes that it did not cosign, unless that is known. */
    async failWitness(log: number, witness: string, at: Date, why: string): Promise<void> {
      const change = { $set: { failing: { since: at, why } }, $setOnInsert: { size: 0, at } }
      const filter = { _id: `${log}/${witness}`, failing: null }
      await unlessTaken(() => witnesses.updateOne(filter, change, { upsert: true }))
    },
    /** Moves that on: it has cosigned. @returns false when it is no longer what was read */
    async setWitness(
      [log, witness]: readonly [log: number, witness: string],
      before: WitnessState | undefined,
      { size, line, at }: WitnessState,
    ): Promise<boolean> {
      const _id = `${log}/${witness}`
      if (before === undefined)
        return unlessTaken(() => witnesses.create({ _id, size, at, ...given({ line }) }))
      const $unset = { failing: 1, ...(line === undefined ? { line: 1 } : {}) } as const
      const change = { $set: { size, at, ...given({ line }) }, $unset }
      const { matchedCount } = await witnesses.updateOne({ _id, size: before.size }, change)
      return matchedCount === 1
    },
  }
}

function toHead({ _id, ...rest }: HeadDocument): LogHead {
  return { number: _id, ...rest }
}

function hashesIn({ buffer }: mongo.Binary): Uint8Array[] {
  return Array.from({ length: buffer.length / 32 }, (_, at) => buffer.subarray(at * 32, at * 32 + 32))
}
