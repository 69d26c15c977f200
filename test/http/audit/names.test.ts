import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appendToTrail } from '../../../src/flow/audit/append-to-trail.ts'
import { auditListAnswer } from '../../../src/http/schemas/responses/audit.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
let stranger: LiveSetting
let accountId: string
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
  stranger = await setUpOwner(service, 'stranger@example.com')
  accountId = (await service.composition.deps.users.find(setting.owner.userId))?.account_id ?? ''
})
afterAll(() => service.close())

async function keyId({ owner }: LiveSetting): Promise<string> {
  const user = await service.composition.deps.users.find(owner.userId)
  const [key] = await service.composition.deps.apiKeys.list(user?.account_id)
  return key?.id ?? ''
}

async function namesFor(person: EnrolledPerson, query: string): Promise<Record<string, string>> {
  const answer = expectStatus(await person.browser.get(`/api/v1/account/audit?${query}`), 200)
  return auditListAnswer.parse(answer).names
}

describe('the names beside the audit trail', () => {
  it('tells what people and keys of the entries are called now, and nobody else', async () => {
    const key = await keyId(setting)
    const actor = { kind: 'user', id: setting.owner.userId } as const
    await appendToTrail(service.composition.deps, [
      entryNumber(1, { account_id: accountId, type: 'key.revoked', actor, subject: key }),
      entryNumber(2, {
        account_id: accountId,
        type: 'webhook.created',
        actor: { kind: 'cli' },
        subject: 'whk_1',
      }),
    ])
    const [owner, named] = await Promise.all([
      service.composition.deps.users.find(setting.owner.userId),
      service.composition.deps.apiKeys.find(key),
    ])
    expect(await namesFor(setting.owner, 'type=key.revoked')).toEqual({
      [setting.owner.userId]: owner?.name,
      [key]: named?.name,
    })
    expect(await namesFor(setting.owner, 'type=webhook.created')).toEqual({})
  })

  it('names whom a detail names, and no key of another account', async () => {
    const foreign = await keyId(stranger)
    const detail = { on_behalf_of: stranger.owner.userId, note: 'usr_nobody' }
    await appendToTrail(service.composition.deps, [
      entryNumber(3, {
        account_id: accountId,
        type: 'key.changed',
        actor: { kind: 'service' },
        subject: foreign,
        detail,
      }),
    ])
    const other = await service.composition.deps.users.find(stranger.owner.userId)
    expect(await namesFor(setting.owner, 'type=key.changed')).toEqual({
      [stranger.owner.userId]: other?.name,
    })
  })

  it('is the same for an auditor of the account, and empty for whom the entries do not concern', async () => {
    const auditor = await enrolWithPasskey(service, 'auditor@example.com')
    const approver = await enrolWithPasskey(service, 'approver@example.com')
    await joinAccount(service, accountId, auditor.userId, 'auditor')
    await joinAccount(service, accountId, approver.userId, 'approver')
    const query = `type=key.revoked&account=${accountId}`
    expect(await namesFor(auditor, query)).toEqual(await namesFor(setting.owner, query))
    expect(Object.keys(await namesFor(auditor, query))).toHaveLength(2)
    expect(await namesFor(approver, query)).toEqual({})
  })
})
