import { type Decimal128, Double } from 'bson'
import { compareValues } from './compare.ts'
import { exactDecimal, roundToDecimal } from './decimal.ts'
import { encodeValue } from './key-encoding.ts'
import { toDouble } from './numbers.ts'
import { Summation } from './summation.ts'
import { type BsonValue, bsonUndefined, isNumber } from './values.ts'

/** Gathers one `$group` output field over the documents of one group; undefined is a missing value. */
export interface Accumulator {
  add(value: BsonValue | undefined): void
  result(): BsonValue
}

/** The accumulators of `$group` this store has. */
export const accumulators: ReadonlyMap<string, () => Accumulator> = new Map<string, () => Accumulator>([
  ['$sum', sum],
  ['$avg', average],
  ['$min', () => extreme((order) => order < 0)],
  ['$max', () => extreme((order) => order > 0)],
  ['$first', first],
  ['$last', last],
  ['$push', push],
  ['$addToSet', addToSet],
])

/** Adds numbers and ignores the rest. */
function sum(): Accumulator {
  const total = new Summation()
  return {
    add: (value) => {
      if (isNumber(value)) total.add(value)
    },
    result: () => total.result(),
  }
}

function average(): Accumulator {
  const total = new Summation()
  let count = 0
  return {
    add: (value) => {
      if (!isNumber(value)) return
      total.add(value)
      count++
    },
    result: () => {
      if (count === 0) return null
      const value = total.result()
      return value._bsontype === 'Decimal128'
        ? divideDecimal(value, count)
        : new Double(toDouble(value) / count)
    },
  }
}

function divideDecimal(total: Decimal128, count: number): Decimal128 {
  const exact = exactDecimal(total)
  if (exact.kind !== 'finite') return total
  // Forty more digits than the total has leave the rounding to 34 digits nothing to get wrong but exact ties.
  const scale = 40
  const scaled = exact.coefficient * 10n ** BigInt(scale)
  if (scaled % BigInt(count) !== 0n) {
    return roundToDecimal({
      kind: 'finite',
      coefficient: scaled / BigInt(count),
      exponent: exact.exponent - scale,
    })
  }
  let coefficient = scaled / BigInt(count)
  let exponent = exact.exponent - scale
  while (exponent < exact.exponent && coefficient % 10n === 0n) {
    coefficient /= 10n
    exponent++
  }
  return roundToDecimal({ kind: 'finite', coefficient, exponent })
}

function extreme(isBetter: (order: number) => boolean): Accumulator {
  let best: BsonValue = null
  return {
    add: (value) => {
      if (value === undefined || value === null || value === bsonUndefined) return
      if (best === null || isBetter(compareValues(value, best))) best = value
    },
    result: () => best,
  }
}

function first(): Accumulator {
  let found: { value: BsonValue } | undefined
  return {
    add: (value) => {
      found ??= { value: value ?? null }
    },
    result: () => found?.value ?? null,
  }
}

function last(): Accumulator {
  let found: BsonValue = null
  return {
    add: (value) => {
      found = value ?? null
    },
    result: () => found,
  }
}

function push(): Accumulator {
  const items: BsonValue[] = []
  return {
    add: (value) => {
      if (value !== undefined) items.push(value)
    },
    result: () => items,
  }
}

function addToSet(): Accumulator {
  const items = new Map<string, BsonValue>()
  return {
    add: (value) => {
      if (value === undefined) return
      const key = encodeValue(value)
      if (!items.has(key)) items.set(key, value)
    },
    result: () => [...items.values()],
  }
}
