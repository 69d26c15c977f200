import { mongo } from 'mongoose'
import { describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/domain/audit.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { type CheckOptions, checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { entryOf } from '../../../src/flow/audit/log.ts'
import { GENESIS, linkEntry } from '../../../src/signing/audit-chain.ts'
import { checkpointText } from '../../../src/signing/log/checkpoint.ts'
import { EMPTY_EDGE, growTree, rootOf } from '../../../src/signing/log/grow-tree.ts'
import { createAuditTrail } from '../../../src/store/audit/audit-trail.ts'
import { createLogStore } from '../../../src/store/audit/log.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { chainOf, entryNumber } from '../../support/audit-entries.ts'
import { random, useTrailStore } from '../../support/trail-store.ts'

const COUNT = 12

/** A trail of twelve records about nothing that has a document, with the means to tamper. */
async function useTrail() {
  const { trails, connection } = await useTrailStore()
  const [trail] = trails
  const about = { type: 'approval.verified' as const }
  const entries = Array.from({ length: COUNT }, (_, index) => entryNumber(index + 1, about))
  await createAppender({ trail, random })(entries)
  const log = connection.collection<{ _id: number | string | Date; [field: string]: unknown }>('audit_log')
  const logs = createLogStore(connection)
  const check = (options: CheckOptions = {}) =>
    checkTrail({ trail, logs, survey: createStateSurvey(connection) }, options)
  const records = await trail.scan(1, 100)
  return { trail, log, logs, check, records, connection }
}

const codes = ({ findings }: Awaited<ReturnType<typeof checkTrail>>) => findings.map(({ code }) => code)
const SEQS = Array.from({ length: COUNT }, (_, index) => index + 1)

describe('T85: the check of the trail', () => {
  it('confirms a trail as it was written, and names its head', async () => {
    const { check, records } = await useTrail()
    const last = records.at(-1)
    expect(await check()).toEqual({
      records: COUNT,
      erased: 0,
      head: { seq: COUNT, hash: last?.hash },
      documents: 0,
      waiting: 0,
      findings: [],
      found: 0,
    })
  })

  it('confirms an empty trail, whose head is the genesis hash', async () => {
    const { trails, connection } = await useTrailStore()
    const logs = createLogStore(connection)
    const deps = { trail: trails[0], logs, survey: createStateSurvey(connection) }
    expect(await checkTrail(deps, { expect: GENESIS })).toMatchObject({ head: GENESIS, records: 0, found: 0 })
    const other = await checkTrail(deps, { expect: { seq: 0, hash: '0'.repeat(64) } })
    expect(other).toMatchObject({ firstBad: 0, findings: [{ code: 'rewritten', seq: 0 }] })
  })

  it('finds by the log what was rewritten without a break in the chain, cut off, or logged in another way', async () => {
    const { log, logs, check, records, connection } = await useTrail()
    const head = { number: 1, origin: 'log.example.com', restores: 0, size: 0 }
    await logs.begin(head)
    const grown = growTree(
      EMPTY_EDGE,
      records.map((record) => entryOf(record, record.seq)),
    )
    const root = rootOf(grown.edge)
    const noteOf = (root: Uint8Array, size: number) =>
      `${checkpointText({ ...head, size, root })}\n— x ${'A'.repeat(92)}\n`
    await logs.fill(1, grown.tiles)
    await logs.advance(head, { size: COUNT, note: noteOf(root, COUNT), signed_at: new Date() })
    expect(await check()).toMatchObject({ found: 0 })

    const tiles = connection.collection<{ _id: string }>('log_tiles')
    const before = await tiles.find().toArray()
    const linked: AuditRecord[] = []
    for (const [at, { entry = expect.unreachable(), salt = '' }] of records.entries()) {
      const said = at === 4 ? { ...entry, subject: 'req_other' } : entry
      linked.push(linkEntry(linked.at(-1) ?? GENESIS, said, salt))
    }
    await log.deleteMany({})
    await createAuditTrail(connection).insert(linked)
    const found = { firstBad: 5, found: 1, findings: [{ code: 'unlike_log', seq: 5 }] }
    expect(await check()).toMatchObject(found)
    // Another log hides nothing.
    const next = { number: 2, origin: 'log.example.com/log/2', restores: 0, size: 0 }
    await logs.begin({ ...next, follows: noteOf(root, COUNT) })
    expect(await check()).toMatchObject(found)
    await connection.collection<{ _id: number }>('log_head').deleteOne({ _id: 2 })
    expect(await check({ since: { seq: 4, hash: linked[3]?.hash ?? '' } })).toMatchObject({ found: 1 })
    expect(await check({ since: { seq: 5, hash: linked[4]?.hash ?? '' } })).toMatchObject({ found: 0 })
    // Tiles to match; but then the root is not the one that was signed.
    const again = growTree(
      EMPTY_EDGE,
      linked.map((record) => entryOf(record, record.seq)),
    )
    await tiles.deleteMany({})
    await logs.fill(1, again.tiles)
    expect(await check()).toMatchObject({ found: 1, findings: [{ code: 'unlike_checkpoint' }] })
    await tiles.deleteMany({})
    expect(await check()).toMatchObject({ found: COUNT })
    await tiles.insertMany(before)
    await log.deleteMany({})
    await createAuditTrail(connection).insert(records.slice(0, 10))
    expect(await check()).toMatchObject({ findings: [{ code: 'truncated', seq: 11 }] })
  })

  it('names the record that was edited, whichever it is and whatever was edited', async () => {
    const { log, check, records } = await useTrail()
    const edits: Record<string, unknown>[] = [
      { 'entry.subject': 'req_other' },
      { 'entry.at': new Date(0) },
      { 'entry.type': 'approval.approved' },
      { 'entry.account_id': null },
      { 'entry.detail': { result: 'valid' } },
      { 'entry.actor.kind': 'cli' },
      { 'entry.eid': 'evt_other' },
      { 'entry.more': 1 },
      { more: 1 },
      { salt: '0'.repeat(64) },
      { content_sha256: '0'.repeat(64) },
      { hash: '0'.repeat(64) },
      { salt: new mongo.Binary(Buffer.alloc(32)) },
      { content_sha256: new mongo.Binary(Buffer.alloc(32)) },
      { hash: new mongo.Binary(Buffer.alloc(32)) },
    ]
    // Every edit, and every record at least once.
    for (const [index, $set] of edits.entries()) {
      const seq = (index % COUNT) + 1
      await log.updateOne({ _id: seq }, { $set })
      const report = await check()
      expect(report.firstBad, `record ${seq}, ${JSON.stringify($set)}`).toBe(seq)
      expect(['changed', 'unlinked']).toContain(codes(report)[0])
      await log.deleteOne({ _id: seq })
      const { seq: _id, ...rest } = records[seq - 1] as AuditRecord
      await log.insertOne({ _id, ...rest })
    }
    expect((await check()).found).toBe(0)
  })

  it('names the record whose hash has the same bytes in another type of binary', async () => {
    const { log, check, records } = await useTrail()
    const otherType = new mongo.Binary(Buffer.from(String(records[4]?.hash), 'hex'), 128)
    await log.updateOne({ _id: 5 }, { $set: { hash: otherType } })
    expect((await check()).firstBad).toBe(5)
  })

  it('names the record that was deleted; the last one only if its head is known', async () => {
    const { log, check, records } = await useTrail()
    for (const seq of SEQS.slice(0, -1)) {
      await log.deleteOne({ _id: seq })
      const report = await check()
      expect(report).toMatchObject({ firstBad: seq, found: 1, findings: [{ code: 'gap', seq }] })
      const { seq: _id, ...rest } = records[seq - 1] as AuditRecord
      await log.insertOne({ _id, ...rest })
    }
    const head = (await check()).head
    await log.deleteMany({ _id: { $gt: 9 } })
    expect((await check()).found).toBe(0)
    const report = await check({ expect: head })
    expect(report).toMatchObject({ firstBad: 10, findings: [{ code: 'truncated', seq: 10 }] })
    expect(report.head.seq).toBe(9)
  })

  it('names the first of two records that were exchanged', async () => {
    const { log, check, records } = await useTrail()
    const [four, nine] = [records[3], records[8]].map((record) => {
      const { seq: _seq, ...rest } = record as AuditRecord
      return rest
    })
    await log.deleteMany({ _id: { $in: [4, 9] } })
    await log.insertMany([
      { _id: 4, ...nine },
      { _id: 9, ...four },
    ])
    expect((await check()).firstBad).toBe(4)
  })

  it('names a record that was inserted, behind the last one and between two', async () => {
    const { log, check, records } = await useTrail()
    const { seq: _seq, ...rest } = records[11] as AuditRecord
    const forged = { ...rest, entry: { ...rest.entry, eid: 'evt_forged' } }
    await log.insertOne({ _id: 13, ...forged })
    expect(await check()).toMatchObject({ firstBad: 13, findings: [{ code: 'changed' }] })
    await log.deleteOne({ _id: 13 })
    await log.insertOne({ _id: 6.5, ...forged })
    expect(await check()).toMatchObject({
      firstBad: 7,
      findings: [{ code: 'misnumbered', seq: 7, id: '6.5' }],
    })
  })

  it('finds documents that are no records at all', async () => {
    const { log, check } = await useTrail()
    for (const _id of ['z', 0, -3, Number.NaN, new Date(0)]) await log.insertOne({ _id })
    const report = await check()
    expect(report.records).toBe(COUNT)
    expect(codes(report)).toEqual(['stray', 'stray', 'stray', 'stray', 'stray'])
    expect(report.findings.map((finding) => ('id' in finding ? finding.id : ''))).toEqual(
      expect.arrayContaining(['z', '0', '-3', 'NaN']),
    )
    await log.insertOne({ _id: Number.POSITIVE_INFINITY })
    expect(codes(await check())).toContain('misnumbered')
  })

  it('finds a trail that somebody wrote anew, hashes and all, by a head noted before', async () => {
    const { trail, log, check } = await useTrail()
    const noted = (await trail.scan(8, 1))[0] as AuditRecord
    await log.deleteMany({})
    const forged = SEQS.map((n) => entryNumber(n, { type: 'approval.verified', subject: 'req_forged' }))
    await trail.insert(chainOf(forged))
    expect((await check()).found).toBe(0)
    const report = await check({ expect: { seq: 8, hash: noted.hash } })
    expect(report).toMatchObject({ firstBad: 8, findings: [{ code: 'rewritten', seq: 8 }] })
  })

  it('counts erased entries, and names each of which no record says that it was erased', async () => {
    const { log, check } = await useTrail()
    await log.updateMany({ _id: { $in: [3, 4] } }, { $unset: { entry: 1, salt: 1 } })
    const untold = [3, 4].map((seq) => ({ code: 'erased_untold', seq }))
    expect(await check()).toMatchObject({ records: COUNT, erased: 2, found: 2, findings: untold })
    await log.updateOne({ _id: 5 }, { $unset: { entry: 1 } })
    expect((await check()).findings).toEqual([
      { code: 'changed', seq: 5 },
      ...untold,
      { code: 'erased_untold', seq: 5 },
    ])
  })

  it('tells how far it is, and goes on over many pages while others append', async () => {
    const { trail, check } = await useTrail()
    const more = Array.from({ length: 2_100 }, (_, index) =>
      entryNumber(100 + index, { type: 'approval.verified' }),
    )
    await createAppender({ trail, random })(more.slice(0, 1_500))
    const seen: number[] = []
    const appending = createAppender({ trail, random })(more.slice(1_500))
    const onProgress: CheckOptions['onProgress'] = (told) => {
      if ('records' in told) seen.push(told.records)
    }
    const report = await check({ onProgress })
    await appending
    expect(report.found).toBe(0)
    expect(report.records).toBeGreaterThanOrEqual(COUNT + 1_500)
    expect(seen.length).toBeGreaterThanOrEqual(2)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    expect((await check()).records).toBe(COUNT + 2_100)
  })
})
