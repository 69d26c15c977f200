import { describe, expect, it } from 'vitest'
import { compileRegex } from '../../src/semantics/regex.ts'

describe('compileRegex', () => {
  it.each<[string, string, string, boolean]>([
    ['', '', 'abc', true],
    ['b', '', 'abc', true],
    ['^abc', '', 'abcd', true],
    ['^abc', '', 'x\nabc', false],
    ['^bc', '', 'abc', false],
    ['ABC', '', 'abc', false],
    ['^AB', 'i', 'abc', true],
    ['x', 'ii', 'X', true],
    ['a\\.c', '', 'a.c', true],
    ['a\\.c', '', 'abc', false],
    ['\\^\\$\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\\\', '', '^$*+?()[]{}|\\', true],
    ['\\_\\@\\ \\-', '', '_@ -', true],
    ['\\é\\\n', '', 'é\n', true],
    ['a/b-c', '', 'a/b-c', true],
    ['\u{1f600}', '', 'x\u{1f600}', true],
    ['é', 'i', 'É', true],
    ['k', 'i', '\u212a', true],
    ['s', 'i', '\u017f', true],
    ['σ', 'i', 'ς', true],
    ['ß', 'i', 'ẞ', true],
    ['i', 'i', 'ı', false],
  ])('/%s/%s on %j is %s', (pattern, options, text, expected) => {
    expect(compileRegex(pattern, options).test(text)).toBe(expected)
  })

  it.each([
    'abc$',
    'a^b',
    '^^a',
    'a.c',
    'a*',
    'a+',
    'a?',
    'a{2}',
    'a{',
    '}',
    ']',
    '[a-c]',
    '[[:alpha:]]',
    '(a)',
    '(?:a)',
    '(?i)a',
    'a|b',
    '\\d',
    '\\w',
    '\\s',
    '\\b',
    '\\A',
    '\\z',
    '\\1',
    '\\n',
    '\\x41',
    '\\p{Lu}',
    '\\Qa.c\\E',
    // Malformed in MongoDB as well.
    '[a',
    '(',
    'a)',
    '*a',
    'a\\',
  ])('refuses /%s/ rather than read it differently', (pattern) => {
    expect(() => compileRegex(pattern, '')).toThrow(
      expect.objectContaining({
        code: 51091,
        message: expect.stringContaining('Regular expression is invalid'),
      }),
    )
  })

  it.each(['m', 's', 'x', 'u', 'im'])('refuses the option %s', (options) => {
    expect(() => compileRegex('a', options)).toThrow(
      expect.objectContaining({ code: 51091, message: expect.stringContaining('the option "i"') }),
    )
  })

  it('refuses a NUL and an unknown option', () => {
    expect(() => compileRegex('a\0', '')).toThrow(
      expect.objectContaining({ code: 2, message: expect.stringContaining('null byte') }),
    )
    expect(() => compileRegex('a', 'y')).toThrow(
      expect.objectContaining({ code: 51108, message: expect.stringContaining('y') }),
    )
  })
})
