import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, decidedId, lapse, newCaller, send, stored, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const LIST = '/api/v1/approvals'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const idsOf = (data: unknown) => Array.from(Object(data), (one) => String(Object(one).id))

/** Walks all pages. */
async function allPages(caller: TestCaller, query: string): Promise<string[][]> {
  const pages: string[][] = []
  let cursor = ''
  for (let page = 0; page < 20; page += 1) {
    const answer = await caller.send(`${LIST}?${query}${cursor}`)
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body).sort()).toEqual(['data', 'next_cursor'])
    pages.push(idsOf(answer.body.data))
    if (answer.body.next_cursor === null) return pages
    cursor = `&cursor=${String(answer.body.next_cursor)}`
  }
  throw new Error('the list never ends')
}

describe('200', () => {
  it('an empty list is {data: [], next_cursor: null}', async () => {
    const caller = await newCaller(service)
    const answer = await caller.send(LIST)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ data: [], next_cursor: null })
  })

  it('pages newest first, without a gap or a repetition, also among equal times', async () => {
    const caller = await newCaller(service)
    const ids: string[] = []
    for (let index = 0; index < 7; index += 1) ids.push(await caller.createdId())
    const same = new Date('2026-01-01T00:00:00.000Z')
    for (const id of ids.slice(0, 4)) await alter(service, 'requests', id, { created_at: same })
    const pages = await allPages(caller, 'limit=2')
    expect(pages.map((page) => page.length)).toEqual([2, 2, 2, 1])
    const expected = [...ids.slice(4).reverse(), ...ids.slice(0, 4).sort().reverse()]
    expect(pages.flat()).toEqual(expected)
  })

  it('ends exactly when the last page is full', async () => {
    const caller = await newCaller(service)
    for (let index = 0; index < 4; index += 1) await caller.createdId()
    expect((await allPages(caller, 'limit=2')).map((page) => page.length)).toEqual([2, 2])
  })

  it('keeps its place while new requests arrive', async () => {
    const caller = await newCaller(service)
    const old = [await caller.createdId(), await caller.createdId(), await caller.createdId()]
    const first = await caller.send(`${LIST}?limit=1`)
    await caller.createdId()
    const rest = await caller.send(`${LIST}?limit=5&cursor=${String(first.body.next_cursor)}`)
    expect(idsOf(rest.body.data)).toEqual([old[1], old[0]])
  })

  it('shows each entry as its own read would: a dry-run that is due is decided', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const approved = await decidedId(service, caller, { context: { a: 1 } })
    const rejected = await decidedId(service, caller, { sandbox_decision: 'rejected' })
    const due = await caller.createdId()
    await alter(service, 'requests', due, { 'sandbox_plan.due_at': new Date(0) })
    const { body } = await caller.send(LIST)
    const entries = Array.from(Object(body.data), (one) => Object(one))
    expect(entries.map((entry) => entry.status)).toEqual(['approved', 'rejected', 'approved'])
    expect(entries[0]).toEqual((await caller.read(due)).body)
    expect(entries[1]).toEqual((await caller.read(rejected)).body)
    expect(entries[2]).toEqual((await caller.read(approved)).body)
  })

  it('finds a dry-run that is due by what becomes of it, and no longer as pending', async () => {
    const caller = await newCaller(service, { sandbox: true })
    const by = async (status: string) => idsOf((await caller.send(`${LIST}?status=${status}`)).body.data)
    for (const [first, then] of [
      ['approved', 'pending'],
      ['pending', 'approved'],
    ] as const) {
      const id = await caller.createdId()
      await alter(service, 'requests', id, { 'sandbox_plan.due_at': new Date(0) })
      expect((await by(first)).includes(id)).toBe(first === 'approved')
      expect((await by(then)).includes(id)).toBe(then === 'approved')
    }
  })

  it('filters by status, and never calls a lapsed request pending', async () => {
    const caller = await newCaller(service)
    const open = await caller.createdId()
    const lapsed = await caller.createdId()
    await lapse(service, lapsed)
    const by = async (status: string) => idsOf((await caller.send(`${LIST}?status=${status}`)).body.data)
    expect(await by('pending')).toEqual([open])
    expect(await by('expired')).toEqual([lapsed])
    expect(await by('approved')).toEqual([])
    expect(await by('rejected')).toEqual([])
  })

  it('never calls a lapsed request pending, however many lapsed at once', async () => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const document = await stored(service, 'requests').findOne({ _id: id })
    const past = new Date(Date.now() - 1_000)
    const copies = Array.from({ length: 150 }, (_, index) => ({
      ...document,
      _id: `req_${String(index).padStart(26, '0')}`,
      expires_at: past,
    }))
    await stored(service, 'requests').insertMany(copies)
    const { body } = await caller.send(`${LIST}?status=pending&limit=100`)
    expect(idsOf(body.data)).toEqual([id])
    const all = await caller.send(`${LIST}?limit=100`)
    const pending = Array.from(Object(all.body.data), (one) => Object(one)).filter(
      (entry) => entry.status === 'pending',
    )
    expect(pending.map((entry) => entry.id)).toEqual([id])
  })

  it("T55: holds the key's own requests only", async () => {
    const one = await newCaller(service)
    const two = await newCaller(service, { user: one.user })
    await one.createdId()
    expect((await two.send(LIST)).body.data).toEqual([])
    const cursor = (await one.createdId().then(() => one.send(`${LIST}?limit=1`))).body.next_cursor
    expect((await two.send(`${LIST}?cursor=${String(cursor)}`)).body.data).toEqual([])
  })

  it('gives 20 unless asked, and 100 at most', async () => {
    const caller = await newCaller(service)
    const ids = await Promise.all(Array.from({ length: 22 }, () => caller.createdId()))
    expect(ids).toHaveLength(22)
    expect((await caller.send(LIST)).body.data).toHaveLength(20)
    expect((await caller.send(`${LIST}?limit=100`)).body.data).toHaveLength(22)
  })

  it('counts as a read', async () => {
    const caller = await newCaller(service)
    expect((await caller.send(LIST)).headers.get('x-ratelimit-remaining')).toBe('119')
  })
})

describe('400', () => {
  const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const id = 'req_00000000000000000000000000'
  it.each([
    ['status', 'status=open'],
    ['status', 'status='],
    ['status', 'status=pending&status=approved'],
    ['status', 'status=%7B%22%24ne%22%3Anull%7D'],
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=-1'],
    ['limit', 'limit=1.5'],
    ['limit', 'limit=ten'],
    ['limit', 'limit=0x10'],
    ['limit', 'limit=1e1'],
    ['limit', 'limit='],
    ['limit', 'limit=1&limit=2'],
    ['limit', 'limit=1e309'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=x'],
    ['cursor', 'cursor=%24ne'],
    ['cursor', 'cursor=a&cursor=b'],
    ['cursor', `cursor=${'a'.repeat(201)}`],
    ['cursor', `cursor=${cursorOf({ $gt: '' })}`],
    ['cursor', `cursor=${cursorOf([0])}`],
    ['cursor', `cursor=${cursorOf(['0', id])}`],
    ['cursor', `cursor=${cursorOf([0, 'req_x'])}`],
    ['cursor', `cursor=${cursorOf([0, { $ne: null }])}`],
    ['cursor', `cursor=${cursorOf([-1, id])}`],
    ['cursor', `cursor=${cursorOf([Number.MAX_SAFE_INTEGER, id])}`],
    ['cursor', `cursor=${cursorOf([1.5, id])}`],
    ['cursor', `cursor=${cursorOf([0, id, 1])}`],
    // Dropped in silence, these would give the answer to another question.
    ['Status', 'Status=approved', '`status`'],
    ['state', 'state=approved', '`status`'],
    ['page', 'page=2', '`cursor`'],
    ['offset', 'offset=20', '`cursor`'],
    ['cursor[]', 'cursor[]=1', '`cursor`'],
    ['per_page', 'per_page=5', '`limit`'],
    // Not operators, but names.
    ['query', 'status[$ne]=x', 'an unknown parameter'],
    ['query', 'limit[$gt]=0', 'an unknown parameter'],
    ['__proto__[a]', '__proto__[a]=1', 'is not known'],
    ['__proto__', '__proto__=1', 'is not known'],
    ['sort', 'sort=asc', 'the parameters are status, limit, cursor'],
  ])('T61: refuses %s in ?%s', async (field, query, detail = '') => {
    const caller = await newCaller(service)
    const answer = await caller.send(`${LIST}?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      error: 'invalid_field',
      field,
      detail: expect.stringContaining(detail),
    })
  })
})

describe('401', () => {
  it('refuses without a key', async () => {
    const answer = await send(service, LIST)
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid or missing API key'])
  })
})
