import type { StringOrder } from './compare.ts'
import type { BsonDocument, BsonValue } from './values.ts'

/** What an update operator may know besides the field's value. */
export interface UpdateContext {
  /** The store's clock, for `$currentDate`. */
  readonly now: Date
  /** The document before the update, for error messages. */
  readonly document: BsonDocument
  /** The dotted path being changed. */
  readonly path: string
}

/** An update operator with its argument, for one path. */
export interface FieldOperator {
  /** `skip`: a missing field, or a path that cannot exist, is left alone; `create`: the path is made. */
  readonly onMissing: 'skip' | 'create'
  /** The new value of the field (undefined removes it); must not change `current`. Throws MongoError. */
  readonly apply: (current: BsonValue | undefined, context: UpdateContext) => BsonValue | undefined
}

/** Makes an operator of its argument; throws MongoError if the argument is malformed. `order` collates strings. */
export type OperatorFactory = (
  path: string,
  argument: BsonValue,
  order: StringOrder | undefined,
) => FieldOperator
