import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { drawId, ID_BYTES, isId, newId } from '../../src/domain/identifier.ts'
import { createRandom } from '../../src/signing/random.ts'

const random = createRandom()
const make = () => drawId({ random }, 'req')

describe('newId', () => {
  it('is the prefix and 26 characters of Crockford base-32', () => {
    expect(make()).toMatch(/^req_[0-9abcdefghjkmnpqrstvwxyz]{26}$/)
  })

  it('uses five bits of each byte, evenly: 130 random bits', () => {
    const all = Uint8Array.from({ length: 32 }, (_, index) => index)
    const seen = new Set([
      ...newId('req', all.slice(0, 26)).slice(4),
      ...newId('req', all.slice(6, 32)).slice(4),
    ])
    expect(seen.size).toBe(32)
    expect(newId('req', new Uint8Array(26).fill(0xff))).toBe(newId('req', new Uint8Array(26).fill(0x1f)))
  })

  it('does not repeat itself', () => {
    expect(new Set(Array.from({ length: 5_000 }, make)).size).toBe(5_000)
  })

  it.each([0, 16, 25, 27])('refuses %i bytes', (length) => {
    expect(() => newId('req', new Uint8Array(length))).toThrow(RangeError)
  })
})

describe('createRandom', () => {
  it('gives as many bytes as are asked for, none of them twice and none that was wiped', () => {
    const lengths = [4_096, 4_097, 9_000, ...Array.from({ length: 2_000 }, (_, turn) => 8 + (turn % 61))]
    const drawn = lengths.map((length) => Buffer.from(random.bytes(length)))
    expect(drawn.map(({ length }) => length)).toEqual(lengths)
    expect(new Set(drawn.map((bytes) => bytes.toString('hex', 0, 8))).size).toBe(lengths.length)
    expect(drawn.filter((bytes) => bytes.includes(Buffer.alloc(8)))).toEqual([])
  })
})

describe('isId', () => {
  it('takes what newId makes, of its own kind only', () => {
    const id = make()
    expect(isId('req', id)).toBe(true)
    expect(isId('key', id)).toBe(false)
    expect(isId('key', newId('key', randomBytes(ID_BYTES)))).toBe(true)
  })

  it('T61: takes nothing but a text of exactly that form', () => {
    const id = make()
    const odd: unknown[] = [
      undefined,
      null,
      0,
      {},
      [id],
      { $ne: null },
      new String(id),
      '',
      'req_',
      id.toUpperCase(),
      `${id}0`,
      id.slice(0, -1),
      ` ${id}`,
      `${id}\n`,
      `${id.slice(0, -1)}i`,
      `${id.slice(0, -1)}l`,
      `${id.slice(0, -1)}o`,
      `${id.slice(0, -1)}u`,
      `${id.slice(0, -1)}\u0000`,
      `req_${'０'.repeat(26)}`,
    ]
    for (const value of odd) expect([value, isId('req', value)]).toEqual([value, false])
  })
})
