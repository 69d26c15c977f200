import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutText, fairShares, more, shortLine } from '../../src/domain/cut-text.ts'

describe('cutting', () => {
  it('leaves what fits and counts code points of what does not', () => {
    expect(cutText('abc', 3)).toEqual({ text: 'abc', left: 0 })
    expect(cutText('abcd', 3)).toEqual({ text: 'abc', left: 1 })
    expect(cutText('ab😀😀', 3)).toEqual({ text: 'ab', left: 2 })
    expect(cutText('👩‍👧!', 3)).toEqual({ text: '👩', left: 3 })
    expect(cutText('a  b', 3)).toEqual({ text: 'a', left: 3 })
    expect(cutText('abc', -5)).toEqual({ text: '', left: 3 })
    expect(cutText('', -5)).toEqual({ text: '', left: 0 })
  })

  it('leaves out the last word rather than a part of it, but cuts one that is long', () => {
    const text = 'Delete eighteen thousand invoices older than ten years'
    expect(cutText(text, 37)).toEqual({ text: 'Delete eighteen thousand invoices', left: 21 })
    expect(cutText(text, 44)).toEqual({ text: 'Delete eighteen thousand invoices older than', left: 10 })
    expect(cutText(`Delete ${'a'.repeat(60)}`, 40)).toEqual({ text: `Delete ${'a'.repeat(33)}`, left: 27 })
  })

  it('says how much, in words', () => {
    expect([1, 2, 999, 1240, 16_384, 1_000_000].map((count) => more(count))).toEqual([
      '… 1 more character',
      '… 2 more characters',
      '… 999 more characters',
      '… 1 240 more characters',
      '… 16 384 more characters',
      '… 1 000 000 more characters',
    ])
    expect([more(1, 'field', 'fields'), more(2, 'field', 'fields')]).toEqual([
      '… 1 more field',
      '… 2 more fields',
    ])
    expect(shortLine(' a\n b ', 10)).toBe('a b')
    expect(shortLine('abcdef', 3)).toBe('abc … 3 more characters')
  })

  it('shares room fairly: the short get all, the long the same', () => {
    expect(fairShares([5, 100, 100], 65)).toEqual([5, 30, 30])
    expect(fairShares([100, 5, 100], 65)).toEqual([30, 5, 30])
    expect(fairShares([1, 2, 3], 100)).toEqual([1, 2, 3])
    expect(fairShares([], 10)).toEqual([])
    expect(fairShares([5, 5], -3)).toEqual([0, 0])
    fc.assert(
      fc.property(fc.array(fc.nat(5000), { maxLength: 30 }), fc.nat(8000), (lengths, budget) => {
        const shares = fairShares(lengths, budget)
        const used = shares.reduce((sum, share) => sum + share, 0)
        const wanted = lengths.reduce((sum, length) => sum + length, 0)
        expect(used).toBeLessThanOrEqual(budget)
        expect(used).toBeGreaterThan(Math.min(wanted, budget) - Math.max(1, lengths.length))
        shares.forEach((share, index) => {
          expect(share).toBeLessThanOrEqual(lengths[index] ?? 0)
        })
      }),
    )
  })
})
