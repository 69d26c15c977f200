import { describe, expect, it } from 'vitest'
import { equalHex, sha256Hex } from '../../src/signing/digest.ts'

describe('hex', () => {
  it('hashes texts as UTF-8, and bytes as they are (FIPS 180-2 appendix B.1)', () => {
    const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    expect(sha256Hex('abc')).toBe(digest)
    expect(sha256Hex(Uint8Array.of(0x61, 0x62, 0x63))).toBe(digest)
  })

  it('compares secrets and survives different lengths', () => {
    expect(equalHex('00ff', '00ff')).toBe(true)
    expect(equalHex('00ff', '00fe')).toBe(false)
    expect(equalHex('00ff', '00ff00')).toBe(false)
    expect(equalHex('', '00')).toBe(false)
    expect(equalHex('', '')).toBe(false)
  })
})
