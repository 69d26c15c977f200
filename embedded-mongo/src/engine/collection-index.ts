import { Int32 } from 'bson'
import { equalValues } from '../semantics/compare.ts'
import { describeValue } from '../semantics/describe-value.ts'
import { indexEntries, indexKeys } from '../semantics/index-keys.ts'
import { type IndexSpec, parseIndexSpec } from '../semantics/index-spec.ts'
import { duplicateKeyError, MongoError } from '../semantics/mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'
import { SortedEntries } from './sorted-entries.ts'
import type { StoreRecord } from './store-record.ts'

/** One index of a collection: its description and its entries, in key order. */
export class CollectionIndex {
  readonly spec: IndexSpec
  /** As `listIndexes` shows it and as it is stored. */
  readonly definition: BsonDocument
  readonly entries = new SortedEntries<StoreRecord>((record) => record.seq)
  #multikeyRecords = 0

  private constructor(spec: IndexSpec, definition: BsonDocument) {
    this.spec = spec
    this.definition = definition
  }

  /** The index every collection has. It enforces uniqueness without saying so, as in MongoDB. */
  static forId(): CollectionIndex {
    return CollectionIndex.fromRequest(
      new Map<string, BsonValue>([
        ['key', new Map([['_id', new Int32(1)]])],
        ['name', '_id_'],
      ]),
    )
  }

  /** @throws MongoError when `createIndexes` has to refuse the specification */
  static fromRequest(request: BsonDocument): CollectionIndex {
    const spec = parseIndexSpec(request)
    const definition = new Map<string, BsonValue>([
      ['v', new Int32(2)],
      ['key', spec.key],
      ['name', spec.name],
    ])
    if (spec.unique && !isIdKey(spec)) definition.set('unique', true)
    if (spec.sparse) definition.set('sparse', true)
    if (spec.expireAfterSeconds !== undefined) {
      definition.set('expireAfterSeconds', new Int32(spec.expireAfterSeconds))
    }
    if (spec.partialFilterExpression !== undefined) {
      definition.set('partialFilterExpression', spec.partialFilterExpression)
    }
    return new CollectionIndex(spec, definition)
  }

  /** Reads what {@link definition} wrote. */
  static fromDefinition(definition: BsonValue): CollectionIndex {
    if (!isDocument(definition)) throw new Error('an index definition is not a document')
    return CollectionIndex.fromRequest(definition)
  }

  get unique(): boolean {
    return this.spec.unique || isIdKey(this.spec)
  }

  /** Whether some document has several keys here, so that two conditions may be met by different ones. */
  get multikey(): boolean {
    return this.#multikeyRecords > 0
  }

  keysOf(document: BsonDocument): string[] {
    return indexKeys(document, this.spec)
  }

  /** @throws MongoError 11000 if another record than `self` has one of the keys */
  checkUnique(
    namespace: string,
    document: BsonDocument,
    keys: readonly string[],
    self: StoreRecord | undefined,
  ): void {
    if (!this.unique) return
    for (const key of keys) {
      const holder = this.entries.first(key)
      if (holder !== undefined && holder !== self) throw this.#duplicate(namespace, document, key)
    }
  }

  add(record: StoreRecord, keys: readonly string[]): void {
    for (const key of keys) this.entries.add(key, record)
    if (keys.length > 1) this.#multikeyRecords += 1
  }

  remove(record: StoreRecord, keys: readonly string[]): void {
    for (const key of keys) this.entries.remove(key, record)
    if (keys.length > 1) this.#multikeyRecords -= 1
  }

  /** Exchanges keys, touching only those that differ. */
  move(record: StoreRecord, before: readonly string[], after: readonly string[]): void {
    const kept = new Set(before)
    const wanted = new Set(after)
    for (const key of before) if (!wanted.has(key)) this.entries.remove(key, record)
    for (const key of after) if (!kept.has(key)) this.entries.add(key, record)
    this.#multikeyRecords += Number(after.length > 1) - Number(before.length > 1)
  }

  /** Whether a `hint` or `dropIndexes` means this index: by name or by exact key pattern. */
  isNamedBy(name: string | BsonDocument): boolean {
    return typeof name === 'string' ? name === this.spec.name : samePattern(name, this.spec.key)
  }

  /**
   * Whether creating this index when `other` exists is a repetition.
   * @throws MongoError 85 or 86 when it is a contradiction
   */
  sameAs(other: CollectionIndex): boolean {
    const sameName = this.spec.name === other.spec.name
    const sameKey = samePattern(this.spec.key, other.spec.key)
    if (!sameName && !sameKey) return false
    if (isIdKey(this.spec) && isIdKey(other.spec)) return true
    const sameOptions = equalValues(optionsOf(this.definition), optionsOf(other.definition))
    if (sameName && sameKey && sameOptions) return true
    if (sameName) {
      throw new MongoError(
        86,
        `An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: ${describeValue(this.definition)}, existing index: ${describeValue(other.definition)}`,
      )
    }
    // Since 5.0 a partial filter tells two indexes on one key apart.
    if (!equalValues(partialOf(this.definition), partialOf(other.definition))) return false
    if (sameOptions) {
      throw new MongoError(85, `Index already exists with a different name: ${other.spec.name}`)
    }
    throw new MongoError(
      85,
      `An equivalent index already exists with the same name but different options. Requested index: ${describeValue(this.definition)}, existing index: ${describeValue(other.definition)}`,
    )
  }

  #duplicate(namespace: string, document: BsonDocument, key: string): MongoError {
    const entry = indexEntries(document, this.spec).find((candidate) => candidate.key === key)
    const names = [...this.spec.key.keys()]
    const keyValue = new Map(names.map((name, position) => [name, entry?.values[position] ?? null]))
    return duplicateKeyError(namespace, this.spec.name, this.spec.key, keyValue, describeValue(keyValue))
  }
}

function isIdKey(spec: IndexSpec): boolean {
  return spec.fields.length === 1 && spec.fields[0]?.path === '_id'
}

function samePattern(left: BsonDocument, right: BsonDocument): boolean {
  return equalValues(left, right)
}

function optionsOf(definition: BsonDocument): BsonDocument {
  const options = new Map(definition)
  options.delete('name')
  options.delete('key')
  return options
}

function partialOf(definition: BsonDocument): BsonValue {
  return definition.get('partialFilterExpression') ?? null
}
