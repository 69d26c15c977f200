import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { drawMatchingCode, readMatchingCode, showMatchingCode } from '../../src/domain/bootstrap.ts'

const random = { bytes: (length: number) => Uint8Array.from(randomBytes(length)) }

describe('matching codes', () => {
  it('are eight of twenty consonants, each as likely as any other', () => {
    const counts = new Map<string, number>()
    for (let draw = 0; draw < 5_000; draw += 1) {
      const code = drawMatchingCode(random)
      expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/)
      for (const letter of code) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
    expect(counts.size).toBe(20)
    // 40 000 letters, 2 000 each: seven standard deviations are 305, and never happen.
    for (const count of counts.values()) expect(Math.abs(count - 2_000)).toBeLessThan(305)
  })

  it('leave out the bytes that would make the first letters likelier', () => {
    const bytes = [255, 240, 239, 19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    const fixed = { bytes: (length: number) => Uint8Array.from(bytes.splice(0, length)) }
    expect(drawMatchingCode(fixed)).toBe('ZZBCDFGH')
  })

  it('are shown in two halves and read however people type them', () => {
    expect(showMatchingCode('BDWPHQPK')).toBe('BDWP-HQPK')
    for (const typed of ['BDWP-HQPK', 'bdwphqpk', ' bdwp hqpk\n', 'B D W P – H Q P K', 'BDWP‑HQPK'])
      expect(readMatchingCode(typed)).toBe('BDWPHQPK')
    for (const wrong of ['', 'BDWP', 'BDWP-HQPKB', 'BDWP-HQPA', 'BDWP-HQP1', 'BDWP_HQPK'])
      expect(readMatchingCode(wrong)).toBeUndefined()
  })
})
