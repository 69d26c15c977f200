import type { Authenticators } from './authenticator.ts'
import { given } from './given.ts'

/** An account's rules for who decides its requests, and how. */
export interface Policy {
  /** User ids; an empty list means the owner alone. */
  approvers: string[]
  /** How many different approvers must approve. One rejection always rejects. */
  quorum: number
  /** Every approver must use a passkey. */
  passkey_only: boolean
  /** Every request counts as high impact. */
  high_impact: boolean
  /** Only people whom the operator vouched for decide: an owner could invite an address that they hold themself. */
  confirmed_only: boolean
  /** Only passkeys of these authenticators count, and no codes; absent: any passkey. */
  authenticators?: Authenticators
  /** When the service sends automatic reminders, as fractions of a request's lifetime. */
  reminders: number[]
}

/** The rules an API key may add to the account's policy: they narrow it and never widen it. */
export interface KeyPolicy {
  /** User ids; only those that the account's policy also names count. */
  approvers?: string[]
  quorum?: number
  passkey_only?: true
  high_impact?: true
}

/** One person who may decide, as snapshotted into the request at creation. */
export interface ApproverSnapshot {
  user_id: string
  /** Reference shown in receipts, 16 hex characters. */
  approver: string
}

/** The rules for deciding one request; fixed at creation, so later policy changes leave open requests alone. */
export interface Requirement {
  approvers: ApproverSnapshot[]
  quorum: number
  passkey_only: boolean
  /** Only people whom the operator vouched for count, also as delegates. */
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

/** Sources whose requests are always high impact (interface, "Created by source-control integrations"). */
const SOURCE_CONTROL = new Set(['github', 'gitlab', 'bitbucket', 'azure-devops'])

/**
 * Combines the account's policy with the key's: those of the account's approvers whom the key names (all if it names none), the
 * larger quorum, and every demand of either. An empty list in the account's policy means its owner.
 * @returns a policy that names every approver; here an empty list means nobody at all
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
    ...given({ authenticators: policy.authenticators }),
    reminders: policy.reminders,
  }
}

/**
 * Checks whether a request is high impact: the caller or a rule (the policy, or a key of a source-control integration)
 * marked it, or its source is a source-control integration.
 */
export function isHighImpact(marked: boolean, context: Record<string, unknown>): boolean {
  const source = context.source
  return marked || (typeof source === 'string' && SOURCE_CONTROL.has(source.trim().toLowerCase()))
}

/** The facts about a person that tell whether they could ever decide. */
export interface ApproverFactors {
  user_id: string
  approver: string
  /** The person has a passkey that the policy's `authenticators` permit. */
  has_passkey: boolean
  has_totp: boolean
  /** The operator vouched for them. */
  confirmed: boolean
}

/**
 * Fixes who must decide. Every named person is snapshotted, even without a factor: they may enrol while the request is open.
 * Under `confirmed_only`, people for whom only an owner vouches are left out. `authenticators` rule out codes, which would be
 * a way around them.
 * @returns undefined when the quorum is out of reach (fewer people than the quorum, or, under `passkey_only`, fewer people
 * with a passkey that counts)
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
    ...given({ authenticators }),
  }
}

/** Lists the factors a person may use. For high impact, a person who has a passkey must use it. */
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

/** Builds the rules of who may decide, as page and intent show them; demands that the policy does not make are left out. */
export function shownPolicy({ approvers, passkey_only, confirmed_only, authenticators }: Requirement) {
  return {
    approvers: approvers.map(({ approver }) => approver),
    passkey_only,
    ...(confirmed_only ? { confirmed_only } : {}),
    ...given({ authenticators }),
  }
}
