import { isZero } from './numbers.ts'
import { type BsonValue, isNumber } from './values.ts'

/** MongoDB's truth: false for missing, null, undefined, false and zero; everything else, even "" and NaN, is true. */
export function isTruthy(value: BsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return false
  if (isNumber(value)) return !isZero(value)
  return typeof value !== 'object' || !('_bsontype' in value) || value._bsontype !== 'Undefined'
}
