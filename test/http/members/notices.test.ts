import { afterAll, beforeAll, expect, it } from 'vitest'
import { noticesIn } from '../../../src/domain/factor-notice.ts'
import { auditOf } from '../../support/audit.ts'
import { assertWith, enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { inviteMember, newMember, newOwner } from '../../support/invited.ts'
import { ask, keyOf } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let ada: Awaited<ReturnType<typeof newOwner>>
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1', NOTE_SAME_ADDRESS: '1' } })
  ada = await newOwner(service, 'ada@example.com')
})
afterAll(() => service.close())

/** The owner changes the role, then removes them. */
async function changeAndRemove(userId: string): Promise<void> {
  const path = `/api/v1/account/members/${userId}`
  const proof = () => passkeyProof(ada, service, 'member.change', userId)
  expectStatus(await ada.browser.patch(path, { role: 'auditor', proof: await proof() }), 200)
  expectStatus(await ada.browser.post(`${path}/remove`, { proof: await proof() }), 200)
}

/** What the owner's changes tell the person. */
async function told(userId: string) {
  const entries = await auditOf(service, { subject: userId })
  const byAda = entries.filter(({ actor }) => actor.kind === 'user' && actor.id === ada.userId)
  return { types: byAda.map(({ type }) => type), notices: noticesIn(byAda) }
}

it('nobody is told anything of an account that only invited them', async () => {
  const frank = await enrolWithPasskey(service, 'frank@example.com')
  await inviteMember(service, ada, 'frank@example.com')
  await changeAndRemove(frank.userId)
  const { types, notices } = await told(frank.userId)
  expect(types.sort()).toEqual(['member.changed', 'member.invited', 'member.removed'])
  expect(notices).toEqual([])
})

it('a member is told that somebody else changed their role and removed them, but not from where', async () => {
  const grace = await newMember(service, ada, 'grace@example.com')
  await changeAndRemove(grace.userId)
  const { notices } = await told(grace.userId)
  expect(notices.map(({ user_id, notice }) => ({ user_id, notice }))).toEqual(
    ['member.changed', 'member.removed'].map((type) => ({
      user_id: grace.userId,
      notice: { type, at: expect.any(Date), by_other: true },
    })),
  )
})

it('T88: who decides from the address that asked is told so, and the owner is, and nobody else', async () => {
  const hal = await newMember(service, ada, 'hal@example.com')
  const proof = await passkeyProof(ada, service, 'policy.change')
  const rules = { approvers: [hal.userId, ada.userId], quorum: 2, passkey_only: false, high_impact: false }
  expectStatus(await ada.browser.put('/api/v1/account/policy', { ...rules, proof }), 200)
  const id = await ask({ service, key: await keyOf(service, ada.userId) })
  const path = `/api/v1/approvals/${id}`
  const here = { headers: { 'X-Forwarded-For': '127.0.0.1' } }
  expect((await hal.browser.get(`${path}/review`, here)).body.same_address).toBe(true)
  expect((await hal.browser.get(`${path}/review`)).body).not.toHaveProperty('same_address')
  for (const [person, from] of [
    [ada, {}],
    [hal, here],
  ] as const) {
    const decision = 'approved'
    const { options } = expectStatus(await person.browser.post(`${path}/decision/options`, { decision }), 200)
    const passkey = assertWith(person, service, options)
    expectStatus(await person.browser.post(`${path}/decision`, { decision, passkey }, from), 200)
  }
  const entries = await auditOf(service, { subject: id, type: 'approval.same_address' })
  expect(entries.map(({ actor }) => actor)).toEqual([{ kind: 'user', id: hal.userId, address: '127.0.0.1' }])
  const notice = { type: 'approval.same_address', at: expect.any(Date) }
  expect(noticesIn(entries).map(({ user_id, notice }) => ({ user_id, notice }))).toEqual([
    { user_id: hal.userId, notice: { ...notice, address: '127.0.0.1' } },
    { user_id: ada.userId, notice: { ...notice, by_other: true } },
  ])
})
