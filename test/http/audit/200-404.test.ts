import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { auditListAnswer } from '../../../src/http/api/audit.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { alter } from '../../support/caller.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/audit'

let service: TestService
let setting: LiveSetting
let accountId: string
beforeAll(async () => {
  service = await startService({ work: true })
  setting = await setUpOwner(service)
  accountId = await accountOf(setting)
})
afterAll(() => service.close())

async function accountOf({ owner }: LiveSetting): Promise<string> {
  const user = await service.composition.deps.users.find(owner.userId)
  return user?.account_id ?? ''
}

async function page(query = '', { owner } = setting) {
  const answer = expectStatus(await owner.browser.get(`${PATH}${query}`), 200)
  expect(auditListAnswer.safeParse(answer).error?.issues ?? []).toEqual([])
  return auditListAnswer.parse(answer)
}

/** Asks until the trail has it: entries get there a moment after what they tell of. */
async function inTrail(query: string, count: number) {
  await expect.poll(async () => (await page(query)).data.length).toBe(count)
  return (await page(query)).data
}

describe('GET /api/v1/account/audit', () => {
  it('tells the whole story of a request, newest first, with every field', async () => {
    const id = await ask(setting)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    // The trail has an order of its own, that in which entries reach it.
    await inTrail(`?subject=${id}`, 3)
    await fetch(`${service.url}/api/v1/approvals/${id}/verify`)
    const story = await inTrail(`?subject=${id}`, 4)
    expect(story.map(({ type }) => type)).toEqual([
      'approval.verified',
      'approval.approved',
      'approval.voted',
      'approval.created',
    ])
    const user = { kind: 'user', id: setting.owner.userId, address: '127.0.0.1' }
    expect(story[1]).toEqual({
      seq: expect.any(Number),
      id: expect.stringMatching(/^evt_/),
      type: 'approval.approved',
      at: expect.stringMatching(/Z$/),
      actor: user,
      subject: id,
      detail: { subject_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(story[2]).toMatchObject({ actor: user, detail: { decision: 'approved', method: 'passkey' } })
    expect(story[0]).toMatchObject({
      actor: { kind: 'public', address: '127.0.0.1' },
      detail: { result: 'valid' },
    })
    expect(story.map(({ seq }) => seq)).toEqual(story.map(({ seq }) => seq).sort((a, b) => b - a))
  })

  it('goes on where a page ended, by type', async () => {
    const subject = 'req_paged'
    const entries = Array.from({ length: 7 }, (_, index) =>
      entryNumber(index + 1, {
        account_id: accountId,
        subject,
        type: index === 3 ? 'key.revoked' : 'key.created',
      }),
    )
    await createAppender(service.composition.deps)(entries)
    const first = await page(`?subject=${subject}&type=key.created&limit=4`)
    const second = await page(`?subject=${subject}&type=key.created&limit=4&cursor=${first.next_cursor}`)
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(
      [7, 6, 5, 3, 2, 1].map((n) => entries[n - 1]?.eid),
    )
    expect([first.data.length, second.data.length, second.next_cursor]).toEqual([4, 2, null])
    expect((await page(`?subject=${subject}&limit=7`)).next_cursor).toBeNull()
  })

  it('tells nothing of another account, nor of the service as a whole', async () => {
    const neighbour = await setUpOwner(service, 'neighbour@example.com')
    const id = await ask(neighbour)
    const own = await ask(setting)
    await inTrail(`?subject=${own}`, 1)
    await expect.poll(async () => (await page(`?subject=${id}`, neighbour)).data.length).toBe(1)
    expect((await page(`?subject=${id}`)).data).toEqual([])
    expect((await page('?type=signing_key.created')).data).toEqual([])
    const subjects = (await page('?limit=100')).data.map(({ subject }) => subject)
    expect(subjects).toContain(own)
    expect(subjects).not.toContain(neighbour.owner.userId)
  })

  it('shows hostile texts as they are, and nothing of an erased entry', async () => {
    const hostile = '"><script>\u202e\u0000{"$ne":1}'
    const odd = entryNumber(100, { account_id: accountId, subject: hostile, type: 'approval.verified' })
    const gone = entryNumber(101, { account_id: accountId, subject: 'usr_gone' })
    await createAppender(service.composition.deps)([odd, gone])
    const [shown] = (await page(`?subject=${encodeURIComponent(hostile)}`)).data
    expect(shown?.subject).toBe(hostile)
    const log = service.composition.connection.collection('audit_log')
    await log.updateOne({ 'entry.eid': gone.eid }, { $unset: { entry: 1, salt: 1 } })
    expect((await page('?subject=usr_gone')).data).toEqual([])
  })

  it.each([
    ['type', 'must be a type of audit entry, such as approval.approved', '?type=approval.*'],
    [
      'type',
      'must be a type of audit entry, such as approval.approved',
      '?type=key.created&type=key.revoked',
    ],
    ['subject', 'must not be empty', '?subject='],
    ['subject', 'must not exceed 64 characters', `?subject=${'x'.repeat(65)}`],
    ['subject', 'must be a text', '?subject=a&subject=b'],
    ['limit', 'must be at most 100', '?limit=101'],
    ['limit', 'must be at least 1', '?limit=0'],
    ['cursor', 'must be the next_cursor of an earlier page', '?cursor=eyIkbmUiOjF9'],
    ['cursor', 'must be the next_cursor of an earlier page', '?cursor=MA'],
    ['cursor', 'must be the next_cursor of an earlier page', '?cursor=OTk5OTk5OTk5OTk5OTk5OQ'],
    ['cursor', 'must be the next_cursor of an earlier page', '?cursor=%00'],
  ])('400: refuses %s, which %s, in %s', async (field, detail, query) => {
    const answer = await setting.owner.browser.get(`${PATH}${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: 'invalid_field', field, detail })
  })

  it('401: is for signed-in persons only, never for an API key', async () => {
    for (const headers of [{}, { Authorization: `Bearer ${setting.key}` }]) {
      const response = await fetch(`${service.url}${PATH}`, { headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'not_signed_in' })
    }
  })

  it('404: of the person’s own account only while they own it', async () => {
    const other = await setUpOwner(service, 'member@example.com')
    await alter(service, 'accounts', await accountOf(other), { owner_id: 'usr_somebody_else' })
    const answer = await other.owner.browser.get(PATH)
    expect(answer.status).toBe(404)
    expect(answer.body).toMatchObject({ error: 'not_found' })
  })

  it('429: counts against the person, like changes of the account', async () => {
    const own = await setUpOwner(service, 'busy@example.com')
    const first = await own.owner.browser.get(PATH)
    expect(first.headers.get('x-ratelimit-limit')).toBe('120')
    const left = Number(first.headers.get('x-ratelimit-remaining'))
    const answers = await Promise.all(Array.from({ length: left + 1 }, () => own.owner.browser.get(PATH)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    expect(refused[0]?.body).toMatchObject({ error: 'rate limit exceeded' })
  })
})
