import { Binary, BSON, Double, Int32, Long } from 'bson'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBson, MAX_DEPTH } from '../src/bson-reader.ts'
import { encodeBson } from '../src/bson-writer.ts'
import { MongoError } from '../src/semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from '../src/semantics/values.ts'

function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

function refusal(hex: string | Buffer): string {
  try {
    decodeBson(typeof hex === 'string' ? bytes(hex) : hex)
  } catch (error) {
    if (error instanceof MongoError && error.code === 22 && error.codeName === 'InvalidBSON')
      return error.message
    throw error
  }
  throw new Error('the bytes were accepted')
}

/** One element of every type that the store takes, as bytes, by bsonspec.org. */
const EVERY_TYPE: [string, string][] = [
  ['double', '01 61 00 0000000000001440'],
  ['double NaN with a payload', '01 61 00 010000000000f87f'],
  ['negative zero', '01 61 00 0000000000000080'],
  ['string', '02 61 00 04000000 c3a978 00'],
  ['document', '03 61 00 0c000000 10 31 00 05000000 00'],
  ['array', '04 61 00 13000000 10 30 00 01000000 10 31 00 02000000 00'],
  ['binary', '05 61 00 02000000 80 ffee'],
  ['ObjectId', '07 61 00 0102030405060708090a0b0c'],
  ['boolean', '08 61 00 01'],
  ['date', '09 61 00 ffffffffffffffff'],
  ['null', '0a 61 00'],
  ['regex', '0b 61 00 5e78 00 69 00'],
  ['int32', '10 61 00 05000000'],
  ['int64', '12 61 00 0500000000000000'],
]

function documentOf(elements: string): Buffer {
  const body = bytes(elements)
  const size = Buffer.alloc(4)
  size.writeInt32LE(body.length + 5)
  return Buffer.concat([size, body, Buffer.from([0])])
}

describe('the BSON codec', () => {
  it.each(EVERY_TYPE)('gives a %s back byte for byte', (_name, element) => {
    const original = documentOf(element)
    expect(encodeBson(decodeBson(original)).toString('hex')).toBe(original.toString('hex'))
  })

  it('keeps 5 as a double apart from 5 as an int32 and an int64', () => {
    const read = decodeBson(
      encodeBson(
        new Map<string, BsonValue>([
          ['d', new Double(5)],
          ['i', new Int32(5)],
          ['l', Long.fromNumber(5)],
        ]),
      ),
    )
    expect([...read.values()].map((value) => (value as Double)._bsontype)).toEqual([
      'Double',
      'Int32',
      'Long',
    ])
  })

  it('keeps the order of integer-like names and takes __proto__ for a name like any other', () => {
    const document: BsonDocument = new Map([
      ['b', 'x'],
      ['2', 'x'],
      ['1', 'x'],
      ['__proto__', 'x'],
    ])
    expect([...decodeBson(encodeBson(document)).keys()]).toEqual(['b', '2', '1', '__proto__'])
  })

  it('writes what the official codec writes, for any document', () => {
    const leaf = fc.oneof(
      fc.string({ unit: 'binary' }).map((text): BsonValue => text.toWellFormed()),
      fc.boolean(),
      fc.constant(null),
      fc.integer().map((n) => new Int32(n)),
      fc.double().map((n) => new Double(n)),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((n) => Long.fromBigInt(n)),
      fc.date({ noInvalidDate: true }),
    )
    const name = fc.string().map((text) => `k${text.toWellFormed().replaceAll('\0', '')}`)
    const { tree } = fc.letrec<{ tree: BsonValue }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.array(fc.tuple(name, tie('tree')), { maxLength: 4 }).map((entries) => new Map(entries)),
      ),
    }))
    fc.assert(
      fc.property(fc.array(fc.tuple(name, tree), { maxLength: 5 }), (entries) => {
        const document: BsonDocument = new Map(entries)
        const ours = encodeBson(document)
        expect(ours.equals(Buffer.from(BSON.serialize(document, { ignoreUndefined: false })))).toBe(true)
        expect(encodeBson(decodeBson(ours)).equals(ours)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it.each([1, 3, 5, 8, 13])('writes documents of any size alike (growing by %d bytes)', (step) => {
    for (let size = 1 << 16; size < (1 << 16) + 400; size += step) {
      const fields: [string, BsonValue][] = [
        ['text', 'x'.repeat(size - 60)],
        ['i', new Int32(1)],
        ['b', new Binary(Buffer.alloc(9))],
        ['list', [true, 'é', new Double(0.5)]],
      ]
      const document: BsonDocument = new Map(fields)
      expect(encodeBson(document).equals(Buffer.from(BSON.serialize(document)))).toBe(true)
      // A document of over 1 MiB in between: its buffer is not kept.
      if (size % 50 === 0)
        expect(encodeBson(new Map([['huge', 'y'.repeat(1 << 21)]])).length).toBe((1 << 21) + 16)
    }
  })

  it.each([
    ['empty input', '', 'element reaches past the end'],
    ['a length of 4', '04000000', 'document length 4 is invalid'],
    ['a negative length', 'ffffffff 00', 'document length -1 is invalid'],
    ['a length past the end', '06000000 00', 'document length 6 is invalid'],
    ['bytes after the end', '05000000 00 00', 'bytes after the end of the document'],
    ['a missing final zero', '05000000 01', 'document does not end where its length says'],
    [
      'a string that claims more than there is',
      '0f000000 02 61 00 ff000000 6100 00 00',
      'element reaches past the end',
    ],
    ['a string of negative length', '0e000000 02 61 00 ffffffff 6100 00', 'string length -1 is invalid'],
    [
      'a string without its zero',
      '0e000000 02 61 00 02000000 6161 00',
      'string does not end with a zero byte',
    ],
    ['invalid UTF-8', '0e000000 02 61 00 02000000 ff00 00', 'text is not valid UTF-8'],
    ['an encoded surrogate', '10000000 02 61 00 04000000 eda080 00 00', 'text is not valid UTF-8'],
    ['a boolean of 2', '09000000 08 61 00 02 00', 'boolean byte 2 is neither 0 nor 1'],
    ['an unknown type', '08000000 42 61 00 00', 'element type 0x42 is unknown or not supported'],
    ...[0x06, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x13, 0x7f, 0xff].map((type): [string, string, string] => {
      const hex = type.toString(16).padStart(2, '0')
      return [
        `the type 0x${hex}, which no client of the store sends`,
        `08000000 ${hex} 61 00 00`,
        `element type 0x${hex} is unknown or not supported`,
      ]
    }),
    ['a duplicate name', '0b000000 0a 61 00 0a 61 00 00', "duplicate field name 'a'"],
    [
      'array indexes out of order',
      '10000000 04 61 00 08000000 0a 31 00 00 00',
      "array index '1' is out of order",
    ],
    ['a name without end', '06000000 0a 61', 'name does not end with a zero byte'],
    ['a binary of negative length', '0d000000 05 61 00 ffffffff 00 00', 'element reaches past the end'],
    ['a date no Date can hold', '10000000 09 61 00 ffffffffffffff7f 00', 'date is out of range'],
    [
      'an embedded length past its parent',
      '0d000000 03 61 00 09000000 00 00',
      'document length 9 is invalid',
    ],
  ])('refuses %s with 22 InvalidBSON', (_name, hex, message) => {
    expect(refusal(hex)).toBe(message)
  })

  it('refuses nesting over the limit both ways and takes what is just inside it', () => {
    const nested = (levels: number): BsonDocument => {
      let document: BsonDocument = new Map()
      for (let level = 1; level < levels; level += 1) document = new Map([['a', document]])
      return document
    }
    expect(decodeBson(encodeBson(nested(MAX_DEPTH))).size).toBe(1)
    expect(() => encodeBson(nested(MAX_DEPTH + 1))).toThrow(expect.objectContaining({ code: 15 }))
    let plain = {}
    for (let level = 0; level < 150; level += 1) plain = { a: plain }
    expect(refusal(Buffer.from(BSON.serialize(plain)))).toBe('nesting is deeper than 100')
  })

  it('throws nothing but InvalidBSON on random and on damaged bytes', () => {
    const sound = encodeBson(
      new Map<string, BsonValue>([
        ['a', [new Int32(1), 'text', new Map([['b', null]])]],
        ['c', new Date(0)],
      ]),
    )
    const damaged = fc
      .array(fc.tuple(fc.nat(sound.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
      .map((changes) => {
        const copy = Buffer.from(sound)
        for (const [at, byte] of changes) copy[at] = byte
        return copy
      })
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), damaged), (input) => {
        try {
          decodeBson(input)
        } catch (error) {
          expect(error).toMatchObject({ code: 22 })
        }
      }),
      { numRuns: 2000 },
    )
  })
})
