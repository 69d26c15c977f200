import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/domain/audit.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { auditListAnswer } from '../../../src/http/api/audit.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { setPolicy } from '../../support/deciders.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/audit'

let service: TestService
let setting: LiveSetting
let accountId: string
let serial = 1_000
beforeAll(async () => {
  // Nothing carries entries on by itself: the trail holds what these tests put there.
  service = await startService()
  setting = await setUpOwner(service)
  accountId = (await service.composition.deps.users.find(setting.owner.userId))?.account_id ?? ''
})
afterAll(() => service.close())

async function page(person: EnrolledPerson, query = '') {
  const answer = expectStatus(await person.browser.get(`${PATH}${query}`), 200)
  expect(auditListAnswer.safeParse(answer).error?.issues ?? []).toEqual([])
  return auditListAnswer.parse(answer)
}

/** Of all pages: a search that has looked long enough stops, and says where to go on. */
async function found(query: string, person = setting.owner): Promise<string[]> {
  const { data, next_cursor } = await page(person, query)
  const ids = data.map(({ id }) => id)
  if (next_cursor === null) return ids
  return [...ids, ...(await found(`${query.replace(/&cursor=.*/, '')}&cursor=${next_cursor}`, person))]
}

/** Puts entries into the trail, in this order. @returns their ids */
async function told(...entries: Partial<AuditEntry>[]): Promise<string[]> {
  const made = entries.map((entry) => {
    serial += 1
    return entryNumber(serial, { account_id: accountId, ...entry })
  })
  await createAppender(service.composition.deps)(made)
  return made.map(({ eid }) => eid)
}

describe('searching the audit trail', () => {
  it('finds by who did it: an id, or a kind of actor', async () => {
    const [byAnn, byKey, byCli] = await told(
      { actor: { kind: 'user', id: 'usr_ann', address: '192.0.2.7' } },
      { actor: { kind: 'api_key', id: 'key_billing' } },
      { actor: { kind: 'cli' } },
    )
    expect(await found('?actor=usr_ann')).toEqual([byAnn])
    expect(await found('?actor=key_billing')).toEqual([byKey])
    expect(await found('?actor=cli')).toEqual([byCli])
    expect(await found('?actor=usr_an')).toEqual([])
  })

  it('finds a text in anything that is told, in any case, and never as a pattern', async () => {
    const [renamed, odd] = await told(
      { type: 'account.changed', subject: 'acc_x', detail: { name: 'Zürich Ops', count: 17 } },
      { type: 'key.created', subject: 'key_odd', detail: { name: '.*(x+)+$' } },
    )
    for (const q of ['zÜRICH', 'ACCOUNT.CHANGED', 'acc_x', 'count: 17'])
      expect(await found(`?q=${encodeURIComponent(q)}`), q).toEqual([renamed])
    expect(await found(`?q=${encodeURIComponent('.*(x+)+$')}`)).toEqual([odd])
    expect(await found('?q=name%3A+z&type=key.created')).toEqual([])
    expect(await found('?q=acc_x%0Aservice')).toEqual([])
  })

  it('finds a stretch of time by what is told, also where the trail took it late, in the order of time', async () => {
    const at = (day: number) => new Date(Date.UTC(2024, 4, day, 12))
    const [second, first, late, third] = await told(
      { at: at(2), subject: 'req_time' },
      { at: at(1), subject: 'req_time' },
      { at: at(9), subject: 'req_time' },
      { at: at(3), subject: 'req_time' },
    )
    expect(await found('?from=2024-05-01&to=2024-05-04')).toEqual([third, second, first])
    expect(await found('?from=2024-05-02T12:00:00Z&to=2024-05-03T12:00:00Z')).toEqual([second])
    const rest = '&from=2024-05-01&to=2024-06-01&limit=1'
    const pages: string[] = []
    let cursor: string | null = ''
    while (cursor !== null && pages.length < 9) {
      const { data, next_cursor } = await page(
        setting.owner,
        `?subject=req_time${rest}${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      pages.push(...data.map(({ id }) => id))
      cursor = next_cursor
    }
    expect(pages).toEqual([late, third, second, first])
    expect(await found('?from=2024-05-04&to=2024-05-01')).toEqual([])
  })

  it('goes on page by page through what a filter leaves, equal times included', async () => {
    const at = new Date('2023-01-01T00:00:00Z')
    const actor = { kind: 'chat', id: 'slack:T1:U1' } as const
    const hits = await told(...Array.from({ length: 5 }, () => ({ at, actor })))
    for (const query of ['?actor=slack:T1:U1&limit=2', '?actor=slack:T1:U1&limit=2&to=2023-02-01']) {
      const first = await page(setting.owner, query)
      const second = await page(setting.owner, `${query}&cursor=${first.next_cursor}`)
      const third = await page(setting.owner, `${query}&cursor=${second.next_cursor}`)
      const all = [first, second, third]
      expect(all.map(({ data }) => data.length)).toEqual([2, 2, 1])
      expect(all.flatMap(({ data }) => data.map(({ id }) => id))).toEqual([...hits].reverse())
      expect(third.next_cursor).toBeNull()
    }
  })

  it('finds one among many more than are looked at in one go', async () => {
    const [needle] = await told({ detail: { note: 'the only needle' } })
    await told(...Array.from({ length: 700 }, () => ({ detail: { note: 'hay' } })))
    expect(await found('?q=the+only+needle')).toEqual([needle])
  })

  it.each([
    ['actor', 'must not be empty', 'actor='],
    ['actor', 'must not exceed 200 characters', `actor=${'x'.repeat(201)}`],
    ['q', 'must not exceed 200 characters', `q=${'x'.repeat(201)}`],
    ['from', 'must be a day or a time such as 2026-03-04T09:30:00Z', 'from=now'],
    ['cursor', 'must be the next_cursor of an earlier page', 'cursor=MTc&from=2024-01-01'],
    ['cursor', 'must be the next_cursor of an earlier page', 'cursor=MTcuNQ'],
    [
      'cursor',
      'must be the next_cursor of an earlier page',
      'cursor=MTcuOTk5OTk5OTk5OTk5OTk5OQ&to=2024-01-01',
    ],
  ])('400: refuses %s, which %s, in %s', async (field, detail, query) => {
    const answer = await setting.owner.browser.get(`${PATH}?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'invalid_field', field, detail })
  })
})

describe('who sees what', () => {
  it('an auditor sees all, an approver what concerns requests that name them, and themselves', async () => {
    const approver = await enrolWithPasskey(service, 'approver@example.com')
    const auditor = await enrolWithPasskey(service, 'auditor@example.com')
    const alone = await ask(setting)
    await setPolicy(service, accountId, { approvers: [setting.owner.userId, approver.userId], quorum: 1 })
    await joinAccount(service, accountId, auditor.userId, 'auditor')
    const shared = await ask(setting)
    const [ofAlone, ofShared, ofOther, byThem, aboutThem] = await told(
      { subject: alone, detail: { note: 'seen' } },
      { subject: shared, detail: { note: 'seen' } },
      { subject: 'key_1', detail: { note: 'seen' } },
      { subject: 'ses_1', actor: { kind: 'user', id: approver.userId }, detail: { note: 'seen' } },
      { type: 'member.changed', subject: approver.userId, detail: { note: 'seen' } },
    )
    const query = `?account=${accountId}&q=note%3A+seen`
    const all = [aboutThem, byThem, ofOther, ofShared, ofAlone]
    expect(await found(query)).toEqual(all)
    expect(await found(query, auditor)).toEqual(all)
    expect(await found(query, approver)).toEqual([aboutThem, byThem, ofShared])
    expect(await found(`?account=${accountId}&subject=${alone}`, approver)).toEqual([])
    expect(await found(`?account=${accountId}&subject=${shared}`, approver)).toEqual([ofShared])
  })

  it('404: no stranger, nor whoever is only invited, nor any other id', async () => {
    const invited = await enrolWithPasskey(service, 'invited@example.com')
    await joinAccount(service, accountId, invited.userId, 'auditor', 'invited')
    for (const path of [`${PATH}?`, `${PATH}/export?format=csv&`])
      for (const id of [accountId, `acc_${'0'.repeat(26)}`, 'x']) {
        const { status, body } = await invited.browser.get(`${path}account=${id}`)
        expect([status, body.error]).toEqual([404, 'not_found'])
      }
  })
})
