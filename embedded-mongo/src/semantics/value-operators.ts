import { type Decimal128, Double, Int32, type Long } from 'bson'
import { type FieldOperator, type OperatorFactory, shownId, type UpdateContext } from './change-path.ts'
import { compareValues } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { longToBigInt, smallestInteger, toDouble, toLong } from './numbers.ts'
import { type BsonNumber, type BsonValue, isNumber } from './values.ts'

/** $set and $setOnInsert. */
export const setOperator: OperatorFactory = (_path, argument) => ({
  onMissing: 'create',
  apply: () => argument,
})

/** $unset; its argument is ignored. */
export const unsetOperator: OperatorFactory = () => ({ onMissing: 'ignore', apply: () => undefined })

/** $inc: a missing field starts from the increment itself. */
export const incOperator: OperatorFactory = (path, argument) =>
  arithmeticOperator('$inc', path, argument, (current, operand) =>
    current === undefined ? operand : combine(current, operand, addition),
  )

/** $mul: a missing field becomes zero, of the multiplier's type. */
export const mulOperator: OperatorFactory = (path, argument) =>
  arithmeticOperator('$mul', path, argument, (current = new Int32(0), operand) =>
    combine(current, operand, multiplication),
  )

type Operand = Exclude<BsonNumber, Decimal128>

function arithmeticOperator(
  name: '$inc' | '$mul',
  path: string,
  argument: BsonValue,
  compute: (current: Operand | undefined, operand: Operand) => Operand | undefined,
): FieldOperator {
  if (!isNumber(argument)) {
    const verb = name === '$inc' ? 'increment' : 'multiply'
    throw mongoError(
      'TypeMismatch',
      `Cannot ${verb} with non-numeric argument: {${path}: ${describeValue(argument)}}`,
    )
  }
  const operand = noDecimal(name, argument)
  return {
    onMissing: 'create',
    apply: (current, context) => {
      if (current !== undefined && !isNumber(current)) throw notNumeric(name, current, context)
      const result = compute(current && noDecimal(name, current), operand)
      if (result !== undefined) return result
      const shown = current === undefined ? 'missing' : describeValue(current)
      throw mongoError(
        'BadValue',
        `Failed to apply ${name} operations to current value (${shown}) for document ${shownId(context.document)}`,
      )
    },
  }
}

function noDecimal(name: string, value: BsonNumber): Operand {
  if (value._bsontype !== 'Decimal128') return value
  throw mongoError('NotImplemented', `${name} with decimal128 values is not supported by this store`)
}

interface Operation {
  readonly integers: (left: bigint, right: bigint) => bigint
  readonly doubles: (left: number, right: number) => number
}

const addition: Operation = {
  integers: (left, right) => left + right,
  doubles: (left, right) => left + right,
}

const multiplication: Operation = {
  integers: (left, right) => left * right,
  doubles: (left, right) => left * right,
}

/** A double makes the result a double; two int32 give an int64 if necessary. Undefined when an int64 overflows. */
function combine(left: Operand, right: Operand, operation: Operation): Operand | undefined {
  if (left._bsontype === 'Double' || right._bsontype === 'Double')
    return new Double(operation.doubles(toDouble(left), toDouble(right)))
  const result = operation.integers(integer(left), integer(right))
  return left._bsontype === 'Long' || right._bsontype === 'Long' ? toLong(result) : smallestInteger(result)
}

function integer(value: Int32 | Long): bigint {
  return value._bsontype === 'Long' ? longToBigInt(value) : BigInt(value.value)
}

function notNumeric(name: string, current: BsonValue, context: UpdateContext): Error {
  return mongoError(
    'TypeMismatch',
    `Cannot apply ${name} to a value of non-numeric type. ${shownId(context.document)} has the field ` +
      `'${context.path}' of non-numeric type ${shownTypeOf(current)}`,
  )
}

/** $min: takes the smaller value in full BSON order. */
export const minOperator: OperatorFactory = (_path, argument) => ({
  onMissing: 'create',
  apply: (current) => (current === undefined || compareValues(argument, current) < 0 ? argument : current),
})

/** $max: takes the larger value in full BSON order. */
export const maxOperator: OperatorFactory = (_path, argument) => ({
  onMissing: 'create',
  apply: (current) => (current === undefined || compareValues(argument, current) > 0 ? argument : current),
})

/** $currentDate: sets a date. This store supports neither timestamps nor the form `{$type: …}`. */
export const currentDateOperator: OperatorFactory = (_path, argument) => {
  if (typeof argument !== 'boolean') {
    const shown = describeValue(argument)
    throw mongoError(
      'BadValue',
      `${shown} is not valid for $currentDate in this store: use a boolean ('true')`,
    )
  }
  return { onMissing: 'create', apply: (_current, { now }) => new Date(now.getTime()) }
}
