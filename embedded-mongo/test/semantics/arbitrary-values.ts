import { Binary, BSONRegExp, Double, Int32, Long, ObjectId } from 'bson'
import fc from 'fast-check'
import { type BsonDocument, type BsonValue, bsonUndefined } from '../../src/semantics/values.ts'

const text = fc.oneof(
  fc.constantFrom('', 'a', 'a\0', 'ab', 'b', 'A', 'é', '\uffff', '\u{10000}', '\u{1f600}', '0', '10', '2'),
  fc.string({ unit: 'binary', maxLength: 4 }),
)

/** Numbers of every type, crowded where types meet. */
export const arbitraryNumber: fc.Arbitrary<BsonValue> = fc.oneof(
  fc.oneof(fc.integer(), fc.integer({ min: -3, max: 3 })).map((value) => new Int32(value)),
  fc
    .oneof(
      fc.double(),
      fc.constantFrom(
        0,
        -0,
        0.1,
        0.5,
        1,
        2 ** 31,
        2 ** 53,
        2 ** 53 + 2,
        2 ** 63,
        -(2 ** 63),
        1e308,
        5e-324,
        Number.NaN,
      ),
      fc.integer({ min: -3, max: 3 }),
    )
    .map((value) => new Double(value)),
  fc
    .oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)),
      fc.bigInt({ min: -3n, max: 3n }),
    )
    .map((value) => Long.fromBigInt(value)),
)

const scalar: fc.Arbitrary<BsonValue> = fc.oneof(
  { weight: 4, arbitrary: arbitraryNumber },
  { weight: 3, arbitrary: text },
  fc.boolean(),
  fc.constantFrom<BsonValue>(null, bsonUndefined),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => new ObjectId(bytes)),
  fc
    .tuple(fc.uint8Array({ maxLength: 3 }), fc.integer({ min: 0, max: 5 }))
    .map(([bytes, type]) => new Binary(bytes, type)),
  fc
    .tuple(fc.constantFrom('a', 'ab', '^a'), fc.constantFrom('', 'i', 'im'))
    .map(([pattern, options]) => new BSONRegExp(pattern, options)),
)

const name = fc.constantFrom('a', 'b', 'c', '0', '1', '', 'é')

const { value } = fc.letrec<{ value: BsonValue; document: BsonDocument }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 5, arbitrary: scalar },
    fc.array(tie('value'), { maxLength: 3 }),
    tie('document'),
  ),
  document: fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
}))

/** Any BSON value, three levels deep. */
export const arbitraryValue: fc.Arbitrary<BsonValue> = value

const small: fc.Arbitrary<BsonValue> = fc.oneof(
  fc.constantFrom<BsonValue>(
    null,
    'x',
    'y',
    true,
    new Int32(1),
    new Double(1),
    new Long(2),
    new Double(3),
    new Double(Number.NaN),
  ),
  fc.integer({ min: 0, max: 4 }).map((number) => new Int32(number)),
)

const { tree } = fc.letrec<{ tree: BsonValue; branch: BsonDocument }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: small },
    { weight: 2, arbitrary: fc.array(tie('tree'), { maxLength: 3 }) },
    { weight: 2, arbitrary: tie('branch') },
  ),
  branch: fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), tie('tree')), {
      maxLength: 3,
      selector: ([key]) => key,
    })
    .map((entries) => new Map(entries)),
}))

/** Values few enough to meet by chance, in documents with fields a, b and c. */
export const arbitrarySmallValue: fc.Arbitrary<BsonValue> = tree

/** Documents with fields a, b, c, arrays among them. */
export const arbitraryDocument: fc.Arbitrary<BsonDocument> = fc
  .tuple(tree, tree, tree, fc.integer({ min: 0, max: 7 }))
  .map(([a, b, c, present]) => {
    const entries: [string, BsonValue][] = [
      ['a', a],
      ['b', b],
      ['c', c],
    ]
    return new Map(entries.filter((_, index) => (present & (1 << index)) !== 0))
  })
