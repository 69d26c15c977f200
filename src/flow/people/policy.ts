import { type Account, may, roleIn } from '../../domain/account.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { type KeyPolicy, type Policy, policyFor, requirementFor } from '../../domain/policy.ts'
import { factorsOf, type User } from '../../domain/user.ts'
import type { FlowDeps, PeopleDeps } from '../deps.ts'
import { changeAccount } from './accounts.ts'
import type { SignedIn } from './sessions.ts'
import { type Proof, proveFactor } from './step-up.ts'

/** A policy as its owner sends it; without `reminders` those stay. */
export type NewPolicy = Omit<Policy, 'reminders'> & { reminders?: number[] }

/**
 * Replaces the policy of the person's own account; requests that are open keep theirs (T79).
 * @throws Refusal `invalid_field`, `no_eligible_approver` when no request could ever be approved under it, and those of
 * `proveFactor`
 */
export async function setPolicy(
  deps: PeopleDeps,
  who: SignedIn,
  { policy, proof }: { policy: NewPolicy; proof: Proof | undefined },
  address: string,
): Promise<Account> {
  const { id, account_id } = who.user
  const account = await deps.accounts.find(account_id)
  if (account === undefined) throw refusal('not_found')
  await checkPolicy(deps, account, policy)
  await proveFactor(deps, who, { operation: 'policy.change' }, proof, address)
  return changeAccount(deps, account_id, async (fresh) => {
    const next = await checkPolicy(deps, fresh, policy)
    const { quorum, passkey_only, high_impact } = next
    // An empty list is the owner alone. Who, not how many: an exchange must not look like no change.
    const approvers = next.approvers.length > 0 ? next.approvers : [fresh.owner_id]
    const entry = {
      eid: drawId(deps, 'evt'),
      type: 'policy.changed',
      at: deps.clock.now(),
      actor: { kind: 'user', id, address },
      account_id,
      subject: account_id,
      detail: { quorum, passkey_only, high_impact, approvers: approvers.join(' ') },
    } as const
    return { fields: { policy: next }, audit: [entry] }
  })
}

/** @returns the policy as it is stored */
async function checkPolicy(
  deps: Pick<PeopleDeps, 'users'>,
  account: Account,
  wanted: NewPolicy,
): Promise<Policy> {
  const { approvers, quorum } = wanted
  refuseDoubles(approvers)
  if (!approvers.every((id) => may(roleIn(account, id), 'decide')))
    throw invalidField('approvers', 'must be the owner or members who are approvers')
  if (quorum > Math.max(1, approvers.length))
    throw invalidField('quorum', 'must not exceed the number of approvers')
  const policy = { reminders: account.policy.reminders, ...wanted }
  const { reachable } = await readPolicy(deps, { ...account, policy })
  if (!reachable) throw refusal('no_eligible_approver')
  return policy
}

/** @throws Refusal `invalid_field` */
export function refuseDoubles(approvers: readonly string[], field = 'approvers'): void {
  if (new Set(approvers).size < approvers.length) throw invalidField(field, 'must not name a person twice')
}

/** The policy as its owner looks at it. */
export interface PolicyView {
  /** `approvers` by name: the owner where the policy names no one. */
  policy: Policy
  /**
   * In the order the policy names them; a person who is no longer owner or approver is not eligible and counts for nothing, and one who is
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
