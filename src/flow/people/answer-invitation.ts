import type { Account, Member } from '../../domain/account.ts'
import { Refusal, refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import { changeMember, endInvitation } from './manage-members.ts'
import type { PeopleDeps } from './people-deps.ts'

type AnswerDeps = Pick<PeopleDeps, 'accounts' | 'enrollments' | 'vault' | 'random' | 'clock'>

/** The person who answers, and from where. */
interface Answering {
  userId: string
  address: string
}

/**
 * The invited person becomes a member; accepting twice is one acceptance. It takes the token of that account's own link: no
 * address here is proven, so somebody who took `bob@example.com` before Bob did must not get what another owner offers Bob
 * by handing him a link.
 * @throws Refusal `not_found`: unknown accounts, and those that have not invited the person, answer alike;
 * `enrollment_invalid` without a link of theirs that is open
 */
export async function acceptInvitation(
  deps: AnswerDeps,
  accountId: string,
  who: Answering,
  token: string,
): Promise<void> {
  const account = isId('acc', accountId) ? await deps.accounts.find(accountId) : undefined
  const member = memberIn(account, who.userId)
  if (member === undefined) throw refusal('not_found')
  if (member.state === 'active') return
  const link = await deps.enrollments.find(deps.vault.hash('enrollment', token))
  if (link?.account_id !== accountId || link.user_id !== who.userId) throw refusal('enrollment_invalid')
  await join(deps, accountId, who)
}

function memberIn(account: Account | undefined, userId: string): Member | undefined {
  return account?.members.find((member) => member.user_id === userId)
}

async function join(deps: AnswerDeps, accountId: string, who: Answering): Promise<void> {
  await answer(deps, accountId, who, (member) => {
    if (member.state === 'active') return undefined
    return { type: 'member.joined', as: joined(member, deps.clock.now()) }
  })
  await endInvitation(deps, accountId, who.userId)
}

/** @throws Refusal `not_found` as `acceptInvitation`, and for members */
export async function declineInvitation(deps: AnswerDeps, accountId: string, who: Answering): Promise<void> {
  await answer(deps, accountId, who, (member) => {
    if (member.state !== 'invited') throw refusal('not_found')
    return { type: 'member.declined' }
  })
  await endInvitation(deps, accountId, who.userId)
}

/** A member goes; an owner cannot leave their own account. @throws Refusal `not_found` for everybody but members */
export async function leaveAccount(deps: AnswerDeps, accountId: string, who: Answering): Promise<void> {
  await answer(deps, accountId, who, (member) => {
    if (member.state !== 'active') throw refusal('not_found')
    return { type: 'member.left' }
  })
}

/** Enrolling by the link of an invitation is its acceptance; one that was taken back meanwhile is none. */
export async function joinByEnrolling(deps: AnswerDeps, accountId: string, who: Answering): Promise<void> {
  try {
    await join(deps, accountId, who)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error
  }
}

async function answer(
  deps: AnswerDeps,
  accountId: string,
  { userId, address }: Answering,
  decide: Parameters<typeof changeMember>[3],
): Promise<void> {
  if (!isId('acc', accountId)) throw refusal('not_found')
  await changeMember(deps, { accountId, userId }, { kind: 'user', id: userId, address }, decide)
}

/** From now on the person goes by their own name. */
function joined({ name: _called, ...member }: Member, at: Date): Member {
  return { ...member, state: 'active', joined_at: at }
}
