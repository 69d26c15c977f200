import { Refusal } from '../../src/domain/errors.ts'
import type { User } from '../../src/domain/user.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { decide } from '../../src/flow/requests/decide.ts'
import { startDecision } from '../../src/flow/requests/prove-presence.ts'
import type { EnrolledPerson } from './enrolled.ts'
import { asMembers } from './members.ts'
import type { TestService } from './service.ts'

/** Decides through the verbs themselves, below HTTP: for races of many thousands. */
export interface Decider {
  person: EnrolledPerson
  user: User
  /** In which they confirm; the verbs only compare it. */
  session: { id: string }
}

/** The person as stored, next to their authenticator. */
export async function deciderOf(service: TestService, person: EnrolledPerson): Promise<Decider> {
  const user = await service.composition.deps.users.find(person.userId)
  if (user === undefined) throw new Error('no such person')
  return { person, user, session: { id: `ses_of_${user.id}` } }
}

/** Answers a fresh challenge for this outcome. */
export async function proveFor(
  deps: FlowDeps,
  decider: Decider,
  requestId: string,
  decision: 'approved' | 'rejected',
) {
  const { options } = await startDecision(deps, decider, requestId, decision)
  const response = decider.person.authenticator.authenticate(options, { origin: deps.party.origin })
  return {
    requestId,
    decision,
    comment: null,
    proof: { method: 'passkey' as const, response },
    address: '127.0.0.1',
  }
}

/** Decides and tells what came of it: the vote's decision id, or the refusal's code. */
export async function tryDecide(
  deps: FlowDeps,
  decider: Decider,
  input: Awaited<ReturnType<typeof proveFor>>,
): Promise<string> {
  try {
    const { vote } = await decide(deps, decider, input)
    return vote.decision_id
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

/** Names these people as approvers of the owner's account, as the policy of new requests. */
export async function setPolicy(
  service: TestService,
  accountId: string,
  policy: { approvers: string[]; quorum: number; passkey_only?: boolean },
): Promise<void> {
  const accounts = service.composition.connection.collection<{ _id: string }>('accounts')
  await accounts.updateOne(
    { _id: accountId },
    { $set: { policy: { passkey_only: false, ...policy }, members: asMembers(policy.approvers) } },
  )
}
