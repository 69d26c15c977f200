import { typeNameOf } from '../semantics/describe-value.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../semantics/values.ts'

/** Fields that a client sends if it was created with `serverApi`. */
export const STABLE_API = ['apiVersion', 'apiStrict', 'apiDeprecationErrors'] as const

/** Fields every command may carry; {@link readGenericArguments} gives them their meaning. */
const GENERIC = new Set([
  '$db',
  '$readPreference',
  'lsid',
  'comment',
  'maxTimeMS',
  'readConcern',
  'writeConcern',
  'txnNumber',
  'startTransaction',
  'autocommit',
  ...STABLE_API,
])

/**
 * Typed access to the fields of a command, or of a sub-document such as one entry of `updates`. The
 * constructor refuses a field outside the allow-list (40415), the accessors refuse a field of the wrong type
 * (14). `null` counts as absent, as it does in MongoDB.
 */
export class CommandFields {
  readonly #name: string
  readonly #body: BsonDocument

  /** @throws MongoError 40415 for a field that is not in `allowed`, if that is given. */
  constructor(name: string, body: BsonDocument, allowed?: ReadonlySet<string>, generic = false) {
    this.#name = name
    this.#body = body
    if (allowed === undefined) return
    for (const field of body.keys()) {
      if (allowed.has(field) || (generic && GENERIC.has(field))) continue
      throw new MongoError(40415, `BSON field '${name}.${field}' is an unknown field.`)
    }
  }

  raw(field: string): BsonValue | undefined {
    return this.#body.get(field) ?? undefined
  }

  has(field: string): boolean {
    return this.raw(field) !== undefined
  }

  document(field: string): BsonDocument | undefined {
    return this.#read(field, 'object', isDocument)
  }

  array(field: string): BsonValue[] | undefined {
    return this.#read(field, 'array', (value) => Array.isArray(value))
  }

  documents(field: string): BsonDocument[] | undefined {
    return this.array(field)?.map((value, index) => {
      if (!isDocument(value)) throw this.#wrongType(`${field}.${index}`, value, 'object')
      return value
    })
  }

  text(field: string): string | undefined {
    return this.#read(field, 'string', (value) => typeof value === 'string')
  }

  /** Reads a boolean, or a number that stands for one, as old drivers send. */
  flag(field: string): boolean {
    const value = this.raw(field)
    if (value === undefined) return false
    if (typeof value === 'boolean') return value
    const number = integerOf(value)
    if (number === undefined) throw this.#wrongType(field, value, 'bool')
    return number !== 0
  }

  /** Reads a whole number of any numeric type, 0 or greater. */
  count(field: string): number | undefined {
    const number = this.integer(field)
    if (number === undefined || number >= 0) return number
    throw new MongoError(51024, `BSON field '${field}' value must be >= 0, actual value '${number}'`)
  }

  /** Reads any whole number. */
  integer(field: string): number | undefined {
    const value = this.raw(field)
    if (value === undefined) return undefined
    const number = integerOf(value)
    if (number === undefined) throw this.#wrongType(field, value, 'long')
    return number
  }

  /** Refuses options that MongoDB has and this store lacks, unless they are off. */
  refuse(...fields: string[]): void {
    for (const field of fields) {
      const value = this.raw(field)
      if (value === undefined || value === false) continue
      throw new MongoError(72, `'${this.#name}.${field}' is not supported by the embedded store`)
    }
  }

  required<T>(field: string, value: T | undefined): T {
    if (value !== undefined) return value
    throw new MongoError(40414, `BSON field '${this.#name}.${field}' is missing but a required field`)
  }

  #read<T extends BsonValue>(
    field: string,
    type: string,
    isOfType: (value: BsonValue) => value is T,
  ): T | undefined {
    const value = this.raw(field)
    if (value === undefined || isOfType(value)) return value
    throw this.#wrongType(field, value, type)
  }

  #wrongType(field: string, value: BsonValue, expected: string): MongoError {
    return new MongoError(
      14,
      `BSON field '${this.#name}.${field}' is the wrong type '${typeNameOf(value)}', expected type '${expected}'`,
    )
  }
}

/** Returns the number if it is whole and exact in a double, else undefined. */
export function integerOf(value: BsonValue | undefined): number | undefined {
  if (!isNumber(value)) return undefined
  const number = value._bsontype === 'Long' ? value.toNumber() : value.value
  return Number.isSafeInteger(number) ? number : undefined
}
