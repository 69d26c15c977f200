import { describe, expect, it } from 'vitest'
import { differences } from '../../src/domain/differences.ts'
import { kindOf } from '../../src/domain/likeness.ts'
import { precedentWords } from '../../src/domain/precedent-words.ts'
import { departuresFrom, type Precedent } from '../../src/domain/precedents.ts'

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

it('tells a field with a dot in its name from a field of a field', () => {
  expect(differences({ 'a.b': 1, a: { b: 1 } }, { 'a.b': 2, a: { b: 3 } })).toEqual([
    { field: '"a.b"', before: '1', now: '2' },
    { field: 'a.b', before: '1', now: '3' },
  ])
})

describe('requests of one kind', () => {
  const kind = (context: object, more: { api_key_id?: string; sandbox?: boolean } = {}) =>
    kindOf({ api_key_id: 'key_1', sandbox: false, context_json: JSON.stringify(context), ...more })

  it.each([
    ['name the same tool', { tool: 'refund', a: 1 }, { tool: 'refund', b: [2], reason: 'x' }],
    [
      'or have the same fields',
      { a: 1, tool_arguments: { b: 1 } },
      { tool_arguments: { b: 2 }, a: 'x', reason: 'y' },
    ],
  ])('%s', (_, one, other) => {
    expect(kind(one)).toBe(kind(other))
    expect(kind(one)).not.toBe(kind(one, { api_key_id: 'key_2' }))
    expect(kind(one, { sandbox: true })).toBe(undefined)
  })

  it.each([
    ['another case', { tool: 'refund' }, { tool: 'Refund' }],
    ['a look-alike letter', { tool: 'refund' }, { tool: 'r\u0435fund' }],
    ['a hidden character', { tool: 'refund' }, { tool: 'refund\u200b' }],
    ['a tool that is no text', { tool: 'refund' }, { tool: ['refund'] }],
    ['a field that is called as the list of fields of another', { fields: 1 }, { by: 1, fields: 1 }],
    ['an argument outside of the arguments', { a: 1, b: 1 }, { a: 1, tool_arguments: { b: 1 } }],
  ])('are not those that differ by %s', (_, one, other) => {
    expect(kind(one)).not.toBe(kind(other))
  })

  it.each([{}, { reason: 'x' }, { agent_name: 'x', source: 'y' }])(
    'need more in common than %j',
    (context) => {
      expect(kind(context)).toBe(undefined)
    },
  )
})

describe('what differs from approved requests', () => {
  const earlier = (...contexts: object[]): Precedent[] =>
    contexts.map((context) => ({
      decision: 'approved',
      decided_at: new Date(0),
      context_json: JSON.stringify(context),
    }))
  const said = (before: readonly Precedent[], now: Record<string, unknown>) => {
    const found = {
      own: false,
      approved: before.length,
      rejected: 0,
      at_least: false,
      departures: departuresFrom(before, now),
    }
    return precedentWords({ ...found, last: undefined }, 9).departures.flatMap(({ words, fields }) =>
      fields.map((field) => `${field}: ${words}`),
    )
  }
  const PAID = { amount: 120, currency: 'EUR', iban: 'DE1' }
  const paid = (...amounts: unknown[]) => earlier(...amounts.map((amount) => ({ ...PAID, amount })))

  it.each<[string, Precedent[], Record<string, unknown>, string[]]>([
    ['nothing', paid(100, 120, 150), { ...PAID, amount: 140 }, []],
    ['no more than usual', paid(100, 120, 150), { ...PAID, amount: 200 }, []],
    ['ten times as much', paid(100, 120, 150), { ...PAID, amount: 1200 }, ['amount: 10 × the usual 120']],
    ['far less', paid(100, 120, 150), { ...PAID, amount: 12 }, ['amount: 0.1 × the usual 120']],
    [
      'a number as a text',
      paid(100, 120, 150),
      { ...PAID, amount: '1,200.00' },
      ['amount: 10 × the usual 120'],
    ],
    [
      'texts before a number',
      paid('100', '120', '150'),
      { ...PAID, amount: 1.2e3 },
      ['amount: 10 × the usual 120'],
    ],
    [
      'amounts with their currency',
      paid('€100', '€ 120', '€150'),
      { ...PAID, amount: '€1,200' },
      ['amount: 10 × the usual 120'],
    ],
    [
      'another currency beside the number',
      paid('€100', '€120'),
      { ...PAID, amount: '₿120' },
      ['amount: New value'],
    ],
    [
      'another currency in a field',
      paid(100, 120),
      { ...PAID, amount: 110, currency: 'BTC' },
      ['currency: New value'],
    ],
    ['no number any more', paid(100, 120), { ...PAID, amount: '１２００' }, ['amount: New value']],
    [
      'another name with a number in it',
      earlier({ a: 'INV1', b: '007' }),
      { a: 'INV9', b: '0070' },
      ['a: New value', 'b: New value'],
    ],
    ['another sign', paid(100, 120), { ...PAID, amount: -110 }, ['amount: New value']],
    ['something instead of nothing', paid(0, 0), { ...PAID, amount: 5 }, ['amount: New value']],
    [
      'the largest number there is',
      paid(1e-300),
      { ...PAID, amount: 1e308 },
      ['amount: 1,000,000,000 × the usual 1.0e-300'],
    ],
    ['another receiver', paid(100, 120), { ...PAID, iban: 'DE2' }, ['iban: New value']],
    [
      'a look-alike field',
      paid(100, 120),
      { currency: 'EUR', iban: 'DE1', 'am\u043eunt': 120 },
      ['amount: Missing', 'am\u043eunt: New field'],
    ],
    ['a field that only some had', earlier({ a: 1, b: 1 }, { a: 1 }), { a: 1 }, []],
    ['a field with another value each time', earlier({ n: 'a' }, { n: 'b' }, { n: 'c' }), { n: 'd' }, []],
    ['a value that two of four had', earlier({ n: 'a' }, { n: 'a' }, { n: 'b' }, { n: 'b' }), { n: 'b' }, []],
    [
      'a nested number',
      earlier({ a: { b: { c: 1 } } }),
      { a: { b: { c: 100 } } },
      ['a.b.c: 100 × the usual 1'],
    ],
    [
      'one of a list',
      earlier({ pay: [{ n: 1 }, { n: 2 }] }),
      { pay: [{ n: 1 }, { n: 50 }] },
      ['pay[].n: 50 × the usual 1'],
    ],
    ['a longer list', earlier({ to: ['a'] }), { to: ['a', 'a', 'a'] }, ['to[].length: 3 × the usual 1']],
    [
      'numbers first, however many fields are new',
      paid(1),
      { ...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`a${n}`, 1])), ...PAID },
      [
        expect.stringContaining('amount: 120 ×'),
        ...Array.from({ length: 8 }, () => expect.stringContaining('New field')),
      ],
    ],
    [
      'names of objects in JavaScript',
      paid(1, 1),
      JSON.parse('{"amount":1,"currency":"EUR","iban":"DE1","__proto__":{"x":1}}'),
      ['__proto__.x: New field'],
    ],
  ])('is %s', (_, before, now, expected) => {
    expect(said(before, now)).toEqual(expected)
  })

  it('is told of approved ones alone, and of large ones as far as they are soon compared', () => {
    const rejected = paid(1).map((one) => ({ ...one, decision: 'rejected' as const }))
    expect(said(rejected, { amount: 100 })).toEqual([])
    const large = earlier(
      { pad: 'x'.repeat(120_000), n: 1 },
      { pad: 'x'.repeat(120_000), n: 1 },
      { pad: '', n: 1 },
    )
    const begun = process.cpuUsage()
    expect(said(large, { pad: '', n: 100 })).toEqual(['n: 100 × the usual 1', 'pad: New value'])
    expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(1_000)
  })
})
