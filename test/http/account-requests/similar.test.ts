import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { similarAnswer } from '../../../src/http/api/similar.ts'
import { alter, stored } from '../../support/caller.ts'
import { setPolicy } from '../../support/deciders.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

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

async function userOf({ userId }: Pick<EnrolledPerson, 'userId'>) {
  const user = await service.composition.deps.users.find(userId)
  if (user === undefined) throw new Error('the person is gone')
  return user
}

describe('earlier similar requests', () => {
  it('is of the same key and tool, newest first, as far as a person may see it, with what differs now', async () => {
    const setting = await freshOwner()
    const { account_id: accountId = '' } = await userOf(setting.owner)
    const mail = (to: string, more = {}) =>
      ask(setting, { action: `Mail ${to}`, context: { tool: 'mail', tool_arguments: { to, ...more } } })
    const first = await mail('ann')
    expectStatus(await decideByPasskey(setting, first, 'rejected'), 200)
    await ask(setting, { action: 'Deploy', context: { tool: 'deploy' } })
    const helper = await enrolWithPasskey(service, 'mailer@example.com')
    await setPolicy(service, accountId, { approvers: [setting.owner.userId, helper.userId], quorum: 1 })
    const second = await mail('ann', { cc: 'x' })
    const now = await mail('bob')
    const earlierFor = async ({ browser }: EnrolledPerson) =>
      similarAnswer.parse(expectStatus(await browser.get(`/api/v1/approvals/${now}/similar`), 200))
    const { data, names } = await earlierFor(setting.owner)
    expect(data.map(({ id }) => id)).toEqual([second, first])
    expect(data[0]).toMatchObject({ status: 'pending', more: 0 })
    expect(data[0]?.differs).toEqual([
      { field: 'action', before: 'Mail ann', now: 'Mail bob' },
      { field: 'tool_arguments.to', before: 'ann', now: 'bob' },
      { field: 'tool_arguments.cc', before: 'x' },
    ])
    const { approver, name } = await userOf(setting.owner)
    expect(data[1]?.decision).toMatchObject({ method: 'passkey', approver })
    expect(names).toMatchObject({ [approver]: name })
    // Named in two of them.
    const theirs = await earlierFor(helper)
    expect(theirs.data.map(({ id }) => id)).toEqual([second])
  })

  it('counts what people decided about the same key and tool, and names what differs from the approved ones', async () => {
    const setting = await freshOwner()
    const { owner } = setting
    const { account_id: accountId = '' } = await userOf(owner)
    const [approver, auditor] = [
      await enrolWithPasskey(service, 'counter@example.com'),
      await enrolWithPasskey(service, 'counting@example.com'),
    ]
    const pay = (amount: unknown, more: object = {}, by: Pick<LiveSetting, 'service' | 'key'> = setting) =>
      ask(by, { context: { tool: 'pay', amount, iban: 'DE1', ...more } })
    const decided = async (id: string, decision: 'approved' | 'rejected') =>
      expectStatus(await decideByPasskey(setting, id, decision), 200)
    const known = async ({ browser }: EnrolledPerson, id: string) =>
      similarAnswer.parse(expectStatus(await browser.get(`/api/v1/approvals/${id}/similar`), 200)).precedents

    const first = await pay(100)
    const none = { by: 'tool', own: false, approved: 0, rejected: 0, at_least: false }
    expect(await known(owner, first)).toEqual({ ...none, departures: [], more: 0 })
    await decided(first, 'approved')
    await decided(await pay(120), 'approved')
    // None of these counts: by no person, pending, withdrawn, of another key, of another tool.
    const user = await userOf(setting.owner)
    const sandbox = { service, key: (await addKey(service, user, { sandbox: true })).raw_key }
    const another = { service, key: (await addKey(service, user)).raw_key }
    const context = { tool: 'pay', amount: 9_999 }
    const dry = await callWithKey(service, sandbox.key, '/request', {
      ...{ action: 'x', context, sandbox_auto_decide_seconds: 0 },
    })
    const dryId = Object(await dry.json()).request_id
    expect(await (await callWithKey(service, sandbox.key, `/${dryId}`)).json()).toMatchObject({
      status: 'approved',
    })
    expect(await known(owner, dryId)).toBe(undefined)
    expect((await callWithKey(service, setting.key, `/${await pay(9_999)}/cancel`, {})).status).toBe(200)
    await decided(await pay(9_999, {}, another), 'approved')
    await decided(await pay(9_999, { tool: 'P\u0430y' }), 'approved')

    await setPolicy(service, accountId, { approvers: [owner.userId, approver.userId], quorum: 1 })
    await joinAccount(service, accountId, approver.userId, 'approver')
    await joinAccount(service, accountId, auditor.userId, 'auditor')
    await decided(await pay(5, { iban: 'XX' }), 'rejected')
    const now = await pay(1_000, { iban: 'DE2', 'x\u202e': 1 })
    const all = {
      ...{ by: 'tool', own: false, approved: 2, rejected: 1, at_least: false },
      last: { decision: 'rejected', decided_at: expect.stringMatching(/Z$/) },
      departures: [
        { field: 'amount', how: 'times', times: 10, usual: 100 },
        { field: 'iban', how: 'changed' },
        { field: 'x\u202e', how: 'added' },
      ],
      more: 0,
    }
    expect(await known(owner, now)).toEqual(all)
    expect(await known(auditor, now)).toEqual(all)
    expect(await known(approver, now)).toEqual({ ...all, own: true, approved: 0, departures: [] })
    // No tool is named, and none of these fields were asked for before: nothing to say.
    expect(await known(owner, await ask(setting, { context: { payee: 'ACME' } }))).toBe(undefined)

    // Too many to say how many.
    const model = await stored(service, 'requests').findOne({ _id: first })
    const many = Array.from({ length: 60 }, (_, n) => ({
      ...model,
      _id: `req_copy${n}`,
      decision: { ...Object(model?.decision), id: `dec_copy${n}`, decided_at: new Date() },
    }))
    await stored(service, 'requests').insertMany(many)
    expect(await known(owner, now)).toMatchObject({ approved: 50, at_least: true })
    // Among the older ones there may be some that they may see.
    expect(await known(approver, now)).toBe(undefined)
    await stored(service, 'requests').deleteMany({ _id: { $in: many.map(({ _id }) => _id) } })
    // Erased: nothing is known, and nothing is told of it.
    await stored(service, 'requests').updateMany(
      { api_key_id: model?.api_key_id },
      { $set: { erased_at: new Date(), context_json: '{}' } },
    )
    await alter(service, 'requests', now, { erased_at: undefined })
    expect(await known(owner, now)).toBe(undefined)
  })
})
