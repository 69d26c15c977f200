import { Int32, Long } from 'bson'
import { type BsonNumber, type BsonValue, isNumber } from './values.ts'

const nan: ExactNumber = { kind: 'nan' }
const floatView = new DataView(new ArrayBuffer(8))
const minInt64 = -(2n ** 63n)
const maxInt64 = 2n ** 63n - 1n

/** The int64 as a bigint. */
export function longToBigInt(value: Long): bigint {
  return (BigInt(value.high) << 32n) | BigInt(value.low >>> 0)
}

/** The number without rounding, whatever its BSON type. */
export function exactNumber(value: BsonNumber): ExactNumber {
  if (value._bsontype === 'Int32') return { kind: 'finite', coefficient: BigInt(value.value), exponent: 0 }
  if (value._bsontype === 'Long') return { kind: 'finite', coefficient: longToBigInt(value), exponent: 0 }
  return exactDouble(value.value)
}

function exactDouble(value: number): ExactNumber {
  if (Number.isNaN(value)) return nan
  if (!Number.isFinite(value)) return { kind: 'infinite', negative: value < 0 }
  if (Number.isSafeInteger(value)) return { kind: 'finite', coefficient: BigInt(value), exponent: 0 }
  floatView.setFloat64(0, value)
  const bits = floatView.getBigUint64(0)
  const biased = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n)
  const binaryExponent = Math.max(biased, 1) - 1075
  const signed = value < 0 ? -mantissa : mantissa
  if (binaryExponent >= 0) {
    return { kind: 'finite', coefficient: signed << BigInt(binaryExponent), exponent: 0 }
  }
  // m × 2^-k is m × 5^k × 10^-k, so a double is always a finite decimal.
  return { kind: 'finite', coefficient: signed * 5n ** BigInt(-binaryExponent), exponent: binaryExponent }
}

/** True for NaN. */
export function isNaNNumber(value: BsonNumber): boolean {
  return value._bsontype === 'Double' && Number.isNaN(value.value)
}

/** True for a zero of any number type and sign. */
export function isZero(value: BsonNumber): boolean {
  return value._bsontype === 'Long' ? value.high === 0 && value.low === 0 : value.value === 0
}

/** Returns the value as an integer if it is exactly one; undefined for fractions, NaN, infinities and non-numbers. */
export function integerValue(value: BsonValue | undefined): bigint | undefined {
  if (!isNumber(value)) return undefined
  if (value._bsontype === 'Int32') return BigInt(value.value)
  const exact = exactNumber(value)
  if (exact.kind !== 'finite') return undefined
  if (exact.exponent >= 0) return exact.coefficient
  const divisor = 10n ** BigInt(-exact.exponent)
  return exact.coefficient % divisor === 0n ? exact.coefficient / divisor : undefined
}

/** The value as a double, rounded if need be. */
export function toDouble(value: BsonNumber): number {
  return value._bsontype === 'Long' ? Number(longToBigInt(value)) : value.value
}

/** Int32 if it fits, else Long, else undefined (int64 overflow). */
export function smallestInteger(value: bigint): Int32 | Long | undefined {
  if (value >= -0x80000000n && value <= 0x7fffffffn) return new Int32(Number(value))
  return toLong(value)
}

/** Long, or undefined on int64 overflow. */
export function toLong(value: bigint): Long | undefined {
  return value >= minInt64 && value <= maxInt64 ? Long.fromBigInt(value) : undefined
}

/** A count as MongoDB returns it: int32 if it fits, else int64. */
export function countValue(count: number): Int32 | Long {
  return smallestInteger(BigInt(count)) ?? Long.MAX_VALUE
}

/**
 * A number without rounding: `coefficient × 10^exponent`, an infinity, or NaN.
 * Every int32, int64 and double has one such form.
 */
export type ExactNumber =
  | { readonly kind: 'finite'; readonly coefficient: bigint; readonly exponent: number }
  | { readonly kind: 'infinite'; readonly negative: boolean }
  | { readonly kind: 'nan' }
