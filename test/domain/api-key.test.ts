import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { formatApiKey, isWellFormedApiKey, keyPrefix, RAW_KEY_BYTES } from '../../src/domain/api-key.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('formatApiKey', () => {
  it('has the prefix of its kind, 43 digits of secret and 6 of checksum', () => {
    expect(formatApiKey(false, randomBytes(32))).toMatch(/^sa_live_[0-9A-Za-z]{49}$/)
    expect(formatApiKey(true, randomBytes(32))).toMatch(/^sa_test_[0-9A-Za-z]{49}$/)
  })

  it('holds all 256 bits: every secret can be read back from its key', () => {
    for (const random of [
      new Uint8Array(32),
      new Uint8Array(32).fill(255),
      randomBytes(32),
      randomBytes(32),
    ]) {
      const digits = formatApiKey(false, random).slice(8, 51)
      const value = [...digits].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n)
      expect(value.toString(16).padStart(64, '0')).toBe(Buffer.from(random).toString('hex'))
    }
  })

  it("ends in the CRC-32 that the platform's zlib computes", () => {
    const key = formatApiKey(true, randomBytes(32))
    const sum = [...key.slice(-6)].reduce((total, digit) => total * 62 + DIGITS.indexOf(digit), 0)
    expect(sum).toBe(crc32(key.slice(0, -6)))
  })

  it.each([0, 31, 33, 64])('refuses %i bytes of randomness', (length) => {
    expect(() => formatApiKey(false, new Uint8Array(length))).toThrow(RangeError)
    expect(RAW_KEY_BYTES).toBe(32)
  })
})

describe('isWellFormedApiKey', () => {
  it('recognises what formatApiKey makes', () => {
    for (let time = 0; time < 50; time += 1) {
      expect(isWellFormedApiKey(formatApiKey(time % 2 === 0, randomBytes(32)))).toBe(true)
    }
  })

  it('notices every single mistyped character', () => {
    const key = formatApiKey(false, randomBytes(32))
    for (let at = 0; at < key.length; at += 1) {
      const other = key[at] === 'a' ? 'b' : 'a'
      expect(isWellFormedApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
    }
  })

  it('notices swapped neighbours', () => {
    const key = formatApiKey(
      false,
      new Uint8Array(32).map((_, index) => index * 37 + 5),
    )
    for (let at = 8; at < 50; at += 1) {
      if (key[at] === key[at + 1]) continue
      const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2)
      expect(isWellFormedApiKey(swapped)).toBe(false)
    }
  })

  it.each([
    '',
    'sa_live_',
    'sa_live',
    `sa_live_${'0'.repeat(49)} `,
    `SA_LIVE_${'0'.repeat(49)}`,
    `sa_prod_${'0'.repeat(49)}`,
    `sa_live_${'0'.repeat(48)}\n`,
    `sa_live_${'é'.repeat(49)}`,
  ])('refuses %j', (text) => {
    expect(isWellFormedApiKey(text)).toBe(false)
  })

  it('does not turn a live key into a test key: the checksum covers the prefix', () => {
    const key = formatApiKey(false, randomBytes(32))
    expect(isWellFormedApiKey(key.replace('live', 'test'))).toBe(false)
  })
})

it('keyPrefix shows 14 characters: six of 49 secret ones', () => {
  expect(keyPrefix('sa_live_abcdefghij')).toBe('sa_live_abcdef')
})
