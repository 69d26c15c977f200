import type { Authenticators } from './authenticator.ts'

/** An account's rules for who decides. */
export interface Policy {
  /** User ids; empty means: the owner alone. */
  approvers: string[]
  /** How many different approvers must approve. One rejection always rejects. */
  quorum: number
  /** Every approver must use a passkey. */
  passkey_only: boolean
  /** Every request counts as high impact. */
  high_impact: boolean
  /** Only people whom the operator vouched for decide: an owner who invites an address could be its holder as well. */
  confirmed_only: boolean
  /** Only such passkeys count, and no codes; absent: any passkey. */
  authenticators?: Authenticators
  /** When to remind by itself, as fractions of the time a request has. */
  reminders: number[]
}

/** What an API key may add to the account's policy: it narrows and never widens. */
export interface KeyPolicy {
  /** User ids; only those of them whom the account's policy names count. */
  approvers?: string[]
  quorum?: number
  passkey_only?: true
  high_impact?: true
}

/** One person who may decide, as snapshotted into the request at creation. */
export interface ApproverSnapshot {
  user_id: string
  /** 16 hex characters; what receipts show. */
  approver: string
}

/** What a request needs to be decided; fixed at creation, so later policy changes leave open requests alone. */
export interface Requirement {
  approvers: ApproverSnapshot[]
  quorum: number
  passkey_only: boolean
  /** Neither does a delegate count whom the operator did not vouch for. */
  confirmed_only?: true
  authenticators?: Authenticators
}

export const DEFAULT_POLICY: Policy = {
  approvers: [],
  quorum: 1,
  passkey_only: false,
  high_impact: false,
  confirmed_only: false,
  reminders: [0.5, 0.9],
}

/** Sources whose requests are high impact by themselves (interface, "Created by source-control integrations"). */
const SOURCE_CONTROL = new Set(['github', 'gitlab', 'bitbucket', 'azure-devops'])

/**
 * The policy under which a key's requests stand: of the account's approvers those the key names, the larger quorum, and
 * every demand of either. An empty list of the account means its owner.
 * @returns approvers by name; an empty list now means no person at all
 */
export function policyFor(account: { owner_id: string; policy: Policy }, key: KeyPolicy | undefined): Policy {
  const { policy, owner_id } = account
  const named = policy.approvers.length === 0 ? [owner_id] : policy.approvers
  const wanted = key?.approvers
  return {
    approvers: wanted === undefined ? named : named.filter((id) => wanted.includes(id)),
    quorum: Math.max(policy.quorum, key?.quorum ?? 1),
    passkey_only: policy.passkey_only || key?.passkey_only === true,
    high_impact: policy.high_impact || key?.high_impact === true,
    confirmed_only: policy.confirmed_only,
    ...(policy.authenticators === undefined ? {} : { authenticators: policy.authenticators }),
    reminders: policy.reminders,
  }
}

/**
 * True when the caller or a rule (the policy, or a key of a source-control integration) marked the request, or its source is
 * a source-control integration.
 */
export function isHighImpact(marked: boolean, context: Record<string, unknown>): boolean {
  const source = context.source
  return marked || (typeof source === 'string' && SOURCE_CONTROL.has(source.trim().toLowerCase()))
}

/** What policy needs to know of a person to say whether they could ever decide. */
export interface ApproverFactors {
  user_id: string
  approver: string
  /** One that the policy's `authenticators` permit. */
  has_passkey: boolean
  has_totp: boolean
  /** Did the operator vouch for them? */
  confirmed: boolean
}

/**
 * Fixes who must decide. Each person named is snapshotted, also people without a factor yet: they may enrol while it is open.
 * Under `confirmed_only` those for whom only an owner vouches are not.
 * `authenticators` leave no place for codes: they would be a way around the rule.
 * @returns undefined when the quorum could not be reached even then (fewer people than the quorum, or, under
 * `passkey_only`, fewer people with a passkey that counts).
 */
export function requirementFor(policy: Policy, people: ApproverFactors[]): Requirement | undefined {
  const { quorum, confirmed_only, authenticators } = policy
  const passkey_only = policy.passkey_only || authenticators !== undefined
  const counting = confirmed_only ? people.filter(({ confirmed }) => confirmed) : people
  const able = passkey_only ? counting.filter((person) => person.has_passkey) : counting
  if (able.length < quorum || quorum < 1) return undefined
  const approvers = counting.map(({ user_id, approver }) => ({ user_id, approver }))
  return {
    approvers,
    quorum,
    passkey_only,
    ...(confirmed_only ? { confirmed_only } : {}),
    ...(authenticators === undefined ? {} : { authenticators }),
  }
}

/** The factors a person may use here: high impact asks a person who has a passkey for it. */
export function allowedMethods(
  rule: { passkey_only: boolean; high_impact: boolean },
  factors: { has_passkey: boolean; has_totp: boolean },
): ('passkey' | 'totp')[] {
  const methods: ('passkey' | 'totp')[] = []
  if (factors.has_passkey) methods.push('passkey')
  const passkeyForced = rule.passkey_only || (rule.high_impact && factors.has_passkey)
  if (factors.has_totp && !passkeyForced) methods.push('totp')
  return methods
}

/** Who may decide, as page and statement say it; what the policy does not ask for is left out. */
export function shownPolicy({ approvers, passkey_only, confirmed_only, authenticators }: Requirement) {
  return {
    approvers: approvers.map(({ approver }) => approver),
    passkey_only,
    ...(confirmed_only ? { confirmed_only } : {}),
    ...(authenticators === undefined ? {} : { authenticators }),
  }
}
