import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isCodeShaped, matchTotp } from '../../../src/flow/people/codes.ts'

interface Vector {
  time: number
  algorithm: string
  secret_ascii: string
  totp: string
}

const file = new URL('../../vectors/rfc6238/totp.json', import.meta.url)
const { vectors }: { vectors: Vector[] } = JSON.parse(readFileSync(file, 'utf8'))
const ours = vectors.filter((vector) => vector.algorithm === 'sha1')

describe('RFC 6238 appendix B', () => {
  it('has six vectors for the algorithm authenticator apps use', () => {
    expect(ours).toHaveLength(6)
  })

  it.each(ours)('at $time: the last six digits of $totp', ({ time, secret_ascii, totp }) => {
    const seed = Buffer.from(secret_ascii, 'ascii')
    const code = totp.slice(2)
    const step = Math.floor(time / 30)
    expect(matchTotp(seed, code, new Date(time * 1000))).toBe(step)
    expect(matchTotp(seed, code, new Date((step * 30 + 59) * 1000))).toBe(step)
    expect(matchTotp(seed, code, new Date((step * 30 + 60) * 1000))).toBeUndefined()
    expect(matchTotp(seed, code, new Date((step * 30 - 1) * 1000))).toBeUndefined()
  })
})

it.each([
  [['123456']],
  [{ $ne: null }],
  [123456],
  [null],
  [undefined],
  ['12345'],
  ['1234567'],
  ['12 456'],
  ['-12345'],
  ['1e5000'],
  ['１２３４５６'],
  ['123456\n'],
  ['\u0660\u0661\u0662\u0663\u0664\u0665'],
])('T29: %j is not shaped like a code', (odd) => {
  expect(isCodeShaped(odd)).toBe(false)
})
