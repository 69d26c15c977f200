import { expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/domain/audit.ts'
import { createVerificationLog } from '../../../src/flow/audit/verification-log.ts'
import type { Log } from '../../../src/ports/ports.ts'
import { type AuditInbox, createAuditInbox } from '../../../src/store/audit/audit-inbox.ts'
import { makeIndexes } from '../../../src/store/schema/indexes.ts'
import { auditEntries } from '../../support/audit.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { useTrailStore } from '../../support/trail-store.ts'

/** A log over the real inbox, behind something that can fail. */
async function useLog(around: (inbox: AuditInbox) => Partial<AuditInbox> = () => ({})) {
  const { connection } = await useTrailStore()
  const inbox = createAuditInbox(connection)
  await makeIndexes(connection)
  const errors: string[] = []
  const silent = () => undefined
  const log: Log = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (_fields, text) => void errors.push(text),
  }
  const batches: number[] = []
  const around_ = { ...inbox, ...around(inbox) }
  const counted: AuditInbox = {
    append: (...entries) => {
      batches.push(entries.length)
      return around_.append(...entries)
    },
  }
  const verifications = createVerificationLog(counted, log)
  const written = async () => (await auditEntries(connection)).map(({ eid }) => eid).sort()
  const documents = () => connection.collection('audit_inbox').countDocuments({})
  return { verifications, written, documents, batches, errors, connection }
}

const made = (from: number, count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, index) =>
    entryNumber(from + index, { type: 'approval.verified', detail: { result: 'valid' } }),
  )
const ids = (entries: readonly AuditEntry[]) => entries.map(({ eid }) => eid)

it('T68: in a flood writes no batch of the few that came during the last write', async () => {
  const during = made(10, 5)
  const { verifications, written, batches } = await useLog((inbox) => ({
    append: async (...entries) => {
      for (const entry of during.splice(0, 1)) verifications.record(entry)
      await inbox.append(...entries)
    },
  }))
  for (const entry of made(1, 3)) verifications.record(entry)
  await verifications.flush()
  expect(batches).toEqual([3])
  for (let rest = 0; rest < 5; rest += 1) await verifications.flush()
  expect(await written()).toHaveLength(8)
})

it('T68: writes every verification, in batches of at most 256, one document each', async () => {
  const { verifications, written, documents, batches } = await useLog()
  const entries = made(1, 700)
  for (const entry of entries) verifications.record(entry)
  await verifications.flush()
  expect(await written()).toEqual(ids(entries))
  expect(Math.max(...batches)).toBeLessThanOrEqual(256)
  expect(await documents()).toBe(batches.length)
  expect(batches.length).toBeLessThanOrEqual(4)
})

it('writes by itself, without a flush, and at once when a batch is full', async () => {
  const { verifications, written } = await useLog()
  for (const entry of made(1, 3)) verifications.record(entry)
  await expect.poll(written).toEqual(ids(made(1, 3)))
})

it('loses nothing when a write did not come through, nor when only its answer was lost', async () => {
  let failures = 0
  const { verifications, written, errors } = await useLog((inbox) => ({
    async append(...entries) {
      failures += 1
      if (failures === 1) throw new Error('the store is away')
      await inbox.append(...entries)
      if (failures === 2) throw new Error('the answer was lost')
    },
  }))
  const [one, two, three, four] = [made(1, 3), made(10, 2), made(20, 4), made(30, 1)]
  for (const entry of one) verifications.record(entry)
  await expect(verifications.flush()).rejects.toThrow('the store is away')
  for (const entry of two) verifications.record(entry)
  await expect(verifications.flush()).rejects.toThrow('the answer was lost')
  // What comes now must not be taken for a part of the batch that is there already.
  for (const entry of three) verifications.record(entry)
  await verifications.flush()
  for (const entry of four) verifications.record(entry)
  await verifications.flush()
  expect(await written()).toEqual(ids([...one, ...two, ...three, ...four]).sort())
  expect(errors).toEqual([])
})

it('tries again by itself after a failure, and says so', async () => {
  let away = true
  const { verifications, written, errors } = await useLog((inbox) => ({
    append: (...entries) => (away ? Promise.reject(new Error('away')) : inbox.append(...entries)),
  }))
  for (const entry of made(1, 256)) verifications.record(entry)
  await expect.poll(() => errors).toEqual(['writing the verification log failed; it is tried again'])
  away = false
  await expect.poll(written).toHaveLength(256)
})
