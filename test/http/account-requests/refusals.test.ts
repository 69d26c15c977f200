import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/requests'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

describe('GET /api/v1/account/requests', () => {
  it.each([
    ['status', 'must be one of pending, approved, rejected, expired', 'status=open'],
    ['status', 'must be one of pending, approved, rejected, expired', 'status=pending&status=expired'],
    ['q', 'must not exceed 200 characters', `q=${'x'.repeat(201)}`],
    ['q', 'must be a text', 'q=a&q=b'],
    ['high_impact', 'must be true or false', 'high_impact=1'],
    ['sandbox', 'must be true or false', 'sandbox=yes'],
    ['key', 'must be the id of an API key', 'key=sa_live_x'],
    ['person', 'must be the id of a person', 'person=7f3a09c2d41be865'],
    ['from', 'must be a day or a time such as 2026-03-04T09:30:00Z', 'from=yesterday'],
    ['to', 'must be a day or a time such as 2026-03-04T09:30:00Z', 'to=2026-02-30'],
    ['to', 'must be a day or a time such as 2026-03-04T09:30:00Z', 'to=2026-03-04T09:30:00'],
    ['from', 'must be a text', 'from=2026-01-01&from=2026-01-02'],
    ['limit', 'must be at most 100', 'limit=101'],
    ['cursor', 'must be the next_cursor of an earlier page', 'cursor=x'],
    ['cursor', 'must be the next_cursor of an earlier page', 'cursor=%00'],
    ['account', 'must be a text', 'account=a&account=b'],
  ])('400: refuses %s, which %s, in %s', async (field, detail, query) => {
    const answer = await setting.owner.browser.get(`${PATH}?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: 'invalid_field',
      message: expect.any(String),
      field,
      detail,
    })
  })

  it('400: refuses an approver the requests that name another person', async () => {
    const accountId = (await service.composition.deps.users.find(setting.owner.userId))?.account_id ?? ''
    const approver = await enrolWithPasskey(service, 'named@example.com')
    await joinAccount(service, accountId, approver.userId, 'approver')
    const get = (person: string) => approver.browser.get(`${PATH}?account=${accountId}&person=${person}`)
    expect((await get(approver.userId)).status).toBe(200)
    const { status, body } = await get(setting.owner.userId)
    expect({ status, body }).toEqual({
      status: 400,
      body: {
        error: 'invalid_field',
        message: expect.any(String),
        field: 'person',
        detail: 'must be yourself: only owners and auditors see the requests of others',
      },
    })
  })

  it.each([
    [{}, 'ids required', { field: 'ids' }],
    [{ ids: 'req_1' }, 'invalid_field', { field: 'ids', detail: 'must be a list' }],
    [{ ids: [] }, 'invalid_field', { field: 'ids', detail: 'must name at least one request' }],
    [{ ids: [{ $ne: '' }] }, 'invalid_field', { field: 'ids.0', detail: 'must be a text' }],
    [{ ids: ['dec_1'] }, 'invalid_field', { field: 'ids.0', detail: 'must be the id of a request' }],
    [
      { ids: Array.from({ length: 101 }, () => `req_${'0'.repeat(26)}`) },
      'invalid_field',
      { field: 'ids', detail: 'must name at most 100 requests' },
    ],
  ])('400: refuses to withdraw %j', async (json, error, more) => {
    const { status, body } = await setting.owner.browser.post(`${PATH}/withdraw`, json)
    expect({ status, body }).toEqual({ status: 400, body: { error, message: expect.any(String), ...more } })
  })

  it('401: is for signed-in persons only, never for an API key', async () => {
    for (const headers of [{}, { Authorization: `Bearer ${setting.key}` }]) {
      const response = await fetch(`${service.url}${PATH}`, { headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'not_signed_in' })
    }
  })

  it('404: malformed, unknown and foreign accounts alike, also for whoever is only invited', async () => {
    const accountId = (await service.composition.deps.users.find(setting.owner.userId))?.account_id ?? ''
    const invited = await enrolWithPasskey(service, 'invited@example.com')
    await joinAccount(service, accountId, invited.userId, 'approver', 'invited')
    for (const id of [accountId, `acc_${'0'.repeat(26)}`, 'x', '$ne']) {
      const { status, body } = await invited.browser.get(`${PATH}?account=${id}`)
      expect({ id, status, body }).toEqual({
        id,
        status: 404,
        body: { error: 'not_found', message: expect.any(String) },
      })
    }
  })

  it('429: counts against the person', async () => {
    // Whose minute begins now: that of the tests before may end in between.
    const { browser } = await enrolWithPasskey(service, 'busy@example.com')
    const { headers } = await browser.get(PATH)
    const left = Number(headers.get('x-ratelimit-remaining'))
    const answers = await Promise.all(Array.from({ length: left + 1 }, () => browser.get(PATH)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.map(({ body }) => body.error)).toEqual(['rate limit exceeded'])
  })
})
