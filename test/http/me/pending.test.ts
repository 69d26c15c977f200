import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lapse } from '../../support/caller.ts'
import { setPolicy } from '../../support/deciders.ts'
import { enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
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
const ids = async (person = setting.owner): Promise<unknown[]> => (await waiting(person)).map(({ id }) => id)

describe('GET /api/v1/me/pending', () => {
  it('lists what waits, oldest first, and drops it once it is decided or its time is up', async () => {
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
      requested_by: { key_name: expect.any(String), account_name: expect.any(String) },
      created_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expectStatus(await decideByPasskey(setting, first, 'approved'), 200)
    expect(await ids()).toEqual([second])
    await lapse(service, second)
    expect(await ids()).toEqual([])
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

  it('does not list a dry-run, which nobody is asked about', async () => {
    const made = await setting.owner.browser.post('/api/v1/account/api-keys', { name: 'try', sandbox: true })
    const { raw_key } = expectStatus(made, 201)
    const asked = await callWithKey(service, raw_key, '/request', { action: 'x' })
    const { request_id } = Object(await asked.json())
    expect(request_id).toMatch(/^req_/)
    expect(await ids()).not.toContain(request_id)
  })

  it('is for signed-in persons only, never for an API key', async () => {
    for (const headers of [{}, { Authorization: `Bearer ${setting.key}` }]) {
      const response = await fetch(`${service.url}/api/v1/me/pending`, { headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'not_signed_in' })
    }
  })
})
