import { Int32 } from 'bson'
import { equalValues } from '../semantics/compare.ts'
import { describeValue } from '../semantics/describe-value.ts'
import { pathsOf } from '../semantics/filter-tree.ts'
import { indexKeys, valuesOfKey } from '../semantics/index-keys.ts'
import { type IndexSpec, isIdKey, parseIndexSpec } from '../semantics/index-spec.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'

/** One index of a collection: its specification, and the facts about its entries that the planner needs. */
export class CollectionIndex {
  readonly spec: IndexSpec
  /** The specification as `listIndexes` returns it. */
  readonly definition: BsonDocument
  /** The id that marks this index's rows in `entries`; assigned when the index is added to a collection. */
  tree = 0
  /** Whether any document ever had several keys in this index, so that different keys may meet two conditions. */
  multikey = false
  /** Whether the index is still being filled from existing documents; no plan may use it yet. */
  building = false
  /** The top-level fields that its keys and its partial filter read. */
  readonly roots: ReadonlySet<string>

  private constructor(spec: IndexSpec, definition: BsonDocument) {
    this.spec = spec
    this.definition = definition
    const paths = [
      ...spec.fields.map(({ path }) => path),
      ...(spec.partial === undefined ? [] : pathsOf(spec.partial.tree)),
    ]
    this.roots = new Set(paths.map((path) => path.split('.')[0] ?? ''))
  }

  /** Creates the index that every collection has. As in MongoDB, it is unique but its definition does not say so. */
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
    // Listed as given: the partial filter has been checked, and `background` has no effect.
    for (const name of ['partialFilterExpression', 'background']) {
      const given = request.get(name)
      if (given !== undefined) definition.set(name, given)
    }
    return new CollectionIndex(spec, definition)
  }

  /** Reads what {@link stored} wrote. */
  static fromStored(stored: BsonValue): CollectionIndex {
    const definition = isDocument(stored) ? stored.get('definition') : undefined
    const tree = isDocument(stored) ? stored.get('tree') : undefined
    if (!isDocument(stored) || !isDocument(definition) || !(tree instanceof Int32)) {
      throw new Error('the description of an index is not readable')
    }
    const index = CollectionIndex.fromRequest(definition)
    index.tree = tree.value
    index.multikey = stored.get('multikey') === true
    index.building = stored.get('building') === true
    return index
  }

  /** The part of the index that the file keeps besides its entries. */
  get stored(): BsonDocument {
    return new Map<string, BsonValue>([
      ['definition', this.definition],
      ['tree', new Int32(this.tree)],
      ['multikey', this.multikey],
      ['building', this.building],
    ])
  }

  get unique(): boolean {
    return this.spec.unique || isIdKey(this.spec)
  }

  keysOf(document: BsonDocument): string[] {
    return indexKeys(document, this.spec)
  }

  /**
   * Checks whether two versions of a document may have different keys. An update replaces every value on the
   * path to a change.
   */
  touchedBy(before: BsonDocument, after: BsonDocument): boolean {
    for (const root of this.roots) if (before.get(root) !== after.get(root)) return true
    return false
  }

  /** Checks whether a `hint` or `dropIndexes` names this index, by its name or its exact key pattern. */
  isNamedBy(name: string | BsonDocument): boolean {
    return typeof name === 'string' ? name === this.spec.name : equalValues(name, this.spec.key)
  }

  /**
   * Checks whether creating this index would only repeat `other`, which exists.
   * @throws MongoError 85 or 86 when the two conflict
   */
  sameAs(other: CollectionIndex): boolean {
    const sameName = this.spec.name === other.spec.name
    const sameKey = equalValues(this.spec.key, other.spec.key)
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
    // Since MongoDB 5.0, two indexes on one key pattern are distinct if their partial filters differ.
    if (!equalValues(partialOf(this.definition), partialOf(other.definition))) return false
    if (sameOptions) {
      throw new MongoError(85, `Index already exists with a different name: ${other.spec.name}`)
    }
    throw new MongoError(
      85,
      `An equivalent index already exists with the same name but different options. Requested index: ${describeValue(this.definition)}, existing index: ${describeValue(other.definition)}`,
    )
  }

  /** Creates the E11000 error for a document with a key that another document already has. */
  duplicate(namespace: string, document: BsonDocument, key: string): MongoError {
    const values = valuesOfKey(key, document, this.spec)
    const names = [...this.spec.key.keys()]
    const keyValue = new Map(names.map((name, position) => [name, values?.[position] ?? null]))
    return new MongoError(
      11000,
      `E11000 duplicate key error collection: ${namespace} index: ${this.spec.name} dup key: ${describeValue(keyValue)}`,
      new Map([
        ['keyPattern', this.spec.key],
        ['keyValue', keyValue],
      ]),
    )
  }
}

function optionsOf(definition: BsonDocument): BsonDocument {
  const options = new Map(definition)
  options.delete('name')
  options.delete('key')
  // Listed as given, but without effect.
  options.delete('background')
  return options
}

function partialOf(definition: BsonDocument): BsonValue {
  return definition.get('partialFilterExpression') ?? null
}
