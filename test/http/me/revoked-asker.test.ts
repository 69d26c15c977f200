import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, keyOf, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const NAMES = { key_name: expect.any(String), account_name: expect.any(String) }

async function inboxAskers(): Promise<Map<string, unknown>> {
  const { data } = expectStatus(await setting.owner.browser.get('/api/v1/me/pending'), 200)
  return new Map(data.map((row: { id: string; requested_by: unknown }) => [row.id, row.requested_by]))
}
async function reviewAsker(id: string): Promise<unknown> {
  return expectStatus(await setting.owner.browser.get(`/api/v1/approvals/${id}/review`), 200).requested_by
}
async function revokeKeyOf(id: string): Promise<void> {
  const { deps } = service.composition
  const request = await deps.requests.find(id)
  const path = `/api/v1/account/api-keys/${request?.api_key_id}`
  expectStatus(await setting.owner.browser.delete(path), 200)
}

describe('a request whose key was revoked since', () => {
  it('says so to the person who decides, in the inbox and on its page, from that moment', async () => {
    const lost = { service, key: await keyOf(service, setting.owner.userId) }
    const [asked, other] = [await ask(lost), await ask(setting)]
    expect((await inboxAskers()).get(asked)).toEqual(NAMES)
    expect(await reviewAsker(asked)).toEqual(NAMES)
    await revokeKeyOf(asked)
    const askers = await inboxAskers()
    expect(askers.get(asked)).toEqual({ ...NAMES, key_revoked: true })
    expect(askers.get(other)).toEqual(NAMES)
    expect(await reviewAsker(asked)).toEqual({ ...NAMES, key_revoked: true })
    expect(await reviewAsker(other)).toEqual(NAMES)
  })

  it('says nothing more of it once it is decided: that is history', async () => {
    const lost = { service, key: await keyOf(service, setting.owner.userId) }
    const asked = await ask(lost)
    await revokeKeyOf(asked)
    expectStatus(await decideByPasskey(setting, asked, 'rejected'), 200)
    expect(await reviewAsker(asked)).toEqual(NAMES)
  })
})
