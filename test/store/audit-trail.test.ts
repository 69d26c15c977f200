import { describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../src/domain/audit.ts'
import { subjectOf } from '../../src/signing/audit-chain.ts'
import { chainOf, entryNumber } from '../support/audit-entries.ts'
import { useTrailStore } from '../support/trail-store.ts'

const numbers = (records: readonly AuditRecord[]) => records.map(({ seq }) => seq)
const records = (count: number) =>
  chainOf(
    Array.from({ length: count }, (_, index) =>
      entryNumber(index + 1, {
        account_id: index % 2 === 0 ? 'acc_even' : 'acc_odd',
        type: index % 3 === 0 ? 'key.created' : 'approval.created',
        subject: `req_${index % 4}`,
      }),
    ),
  )

describe('the stored trail', () => {
  it('gives every record back as it was written, and the last one as its head', async () => {
    const [trail] = (await useTrailStore()).trails
    expect(await trail.head()).toBeUndefined()
    const written = records(5)
    expect(await trail.insert(written)).toBe(5)
    expect(await trail.scan(1, 10)).toEqual(written)
    expect(await trail.head()).toEqual(written[4])
    expect(await trail.insert([])).toBe(0)
  })

  it('stops an insert at the first number that is taken, and keeps what came before', async () => {
    const [trail] = (await useTrailStore()).trails
    const written = records(5)
    await trail.insert(written.slice(2, 3))
    expect(await trail.insert(written)).toBe(2)
    expect(numbers(await trail.scan(1, 10))).toEqual([1, 2, 3])
  })

  it('stops an insert at the first entry that is there under another number', async () => {
    const [trail] = (await useTrailStore()).trails
    const [one, two, three] = records(3)
    if (one === undefined || two === undefined || three === undefined) throw new Error('no records')
    await trail.insert([one])
    expect(await trail.insert([two, { ...one, seq: 3 }, { ...three, seq: 4 }])).toBe(1)
    expect(numbers(await trail.scan(1, 10))).toEqual([1, 2])
    expect(await trail.known([one, two, three].flatMap(({ entry }) => entry?.eid ?? []))).toEqual(
      new Set([one.entry?.eid, two.entry?.eid]),
    )
  })

  it('lists newest first by account, type and subject, from a number downwards', async () => {
    const [trail] = (await useTrailStore()).trails
    await trail.insert(records(12))
    expect(numbers(await trail.list({ limit: 3 }))).toEqual([12, 11, 10])
    expect(numbers(await trail.list({ limit: 3, before: { seq: 10 } }))).toEqual([9, 8, 7])
    expect(numbers(await trail.list({ limit: 9, account_id: 'acc_even' }))).toEqual([11, 9, 7, 5, 3, 1])
    expect(numbers(await trail.list({ limit: 9, type: 'key.created' }))).toEqual([10, 7, 4, 1])
    expect(numbers(await trail.list({ limit: 9, subject: 'req_1', before: { seq: 7 } }))).toEqual([6, 2])
    const all = { account_id: 'acc_even', type: 'key.created', subject: 'req_2', limit: 9 } as const
    expect(numbers(await trail.list(all))).toEqual([7])
    expect(await trail.list({ limit: 9, account_id: 'acc_none' })).toEqual([])
  })

  it('has several erased records beside each other, and lists none of them under an account', async () => {
    const { trails, connection } = await useTrailStore()
    const [trail] = trails
    await trail.insert(records(4))
    await connection.collection('audit_log').updateMany({}, { $unset: { entry: 1, salt: 1 } })
    expect((await trail.scan(1, 10)).map((record) => 'entry' in record)).toEqual([false, false, false, false])
    expect(await trail.list({ limit: 9, account_id: 'acc_even' })).toEqual([])
    expect(await trail.known(['evt_1'])).toEqual(new Set())
  })

  it('does not take an erased entry again, which the relay of another process may still hold', async () => {
    const { trails, connection } = await useTrailStore()
    const [trail] = trails
    const [one, two] = records(2)
    if (one?.entry === undefined || two === undefined) throw new Error('no records')
    await trail.insert([one])
    const subject_sha256 = subjectOf(one)
    await trail.erase([{ seq: 1, subject_sha256 }])
    const { content_sha256, hash } = one
    expect(await trail.scan(1, 10)).toEqual([{ seq: 1, content_sha256, subject_sha256, hash }])
    expect(
      await connection.collection('audit_log').findOne({}, { projection: { _id: 0, entry: 1 } }),
    ).toEqual({
      entry: { eid: one.entry.eid },
    })
    expect(await trail.insert([{ ...one, seq: 2 }])).toBe(0)
    expect(await trail.known([one.entry.eid])).toEqual(new Set([one.entry.eid]))
    expect(await trail.insert([two])).toBe(1)
  })

  it('does not take a foreign document for its head', async () => {
    const { trails, connection } = await useTrailStore()
    const [trail] = trails
    await trail.insert(records(2))
    const foreign = connection.collection<{ _id: unknown }>('audit_log')
    for (const _id of ['z', Number.POSITIVE_INFINITY, Number.NaN, 2 ** 53, new Date(8.64e15)])
      await foreign.insertOne({ _id })
    expect((await trail.head())?.seq).toBe(2)
    expect(numbers(await trail.list({ limit: 5 }))).toEqual([2, 1])
  })
})
