import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, lapse, stored } from '../../support/caller.ts'
import { setPolicy } from '../../support/deciders.ts'
import { enrolWithPasskey, enrolWithTotp, expectStatus } from '../../support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

async function waiting(person = setting.owner): Promise<Record<string, unknown>[]> {
  const { data, next_cursor } = expectStatus(await person.browser.get('/api/v1/me/pending'), 200)
  expect(next_cursor).toBeNull()
  return data
}
async function page(
  person: LiveSetting['owner'],
  query = '',
): Promise<{ ids: unknown[]; next: string | null }> {
  const answer = await person.browser.get(`/api/v1/me/pending${query}`)
  const { data, next_cursor } = expectStatus(answer, 200)
  return { ids: data.map(({ id }: { id: unknown }) => id), next: next_cursor }
}
const ids = async (person = setting.owner): Promise<unknown[]> => (await waiting(person)).map(({ id }) => id)

describe('GET /api/v1/me/pending', () => {
  it('lists what waits, and drops it once it is decided or its time is up', async () => {
    const first = await ask(setting, {
      context: { reason: 'never listed' },
      requires_individual_decision: true,
    })
    const second = await ask(setting)
    const rows = await waiting()
    expect(rows.map(({ id }) => id)).toEqual([first, second])
    expect(rows[0]).toEqual({
      id: first,
      action: 'Deploy release 4.2',
      high_impact: true,
      account_id: expect.stringMatching(/^acc_/),
      requested_by: { key_name: expect.any(String), account_name: expect.any(String) },
      created_at: expect.any(String),
      expires_at: expect.any(String),
      on_behalf_of: null,
      quorum: { needed: 1, approved: 0 },
      may_decide: true,
      methods: ['passkey'],
    })
    expectStatus(await decideByPasskey(setting, first, 'approved'), 200)
    expect(await ids()).toEqual([second])
    await lapse(service, second)
    expect(await ids()).toEqual([])
  })

  it('marks requests of one kind alike, and says which of them this person has seen', async () => {
    const person = await setUpOwner(service, 'kinds@example.com')
    const refund = { context: { tool: 'refund', tool_arguments: { amount: 1 } } }
    const [one, other, plain] = [await ask(person, refund), await ask(person, refund), await ask(person)]
    expectStatus(await person.owner.browser.get(`/api/v1/approvals/${other}/review`), 200)
    const rows = await waiting(person.owner)
    expect(rows.map(({ id, opened }) => ({ id, opened }))).toEqual([
      { id: one, opened: undefined },
      { id: other, opened: true },
      { id: plain, opened: undefined },
    ])
    const [first, second, third] = rows.map(({ kind }) => kind)
    expect([first === second, typeof first, third]).toEqual([true, 'string', undefined])
  })

  it('does not list what already has the vote of this person, while the others still see it', async () => {
    const other = await enrolWithPasskey(service, 'second@example.com')
    const owner = await service.composition.deps.users.find(setting.owner.userId)
    await setPolicy(service, owner?.account_id ?? '', {
      approvers: [setting.owner.userId, other.userId],
      quorum: 2,
    })
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    expect(await ids()).toEqual([])
    expect(await ids(other)).toEqual([id])
  })

  it('says how many have approved, and to whom a factor is missing', async () => {
    const person = await setUpOwner(service, 'quorum@example.com')
    const second = await enrolWithPasskey(service, 'with-passkey@example.com')
    const third = await enrolWithTotp(service, 'codes-only@example.com')
    const owner = await service.composition.deps.users.find(person.owner.userId)
    await setPolicy(service, owner?.account_id ?? '', {
      approvers: [person.owner.userId, second.userId, third.userId],
      quorum: 2,
      passkey_only: true,
    })
    const id = await ask(person)
    expectStatus(await decideByPasskey(person, id, 'approved'), 200)
    const quorum = { needed: 2, approved: 1 }
    expect(await waiting(second)).toMatchObject([{ id, quorum, may_decide: true, methods: ['passkey'] }])
    const { data } = expectStatus(await third.browser.get('/api/v1/me/pending'), 200)
    expect(data).toMatchObject([{ id, quorum, may_decide: false, methods: [] }])
  })

  it('does not list a dry-run, which nobody is asked about', async () => {
    const made = await setting.owner.browser.post('/api/v1/account/api-keys', { name: 'try', sandbox: true })
    const { raw_key } = expectStatus(made, 201)
    const asked = await callWithKey(service, raw_key, '/request', { action: 'x' })
    const { request_id } = Object(await asked.json())
    expect(request_id).toMatch(/^req_/)
    expect(await ids()).not.toContain(request_id)
  })

  it('goes on where a page ended, what ends first before all others, also among equal times, until nothing is left', async () => {
    const person = await setUpOwner(service, 'pages@example.com')
    const made: string[] = []
    for (let index = 0; index < 7; index += 1) made.push(await ask(person))
    const same = new Date(Date.now() + 600_000)
    for (const id of made.slice(2, 6)) await alter(service, 'requests', id, { expires_at: same })
    const expected = [...made.slice(2, 6).sort(), ...made.slice(0, 2), ...made.slice(6)]
    const first = await page(person.owner, '?limit=2')
    await lapse(service, String(first.ids[1]))
    made.push(await ask(person))
    const pages = [first]
    for (let cursor = first.next; cursor !== null && pages.length < 10; cursor = pages.at(-1)?.next ?? null)
      pages.push(await page(person.owner, `?limit=2&cursor=${cursor}`))
    expect(pages.flatMap(({ ids }) => ids)).toEqual([...expected, made.at(-1)])
    expect(pages.map(({ ids }) => ids.length)).toEqual([2, 2, 2, 2])
  })

  it('tells that more wait than the hundred it lists unasked, the youngest first if it ends first', async () => {
    const person = await setUpOwner(service, 'many@example.com')
    const sample = await stored(service, 'requests').findOne({ _id: await ask(person) })
    const copies = Array.from({ length: 100 }, (_, index) => ({
      ...sample,
      _id: `req_${String(index).padStart(26, '0')}`,
      expires_at: new Date(Date.now() + 7_200_000 + index),
    }))
    await stored(service, 'requests').insertMany(copies)
    const urgent = await ask(person, { ttl_seconds: 60 })
    const first = await page(person.owner)
    expect(first.ids).toHaveLength(100)
    expect(first.ids[0]).toBe(urgent)
    expect(first.next).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(await page(person.owner, `?cursor=${first.next}`)).toEqual({
      ids: copies.slice(-2).map(({ _id }) => _id),
      next: null,
    })
  })

  it.each([
    ['cursor', 'must be the next_cursor of an earlier page', 'x'],
    ['cursor', 'must be the next_cursor of an earlier page', '%00'],
    ['limit', 'must be at least 1', '0'],
    ['limit', 'must be at most 100', '101'],
  ])('400: refuses %s, which %s, in %s', async (field, detail, value) => {
    const answer = await setting.owner.browser.get(`/api/v1/me/pending?${field}=${value}`)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'invalid_field', field, detail })
  })

  it('is for signed-in persons only, never for an API key', async () => {
    for (const headers of [{}, { Authorization: `Bearer ${setting.key}` }]) {
      const response = await fetch(`${service.url}/api/v1/me/pending`, { headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'not_signed_in' })
    }
  })
})
