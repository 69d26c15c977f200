import { describe, expect, it } from 'vitest'
import { AUDIT_WORDS, auditSentence, auditWords, partsOf } from '../../dashboard/audit/audit-words.ts'
import { AUDIT_TYPES } from '../../src/domain/audit.ts'

const listed = Object.values(AUDIT_WORDS).flatMap((group) => Object.entries(group))

describe('the words of the audit log', () => {
  it('know every type the service writes, each once', () => {
    expect(listed.map(([type]) => type).toSorted()).toEqual([...AUDIT_TYPES].toSorted())
  })

  it('are sentences of known parts, and names that differ', () => {
    const known = ['actor', 'subject', 'decision', 'result', 'role', 'workspace']
    for (const [type, [, sentence]] of listed) {
      expect(sentence, type).toMatch(/^(?:\{(?:actor|subject)\}|[A-Z]).*[^.]$/)
      for (const { name } of partsOf(sentence)) if (name !== undefined) expect(known, type).toContain(name)
    }
    expect(new Set(listed.map(([, [name]]) => name)).size).toBe(listed.length)
  })

  it('say the type itself where a newer service tells of something new', () => {
    expect(auditWords('future.thing')).toEqual(['future.thing', '{actor}: future.thing'])
    expect(auditWords('constructor')).toEqual(['constructor', '{actor}: constructor'])
  })

  it('say how a session ended, and what the operator confirmed', () => {
    const by = { actor: { kind: 'cli' }, subject: 'usr_a', detail: { confirmed: true } } as const
    expect(auditSentence({ type: 'user.changed', ...by })).toBe('{actor} confirmed {subject}')
    expect(auditSentence({ type: 'session.ended', ...by, detail: { reason: 'signed_out' } })).toBe(
      '{actor} signed out',
    )
  })

  it('name whoever acts about themselves once', () => {
    const by = { actor: { kind: 'user', id: 'usr_a' }, detail: {} } as const
    for (const type of ['member.recovery_ended', 'user.changed'] as const) {
      expect(auditSentence({ type, ...by, subject: 'usr_a' }), type).not.toContain('{subject}')
      expect(auditSentence({ type, ...by, subject: 'usr_b' }), type).toContain('{subject}')
    }
  })

  it('fall apart into words and the names of values', () => {
    expect(partsOf('{actor} made {subject} {role}')).toEqual([
      { name: 'actor' },
      { words: ' made ' },
      { name: 'subject' },
      { words: ' ' },
      { name: 'role' },
    ])
  })
})
