import type { StringOrder } from './compare.ts'
import { describeValue } from './describe-value.ts'
import { MongoError, mongoError } from './mongo-error.ts'
import { integerValue } from './numbers.ts'
import { type BsonDocument, type BsonValue, isNumber } from './values.ts'

/** How strings are compared when the caller asked for a locale rather than code points. */
export interface Collation {
  readonly order: StringOrder
}

const sensitivityByStrength = new Map<bigint, 'base' | 'accent' | 'variant'>([
  [1n, 'base'],
  [2n, 'accent'],
  [3n, 'variant'],
])

const knownOptions = new Set([
  'locale',
  'strength',
  'caseLevel',
  'caseFirst',
  'numericOrdering',
  'alternate',
  'maxVariable',
  'normalization',
  'backwards',
  'version',
])

/**
 * Reads a collation document: `{locale: 'simple'}` (undefined: code points) or `{locale: 'en', strength: 1|2|3}`.
 * Throws MongoError 9 for a malformed document and 238 for a collation MongoDB has and this store has not.
 */
export function compileCollation(spec: BsonDocument | undefined): Collation | undefined {
  if (spec === undefined || spec.size === 0) return undefined
  const locale = spec.get('locale')
  if (locale === undefined)
    throw new MongoError(40414, "BSON field 'collation.locale' is missing but a required field")
  if (typeof locale !== 'string')
    throw mongoError('TypeMismatch', "Field 'locale' must be of type string in collation")
  for (const name of spec.keys()) {
    if (!knownOptions.has(name))
      throw new MongoError(40415, `BSON field 'collation.${name}' is an unknown field.`)
    if (name !== 'locale' && name !== 'strength') {
      throw mongoError('NotImplemented', `Collation option '${name}' is not supported by this store`)
    }
  }
  if (locale === 'simple') {
    if (spec.size > 1) throw mongoError('BadValue', "Collation locale 'simple' takes no other option")
    return undefined
  }
  if (locale !== 'en')
    throw mongoError('NotImplemented', `Collation locale '${locale}' is not supported by this store`)
  return collatorOf(spec.get('strength'))
}

function collatorOf(strength: BsonValue | undefined): Collation {
  const level = strength === undefined ? 3n : isNumber(strength) ? integerValue(strength) : undefined
  const sensitivity = level === undefined ? undefined : sensitivityByStrength.get(level)
  if (sensitivity === undefined) {
    const shown = strength === undefined ? 'missing' : describeValue(strength)
    throw mongoError('BadValue', `Collation strength must be 1, 2 or 3 in this store, found ${shown}`)
  }
  const collator = new Intl.Collator('en', { sensitivity })
  return { order: (left, right) => collator.compare(left, right) }
}
