import type { Delegate } from '../../src/domain/user.ts'
import { assertWith, type EnrolledPerson, expectStatus } from './enrolled.ts'
import type { Answer } from './http-client.ts'
import { asMembers } from './members.ts'
import type { TestService } from './service.ts'
import type { AssertionCeremony } from './soft-authenticator.ts'

/** One line of a batch, as the page sends it. */
export interface BatchLine {
  id: string
  decision: 'approved' | 'rejected'
}

export const BATCH = '/api/v1/approvals/decisions'

export const approve = (...ids: string[]): BatchLine[] => ids.map((id) => ({ id, decision: 'approved' }))
export const reject = (...ids: string[]): BatchLine[] => ids.map((id) => ({ id, decision: 'rejected' }))

/** Asks for the options of a batch and must get them. */
export async function startBatch(
  person: Pick<EnrolledPerson, 'browser'>,
  items: readonly BatchLine[],
): Promise<Answer['body']> {
  return expectStatus(await person.browser.post(`${BATCH}/options`, { items }), 200)
}

/** Starts a batch and answers its challenge, without posting the answer. */
export async function proveBatch(
  service: TestService,
  person: EnrolledPerson,
  items: readonly BatchLine[],
  ceremony: Partial<AssertionCeremony> = {},
): Promise<{ batch_id: string; passkey: object }> {
  const { batch_id, options } = await startBatch(person, items)
  return { batch_id, passkey: assertWith(person, service, options, ceremony) }
}

/** Decides a batch with one gesture, as the page does. */
export async function decideBatch(
  service: TestService,
  person: EnrolledPerson,
  items: readonly BatchLine[],
  said: { comment?: string; reason?: string } = {},
): Promise<Answer> {
  return person.browser.post(BATCH, { ...(await proveBatch(service, person, items)), ...said })
}

/** Lets these people decide in the account, as its owner's policy would. */
export async function nameApprovers(
  service: TestService,
  ownerId: string,
  rule: { approvers: string[]; quorum?: number; passkey_only?: boolean; members?: string[] },
): Promise<void> {
  const { deps, connection } = service.composition
  const account = (await deps.users.find(ownerId))?.account_id
  if (account === undefined) throw new Error('no such owner')
  const policy = {
    approvers: rule.approvers,
    quorum: rule.quorum ?? 1,
    passkey_only: rule.passkey_only ?? false,
    high_impact: false,
    reminders: [],
  }
  const others = (rule.members ?? rule.approvers).filter((id) => id !== ownerId)
  const accounts = connection.collection<{ _id: string }>('accounts')
  await accounts.updateOne({ _id: account }, { $set: { policy, members: asMembers(others) } })
}

/** Somebody stands in for somebody, from an hour ago for an hour, or not any more. */
export async function setDelegate(
  service: TestService,
  principalId: string,
  delegateId: string | null,
): Promise<void> {
  const { users, clock } = service.composition.deps
  const user = await users.find(principalId)
  if (user === undefined) throw new Error('no such person')
  const at = clock.now().getTime()
  const delegate: Delegate | null =
    delegateId === null
      ? null
      : { user_id: delegateId, starts_at: new Date(at - 3_600_000), ends_at: new Date(at + 3_600_000) }
  if ((await users.change(user.id, user.version, { delegate }, [])) === undefined)
    throw new Error('somebody else changed the person')
}
