import { stored } from './caller.ts'
import type { TestService } from './service.ts'

/** Makes somebody a member of an account, as if they had been invited and had accepted. */
export async function joinAccount(
  service: TestService,
  accountId: string,
  userId: string,
  role: 'approver' | 'auditor',
  state: 'active' | 'invited' = 'active',
): Promise<void> {
  const at = new Date()
  const { members = [] } = Object(await stored(service, 'accounts').findOne({ _id: accountId }))
  const joined_at = state === 'active' ? at : null
  const joined = [...members, { user_id: userId, role, state, invited_at: at, joined_at }]
  await stored(service, 'accounts').updateOne({ _id: accountId }, { $set: { members: joined } })
}
