import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/domain/audit.ts'
import { monthAt } from '../../src/domain/limits.ts'
import { auditTest, foldText, holdsText } from '../../src/domain/search.ts'

describe('a text that is searched for', () => {
  it('is found wherever it stands, whatever it is, and has no special characters', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 })
    fc.assert(
      fc.property(text, text, text, (before, part, after) => {
        expect(holdsText(`${before} ${part} ${after}`, foldText(part))).toBe(true)
      }),
    )
    for (const pattern of ['.', '.*', 'a|b', '^', '[x]', '\\w'])
      expect(holdsText('xab', foldText(pattern))).toBe(false)
  })

  it('takes time in proportion to the text, whatever it is', () => {
    const text = 'a'.repeat(500)
    // Of the processor, which a busy machine gives to others meanwhile.
    const started = process.cpuUsage()
    for (let index = 0; index < 20_000; index += 1) holdsText(text, `${'a'.repeat(199)}b`)
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(5_000)
  })
})

describe('the filter of audit entries', () => {
  const entry: AuditEntry = {
    eid: 'evt_1',
    type: 'key.created',
    at: new Date(0),
    actor: { kind: 'user', id: 'usr_1', address: '192.0.2.1' },
    subject: 'key_1',
    detail: { name: 'Billing', count: 3, live: true },
  }

  it('is none where nothing is asked', () => {
    expect(auditTest({})).toBeUndefined()
    expect(auditTest({ q: ' \t' })).toBeUndefined()
  })

  it.each([
    [{ actor: 'usr_1' }, true],
    [{ actor: 'user' }, true],
    [{ actor: 'usr' }, false],
    [{ q: 'KEY.CRE' }, true],
    [{ q: '192.0' }, true],
    [{ q: 'name: bill' }, true],
    [{ q: 'live: true' }, true],
    [{ q: 'key_1 user' }, false],
    [{ q: 'key_1\nuser' }, false],
    [{ q: 'bill', actor: 'usr_2' }, false],
  ])('%j: %s', (filter, passes) => {
    expect(auditTest(filter)?.(entry)).toBe(passes)
  })

  it('takes entries that say little', () => {
    const { detail: _, ...bare } = entry
    const cli: AuditEntry = { ...bare, actor: { kind: 'cli' } }
    expect(auditTest({ actor: 'cli' })?.(cli)).toBe(true)
    expect(auditTest({ q: 'undefined' })?.(cli)).toBe(false)
  })
})

describe('the month of a quota', () => {
  it.each([
    ['2026-02-28T23:59:59.999Z', '2026-02', '2026-03-01T00:00:00.000Z'],
    ['2026-12-01T00:00:00.000Z', '2026-12', '2027-01-01T00:00:00.000Z'],
    ['2028-01-31T12:00:00.000Z', '2028-01', '2028-02-01T00:00:00.000Z'],
  ])('of %s is %s and ends at %s', (time, name, ends) => {
    expect(monthAt(new Date(time))).toEqual({ name, ends: new Date(ends) })
  })
})
