import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuditEntry, AuditRecord } from '../../src/domain/audit.ts'
import {
  type ChainFlaw,
  flawOf,
  GENESIS,
  isErased,
  linkEntry,
  subjectOf,
} from '../../src/signing/audit-chain.ts'
import { chainOf, entryNumber, hostileEntry } from '../support/audit-entries.ts'

/** Number and flaw of the first bad record; the check goes on behind it by what is stored. */
function firstFlaw(records: readonly AuditRecord[]): [number, ChainFlaw] | undefined {
  let head = GENESIS
  for (const record of records) {
    const flaw = flawOf(head, record)
    if (flaw !== undefined) return [record.seq, flaw]
    head = record
  }
  return undefined
}

const ten = (): AuditRecord[] => chainOf(Array.from({ length: 10 }, (_, n) => entryNumber(n + 1)))
const replaced = (seq: number, change: (record: AuditRecord) => object): AuditRecord[] =>
  ten().map((record) => (record.seq === seq ? { ...record, ...change(record) } : record))

describe('the hash chain', () => {
  it('has the documented byte form, over releases and in every language', () => {
    // Worked out with Python's hashlib, json and struct.
    expect(GENESIS).toEqual({
      seq: 0,
      hash: '18fd8b0ca59ffd28be5bbc6b43c5a7e5eb9799290703e514fdd088e273ca2859',
    })
    const first: AuditEntry = {
      eid: 'evt_1',
      type: 'approval.approved',
      at: new Date('2026-11-21T09:30:00.250Z'),
      actor: { kind: 'user', id: 'usr_1', address: '192.0.2.7' },
      account_id: 'acc_1',
      subject: 'req_1',
      detail: { method: 'passkey', attempt: 2 },
    }
    const one = linkEntry(GENESIS, first, '00'.repeat(32))
    expect(one).toEqual({
      seq: 1,
      entry: first,
      salt: '00'.repeat(32),
      content_sha256: '855f130a26ba54bc39220419178c30e11123c4f19fb77860c02d62357d392f0d',
      hash: '9f7056ed22415d80aefbcae366719b8c2bca859e598d0abb449eeefd1188c799',
    })
    const second: AuditEntry = {
      eid: 'evt_2',
      type: 'signing_key.created',
      at: new Date('2026-11-21T09:30:01.000Z'),
      actor: { kind: 'cli' },
      subject: 'kid €',
    }
    expect(linkEntry(one, second, 'ff'.repeat(32))).toMatchObject({
      seq: 2,
      content_sha256: '650b4c2ebdf193c14e6aa75667fcd341cdefd590395950594570f07401cb2e56',
      hash: 'be8b56b8ac6fe03d0c75492498e162db1e6f8014029fa3348e8d1db190b10122',
    })
  })

  it('holds from the first record on', () => {
    expect(firstFlaw(ten())).toBeUndefined()
  })

  it('T85: shows which record was edited, whatever was edited in it', () => {
    const edits: ((record: AuditRecord) => object)[] = [
      ({ entry }) => ({ entry: { ...entry, subject: 'req_other' } }),
      ({ entry }) => ({ entry: { ...entry, at: new Date(0) } }),
      ({ entry }) => ({ entry: { ...entry, at: entry?.at.toISOString() } }),
      ({ entry }) => ({ entry: { ...entry, at: new Date(Number.NaN) } }),
      ({ entry }) => ({ entry: { ...entry, type: Number.NaN } }),
      ({ entry }) => ({ entry: { ...entry, actor: { kind: 'service', address: 'x' } } }),
      ({ entry }) => ({ entry: { ...entry, actor: undefined } }),
      ({ entry }) => ({ entry: { ...entry, note: 'more' } }),
      ({ entry }) => ({ entry: { ...entry, detail: { why: 'so' } } }),
      () => ({ salt: 'f'.repeat(64) }),
      () => ({ salt: undefined }),
      () => ({ entry: undefined }),
      () => ({ entry: null }),
      () => ({ content_sha256: '0'.repeat(64) }),
      () => ({ content_sha256: 'x' }),
      () => ({ more: 1 }),
    ]
    for (const edit of edits) expect(firstFlaw(replaced(4, edit)), String(edit)).toEqual([4, 'changed'])
    expect(firstFlaw(replaced(4, () => ({ hash: '0'.repeat(64) })))).toEqual([4, 'unlinked'])
    expect(firstFlaw(replaced(4, () => ({ hash: undefined })))).toEqual([4, 'unlinked'])
  })

  it('T85: shows an edit whose maker recomputed the record, at the record behind it', () => {
    const forged = replaced(4, (record) => {
      const before = ten()[2]
      return linkEntry(before ?? GENESIS, { ...entryNumber(4), subject: 'req_other' }, record.salt ?? '')
    })
    expect(firstFlaw(forged)).toEqual([5, 'unlinked'])
  })

  it('T85: shows a deleted, an exchanged, a moved and an inserted record', () => {
    expect(firstFlaw(ten().filter(({ seq }) => seq !== 6))).toEqual([7, 'gap'])
    expect(firstFlaw(ten().slice(1))).toEqual([2, 'gap'])
    const swapped = ten().map((record, index, all) => {
      const other = index === 2 ? all[4] : index === 4 ? all[2] : undefined
      return other === undefined ? record : { ...other, seq: record.seq }
    })
    expect(firstFlaw(swapped)).toEqual([3, 'unlinked'])
    const renumbered = ten()
      .filter(({ seq }) => seq !== 6)
      .map((record, index) => ({ ...record, seq: index + 1 }))
    expect(firstFlaw(renumbered)).toEqual([6, 'unlinked'])
    const [first] = ten()
    expect(firstFlaw([...ten(), { ...first, seq: 11 } as AuditRecord])).toEqual([11, 'unlinked'])
    for (const seq of [0, -1, 10, 10.5, Number.NaN, '11'])
      expect(firstFlaw([...ten(), { ...first, seq } as AuditRecord])).toEqual([seq, 'misnumbered'])
  })

  it('still holds when an entry was erased with its salt, and other records are still checked', () => {
    const erase = ({ seq, content_sha256, hash }: AuditRecord): AuditRecord => ({ seq, content_sha256, hash })
    const erased = ten().map((record) => (record.seq === 4 ? erase(record) : record))
    expect(erased.filter(isErased).map(({ seq }) => seq)).toEqual([4])
    expect(firstFlaw(erased)).toBeUndefined()
    const hidden = erased.map((record) =>
      record.seq === 4 ? { ...record, content_sha256: '0'.repeat(64) } : record,
    )
    expect(firstFlaw(hidden)).toEqual([4, 'unlinked'])
  })

  it('gives each record a leaf of the log, which erasing it does not change', () => {
    const [plain, said] = [{}, { detail: { subject_sha256: 'ab'.repeat(32), kind: 'x' } }].map((more) =>
      linkEntry(GENESIS, { ...entryNumber(1), ...more }, '12'.repeat(32)),
    )
    if (plain === undefined || said === undefined) throw new Error('no records')
    const drawn = createHash('sha256')
      .update('none')
      .update(Buffer.from('12'.repeat(32), 'hex'))
      .digest('hex')
    expect([subjectOf(plain), subjectOf(said)]).toEqual([drawn, 'ab'.repeat(32)])
    for (const record of [plain, said]) {
      const { seq, content_sha256, hash } = record
      const erased = { seq, content_sha256, subject_sha256: subjectOf(record), hash }
      expect([flawOf(GENESIS, erased), subjectOf(erased)]).toEqual([undefined, subjectOf(record)])
      expect(flawOf(GENESIS, { ...record, subject_sha256: '0'.repeat(64) })).toBe('changed')
      expect(flawOf(GENESIS, { ...erased, subject_sha256: 'x' })).toBe('changed')
    }
  })

  it('takes every entry, however hostile its texts, and shows any later change of one (property)', () => {
    fc.assert(
      fc.property(
        fc.array(hostileEntry, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.nat(),
        (drawn, at, bit) => {
          const records = chainOf(drawn.map((entry, index) => ({ ...entry, eid: `evt_${index}` })))
          expect(firstFlaw(records)).toBeUndefined()
          const victim = records[at % records.length]
          if (victim?.entry === undefined) throw new Error('nothing was drawn')
          const fields = ['subject', 'eid', 'type'] as const
          const field = fields[bit % fields.length] ?? 'subject'
          const entry = { ...victim.entry, [field]: `${victim.entry[field]}x` }
          expect(
            firstFlaw(records.map((record) => (record === victim ? { ...record, entry } : record))),
          ).toEqual([victim.seq, 'changed'])
        },
      ),
    )
  })

  it('tells nothing of an erased entry: equal entries have other content hashes under another salt', () => {
    const [one, other] = ['0', '1'].map((digit) => linkEntry(GENESIS, entryNumber(1), digit.repeat(64)))
    expect(one?.content_sha256).not.toBe(other?.content_sha256)
  })
})
