import { type Decimal128, Int32, Long } from 'bson'
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
  return value._bsontype === 'Decimal128' ? exactDecimal(value) : exactDouble(value.value)
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

/** True for NaN in either floating type. */
export function isNaNNumber(value: BsonNumber): boolean {
  if (value._bsontype === 'Double') return Number.isNaN(value.value)
  return value._bsontype === 'Decimal128' && exactDecimal(value).kind === 'nan'
}

/** True for a zero of any number type and sign. */
export function isZero(value: BsonNumber): boolean {
  if (value._bsontype === 'Int32' || value._bsontype === 'Double') return value.value === 0
  if (value._bsontype === 'Long') return value.high === 0 && value.low === 0
  const exact = exactDecimal(value)
  return exact.kind === 'finite' && exact.coefficient === 0n
}

type Finite = Extract<ExactNumber, { kind: 'finite' }>

function decimalMagnitude(value: Finite): number {
  const digits = value.coefficient.toString().length
  return (value.coefficient < 0n ? digits - 1 : digits) + value.exponent
}

/** Returns the value as an integer if it is exactly one; undefined for fractions, NaN, infinities and non-numbers. */
export function integerValue(value: BsonValue | undefined): bigint | undefined {
  if (!isNumber(value)) return undefined
  if (value._bsontype === 'Int32') return BigInt(value.value)
  const exact = exactNumber(value)
  if (exact.kind !== 'finite') return undefined
  const truncated = truncateFinite(exact)
  return truncated.exact ? truncated.integer : undefined
}

/** The value without its fraction as an int64, or undefined if it is not finite or does not fit. */
export function truncateToInt64(value: BsonNumber): bigint | undefined {
  const exact = exactNumber(value)
  if (exact.kind !== 'finite' || decimalMagnitude(exact) > 20) return undefined
  const { integer } = truncateFinite(exact)
  return integer >= minInt64 && integer <= maxInt64 ? integer : undefined
}

function truncateFinite(value: Finite): { integer: bigint; exact: boolean } {
  if (value.exponent >= 0) return { integer: value.coefficient * 10n ** BigInt(value.exponent), exact: true }
  const divisor = 10n ** BigInt(-value.exponent)
  return { integer: value.coefficient / divisor, exact: value.coefficient % divisor === 0n }
}

/** The value as a double, rounded if need be. */
export function toDouble(value: BsonNumber): number {
  if (value._bsontype === 'Int32' || value._bsontype === 'Double') return value.value
  return value._bsontype === 'Long' ? Number(longToBigInt(value)) : Number(value.toString())
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
 * Every int32, int64, double and decimal128 has one such form.
 */
export type ExactNumber =
  | { readonly kind: 'finite'; readonly coefficient: bigint; readonly exponent: number }
  | { readonly kind: 'infinite'; readonly negative: boolean }
  | { readonly kind: 'nan' }

const exponentBias = 6176
const maxCoefficient = 10n ** 34n - 1n

/** Reads a decimal128 (IEEE 754-2008, binary integer significand). Non-canonical coefficients count as zero. */
function exactDecimal(value: Decimal128): ExactNumber {
  let bits = 0n
  for (let index = 15; index >= 0; index--) bits = (bits << 8n) | BigInt(value.bytes[index] ?? 0)
  const negative = bits >> 127n === 1n
  const combination = (bits >> 122n) & 0x1fn
  if (combination === 0x1fn) return { kind: 'nan' }
  if (combination === 0x1en) return { kind: 'infinite', negative }
  if (combination >> 3n === 3n) {
    // The large-coefficient form always exceeds 34 digits, so the standard reads it as zero.
    return { kind: 'finite', coefficient: 0n, exponent: Number((bits >> 111n) & 0x3fffn) - exponentBias }
  }
  const magnitude = bits & ((1n << 113n) - 1n)
  const coefficient = magnitude > maxCoefficient ? 0n : magnitude
  const exponent = Number((bits >> 113n) & 0x3fffn) - exponentBias
  return { kind: 'finite', coefficient: negative ? -coefficient : coefficient, exponent }
}
