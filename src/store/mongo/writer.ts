import type mongoose from 'mongoose'
import { unlessTaken } from './failures.ts'
import type { OutboxToken, Wake } from './outbox.ts'

/**
 * Writes to a collection whose documents have an outbox. Each is one conditional write of one document, and wakes the relay
 * when it is done.
 */
export function createWriter<D extends { _id: string } & OutboxToken, R>(
  model: mongoose.Model<D>,
  wake: Wake,
  fromDocument: (document: D) => R,
) {
  const written = { outboxOf: model.collection.name }
  const tell = (done: boolean): boolean => {
    if (done) wake(written)
    return done
  }
  return {
    async insert(document: D): Promise<void> {
      await model.create(document)
      wake(written)
    },
    /** Inserts a document. @returns false when its unique key (this field, if one is named) is taken */
    async insertNew(document: D, field?: string): Promise<boolean> {
      return tell(await unlessTaken(() => model.create(document), field))
    },
    /** Updates one document. @returns false when none matches the filter (any more) */
    async update(filter: mongoose.QueryFilter<D>, change: mongoose.UpdateQuery<D>): Promise<boolean> {
      return tell((await model.updateOne(filter, change)).matchedCount === 1)
    },
    /** Updates one document. @returns the record after the update; undefined when none matches the filter (any more) */
    async change(filter: mongoose.QueryFilter<D>, change: mongoose.UpdateQuery<D>): Promise<R | undefined> {
      const query = model.findOneAndUpdate(filter, change, { returnDocument: 'after' })
      const changed = await query.lean<D>()
      if (changed === null) return undefined
      wake(written)
      return fromDocument(changed)
    },
  }
}
