import { describe, expect, it } from 'vitest'
import { normaliseEmail } from '../../src/domain/user.ts'

describe('normaliseEmail', () => {
  it.each([
    ['Ann@Example.COM', 'ann@example.com'],
    ['  ann@example.com\n', 'ann@example.com'],
    ['u\u0308ber@example.com', '\u00fcber@example.com'],
    ['J\u030cosef@example.com', '\u01f0osef@example.com'],
    ["o'neil+tag@example.co.uk", "o'neil+tag@example.co.uk"],
  ])('%j becomes %j', (text, email) => {
    expect(normaliseEmail(text)).toBe(email)
  })

  it.each([
    '',
    'ann',
    '@example.com',
    'ann@',
    'a b@example.com',
    'a@b@c',
    '<a@b.c>',
    '"a"@b.c',
    `${'a'.repeat(65)}@b.c`,
    'an\u0000n@b.c',
    'an\u200bn@b.c',
    'ann@b.\u202emoc',
    'ann\u00ad@b.c',
    'ann@b.c\u2060',
    'an\ud800n@b.c',
    'an\ue000n@b.c',
    'an\u{e0041}n@b.c',
    `a@${'b'.repeat(260)}`,
  ])('%j is no address', (text) => {
    expect(normaliseEmail(text)).toBeUndefined()
  })
})
