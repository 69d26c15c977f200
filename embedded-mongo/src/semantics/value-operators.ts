import { Double, type Int32, type Long } from 'bson'
import { type OperatorFactory, shownId, type UpdateContext } from './change-path.ts'
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
export const incOperator: OperatorFactory = (path, argument) => {
  if (!isNumber(argument)) {
    throw mongoError(
      'TypeMismatch',
      `Cannot increment with non-numeric argument: {${path}: ${describeValue(argument)}}`,
    )
  }
  return {
    onMissing: 'create',
    apply: (current, context) => {
      if (current === undefined) return argument
      if (!isNumber(current)) throw notNumeric(current, context)
      const result = sum(current, argument)
      if (result !== undefined) return result
      throw mongoError(
        'BadValue',
        `Failed to apply $inc operations to current value (${describeValue(current)}) for document ${shownId(context.document)}`,
      )
    },
  }
}

/** A double makes the result a double; two int32 give an int64 if necessary. Undefined when an int64 overflows. */
function sum(left: BsonNumber, right: BsonNumber): BsonNumber | undefined {
  if (left._bsontype === 'Double' || right._bsontype === 'Double')
    return new Double(toDouble(left) + toDouble(right))
  const result = integer(left) + integer(right)
  return left._bsontype === 'Long' || right._bsontype === 'Long' ? toLong(result) : smallestInteger(result)
}

function integer(value: Int32 | Long): bigint {
  return value._bsontype === 'Long' ? longToBigInt(value) : BigInt(value.value)
}

function notNumeric(current: BsonValue, context: UpdateContext): Error {
  return mongoError(
    'TypeMismatch',
    `Cannot apply $inc to a value of non-numeric type. ${shownId(context.document)} has the field ` +
      `'${context.path}' of non-numeric type ${shownTypeOf(current)}`,
  )
}

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
