import { type Decimal128, Double, type Int32, type Long } from 'bson'
import {
  type ExactNumber,
  exactDecimal,
  longToBigInt,
  roundToDecimal,
  smallestInteger,
  toDecimal,
  toDouble,
  toLong,
} from './numbers.ts'
import type { BsonNumber } from './values.ts'

/** An arithmetic operation on each of the three representations MongoDB computes in. */
interface Operation {
  readonly integers: (left: bigint, right: bigint) => bigint
  readonly doubles: (left: number, right: number) => number
  readonly decimals: (left: Decimal128, right: Decimal128) => Decimal128
}

const addition: Operation = {
  integers: (left, right) => left + right,
  doubles: (left, right) => left + right,
  decimals: addDecimals,
}

const subtraction: Operation = {
  integers: (left, right) => left - right,
  doubles: (left, right) => left - right,
  decimals: (left, right) => addDecimals(left, negateDecimal(right)),
}

const multiplication: Operation = {
  integers: (left, right) => left * right,
  doubles: (left, right) => left * right,
  decimals: multiplyDecimals,
}

/**
 * Adds as `$inc` does: decimal128 wins over double wins over integers; int32 sums widen to int64 when they must.
 * Returns undefined when an int64 overflows, which `$inc` reports as an error and `$add` as a double.
 */
export function addNumbers(left: BsonNumber, right: BsonNumber): BsonNumber | undefined {
  return combine(addition, left, right)
}

/** Subtracts with the result types of `addNumbers`. */
export function subtractNumbers(left: BsonNumber, right: BsonNumber): BsonNumber | undefined {
  return combine(subtraction, left, right)
}

/** Multiplies as `$mul` does, with the result types of `addNumbers`. */
export function multiplyNumbers(left: BsonNumber, right: BsonNumber): BsonNumber | undefined {
  return combine(multiplication, left, right)
}

function combine(operation: Operation, left: BsonNumber, right: BsonNumber): BsonNumber | undefined {
  if (left._bsontype === 'Decimal128' || right._bsontype === 'Decimal128') {
    return operation.decimals(toDecimal(left), toDecimal(right))
  }
  if (left._bsontype === 'Double' || right._bsontype === 'Double') {
    return new Double(operation.doubles(toDouble(left), toDouble(right)))
  }
  const result = operation.integers(integer(left), integer(right))
  const widens = left._bsontype === 'Long' || right._bsontype === 'Long'
  return widens ? toLong(result) : smallestInteger(result)
}

function integer(value: Int32 | Long): bigint {
  return value._bsontype === 'Long' ? longToBigInt(value) : BigInt(value.value)
}

function addDecimals(left: Decimal128, right: Decimal128): Decimal128 {
  return roundToDecimal(addExact(exactDecimal(left), exactDecimal(right)))
}

function addExact(left: ExactNumber, right: ExactNumber): ExactNumber {
  if (left.kind === 'nan' || right.kind === 'nan') return { kind: 'nan' }
  if (left.kind === 'infinite') {
    return right.kind === 'infinite' && right.negative !== left.negative ? { kind: 'nan' } : left
  }
  if (right.kind === 'infinite') return right
  const exponent = Math.min(left.exponent, right.exponent)
  const coefficient =
    left.coefficient * 10n ** BigInt(left.exponent - exponent) +
    right.coefficient * 10n ** BigInt(right.exponent - exponent)
  return { kind: 'finite', coefficient, exponent }
}

function negateDecimal(value: Decimal128): Decimal128 {
  const exact = exactDecimal(value)
  if (exact.kind === 'nan') return value
  if (exact.kind === 'infinite') return roundToDecimal({ kind: 'infinite', negative: !exact.negative })
  return roundToDecimal({ ...exact, coefficient: -exact.coefficient })
}

function multiplyDecimals(left: Decimal128, right: Decimal128): Decimal128 {
  return roundToDecimal(multiplyExact(exactDecimal(left), exactDecimal(right)))
}

function multiplyExact(left: ExactNumber, right: ExactNumber): ExactNumber {
  if (left.kind === 'nan' || right.kind === 'nan') return { kind: 'nan' }
  if (left.kind === 'finite' && right.kind === 'finite') {
    const coefficient = left.coefficient * right.coefficient
    return { kind: 'finite', coefficient, exponent: left.exponent + right.exponent }
  }
  const isZeroOperand = [left, right].some((value) => value.kind === 'finite' && value.coefficient === 0n)
  if (isZeroOperand) return { kind: 'nan' }
  return { kind: 'infinite', negative: isNegative(left) !== isNegative(right) }
}

function isNegative(value: Exclude<ExactNumber, { kind: 'nan' }>): boolean {
  return value.kind === 'infinite' ? value.negative : value.coefficient < 0n
}

/**
 * A running sum with the result types of `$sum` and `$add`: int32 while it fits, int64 once one was added or
 * needed, double when int64 overflows, decimal128 once one was added. Doubles are summed with compensation
 * (Neumaier), so that 0.1 + 0.2 + 0.3 is 0.6 as on a server.
 */
export class Summation {
  #integers = 0n
  #hasLong = false
  #hasDouble = false
  #doubles = 0
  #compensation = 0
  #decimals: Decimal128 | undefined

  add(value: BsonNumber): void {
    if (value._bsontype === 'Int32') this.#integers += BigInt(value.value)
    else if (value._bsontype === 'Double') this.#addDouble(value.value)
    else if (value._bsontype === 'Decimal128') this.#addDecimal(value)
    else {
      this.#integers += longToBigInt(value)
      this.#hasLong = true
    }
  }

  result(): BsonNumber {
    const plain = this.#plainResult()
    return this.#decimals ? (addNumbers(this.#decimals, plain) ?? plain) : plain
  }

  #plainResult(): BsonNumber {
    const integers = this.#hasLong ? toLong(this.#integers) : smallestInteger(this.#integers)
    if (integers && !this.#hasDouble) return integers
    const total = this.#doubles + Number(this.#integers)
    // With an infinity the compensation is NaN and means nothing.
    return new Double(Number.isFinite(total) ? total + this.#compensation : total)
  }

  #addDouble(value: number): void {
    const total = this.#doubles + value
    this.#compensation +=
      Math.abs(this.#doubles) >= Math.abs(value)
        ? this.#doubles - total + value
        : value - total + this.#doubles
    this.#doubles = total
    this.#hasDouble = true
  }

  #addDecimal(value: Decimal128): void {
    const sum = this.#decimals ? addNumbers(this.#decimals, value) : value
    this.#decimals = sum && toDecimal(sum)
  }
}
