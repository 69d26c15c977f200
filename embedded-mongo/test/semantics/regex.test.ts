import { describe, expect, it } from 'vitest'
import { compileRegex } from '../../src/semantics/regex.ts'

describe('compileRegex', () => {
  it.each<[string, string, string, boolean]>([
    ['^abc$', '', 'abc', true],
    ['abc$', '', 'abc\n', true],
    ['abc\\z', '', 'abc\n', false],
    ['abc\\Z', '', 'abc\n', true],
    ['\\Aabc', 'm', 'x\nabc', false],
    ['^abc', 'm', 'x\nabc', true],
    ['^abc', '', 'x\nabc', false],
    ['x$', 'm', 'x\ny', true],
    ['a.c', '', 'a\nc', false],
    ['a.c', 's', 'a\nc', true],
    ['a.c', '', 'a\rc', true],
    ['^.$', '', '\u{1f600}', true],
    ['a b # comment', 'x', 'ab', true],
    ['[a b]', 'x', ' ', true],
    ['(?i)abc', '', 'ABC', true],
    ['\\s', '', '\u00a0', false],
    ['\\S', '', '\u00a0', true],
    ['[\\s]', '', '\t', true],
    ['[[:alpha:]]+', '', '12', false],
    ['[[:alpha:][:digit:]_]+$', '', 'a1_', true],
    ['[]a]', '', ']', true],
    ['[^]a]', '', ']', false],
    ['[\\w-.]', '', '-', true],
    ['[a-c-]', '', '-', true],
    ['\\Qa.c\\E', '', 'abc', false],
    ['\\Qa.c\\E+', '', 'a.cc', true],
    ['a{2}', '', 'aa', true],
    ['a{,2}', '', 'a{,2}', true],
    ['a{x}', '', 'a{x}', true],
    ['}', '', '}', true],
    ['\\_\\@\\ \\-', '', '_@ -', true],
    ['\\x41\\x{42}', '', 'AB', true],
    ['(?<y>a)\\k<y>', '', 'aa', true],
    ['(?P<y>a)b', '', 'ab', true],
    ['(a)\\1', '', 'aa', true],
    ['a(?#note)b', '', 'ab', true],
    ['(?=a)a(?!c)', '', 'ab', true],
    ['(?<=x)a', '', 'xa', true],
    ['\\d+?', '', '12', true],
    ['\\p{Lu}', '', 'É', true],
    ['[\\b]', '', '\b', true],
    ['a/b', '', 'a/b', true],
    ['é', 'i', 'É', true],
  ])('/%s/%s on %j is %s', (pattern, options, text, expected) => {
    expect(compileRegex(pattern, options).test(text)).toBe(expected)
  })

  it.each([
    '(?>a)',
    'a++',
    'a*+',
    '(?(1)a)',
    '(?R)',
    '\\R',
    '\\h',
    '\\v',
    '[[:foo:]]',
    '[a',
    '(',
    '*a',
    '(*UTF8)a',
    'a\\',
  ])('refuses /%s/ rather than read it differently', (pattern) => {
    expect(() => compileRegex(pattern, '')).toThrow(
      expect.objectContaining({
        code: 51091,
        message: expect.stringContaining('Regular expression is invalid'),
      }),
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
