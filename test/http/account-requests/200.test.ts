import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { historyAnswer } from '../../../src/http/api/account.ts'
import { alter, lapse, makeDue, newCaller, send, signIn, stored } from '../../support/caller.ts'
import { setPolicy } from '../../support/deciders.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { readCsv } from '../../support/read-csv.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/requests'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

let settings = 0
const freshOwner = () => {
  settings += 1
  return setUpOwner(service, `owner${settings}@example.com`)
}

async function page(person: EnrolledPerson, query = '') {
  const body = expectStatus(await person.browser.get(`${PATH}${query}`), 200)
  expect(historyAnswer.safeParse(body).error?.issues ?? []).toEqual([])
  return historyAnswer.parse(body)
}
const ids = async (person: EnrolledPerson, query = '') => (await page(person, query)).data.map(({ id }) => id)

async function accountOf({ userId }: EnrolledPerson): Promise<string> {
  return (await service.composition.deps.users.find(userId))?.account_id ?? ''
}

async function ownerOf({ owner }: LiveSetting) {
  const user = await service.composition.deps.users.find(owner.userId)
  if (user === undefined) throw new Error('the owner is gone')
  return user
}

/** Follows the cursors to the end. */
async function allPages(person: EnrolledPerson, query: string): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | null = ''
  while (cursor !== null && pages.length < 50) {
    const { data, next_cursor } = await page(person, `${query}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    pages.push(data.map(({ id }) => id))
    cursor = next_cursor
  }
  return pages
}

describe('the history of an account', () => {
  it('lists newest first, with every field and neither context nor receipts', async () => {
    const setting = await freshOwner()
    const first = await ask(setting, {
      action: 'Pay ACME',
      context: { secret: 'never listed' },
      requires_individual_decision: true,
    })
    expectStatus(await decideByPasskey(setting, first, 'approved'), 200)
    const second = await ask(setting)
    const { data, next_cursor } = await page(setting.owner)
    expect(data.map(({ id }) => id)).toEqual([second, first])
    expect(next_cursor).toBeNull()
    expect(data[1]).toEqual({
      id: first,
      status: 'approved',
      action: 'Pay ACME',
      high_impact: true,
      requested_by: { key_name: 'test key', account_name: expect.any(String) },
      created_at: expect.stringMatching(/Z$/),
      expires_at: expect.stringMatching(/Z$/),
      decided_at: expect.stringMatching(/Z$/),
      decision: {
        id: expect.stringMatching(/^dec_/),
        decision: 'approved',
        method: 'passkey',
        approver: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
      quorum: { needed: 1, approved: 1 },
    })
    expect(data[0]).not.toHaveProperty('decision')
    expect(data[0]?.quorum).toEqual({ needed: 1, approved: 0 })
  })

  it('counts a lapsed request as expired, and a withdrawn one as what it is', async () => {
    const setting = await freshOwner()
    const lapsed = await ask(setting)
    const withdrawn = await ask(setting)
    const open = await ask(setting)
    await lapse(service, lapsed)
    await alter(service, 'requests', withdrawn, { status: 'expired', cancelled: true })
    expect(await ids(setting.owner, '?status=pending')).toEqual([open])
    const { data } = await page(setting.owner, '?status=expired')
    expect(data.map(({ id, status, cancelled }) => [id, status, cancelled])).toEqual([
      [withdrawn, 'expired', true],
      [lapsed, 'expired', undefined],
    ])
  })

  it('makes the decision of a dry-run that is due, marked as such', async () => {
    const { owner } = await freshOwner()
    const user = await service.composition.deps.users.find(owner.userId)
    if (user === undefined) throw new Error('no owner')
    const dry = await newCaller(service, { user, sandbox: true })
    const due = await dry.createdId({ sandbox_decision: 'rejected' })
    const later = await dry.createdId({ sandbox_auto_decide_seconds: 300 })
    await makeDue(service, due)
    expect(await ids(owner, '?status=pending')).toEqual([later])
    expect(await stored(service, 'requests').findOne({ _id: due })).toMatchObject({ status: 'rejected' })
    expect((await page(owner, '?sandbox=true&status=rejected')).data).toMatchObject([
      { id: due, sandbox: true, decision: { decision: 'rejected', method: 'sandbox' } },
    ])
    expect(await ids(owner, '?sandbox=false')).toEqual([])
  })

  it('finds by every filter, and by several at once', async () => {
    const setting = await freshOwner()
    const user = await service.composition.deps.users.find(setting.owner.userId)
    if (user === undefined) throw new Error('no owner')
    const other = await newCaller(service, { user })
    const urgent = await ask(setting, { action: 'Delete the bucket', requires_individual_decision: true })
    const plain = await ask(setting, { action: 'Rotate the keys' })
    const byOther = await other.createdId({ action: 'Delete the queue' })
    expect(await ids(setting.owner, '?high_impact=true')).toEqual([urgent])
    expect(await ids(setting.owner, '?high_impact=false')).toEqual([byOther, plain])
    expect(await ids(setting.owner, `?key=${other.keyId}`)).toEqual([byOther])
    expect(await ids(setting.owner, `?key=key_${'0'.repeat(26)}`)).toEqual([])
    expect(await ids(setting.owner, '?q=delete')).toEqual([byOther, urgent])
    expect(await ids(setting.owner, '?q=delete&high_impact=true&status=pending')).toEqual([urgent])
  })

  it('finds what was made in a stretch of time: from then on, and before then', async () => {
    const setting = await freshOwner()
    const made = [await ask(setting), await ask(setting), await ask(setting)]
    const days = ['2026-01-01T00:00:00Z', '2026-01-02T12:00:00Z', '2026-01-03T00:00:00Z']
    for (const [index, id] of made.entries())
      await alter(service, 'requests', id, { created_at: new Date(days[index] ?? '') })
    const within = (from: string, to: string) => ids(setting.owner, `?from=${from}&to=${to}`)
    expect(await within('2026-01-01', '2026-01-03')).toEqual([made[1], made[0]])
    expect(await within('2026-01-02T12:00:00Z', '2026-01-03T00:00:00.001Z')).toEqual([made[2], made[1]])
    expect(await within('2026-01-02T13:00:00%2B01:00', '2026-01-02T13:00:01%2B01:00')).toEqual([made[1]])
    expect(await within('2026-01-03', '2026-01-01')).toEqual([])
    expect(await ids(setting.owner, '?to=2026-01-01')).toEqual([])
  })
})

describe('searching', () => {
  it('never takes the text for a pattern', async () => {
    const setting = await freshOwner()
    const tricky = ['.*', '^Pay$', '(a+)+$', '[A-Z]', '\\d', '%', '_', '$where', '*']
    const made = new Map<string, string>()
    for (const text of tricky) made.set(text, await ask(setting, { action: `x${text}y` }))
    await ask(setting, { action: 'nothing special about this 1' })
    for (const text of tricky)
      expect(await ids(setting.owner, `?q=${encodeURIComponent(text)}`), text).toContain(made.get(text))
    for (const text of ['.*', '^Pay$', '(a+)+$', '[A-Z]', '\\d'])
      expect(await ids(setting.owner, `?q=${encodeURIComponent(text)}`), text).toEqual([made.get(text)])
  })

  it('ignores case, and how letters are composed', async () => {
    const setting = await freshOwner()
    const id = await ask(setting, { action: 'Überweisung an Café\u0301 – ÉCLAIR' })
    for (const text of ['überweisung', 'ÜBERWEISUNG', 'éclair', 'e\u0301clair', '  CAFÉ '])
      expect(await ids(setting.owner, `?q=${encodeURIComponent(text)}`), text).toEqual([id])
    expect(await ids(setting.owner, '?q=eclair')).toEqual([])
  })

  it('finds the one with a whole id, its own or its decision’s, within the other filters', async () => {
    const setting = await freshOwner()
    const stranger = await freshOwner()
    const id = await ask(setting)
    await ask(setting)
    const { decision } = expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    for (const q of [id, decision.id]) {
      expect(await ids(setting.owner, `?q=${q}`)).toEqual([id])
      expect(await ids(setting.owner, `?q=${q}&status=pending`)).toEqual([])
      expect(await ids(stranger.owner, `?q=${q}`)).toEqual([])
    }
    expect(await ids(setting.owner, `?q=${id.slice(0, -1)}`)).toEqual([])
  })

  it('pages through many, and looks at so many only for one page', async () => {
    const setting = await freshOwner()
    const sample = Object(await stored(service, 'requests').findOne({ _id: await ask(setting) }))
    const { outbox_token: _, audit, outbox, ...plain } = sample
    const copies = Array.from({ length: 1_203 }, (_unused, index) => ({
      ...plain,
      audit: audit.slice(0, 0),
      outbox: outbox.slice(0, 0),
      _id: `req_${String(index).padStart(26, '0')}`,
      created_at: new Date(sample.created_at.getTime() - 1_000 - index),
      action: index % 400 === 1 ? `Needle ${index}` : 'Hay',
    }))
    await stored(service, 'requests').insertMany(copies)
    const needle = (index: number) => copies[index]?._id
    // How far one page of a search looks is a matter of time, too; no page is longer than was asked for.
    const found = await allPages(setting.owner, '?q=needle&limit=2')
    expect(found.flat()).toEqual([1, 401, 801, 1201].map(needle))
    expect(found.every(({ length }) => length <= 2)).toBe(true)
    expect((await allPages(setting.owner, '?limit=100')).map(({ length }) => length)).toEqual([
      ...Array.from({ length: 12 }, () => 100),
      4,
    ])
    expect((await allPages(setting.owner, '?q=no+such+thing&limit=5')).flat()).toEqual([])
  })
})

describe('pages', () => {
  it('go on where one ended, also among equal times and while requests are made', async () => {
    const setting = await freshOwner()
    const made: string[] = []
    for (let index = 0; index < 7; index += 1) made.push(await ask(setting))
    const same = new Date('2026-01-01T00:00:00.000Z')
    for (const id of made.slice(2, 6)) await alter(service, 'requests', id, { created_at: same })
    const expected = [made[6], made[1], made[0], ...made.slice(2, 6).sort().reverse()]
    const first = await page(setting.owner, '?limit=3')
    await ask(setting)
    const second = await page(setting.owner, `?limit=3&cursor=${first.next_cursor}`)
    const third = await page(setting.owner, `?limit=3&cursor=${second.next_cursor}`)
    expect([first, second, third].flatMap(({ data }) => data.map(({ id }) => id))).toEqual(expected)
    expect(third.next_cursor).toBeNull()
  })
})

describe('the requests of an account as a file', () => {
  it('holds exactly what the filters find, in the order of the list, and no cell begins a formula', async () => {
    const setting = await freshOwner()
    const formula = await ask(setting, { action: '=1+1, "now"' })
    const first = await ask(setting, { action: 'Pay ACME', requires_individual_decision: true })
    expectStatus(await decideByPasskey(setting, first, 'approved', '=2+2'), 200)
    const take = async (query: string) => {
      const { status, text, headers } = await send(service, `${PATH}/export?${query}`, {
        token: await signIn(service, await ownerOf(setting)),
      })
      expect(status).toBe(200)
      expect(headers.get('content-disposition')).toMatch(/^attachment; filename="requests-\d{4}-/)
      return text
    }
    const lines = (await take('format=ndjson&status=approved')).trim().split('\n')
    const [listed] = (await page(setting.owner, '?status=approved')).data
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { ...listed, approver_name: (await ownerOf(setting)).name, comment: '=2+2' },
    ])
    const [names = [], ...rows] = readCsv(await take('format=csv'))
    expect(rows.map(([id]) => id)).toEqual([first, formula])
    expect(rows[1]?.[names.indexOf('action')]).toBe('\'=1+1, "now"')
    expect(rows[0]?.[names.indexOf('method')]).toBe('passkey')
    expect(names.at(-1)).toBe('comment')
    expect(rows.map((row) => row.at(-1))).toEqual(["'=2+2", ''])
    expect(readCsv(await take('format=csv&q=acme'))).toHaveLength(2)
    // Where cells are parted at semicolons, these would begin with a formula.
    await ask(setting, { action: 'Split;=1+1;"@SUM(A1)\n-2+3;x=1' })
    expect(await take('format=csv&q=split')).toContain(`,"Split;'=1+1;""'@SUM(A1)\n'-2+3;x=1",`)
  })
})

describe('the names beside references', () => {
  it('are for the people of the account; to an outsider who decided, a reference stays one', async () => {
    const setting = await freshOwner()
    const accountId = await accountOf(setting.owner)
    const helper = await enrolWithPasskey(service, 'helper@example.com')
    await setPolicy(service, accountId, { approvers: [setting.owner.userId, helper.userId], quorum: 1 })
    await joinAccount(service, accountId, helper.userId, 'approver')
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    const { approver, name } = await ownerOf(setting)
    expect((await page(helper, `?account=${accountId}`)).names).toMatchObject({ [approver]: name })
    const review = async () =>
      expectStatus(await helper.browser.get(`/api/v1/approvals/${id}/review`), 200).names
    expect(await review()).toMatchObject({ [approver]: name })
    await alter(service, 'accounts', accountId, { members: [] })
    expect(await review()).toEqual({})
  })
})

describe('who sees what', () => {
  let setting: LiveSetting
  let accountId: string
  let named: string
  let unnamed: string
  let approver: EnrolledPerson
  let auditor: EnrolledPerson
  beforeAll(async () => {
    setting = await freshOwner()
    accountId = await accountOf(setting.owner)
    approver = await enrolWithPasskey(service, 'approver@example.com')
    auditor = await enrolWithPasskey(service, 'auditor@example.com')
    unnamed = await ask(setting, { action: 'For the owner alone' })
    await setPolicy(service, accountId, { approvers: [setting.owner.userId, approver.userId], quorum: 2 })
    await joinAccount(service, accountId, auditor.userId, 'auditor')
    named = await ask(setting, { action: 'For both' })
  })

  it('owner and auditor see all requests of that account, and the auditor’s own account is another', async () => {
    const of = `?account=${accountId}`
    expect(await ids(setting.owner, of)).toEqual([named, unnamed])
    expect(await ids(auditor, of)).toEqual([named, unnamed])
    expect(await ids(auditor)).toEqual([])
  })

  it('an approver sees those that name them, however they search', async () => {
    const of = `?account=${accountId}`
    expect(await ids(approver, of)).toEqual([named])
    expect(await ids(approver, `${of}&q=for`)).toEqual([named])
    expect(await ids(approver, `${of}&q=${unnamed}`)).toEqual([])
    expect((await page(approver, of)).data[0]?.quorum).toEqual({ needed: 2, approved: 0 })
  })

  it('an approver sees those on which they voted for somebody else, each once and in order', async () => {
    const vote = { user_id: approver.userId, on_behalf_of: setting.owner.userId }
    const stoodIn = await ask(setting)
    const both = await ask(setting)
    await alter(service, 'requests', stoodIn, { requirement: { approvers: [], quorum: 1 }, votes: [vote] })
    await alter(service, 'requests', both, { votes: [vote] })
    const found = await stored(service, 'requests')
      .find({ _id: { $in: [stoodIn, both] } })
      .toArray()
    expect(found).toHaveLength(2)
    const { history } = service.composition.deps
    const query = { account_id: accountId, person_id: approver.userId }
    const listed = async (limit: number, before?: { created_at: Date; id: string }) =>
      (await history.outlines({ ...query, limit, ...(before && { before }) })).map(({ id }) => id)
    expect(await listed(10)).toEqual([both, stoodIn, named])
    expect(await listed(2)).toEqual([both, stoodIn])
    const [, second] = await history.outlines({ ...query, limit: 2 })
    expect(await listed(2, second)).toEqual([named])
    expect(await history.concerning([stoodIn, both, named, unnamed], approver.userId)).toEqual(
      new Set([stoodIn, both, named]),
    )
    await stored(service, 'requests').deleteMany({ _id: { $in: [stoodIn, both] } })
  })
})
