import { afterAll, beforeAll, expect, it } from 'vitest'
import { noticesIn } from '../../../src/domain/factor-notice.ts'
import { auditOf } from '../../support/audit.ts'
import { enrolWithPasskey, expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { inviteMember, newMember, newOwner } from '../../support/invited.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let ada: Awaited<ReturnType<typeof newOwner>>
beforeAll(async () => {
  service = await startService()
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
