import fc from 'fast-check'
import { expect, it } from 'vitest'
import { diffLines, hunks } from '../../webauthn-page/kit/show/line-diff.ts'

const said = (before: string, after: string) =>
  diffLines(before, after).map(({ sign, text }) => `${sign}${text}`)

it.each([
  ['', '', [' ']],
  ['a', 'a', [' a']],
  ['a', 'b', ['-a', '+b']],
  ['a\nb\nc', 'a\nc', [' a', '-b', ' c']],
  ['a\nc', 'a\nb\nc', [' a', '+b', ' c']],
  ['a\nb\nc\na\nb\nb\na', 'c\nb\na\nb\na\nc', ['-a', '-b', ' c', '+b', ' a', ' b', '-b', ' a', '+c']],
  ['a\n', 'a', [' a', '-']],
])('%j → %j', (before, after, lines) => {
  expect(said(before, after)).toEqual(lines)
})

it('holds both texts, line for line, whatever they are', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    .map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after)
      const side = (sign: string) =>
        lines
          .filter((line) => line.sign !== sign)
          .map((line) => line.text)
          .join('\n')
      expect([side('+'), side('-')]).toEqual([before, after])
    }),
  )
})

it('shows texts that have little in common as replaced, before anyone waits for it', () => {
  const text = (word: string) => Array.from({ length: 60_000 }, (_, at) => `${word}${at}`).join('\n')
  const lines = diffLines(text('a'), text('b'))
  expect(lines.filter(({ sign }) => sign === '-')).toHaveLength(60_000)
})

it('leaves equal lines out but for three beside each change, and says how many', () => {
  const before = Array.from({ length: 20 }, (_, at) => `${at}`).join('\n')
  const shown = hunks(diffLines(before, before.replace('10', 'x')))
  const words = shown.map((line) => (typeof line === 'number' ? `${line} more` : `${line.sign}${line.text}`))
  expect(words).toEqual(['7 more', ' 7', ' 8', ' 9', '-10', '+x', ' 11', ' 12', ' 13', '6 more'])
  expect(hunks(diffLines('a', 'a'))).toEqual([1])
})
