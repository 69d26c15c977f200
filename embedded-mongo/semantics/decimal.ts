import { Decimal128 } from 'bson'

/**
 * A number without rounding: `coefficient × 10^exponent`, an infinity, or NaN.
 * Every int32, int64, double and decimal128 has one such form.
 */
export type ExactNumber =
  | { readonly kind: 'finite'; readonly coefficient: bigint; readonly exponent: number }
  | { readonly kind: 'infinite'; readonly negative: boolean }
  | { readonly kind: 'nan' }

const exponentBias = 6176
const maxExponent = 6111
const maxDigits = 34
const maxCoefficient = 10n ** 34n - 1n

/** Reads a decimal128 (IEEE 754-2008, binary integer significand). Non-canonical coefficients count as zero. */
export function exactDecimal(value: Decimal128): ExactNumber {
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

/** Rounds an exact number to decimal128: 34 digits, ties to even, preferred exponent kept where possible. */
export function roundToDecimal(value: ExactNumber): Decimal128 {
  if (value.kind === 'nan') return Decimal128.fromString('NaN')
  if (value.kind === 'infinite') return Decimal128.fromString(value.negative ? '-Infinity' : 'Infinity')
  const negative = value.coefficient < 0n
  let magnitude = negative ? -value.coefficient : value.coefficient
  let exponent = value.exponent
  const surplus = Math.max(magnitude.toString().length - maxDigits, -exponentBias - exponent, 0)
  if (surplus > 0) {
    magnitude = divideTiesToEven(magnitude, surplus)
    exponent += surplus
    if (magnitude > maxCoefficient) {
      magnitude /= 10n
      exponent += 1
    }
  }
  while (exponent > maxExponent && magnitude !== 0n && magnitude * 10n <= maxCoefficient) {
    magnitude *= 10n
    exponent -= 1
  }
  if (magnitude === 0n) exponent = Math.min(exponent, maxExponent)
  if (exponent > maxExponent) return Decimal128.fromString(negative ? '-Infinity' : 'Infinity')
  return encodeDecimal(negative, magnitude, exponent)
}

function divideTiesToEven(magnitude: bigint, digits: number): bigint {
  if (digits > magnitude.toString().length) return 0n
  const divisor = 10n ** BigInt(digits)
  const quotient = magnitude / divisor
  const twice = (magnitude % divisor) * 2n
  const up = twice > divisor || (twice === divisor && quotient % 2n === 1n)
  return up ? quotient + 1n : quotient
}

function encodeDecimal(negative: boolean, magnitude: bigint, exponent: number): Decimal128 {
  let bits = (BigInt(exponent + exponentBias) << 113n) | magnitude
  if (negative) bits |= 1n << 127n
  const bytes = new Uint8Array(16)
  for (let index = 0; index < 16; index++) {
    bytes[index] = Number(bits & 0xffn)
    bits >>= 8n
  }
  return new Decimal128(bytes)
}
