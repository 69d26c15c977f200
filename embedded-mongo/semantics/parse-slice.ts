import { MongoError } from './mongo-error.ts'
import { toDouble } from './numbers.ts'
import type { ProjectionNode } from './projection-tree.ts'
import { shownTypeOf } from './type-names.ts'
import { type BsonNumber, type BsonValue, isNumber } from './values.ts'

const maxInt32 = 0x7fffffff

/** Parses `$slice: n` or `$slice: [skip, limit]`. Throws MongoError 31272, 31273 and 31257–31259. */
export function parseSlice(value: BsonValue): ProjectionNode {
  if (isNumber(value)) return { kind: 'slice', skip: undefined, limit: asInt32(value) }
  if (!Array.isArray(value))
    throw new MongoError(31273, '$slice only supports numbers and [skip, limit] arrays')
  const [skip, limit] = value
  if (skip === undefined || limit === undefined || value.length !== 2) {
    throw new MongoError(31272, '$slice array argument should be of form [skip, limit]')
  }
  if (!isNumber(skip)) {
    throw new MongoError(31257, `$slice expects the skip argument to be a number, got ${shownTypeOf(skip)}`)
  }
  if (!isNumber(limit)) {
    throw new MongoError(31258, `$slice expects the limit argument to be a number, got ${shownTypeOf(limit)}`)
  }
  const count = asInt32(limit)
  if (count <= 0) throw new MongoError(31259, `$slice limit must be positive, got ${count}`)
  return { kind: 'slice', skip: asInt32(skip), limit: count }
}

/** Fractions are cut off and large values clamped, as the server's numberInt does. */
function asInt32(value: BsonNumber): number {
  const number = Math.trunc(toDouble(value))
  return Number.isNaN(number) ? 0 : Math.max(-maxInt32, Math.min(maxInt32, number))
}
