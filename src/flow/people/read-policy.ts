import type { Account } from '../../domain/account.ts'
import { may, roleIn } from '../../domain/account.ts'
import { type KeyPolicy, type Policy, policyFor, requirementFor } from '../../domain/policy.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

/** The policy as its owner looks at it. */
export interface PolicyView {
  /** `approvers` by name: the owner where the policy names nobody. */
  policy: Policy
  /**
   * In the order the policy names them; who is owner or approver no more is not eligible and counts for nothing, and who is
   * not `inside` has no part in the account at all.
   */
  approvers: { user: User; eligible: boolean; inside: boolean }[]
  /** Could a request that is made now be approved? */
  reachable: boolean
}

/** The account's policy, or with a key's the one under which that key's requests stand, and who would decide now. */
export async function readPolicy(
  deps: Pick<FlowDeps, 'users'>,
  account: Pick<Account, 'owner_id' | 'members' | 'policy'>,
  key?: KeyPolicy,
): Promise<PolicyView> {
  const policy = policyFor(account, key)
  const found = await deps.users.findMany(policy.approvers)
  const approvers = policy.approvers.flatMap((id) => {
    const user = found.find((person) => person.id === id)
    const role = roleIn(account, id)
    return user === undefined ? [] : [{ user, eligible: may(role, 'decide'), inside: role !== undefined }]
  })
  const able = approvers
    .filter(({ eligible }) => eligible)
    .map(({ user }) => ({ user_id: user.id, approver: user.approver, ...factorsOf(user) }))
  return { policy, approvers, reachable: requirementFor(policy, able) !== undefined }
}
