import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuditEntry, AuditRecord } from '../../../src/domain/audit.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import type { AuditTrail } from '../../../src/ports/ports.ts'
import { flawOf, GENESIS } from '../../../src/signing/audit-chain.ts'
import { entryNumber, hostileEntry } from '../../support/audit-entries.ts'
import { random, useTrailStore } from '../../support/trail-store.ts'

const entries = (from: number, count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, index) => entryNumber(from + index))

/** The whole trail, after it was found to be a chain without gaps that has no entry twice. */
async function soundTrail(trail: AuditTrail): Promise<AuditRecord[]> {
  const records = await trail.scan(1, 100_000)
  let head = GENESIS
  for (const record of records) {
    expect(flawOf(head, record), `record ${record.seq}`).toBeUndefined()
    head = record
  }
  const eids = records.map(({ entry }) => entry?.eid)
  expect(new Set(eids).size).toBe(records.length)
  return records
}

const eidsOf = (records: readonly AuditRecord[]) => records.map(({ entry }) => entry?.eid)

describe('appending to the trail', () => {
  it('numbers and links entries in their order, over several batches and calls', async () => {
    const [trail] = (await useTrailStore()).trails
    await createAppender({ trail, random })(entries(1, 600))
    await createAppender({ trail, random })(entries(601, 1))
    await createAppender({ trail, random })([])
    const records = await soundTrail(trail)
    expect(eidsOf(records)).toEqual(entries(1, 601).map(({ eid }) => eid))
    expect(new Set(records.map(({ salt }) => salt)).size).toBe(601)
  })

  it('leaves out what the trail has already, and what was given twice', async () => {
    const [trail] = (await useTrailStore()).trails
    await createAppender({ trail, random })(entries(1, 5))
    await createAppender({ trail, random })([...entries(3, 5), ...entries(7, 2), ...entries(7, 1)])
    expect(eidsOf(await soundTrail(trail))).toEqual(entries(1, 8).map(({ eid }) => eid))
  })

  it('T86: four processes at once, with entries of their own and the same ones: no gap, none twice, none lost', async () => {
    const { trails } = await useTrailStore(4)
    const shared = entries(10_000, 60)
    await Promise.all(
      trails.map(async (trail, process) => {
        for (let round = 0; round < 10; round += 1) {
          const own = entries(process * 1_000 + round * 20 + 1, 20)
          const mixed = [...shared.slice(round * 6, round * 6 + 6), ...own]
          await createAppender({ trail, random })(process % 2 === 0 ? mixed : mixed.reverse())
        }
      }),
    )
    const [trail] = trails
    expect(await soundTrail(trail)).toHaveLength(4 * 200 + 60)
  })

  it('goes on from wherever an insert stopped', async () => {
    const [store] = (await useTrailStore()).trails
    const rival = entries(1_000, 3)
    let inserts = 0
    const trail: AuditTrail = {
      ...store,
      async insert(records) {
        inserts += 1
        // Half of the batch gets in, then somebody else is faster.
        if (inserts > 3) return store.insert(records)
        const inserted = await store.insert(records.slice(0, 2))
        await createAppender({ trail: store, random })(rival.slice(inserts - 1, inserts))
        return inserted + (await store.insert(records.slice(2)))
      },
    }
    await createAppender({ trail, random })(entries(1, 9))
    const got = eidsOf(await soundTrail(store))
    expect(got).toHaveLength(12)
    expect(got.filter((eid) => !rival.some((entry) => entry.eid === eid))).toEqual(
      entries(1, 9).map(({ eid }) => eid),
    )
  })

  it('is whole again when it is called once more after the store went away in the middle', async () => {
    const [store] = (await useTrailStore()).trails
    const trail: AuditTrail = {
      ...store,
      async insert(records) {
        await store.insert(records.slice(0, 4))
        throw new Error('the store is away')
      },
    }
    await expect(createAppender({ trail, random })(entries(1, 9))).rejects.toThrow('the store is away')
    expect(await soundTrail(store)).toHaveLength(4)
    await createAppender({ trail: store, random })(entries(1, 9))
    expect(eidsOf(await soundTrail(store))).toEqual(entries(1, 9).map(({ eid }) => eid))
  })

  it('gives up and says so when the trail takes nothing', async () => {
    const [store] = (await useTrailStore()).trails
    const trail: AuditTrail = { ...store, insert: async () => 0 }
    const noPause = { bytes: (length: number) => new Uint8Array(length) }
    await expect(createAppender({ trail, random: noPause })(entries(1, 1))).rejects.toThrow(
      'the audit trail accepts no record; run: countersign audit check',
    )
  })

  it('takes hostile entries and gets them back from the store as they were hashed (property)', async () => {
    const [trail] = (await useTrailStore()).trails
    let n = 0
    await fc.assert(
      fc.asyncProperty(fc.array(hostileEntry, { minLength: 1, maxLength: 8 }), async (drawn) => {
        const fresh = drawn.map((entry) => {
          n += 1
          return { ...entry, eid: `evt_${n}` }
        })
        await createAppender({ trail, random })(fresh)
      }),
      { numRuns: 60 },
    )
    expect(await soundTrail(trail)).toHaveLength(n)
  })
})
