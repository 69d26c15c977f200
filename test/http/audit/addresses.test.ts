import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { joinAccount } from '../../support/joined.ts'
import { type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const HOME = '203.0.113.77'
let service: TestService
let setting: LiveSetting
let approver: EnrolledPerson
let auditor: EnrolledPerson
let accountId: string
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
  accountId = (await service.composition.deps.users.find(setting.owner.userId))?.account_id ?? ''
  approver = await enrolWithPasskey(service, 'approver@example.com')
  auditor = await enrolWithPasskey(service, 'auditor@example.com')
  await joinAccount(service, accountId, approver.userId, 'approver')
  await joinAccount(service, accountId, auditor.userId, 'auditor')
  const about = { account_id: accountId, type: 'member.changed', subject: approver.userId } as const
  await createAppender(service.composition.deps)([
    entryNumber(1, { ...about, actor: { kind: 'user', id: setting.owner.userId, address: HOME } }),
    entryNumber(2, { ...about, actor: { kind: 'user', id: approver.userId, address: '198.51.100.4' } }),
    entryNumber(3, { ...about, actor: { kind: 'public', address: HOME } }),
  ])
})
afterAll(() => service.close())

/** Addresses of those three, newest first. */
async function addresses({ browser }: EnrolledPerson, more = ''): Promise<(string | undefined)[]> {
  const query = `account=${accountId}&type=member.changed${more}`
  const { data } = expectStatus(await browser.get(`/api/v1/account/audit?${query}`), 200)
  return data.map(({ actor }: { actor: { address?: string } }) => actor.address)
}

it('an approver learns from where they acted themself, and of nobody else', async () => {
  expect(await addresses(approver)).toEqual([undefined, '198.51.100.4', undefined])
  const query = `account=${accountId}&type=member.changed&format=csv`
  const response = await fetch(`${service.url}/api/v1/account/audit/export?${query}`, {
    headers: { Authorization: `Bearer ${approver.token}` },
  })
  const file = await response.text()
  expect(file).toContain('198.51.100.4')
  expect(file).not.toContain(HOME)
})

it('an approver finds nothing by a guess at the address of somebody else', async () => {
  expect(await addresses(approver, `&q=${HOME}`)).toEqual([])
  expect(await addresses(setting.owner, `&q=${HOME}`)).toEqual([HOME, HOME])
})

it('owners and auditors, who read the whole trail, see every address', async () => {
  for (const person of [setting.owner, auditor])
    expect(await addresses(person)).toEqual([HOME, '198.51.100.4', HOME])
})
