import { expect, it } from 'vitest'
import { differences } from '../../src/domain/differences.ts'

it('names what is another value, field by field, and cuts what is long', () => {
  const before = { tool: 'mail', args: { to: ['ann'], dry: true, deep: { a: 1 } }, empty: {}, gone: null }
  const now = {
    tool: 'mail',
    args: { to: ['ann', 'bob'], dry: 'true', deep: { a: 1 } },
    empty: {},
    long: 'x'.repeat(300),
  }
  expect(differences(before, now)).toEqual([
    { field: 'args.to', before: '["ann"]', now: '["ann","bob"]' },
    { field: 'args.dry', before: 'true', now: '"true"' },
    { field: 'long', before: undefined, now: `${'x'.repeat(200)}…` },
    { field: 'gone', before: 'null', now: undefined },
  ])
  expect(differences(before, before)).toEqual([])
})
