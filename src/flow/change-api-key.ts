import type { Account } from '../domain/account.ts'
import type { ApiKey } from '../domain/api-key.ts'
import type { AuditEntry } from '../domain/audit.ts'
import { invalidField, refusal } from '../domain/errors.ts'
import { drawId, isId } from '../domain/identifier.ts'
import { type KeyPolicy, policyFor } from '../domain/policy.ts'
import type { FlowDeps } from './deps.ts'
import { readPolicy, refuseDoubles } from './people/policy.ts'
import type { SignedIn } from './people/sessions.ts'
import { type Proof, proveFactor } from './people/step-up.ts'

/** What is to be changed of a key; what is left out stays. `policy: null`: the account's alone holds again. */
export interface KeyChange {
  name?: string | undefined
  policy?: Loose<KeyPolicy> | null | undefined
  source_control?: boolean | undefined
}

type Loose<Fields> = { [Field in keyof Fields]: Fields[Field] | undefined }

/**
 * Changes a key of the person's own account that is not revoked; from the next request on. Another policy or source-control
 * mark needs a fresh proof, whichever way it goes: what narrows today is what an intruder loosens tomorrow.
 * @throws Refusal `not_found`, `invalid_field`, `no_eligible_approver`, and those of `proveFactor`
 */
export async function changeApiKey(
  deps: FlowDeps,
  who: SignedIn,
  { id, change, proof }: { id: string; change: KeyChange; proof: Proof | undefined },
  address: string,
): Promise<ApiKey> {
  const { account_id } = who.user
  const key = isId('key', id) ? await deps.apiKeys.find(id) : undefined
  const mine = key?.account_id === account_id && key.internal !== true && key.revoked_at === null
  if (key === undefined || !mine) throw refusal('not_found')
  const account = await deps.accounts.find(account_id)
  if (account === undefined) throw refusal('not_found')
  const policy = narrowing(change.policy)
  if (policy !== undefined && policy !== null) await checkKeyPolicy(deps, account, policy)
  if (change.policy !== undefined || change.source_control !== undefined)
    await proveFactor(deps, who, { operation: 'key.change', target: id }, proof, address)
  const fields = {
    ...(change.name === undefined ? {} : { name: change.name }),
    ...(policy === undefined ? {} : { policy }),
    ...(change.source_control === undefined ? {} : { source_control: change.source_control || null }),
  }
  if (Object.keys(fields).length === 0) return key
  const actor = { kind: 'user', id: who.user.id, address } as const
  const audit: AuditEntry = {
    eid: drawId(deps, 'evt'),
    type: 'key.changed',
    at: deps.clock.now(),
    actor,
    account_id,
    subject: id,
    detail: detailOf(change, policy),
  }
  const changed = await deps.apiKeys.change(id, account_id, fields, audit)
  if (changed === undefined) throw refusal('not_found')
  return changed
}

/** A policy that says nothing is none. */
function narrowing(policy: KeyChange['policy']): KeyPolicy | null | undefined {
  if (policy === undefined || policy === null) return policy
  const { approvers, quorum, passkey_only, high_impact } = policy
  const said = {
    ...(approvers === undefined ? {} : { approvers }),
    ...(quorum === undefined ? {} : { quorum }),
    ...(passkey_only === undefined ? {} : { passkey_only }),
    ...(high_impact === undefined ? {} : { high_impact }),
  }
  return Object.keys(said).length === 0 ? null : said
}

async function checkKeyPolicy(
  deps: Pick<FlowDeps, 'users'>,
  account: Account,
  policy: KeyPolicy,
): Promise<void> {
  const { approvers, quorum } = policy
  const named = policyFor(account, undefined).approvers
  if (approvers !== undefined) {
    refuseDoubles(approvers, 'policy.approvers')
    if (!approvers.every((id) => named.includes(id)))
      throw invalidField('policy.approvers', 'must be among the approvers of the account')
  }
  if (quorum !== undefined && quorum > (approvers ?? named).length)
    throw invalidField('policy.quorum', 'must not exceed the number of approvers')
  const { reachable } = await readPolicy(deps, account, policy)
  if (!reachable) throw refusal('no_eligible_approver')
}

function detailOf(change: KeyChange, policy: KeyPolicy | null | undefined): AuditEntry['detail'] & object {
  const { name, source_control } = change
  return {
    ...(name === undefined ? {} : { name }),
    ...(source_control === undefined ? {} : { source_control }),
    ...(policy === undefined ? {} : { policy: policy !== null }),
    ...(policy?.approvers === undefined ? {} : { approvers: policy.approvers.join(' ') }),
    ...(policy?.quorum === undefined ? {} : { quorum: policy.quorum }),
    ...(policy?.passkey_only === undefined ? {} : { passkey_only: true }),
    ...(policy?.high_impact === undefined ? {} : { high_impact: true }),
  }
}
