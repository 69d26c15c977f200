import { Int32, type Long } from 'bson'
import { addNumbers, multiplyNumbers } from './arithmetic.ts'
import { type FieldOperator, type OperatorFactory, shownId, type UpdateContext } from './change-path.ts'
import { compareValues } from './compare.ts'
import { describeValue, shownTypeOf } from './describe-value.ts'
import { mongoError } from './mongo-error.ts'
import { serverTimestamp } from './new-document.ts'
import { longToBigInt, toLong } from './numbers.ts'
import { type BsonNumber, type BsonValue, isDocument, isNumber } from './values.ts'

/** $set and $setOnInsert. */
export const setOperator: OperatorFactory = (_path, argument) => ({
  onMissing: 'create',
  apply: () => argument,
})

/** $unset; its argument means nothing. */
export const unsetOperator: OperatorFactory = () => ({ onMissing: 'ignore', apply: () => undefined })

/** $inc: a missing field starts from the increment itself. */
export const incOperator: OperatorFactory = (path, argument) =>
  arithmeticOperator('$inc', path, argument, (current, operand) =>
    current === undefined ? operand : addNumbers(current, operand),
  )

/** $mul: a missing field becomes zero, of the multiplier's type. */
export const mulOperator: OperatorFactory = (path, argument) =>
  arithmeticOperator('$mul', path, argument, (current, operand) =>
    multiplyNumbers(current ?? new Int32(0), operand),
  )

function arithmeticOperator(
  name: '$inc' | '$mul',
  path: string,
  argument: BsonValue,
  combine: (current: BsonNumber | undefined, operand: BsonNumber) => BsonNumber | undefined,
): FieldOperator {
  if (!isNumber(argument)) {
    const verb = name === '$inc' ? 'increment' : 'multiply'
    throw mongoError(
      'TypeMismatch',
      `Cannot ${verb} with non-numeric argument: {${path}: ${describeValue(argument)}}`,
    )
  }
  return {
    onMissing: 'create',
    apply: (current, context) => {
      if (current !== undefined && !isNumber(current)) throw notNumeric(name, current, context)
      const result = combine(current, argument)
      if (result !== undefined) return result
      const shown = current === undefined ? 'missing' : describeValue(current)
      throw mongoError(
        'BadValue',
        `Failed to apply ${name} operations to current value (${shown}) for document ${shownId(context.document)}`,
      )
    },
  }
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

/** $currentDate: a date, or a timestamp with `{$type: 'timestamp'}`. */
export const currentDateOperator: OperatorFactory = (_path, argument) => {
  const asTimestamp = wantsTimestamp(argument)
  return {
    onMissing: 'create',
    apply: (_current, { now }) => (asTimestamp ? serverTimestamp(now) : new Date(now.getTime())),
  }
}

function wantsTimestamp(argument: BsonValue): boolean {
  if (typeof argument === 'boolean') return false
  if (!isDocument(argument)) {
    throw mongoError(
      'BadValue',
      `${shownTypeOf(argument)} is not valid type for $currentDate. ` +
        "Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).",
    )
  }
  for (const name of argument.keys()) {
    if (name !== '$type') throw mongoError('BadValue', `Unrecognized $currentDate option: ${name}`)
  }
  const type = argument.get('$type')
  if (type === 'timestamp') return true
  if (type === 'date') return false
  throw mongoError(
    'BadValue',
    "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}",
  )
}

const bitOperations = new Map<string, (left: bigint, right: bigint) => bigint>([
  ['and', (left, right) => left & right],
  ['or', (left, right) => left | right],
  ['xor', (left, right) => left ^ right],
])

const bitFormat = 'The format is: {$bit: {field: {and/or/xor: #}}'

/** $bit: and, or, xor of int32 and int64 values; a missing field counts as zero. */
export const bitOperator: OperatorFactory = (_path, argument) => {
  if (!isDocument(argument)) {
    throw mongoError(
      'BadValue',
      `The $bit modifier is not compatible with a ${shownTypeOf(argument)}. ${bitFormat}`,
    )
  }
  if (argument.size === 0) {
    throw mongoError('BadValue', `You must pass in at least one bitwise operation. ${bitFormat}`)
  }
  const steps = Array.from(argument, ([name, operand]) => {
    const operation = bitOperations.get(name)
    if (!operation) {
      throw mongoError('BadValue', `The $bit modifier only supports 'and', 'or', and 'xor', not '${name}'`)
    }
    if (!isIntegral(operand)) {
      throw mongoError(
        'BadValue',
        `The $bit modifier field must be an Integer(32/64 bit); a '${shownTypeOf(operand)}' is not supported here`,
      )
    }
    return { operation, operand }
  })
  return {
    onMissing: 'create',
    apply: (current, context) => {
      let value: BsonValue = current === undefined ? new Int32(0) : current
      for (const { operation, operand } of steps) value = applyBit(value, operand, operation, context)
      return value
    },
  }
}

function isIntegral(value: BsonValue): value is Int32 | Long {
  return isNumber(value) && (value._bsontype === 'Int32' || value._bsontype === 'Long')
}

function applyBit(
  current: BsonValue,
  operand: Int32 | Long,
  operation: (left: bigint, right: bigint) => bigint,
  context: UpdateContext,
): BsonValue {
  if (!isIntegral(current)) {
    throw mongoError(
      'BadValue',
      `Cannot apply $bit to a value of non-integral type. ${shownId(context.document)} has the field ` +
        `${context.path} of non-integer type ${shownTypeOf(current)}`,
    )
  }
  const result = operation(integerOf(current), integerOf(operand))
  const isLong = current._bsontype === 'Long' || operand._bsontype === 'Long'
  return isLong ? (toLong(result) ?? current) : new Int32(Number(result))
}

function integerOf(value: Int32 | Long): bigint {
  return value._bsontype === 'Long' ? longToBigInt(value) : BigInt(value.value)
}
