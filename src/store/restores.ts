import { Schema } from 'mongoose'
import {
  type CopyMark,
  isHeldBy,
  type MadeAfter,
  RESTORES,
  type Restore,
  type RestoreTimes,
  type SetAside,
} from '../domain/restore.ts'
import { coalesce } from '../ports/coalesce.ts'
import { deleteEach, updateEach } from './mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from './mongo/connect.ts'
import { date, text } from './mongo/fields.ts'
import { recordOf } from './mongo/record.ts'

type RestoreDocument = Omit<Restore, 'id'> & { _id: string }

const restoreSchema = new Schema<RestoreDocument>(
  {
    _id: text,
    state: text,
    copied_by: text,
    copied_on: text,
    copied_at: date,
    number: Number,
    restored_at: Date,
    lifted_at: Date,
  },
  STRICT_SCHEMA,
)

/**
 * The restores of this store, on mongoose; none in a store that was never restored. Each process keeps what it last read: the hold
 * is part of the write that decides or uses a request, and must cost it no command.
 */
export function createRestoreStore(connection: StoreConnection) {
  const model = connection.model<RestoreDocument>('Restore', restoreSchema, RESTORES)
  let known: readonly Restore[] = []
  const load = coalesce(async () => {
    const found = (await model.find().lean<RestoreDocument[]>()).map(recordOf)
    const place = ({ number = Number.POSITIVE_INFINITY }: Restore) => number
    known = found.sort((a, b) => place(a) - place(b) || a.copied_at.getTime() - b.copied_at.getTime())
  })
  const last = () => known.filter(({ state }) => state !== 'copied').at(-1)
  return {
    /** Reads all, the last one at the end; marks that no start has seen yet follow, in the order of their copies. */
    async all(): Promise<readonly Restore[]> {
      await load()
      return known
    },
    /** Returns the last restore, as it was last read. */
    last,
    /** Returns the times of all restores, oldest first, as they were last read. */
    times: (): RestoreTimes[] =>
      known.flatMap(({ copied_at, restored_at }) =>
        restored_at === undefined ? [] : [{ copied_at, restored_at }],
      ),
    /** Counts what the first start set aside, and nothing sent since. */
    async setAside({ restored_at }: Restore): Promise<SetAside> {
      if (restored_at === undefined) return { callbacks: 0, pushes: 0, cards: 0 }
      const doubted = { outcome: 'interrupted', at: { $gte: restored_at } }
      const dropped = { state: 'dropped', attempts: { $elemMatch: doubted } }
      const count = (name: string, which: object) => connection.collection(name).countDocuments(which)
      const [callbacks, pushes, cards] = await Promise.all([
        count('deliveries', dropped),
        count('pushes', dropped),
        count('cards', { state: 'idle', stale: true }),
      ])
      return { callbacks, pushes, cards }
    },
    /** Notes on the marks that no start has seen when this one began; a start that goes on after a crash keeps that time. */
    async begin(restored_at: Date): Promise<void> {
      await model.updateMany({ state: 'copied', restored_at: null }, { $set: { restored_at } })
      await load()
    },
    find: (id: string) => known.find((restore) => restore.id === id),
    /** Returns the id of the restore that holds what its copy left open, as it was last read. */
    holding: () => (last()?.state === 'held' ? last()?.id : undefined),
    /** Checks whether the operator must lift a hold first. Another process may have lifted it: a held request is looked up again. */
    async isHeld(...requests: readonly MadeAfter[]): Promise<boolean> {
      const holds = () => requests.some((request) => isHeldBy(request, last()))
      if (holds()) await load()
      return holds()
    },
    endLinks: () => endLinks(connection),
    /** Adds the mark of a copy that was made without ours. */
    async mark({ id, ...mark }: CopyMark): Promise<void> {
      await model.create({ _id: id, ...mark, state: 'copied' })
    },
    /** @returns false when it holds nothing (any more) */
    async lift(id: string, lifted_at: Date): Promise<boolean> {
      const change = { $set: { state: 'lifted', lifted_at } } as const
      const { modifiedCount } = await model.updateOne({ _id: id, state: 'held' }, change)
      await load()
      return modifiedCount === 1
    },
    /** The mark becomes a restore that holds. */
    async hold(id: string, number: number): Promise<void> {
      await model.updateOne({ _id: id, state: 'copied' }, { $set: { number, state: 'held' } })
      await load()
    },
  }
}

/** Ends every link and ceremony that is open in the copy. An offer to set up anew may have been refused after the copy was made. */
async function endLinks(connection: StoreConnection): Promise<void> {
  const of = (name: string) => connection.collection<{ _id: string }>(name)
  for (const name of ['enrollments', 'chat_links', 'challenges']) await deleteEach(of(name), {})
  const end = { $unset: { recovery: 1 as const }, $inc: { version: 1 } }
  await updateEach(of('users'), { recovery: { $exists: true } }, end)
}
