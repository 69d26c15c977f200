import { Int32 } from 'bson'
import { equalValues } from '../semantics/compare.ts'
import { describeValue } from '../semantics/describe-value.ts'
import { pathsOf } from '../semantics/filter-tree.ts'
import { indexKeys, valuesOfKey } from '../semantics/index-keys.ts'
import { type IndexSpec, isIdKey, parseIndexSpec } from '../semantics/index-spec.ts'
import { MongoError } from '../semantics/mongo-error.ts'
import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'

/** One index of a collection: its description, and what the planner needs to know of its entries in the file. */
export class CollectionIndex {
  readonly spec: IndexSpec
  /** As `listIndexes` shows it. */
  readonly definition: BsonDocument
  /** Which of the file's entries are this index's; given when the index is added to a collection. */
  tree = 0
  /** Whether a document ever had several keys here, so that two conditions may be met by different ones. */
  multikey = false
  /** Entries are being made of the documents that were there before; no plan may use it yet. */
  building = false
  /** The top-level fields its keys are made of. */
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
    // As they were given: the one was checked, the other means nothing.
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

  /** What the file keeps of it besides its entries. */
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

  /** Whether two versions of a document may have different keys: a change makes new values on its way down. */
  touchedBy(before: BsonDocument, after: BsonDocument): boolean {
    for (const root of this.roots) if (before.get(root) !== after.get(root)) return true
    return false
  }

  /** Whether a `hint` or `dropIndexes` means this index: by name or by exact key pattern. */
  isNamedBy(name: string | BsonDocument): boolean {
    return typeof name === 'string' ? name === this.spec.name : equalValues(name, this.spec.key)
  }

  /**
   * Whether creating this index when `other` exists is a repetition.
   * @throws MongoError 85 or 86 when it is a contradiction
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

  /** E11000 for a document that has a key another one has. */
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
  // It is listed as it was given, and means nothing.
  options.delete('background')
  return options
}

function partialOf(definition: BsonDocument): BsonValue {
  return definition.get('partialFilterExpression') ?? null
}
