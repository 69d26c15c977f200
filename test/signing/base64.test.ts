import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromBase64, fromBase64Url, toBase64, toBase64Url } from '../../src/signing/base64.ts'

const anyBytes = fc.uint8Array({ maxLength: 100 })

describe('base64', () => {
  it('writes what the platform writes, and reads it back', () => {
    fc.assert(
      fc.property(anyBytes, (data) => {
        expect(toBase64(data)).toBe(Buffer.from(data).toString('base64'))
        expect(toBase64Url(data)).toBe(Buffer.from(data).toString('base64url'))
        expect(fromBase64(toBase64(data))).toStrictEqual(data)
        expect(fromBase64Url(toBase64Url(data))).toStrictEqual(data)
      }),
    )
  })

  it.each([
    ['', ''],
    ['f', 'Zg=='],
    ['fo', 'Zm8='],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg=='],
    ['fooba', 'Zm9vYmE='],
    ['foobar', 'Zm9vYmFy'],
  ])('RFC 4648 section 10: %j is %j', (plain, encoded) => {
    expect(toBase64(Buffer.from(plain))).toBe(encoded)
    expect(Buffer.from(fromBase64(encoded)).toString()).toBe(plain)
  })

  it.each([
    ['missing padding', 'Zg'],
    ['half the padding', 'Zg='],
    ['padding where none belongs', 'Zm9v===='],
    ['too much padding', 'Z==='],
    ['padding in the middle', 'Zg==Zg=='],
    ['left-over bits set (one byte)', 'Zh=='],
    ['left-over bits set (two bytes)', 'Zm9='],
    ['the URL-safe alphabet', '-_-_'],
    ['white space', 'Zm 9'],
    ['a line break at the end', 'Zm9v\n'],
    ['a foreign letter', 'Zm9é'],
    ['only padding', '===='],
  ])('fromBase64 refuses %s', (_name, text) => {
    expect(() => fromBase64(text)).toThrow(RangeError)
  })

  it.each([
    ['padding', 'Zg=='],
    ['the standard alphabet', '+/+/'],
    ['left-over bits set', 'Zh'],
    ['an impossible length', 'Z'],
  ])('fromBase64Url refuses %s', (_name, text) => {
    expect(() => fromBase64Url(text)).toThrow(RangeError)
  })

  it('has one spelling: whatever decodes is what would be encoded', () => {
    const near = fc.string({ unit: fc.constantFrom(...'AQgwZ+/-_=\n '), maxLength: 12 })
    fc.assert(
      fc.property(near, (text) => {
        for (const [decode, encode] of [
          [fromBase64, toBase64],
          [fromBase64Url, toBase64Url],
        ] as const) {
          try {
            expect(encode(decode(text))).toBe(text)
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError)
          }
        }
      }),
      { numRuns: 3000 },
    )
  })
})
