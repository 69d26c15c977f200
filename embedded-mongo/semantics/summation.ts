import { type Decimal128, Double } from 'bson'
import { addNumbers } from './arithmetic.ts'
import { longToBigInt, smallestInteger, toDecimal, toLong } from './numbers.ts'
import type { BsonNumber } from './values.ts'

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
