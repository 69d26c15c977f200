import { describe, expect, it } from 'vitest'
import type { Hearing, Volumes } from '../../../src/domain/hearing.ts'
import type { User } from '../../../src/domain/user.ts'
import { createRequest } from '../../../src/flow/requests/create-request.ts'
import { changeHearing } from '../../../src/flow/tell/change-hearing.ts'
import { remindApprovers, remindAutomatically } from '../../../src/flow/tell/remind-approvers.ts'
import { confirm, pushesOf, useMailSetting } from '../../support/mail-setting.ts'
import { newRequester, type Worker } from '../../support/worker.ts'
import { vote } from '../chat/card-setting.ts'

const hear = ({ deps }: Worker, user: User, hearing: Hearing) =>
  changeHearing(deps, user, hearing, '127.0.0.1')

const all = (mail: Volumes['mail']): Volumes => ({ chat: 'all', browser: 'all', mail })

/** The time of day in UTC, so many hours from now. */
const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)

describe('who hears what', () => {
  it('by mail only what is high impact, where the person wants so; changes of factors always', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await hear(worker, requester.user, { volumes: all('high_impact') })
    await worker.start()
    await requester.request()
    const urgent = { action: 'Delete', context: {}, requires_individual_decision: true }
    await createRequest(worker.deps, requester.caller, urgent)
    await server.until('the urgent one', () => server.mails.length === 1)
    await hear(worker, requester.user, { volumes: all('none') })
    await createRequest(worker.deps, requester.caller, urgent)
    const entry = { eid: 'evt_0123456789abcdefghjkmnpqrs', type: 'factor.passkey_added', at: new Date() }
    const actor = { kind: 'user', id: requester.user.id, address: '192.0.2.7' } as const
    const { id: subject, account_id } = requester.user
    await worker.deps.users.addAudit(subject, {
      ...entry,
      type: 'factor.passkey_added',
      actor,
      subject,
      account_id,
    })
    await server.until('the notice', () => server.mails.length === 2)
    expect(server.mails.map(({ headers }) => headers.subject)).toEqual([
      'High impact: a request waits for your decision',
      'A passkey was added to your account',
    ])
    expect(server.mails[1]?.text).toContain('from 192.0.2.7')
  })

  it('the account’s default holds for who chose nothing', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await worker
      .stored('accounts')
      .updateOne({ _id: requester.account.id }, { $set: { volumes: all('none') } })
    const work = await worker.start()
    await requester.request()
    await work.relay.run()
    expect(await pushesOf(worker)).toEqual([])
    await hear(worker, requester.user, { volumes: all('all') })
    await requester.request()
    await server.until('the mail', () => server.mails.length === 1)
  })

  it('a digest tells in one mail an hour what still waits, at the full hour', async () => {
    const clock = { ahead: 0 }
    const setting = await useMailSetting({ localTime: () => Date.now() + clock.ahead })
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await hear(worker, requester.user, { volumes: all('digest') })
    const work = await worker.start()
    // Half past, so that no full hour comes in between.
    const hour = 3_600_000
    clock.ahead = hour - ((worker.deps.clock.now().getTime() + hour / 2) % hour)
    const decided = await requester.request({ ttl_seconds: 86_400 })
    await requester.request({ ttl_seconds: 86_400 })
    await requester.request({ ttl_seconds: 86_400 })
    await work.relay.run()
    expect(await pushesOf(worker)).toMatchObject([{ kind: 'digest', state: 'due' }])
    await vote(setting, decided, requester.user, 'rejected')
    clock.ahead += hour
    work.loops.pushes.wake()
    await server.until('the digest', () => server.mails.length === 1)
    expect(server.mails[0]?.headers.subject).toBe('2 requests wait for your decision')
    expect(server.mails[0]?.text.match(/^> Deploy$/gm)).toHaveLength(2)
  })

  it('quiet hours hold mails until they end; what is over by then is not told', async () => {
    const clock = { ahead: 0 }
    const setting = await useMailSetting({ localTime: () => Date.now() + clock.ahead })
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await hear(worker, requester.user, { quiet_hours: { from: hour(-1), to: hour(1), time_zone: 'UTC' } })
    const work = await worker.start()
    const long = await requester.request({ ttl_seconds: 86_400 })
    await requester.request({ ttl_seconds: 600 })
    await work.relay.run()
    await remindApprovers(worker.deps, requester.caller, long)
    expect(await pushesOf(worker)).toMatchObject([{ kind: 'request', state: 'due' }])
    expect(server.mails).toEqual([])
    clock.ahead = 62 * 60_000
    work.loops.pushes.wake()
    await server.until('the mail', () => server.mails.length === 1)
  })

  it('a first reminder that can reach nobody is said to the owner, once', async () => {
    const clock = { ahead: 0 }
    const setting = await useMailSetting({ localTime: () => Date.now() + clock.ahead })
    const { server, worker, requester } = setting
    const approver = await newRequester(worker)
    await confirm(setting, requester.user)
    const member = {
      user_id: approver.user.id,
      role: 'approver',
      state: 'active',
      invited_at: new Date(),
      joined_at: new Date(),
    }
    await worker
      .stored('accounts')
      .updateOne(
        { _id: requester.account.id },
        { $set: { members: [member], 'policy.approvers': [approver.user.id] } },
      )
    const work = await worker.start()
    await requester.request({ ttl_seconds: 3_600 })
    for (const minutes of [31, 55]) {
      clock.ahead = minutes * 60_000
      await remindAutomatically(worker.deps)
    }
    await server.until('the owner', () => server.mails.length === 1)
    expect(server.mails[0]?.to).toEqual([requester.user.email])
    expect(server.mails[0]?.headers.subject).toBe('A reminder reached nobody')
    await work.relay.run()
    const said = await worker.stored('audit_log').countDocuments({ 'entry.type': 'approval.unheard' })
    expect(said).toBe(1)
  })
})
