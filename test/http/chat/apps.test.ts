import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UNKNOWN_TENANT } from '../../../src/domain/chat.ts'
import { addInstallation } from '../../../src/flow/chat/connect-account.ts'
import { beginTrouble } from '../../../src/flow/tell/trouble.ts'
import { auditOf } from '../../support/audit.ts'
import { createChatPlatform } from '../../support/chat-platform.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService, useService } from '../../support/service.ts'

const APPS = '/api/v1/account/chat-apps'
const MISSING = {
  error: 'not_found',
  message: 'There is no such resource, or it is not yours; check the address and its ids.',
}

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

async function owner(): Promise<EnrolledPerson & { accountId: string }> {
  people += 1
  const person = await enrolWithPasskey(service, `owner${people}@example.com`)
  const user = await service.composition.deps.users.find(person.userId)
  return { ...person, accountId: user?.account_id ?? expect.unreachable('no such user') }
}

async function install(tenant: string, ...account_ids: string[]): Promise<void> {
  const { installations, clock } = service.composition.deps
  const names = { platform: 'slack', workspace_name: `Name of ${tenant}` } as const
  await installations.put({ ...names, tenant, account_ids, sealed: 'sealed', installed_at: clock.now() })
}

it('409: a workspace serves 500 accounts; one of them may install again', async () => {
  await install('T-full', ...Array.from({ length: 500 }, (_, index) => `acc_${index}`))
  const { deps } = service.composition
  const fresh = { platform: 'slack', tenant: 'T-full', workspace_name: 'Full', sealed: 'new' } as const
  const person = (await deps.users.find((await owner()).userId)) ?? expect.unreachable()
  const add = (accountId: string) =>
    addInstallation(deps, { accountId, actor: { kind: 'user', id: person.id } }, fresh, person)
  await expect(add('acc_new')).rejects.toMatchObject({ code: 'install_limit', status: 409 })
  expect((await deps.installations.find('slack', 'T-full'))?.sealed).toBe('sealed')
  await add('acc_7')
  const found = await deps.installations.find('slack', 'T-full')
  expect([found?.sealed, found?.account_ids.length]).toEqual(['new', 500])
})

describe('how chat is set up', () => {
  it('says of a service without chat that there is none', async () => {
    const { browser } = await owner()
    const answer = await browser.get(APPS)
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        slack: { configured: false, mode: null, installations: [] },
        teams: { configured: false, tenants: [] },
      },
    ])
  })

  it('names what the operator connected, and nothing while the platform has not said', async () => {
    const slack = createChatPlatform()
    const teams = createChatPlatform('teams')
    const own = await useService({ chats: [slack, teams] })
    const { browser } = await enrolWithPasskey(own, 'owner@example.com')
    slack.tenants = [UNKNOWN_TENANT]
    teams.tenants = ['tid-1']
    expect((await browser.get(APPS)).body).toEqual({
      slack: { configured: true, mode: 'one', installations: [] },
      teams: { configured: true, tenants: ['tid-1'] },
    })
    slack.tenants = ['T1']
    expect((await browser.get(APPS)).body.slack).toEqual({
      configured: true,
      mode: 'one',
      installations: [{ tenant: 'T1', name: null, installed_at: null }],
    })
  })

  it('401: is told to nobody without a session', async () => {
    const stranger = createHttpClient(service.url)
    const unsigned = { error: 'not_signed_in', message: 'Sign in first.' }
    const read = await stranger.get(APPS)
    expect([read.status, read.body]).toEqual([401, unsigned])
    const removed = await stranger.post(`${APPS}/remove`, { platform: 'slack', tenant: 'T1' })
    expect([removed.status, removed.body]).toEqual([401, unsigned])
  })
})

describe('removing a workspace', () => {
  const remove = ({ browser }: EnrolledPerson, tenant: string) =>
    browser.post(`${APPS}/remove`, { platform: 'slack', tenant })
  const kept = (tenant: string) => service.composition.deps.installations.find('slack', tenant)

  it('takes it from this account alone, and forgets its tokens with the last account', async () => {
    const [ana, ben] = [await owner(), await owner()]
    await install('T-shared', ana.accountId, ben.accountId)
    const first = await remove(ana, 'T-shared')
    expect([first.status, first.body]).toEqual([200, { ok: true }])
    expect((await kept('T-shared'))?.account_ids).toEqual([ben.accountId])
    const about = { type: 'chat.uninstalled', subject: 'slack:T-shared' } as const
    expect(await auditOf(service, about)).toMatchObject([
      {
        account_id: ana.accountId,
        actor: { kind: 'user', id: ana.userId },
        detail: { tenant: 'T-shared', workspace: 'Name of T-shared' },
      },
    ])
    expect((await remove(ben, 'T-shared')).status).toBe(200)
    expect(await kept('T-shared')).toBeUndefined()
  })

  it('404: none that the operator connected, although it takes no cards', async () => {
    const slack = createChatPlatform()
    slack.tenants = ['T1']
    const own = await useService({ chats: [slack] })
    const { browser, userId } = await enrolWithPasskey(own, 'owner@example.com')
    const { accounts, users } = own.composition.deps
    const { account_id } = (await users.find(userId)) ?? expect.unreachable()
    await beginTrouble(own.composition.deps, account_id, {
      platform: 'slack',
      tenant: 'T1',
      reason: 'token_revoked',
    })
    const refused = await browser.post(`${APPS}/remove`, { platform: 'slack', tenant: 'T1' })
    expect([refused.status, refused.body]).toEqual([404, MISSING])
    expect((await accounts.find(account_id))?.chat_troubles).toMatchObject([{ tenant: 'T1' }])
  })

  it('404: knows only workspaces of the own account, and each once', async () => {
    const [ana, ben] = [await owner(), await owner()]
    await install('T-ana', ana.accountId)
    const foreign = await remove(ben, 'T-ana')
    expect([foreign.status, foreign.body]).toEqual([404, MISSING])
    expect((await kept('T-ana'))?.account_ids).toEqual([ana.accountId])
    expect((await remove(ana, 'T-ana')).status).toBe(200)
    const again = await remove(ana, 'T-ana')
    expect([again.status, again.body]).toEqual([404, MISSING])
  })

  it('400: is for Slack, where owners install the app', async () => {
    const { browser } = await owner()
    const answer = await browser.post(`${APPS}/remove`, { platform: 'teams', tenant: 'tid-1' })
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { error: 'invalid_field', field: 'platform', detail: 'must be slack' },
    ])
  })
})
