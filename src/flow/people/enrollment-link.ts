import { drawId } from '../../domain/identifier.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import type { Enrollment } from '../../store/enrollments.ts'
import type { PeopleDeps } from './people-deps.ts'

/** A one-time link; it is shown once, only its token's hash is stored. */
export interface EnrollmentLink {
  url: string
  expires_at: Date
}

export type LinkDeps = Pick<PeopleDeps, 'enrollments' | 'vault' | 'clock' | 'random' | 'party'>

const LIFETIME_MS = { invite: 7 * 86_400_000, setup: 86_400_000 } as const

/** The link by which the first owner signs up. The one before ends. */
export function issueSetupLink(deps: LinkDeps): Promise<EnrollmentLink> {
  return issue(deps, { kind: 'setup' }, () => deps.enrollments.revokeOpen('setup'))
}

/** The operator's word that this person may enrol a factor. Every other open link of theirs ends. */
export function issueOperatorLink(deps: LinkDeps, userId: string): Promise<EnrollmentLink> {
  const of = { user_id: userId }
  return issue(deps, { kind: 'invite', ...of }, () => deps.enrollments.revokeOpen('invite', of))
}

/**
 * An invitation to become a member. It ends those the account gave out before: an owner's link leaves one that the operator
 * gave out, which may do more than it.
 */
export function issueMemberLink(
  deps: LinkDeps,
  invited: { user_id: string; account_id: string },
  by: 'owner' | 'operator',
): Promise<EnrollmentLink> {
  const mark = by === 'operator' ? { by_operator: true as const } : {}
  const replaced = by === 'operator' ? invited : { ...invited, by_operator: null }
  const end = () => deps.enrollments.revokeOpen('invite', replaced)
  return issue(deps, { kind: 'invite', ...invited, ...mark }, end)
}

async function issue(
  deps: LinkDeps,
  facts: Pick<Enrollment, 'kind' | 'user_id' | 'account_id' | 'by_operator'>,
  endOthers: () => Promise<void>,
): Promise<EnrollmentLink> {
  const token = toBase64Url(deps.random.bytes(32))
  const created_at = deps.clock.now()
  const expires_at = new Date(created_at.getTime() + LIFETIME_MS[facts.kind])
  await endOthers()
  await deps.enrollments.insert({
    id: drawId(deps, 'enr'),
    ...facts,
    token_hash: deps.vault.hash('enrollment', token),
    tries: 0,
    created_at,
    expires_at,
  })
  // In the fragment: it reaches neither a server's log nor a Referer header (T14).
  const path = facts.kind === 'setup' ? 'setup' : 'enroll'
  return { url: `${deps.party.origin}/${path}#${token}`, expires_at }
}
