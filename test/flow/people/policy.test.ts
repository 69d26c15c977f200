import { expect, it } from 'vitest'
import { Refusal } from '../../../src/domain/errors.ts'
import { setPolicy } from '../../../src/flow/people/manage-account.ts'
import { stored } from '../../support/caller.ts'
import { passkeyProof } from '../../support/enrolled.ts'
import { newMember, newOwner } from '../../support/invited.ts'
import { useService } from '../../support/service.ts'

it('refuses a policy that names a member who was removed between the check and the write', async () => {
  const service = await useService()
  const { deps } = service.composition
  const ada = await newOwner(service, 'ada@example.com')
  const bob = await newMember(service, ada, 'bob@example.com')
  const user = await deps.users.find(ada.userId)
  const held = await stored(service, 'sessions').findOne({ user_id: ada.userId })
  const session = await deps.sessions.findLive(String(held?._id), deps.clock.now())
  if (user === undefined || session === undefined) return expect.unreachable()
  let looks = 0
  const accounts = {
    ...deps.accounts,
    async find(id: string) {
      looks += 1
      if (looks === 2) {
        const now = await deps.accounts.find(id)
        const removed = { members: [], version: Number(now?.version) + 1 }
        await stored(service, 'accounts').updateOne({ _id: id }, { $set: removed })
      }
      return deps.accounts.find(id)
    },
  }
  const policy = { approvers: [bob.userId], quorum: 1, passkey_only: false, high_impact: false }
  const proof = await passkeyProof(ada, service, 'policy.change')
  const set = setPolicy({ ...deps, accounts }, { user, session }, { policy, proof }, '127.0.0.1')
  const refused = await set.catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Refusal)
  expect(refused).toMatchObject({
    code: 'invalid_field',
    details: { field: 'approvers', detail: 'must be the owner or members who are approvers' },
  })
  expect((await deps.accounts.find(ada.accountId))?.policy.approvers).toEqual([])
})
