import { stored } from './caller.ts'
import { asMembers } from './members.ts'
import type { TestService } from './service.ts'

/** Makes somebody a member of an account, as if they had been invited and had accepted. */
export async function joinAccount(
  service: TestService,
  accountId: string,
  userId: string,
  role: 'approver' | 'auditor',
  state: 'active' | 'invited' = 'active',
): Promise<void> {
  const { members = [] } = Object(await stored(service, 'accounts').findOne({ _id: accountId }))
  const joined = [...members, ...asMembers([userId], role, state)]
  await stored(service, 'accounts').updateOne({ _id: accountId }, { $set: { members: joined } })
}
