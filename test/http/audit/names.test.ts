import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { auditListAnswer } from '../../../src/http/api/audit.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { send, signIn, stored } from '../../support/caller.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { readCsv } from '../../support/read-csv.ts'
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
    await createAppender(service.composition.deps)([
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

  it('names whom a detail names, but no stranger, and no key of another account', async () => {
    const foreign = await keyId(stranger)
    const member = await enrolWithPasskey(service, 'member@example.com')
    await joinAccount(service, accountId, member.userId, 'approver')
    const detail = {
      on_behalf_of: member.userId,
      recipient: stranger.owner.userId,
      approvers: `${setting.owner.userId} ${stranger.owner.userId}`,
    }
    await createAppender(service.composition.deps)([
      entryNumber(3, {
        account_id: accountId,
        type: 'key.changed',
        actor: { kind: 'service' },
        subject: foreign,
        detail,
      }),
    ])
    const [found, owner] = await Promise.all([
      service.composition.deps.users.find(member.userId),
      service.composition.deps.users.find(setting.owner.userId),
    ])
    expect(await namesFor(setting.owner, 'type=key.changed')).toEqual({
      [member.userId]: found?.name,
      [setting.owner.userId]: owner?.name,
    })
  })

  it('tells the action of a request to whoever may read the request, and to nobody else', async () => {
    const id = await ask(setting, { action: `${'word '.repeat(60)}end` })
    const late = await enrolWithPasskey(service, 'late@example.com')
    await joinAccount(service, accountId, late.userId, 'approver')
    const actor = { kind: 'user', id: late.userId } as const
    await createAppender(service.composition.deps)([
      entryNumber(40, { account_id: accountId, type: 'approval.verified', actor, subject: id }),
    ])
    const read = async ({ browser }: EnrolledPerson) => {
      const path = `/api/v1/account/audit?account=${accountId}&subject=${id}&type=approval.verified`
      const { data, actions } = auditListAnswer.parse(expectStatus(await browser.get(path), 200))
      expect(data).toHaveLength(1)
      return actions
    }
    expect(await read(setting.owner)).toEqual({ [id]: 'word '.repeat(40).trim() })
    expect(await read(late)).toEqual({})
  })

  it('looks up no id that somebody wrote where a text belongs', async () => {
    await createAppender(service.composition.deps)([
      entryNumber(4, {
        account_id: accountId,
        type: 'account.changed',
        actor: { kind: 'cli' },
        subject: accountId,
        detail: { name: setting.owner.userId },
      }),
    ])
    expect(await namesFor(setting.owner, 'type=account.changed')).toEqual({})
  })

  it('calls whoever has not accepted what the owner called them, and tells nothing of what they call themself', async () => {
    const [carol, dora] = [
      await enrolWithPasskey(service, 'carol@example.com'),
      await enrolWithPasskey(service, 'dora@example.com'),
    ]
    await carol.browser.patch('/api/v1/me', { name: 'Caroline the Known' })
    const proof = await passkeyProof(setting.owner, service, 'member.invite', carol.email)
    const body = { email: carol.email, role: 'approver', name: 'Carol of accounting', proof }
    expectStatus(await setting.owner.browser.post('/api/v1/account/members', body), 201)
    await joinAccount(service, accountId, dora.userId, 'approver', 'invited')
    const entries = [carol, dora].map(({ userId }, n) =>
      entryNumber(5 + n, {
        account_id: accountId,
        type: 'member.invited',
        actor: { kind: 'cli' },
        subject: userId,
      }),
    )
    await createAppender(service.composition.deps)(entries)
    const names = await namesFor(setting.owner, 'type=member.invited')
    expect(names).toEqual({ [carol.userId]: 'Carol of accounting' })
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

describe('the audit trail by names', () => {
  it('finds what people and keys did, and what is about them, in any case', async () => {
    const [owner, key] = await Promise.all([
      service.composition.deps.users.find(stranger.owner.userId),
      keyId(stranger),
    ])
    const account_id = owner?.account_id ?? ''
    const actor = { kind: 'user', id: stranger.owner.userId } as const
    await createAppender(service.composition.deps)([
      entryNumber(71, { account_id, type: 'key.revoked', actor, subject: key }),
      entryNumber(72, { account_id, type: 'webhook.created', actor: { kind: 'cli' }, subject: 'whk_1' }),
      entryNumber(73, { account_id, type: 'delegate.set', actor: { kind: 'cli' }, subject: actor.id }),
    ])
    const found = async (query: string): Promise<string[]> => {
      const path = `/api/v1/account/audit?from=2020-01-01&${query}`
      const { data } = auditListAnswer.parse(expectStatus(await stranger.owner.browser.get(path), 200))
      const told = ['key.revoked', 'webhook.created', 'delegate.set']
      return data.flatMap(({ type }) => (told.includes(type) ? [type] : []))
    }
    const name = encodeURIComponent(owner?.name.toUpperCase() ?? '')
    const { name: keyName = '' } = (await service.composition.deps.apiKeys.find(key)) ?? {}
    expect(await found(`actor=${name}`)).toEqual(['key.revoked'])
    expect(await found(`subject=${name}`)).toEqual(['delegate.set'])
    expect(await found(`subject=${encodeURIComponent(keyName)}`)).toEqual(['key.revoked'])
    expect((await found(`q=${name}`)).sort()).toEqual(['delegate.set', 'key.revoked'])
    expect(await found('actor=cli')).toHaveLength(2)
    expect(await found('actor=nobody%20of%20that%20name')).toEqual([])
  })

  it('finds by key what is about it and about its requests, be they few or many, in pages and in the file', async () => {
    const { deps } = service.composition
    const asking = await setUpOwner(service, 'asking@example.com')
    const person = (await deps.users.find(asking.owner.userId)) ?? expect.unreachable()
    const [account_id, token] = [person.account_id, await signIn(service, person)]
    const key = await keyId(asking)
    const { name = '' } = (await deps.apiKeys.find(key)) ?? {}
    const ids = [await ask(asking), await ask(asking)]
    const foreign = await ask(stranger)
    const subjects = [key, ids[0], 'req_deleted', ids[1], 'key_other', foreign, ids[0]]
    await createAppender(deps)(
      subjects.map((subject = '', n) => entryNumber(80 + n, { account_id, type: 'approval.voted', subject })),
    )
    const wanted = [ids[0], ids[1], ids[0], key]
    const path = '/api/v1/account/audit'
    const found = async (query: string): Promise<unknown> => {
      const listed: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page = await asking.owner.browser.get(`${path}?type=approval.voted&limit=3&${query}${cursor}`)
        const { data, next_cursor } = auditListAnswer.parse(expectStatus(page, 200))
        listed.push(...data.map(({ subject }) => subject))
        cursor = next_cursor && `&cursor=${next_cursor}`
      }
      return listed
    }
    const ways = [`key=${key}`, `key=${encodeURIComponent(name)}`, `key=${key}&from=2020-01-01`]
    const expectAll = async (): Promise<void> => {
      const file = await send(service, `${path}/export?type=approval.voted&format=csv&key=${key}`, { token })
      expect(readCsv(file.text).map((row) => row[7])).toEqual(['subject', ...wanted])
      for (const way of ways) expect(await found(way), way).toEqual(wanted)
      expect(await found(`key=${key}&subject=${ids[1]}`)).toEqual([ids[1]])
      expect(await found(`key=${key}&subject=${foreign}`)).toEqual([])
      expect(await found('key=no%20such%20key')).toEqual([])
    }
    await expectAll()
    const many = Array.from({ length: 1_001 }, (_, n) => ({ _id: `req_${n}`, account_id, api_key_id: key }))
    await stored(service, 'requests').insertMany(many.map((one) => Object(one)))
    await expectAll()
  })
})
