import { isDeepStrictEqual } from 'node:util'
import { type Account, may, roleIn } from '../../domain/account.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import { type User, usablePasskeys } from '../../domain/user.ts'
import type { NextSteps } from '../../domain/views.ts'
import type { FlowDeps } from '../deps.ts'
import { accessTo } from '../people/accounts.ts'

/** The latest approvals among which one that its caller has used is looked for. */
const LOOKED_THROUGH = 20

/**
 * Tells what a person has set up for themself and, where they are the owner, for the account, as the store has it now. Nothing is
 * read for the owner's part once they hid the list.
 * @throws Refusal `not_found` as `accessTo`
 */
export async function nextSteps(deps: FlowDeps, person: User, accountId?: string): Promise<NextSteps> {
  const { account, role } = await accessTo(deps, person, 'read_own', accountId)
  const hidden = person.next_steps_hidden === true
  const [places, owner] = await Promise.all([
    deps.pushDevices.activeOf([person.id]),
    may(role, 'manage') && !hidden ? ownersSteps(deps, account) : undefined,
  ])
  const chat = person.chat.length > 0
  const mail = places.some(({ kind }) => kind === 'mail')
  return {
    hidden,
    second_passkey: usablePasskeys(person).length > 1,
    told: places.length > 0 || chat,
    ...(owner === undefined ? {} : { owner: { ...owner, chat_or_mail: owner.channels || chat || mail } }),
  }
}

async function ownersSteps(deps: FlowDeps, account: Account) {
  const { id: account_id, members, policy, channels } = account
  const approvers = members.filter(({ user_id }) => may(roleIn(account, user_id), 'decide'))
  const named = approvers.filter(({ user_id }) => policy.approvers.includes(user_id))
  const [approved, rejected] = await Promise.all([
    deps.history.page({ account_id, status: 'approved', limit: LOOKED_THROUGH }),
    deps.history.outlines({ account_id, status: 'rejected', limit: 1 }),
  ])
  return {
    first_decision: approved.length + rejected.length > 0,
    member: named.length > 0,
    member_unnamed: named.length < approvers.length,
    policy: !isDeepStrictEqual(policy, DEFAULT_POLICY),
    channels: channels.length > 0,
    approval_used: approved.some(({ sandbox, consumed_at }) => !sandbox && consumed_at !== undefined),
  }
}
