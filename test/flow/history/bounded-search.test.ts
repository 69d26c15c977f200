import { describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/domain/audit.ts'
import { readAudit } from '../../../src/flow/audit/read-audit.ts'
import { readHistory } from '../../../src/flow/requests/read-history.ts'
import type { HistoryPage } from '../../../src/store/requests/request-history.ts'
import { chainOf, entryNumber } from '../../support/audit-entries.ts'
import { clockOf } from '../../support/clock.ts'
import { freshUser } from '../../support/people-stores.ts'

const ACCOUNT = `acc_${'0'.repeat(26)}`
const person = freshUser({ account_id: ACCOUNT })
const accounts = {
  find: async () => ({ id: ACCOUNT, owner_id: person.id, members: [] }),
}

/** A look at so many takes that long, by the clock they are given. */
let slowness = 0
let time = Date.UTC(2026, 0, 1)
const clock = clockOf(() => time)

/** Only what these verbs ask of their dependencies; anything else fails the test. */
function only<Deps>(parts: object): Deps {
  slowness = 0
  return Object.assign(Object.create(null), { accounts, clock, ...parts })
}

describe('a search for what is not there', () => {
  it('looks at ten thousand requests, in small pieces, and says where to go on', async () => {
    const asked: HistoryPage[] = []
    const history = {
      outlines: async (query: HistoryPage) => {
        asked.push(query)
        time += slowness
        const from = query.before === undefined ? 0 : Number(query.before.id) + 1
        return Array.from({ length: query.limit }, (_, index) => ({
          id: String(from + index),
          created_at: new Date(1_800_000_000_000 - (from + index)),
          action: 'Hay',
          high_impact: false,
          sandbox: false,
        }))
      },
    }
    const deps = only<Parameters<typeof readHistory>[0]>({
      history,
      requests: { findMany: async () => [] },
    })
    const query = { q: 'needle', limit: 20, account: ACCOUNT }
    const { requests, next, searchedTo } = await readHistory(deps, person, query)
    expect(requests).toEqual([])
    expect([next?.id, searchedTo]).toEqual(['9999', next?.created_at])
    expect(asked).toHaveLength(20)
    expect(asked.every(({ limit }) => limit === 500)).toBe(true)
    const again = await readHistory(deps, person, { ...query, ...(next && { before: next }) })
    expect(again.next?.id).toBe('19999')
    slowness = 30
    const slow = await readHistory(deps, person, query)
    expect([slow.next?.id, slow.searchedTo]).toEqual(['1999', slow.next?.created_at])
  })

  it('looks at ten thousand entries of the trail, in small pieces, and says where to go on', async () => {
    const records: AuditRecord[] = chainOf(Array.from({ length: 12_000 }, (_, n) => entryNumber(n + 1)))
    let asked = 0
    const trail = {
      list: async ({ before, limit }: { before?: { seq: number }; limit: number }) => {
        const end = (before?.seq ?? 12_001) - 1
        asked += 1
        time += slowness
        return records.slice(Math.max(0, end - limit), end).reverse()
      },
    }
    const deps = only<Parameters<typeof readAudit>[0]>({
      trail,
      users: { findMany: async () => [] },
      apiKeys: { list: async () => [] },
    })
    const query = { q: 'needle', limit: 20, account: ACCOUNT }
    const { records: found, next, searchedTo } = await readAudit(deps, person, query)
    expect([found, next, asked]).toEqual([[], { seq: 2_001 }, 20])
    expect(searchedTo).toEqual(records[2_000]?.entry?.at)
    const rest = await readAudit(deps, person, { ...query, ...(next && { before: next }) })
    expect([rest.records, rest.next, rest.searchedTo, asked]).toEqual([[], undefined, undefined, 25])
    slowness = 30
    expect((await readAudit(deps, person, query)).next).toEqual({ seq: 10_001 })
  })
})
