import { type Account, DEFAULT_MONTHLY_QUOTA } from '../../domain/account.ts'
import { drawId } from '../../domain/identifier.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import { DEFAULT_TTL_SECONDS, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import type { PeopleDeps } from './people-deps.ts'

/** A user handle tells an authenticator nothing about the person (WebAuthn L3 §14.6.1). */
export function drawUserHandle(deps: Pick<PeopleDeps, 'random'>): string {
  return toBase64Url(deps.random.bytes(32))
}

/** A person and the account of their own, as they are first stored: no factors yet. */
export function newPerson(
  deps: Pick<PeopleDeps, 'random' | 'clock' | 'vault'>,
  facts: { email: string; name: string; id?: string; user_handle?: string } & Partial<
    Pick<User, 'home_account_id' | 'invited_by_account'>
  >,
): { user: User; account: Account } {
  const id = facts.id ?? drawId(deps, 'usr')
  const account_id = drawId(deps, 'acc')
  const created_at = deps.clock.now()
  return {
    account: {
      id: account_id,
      owner_id: id,
      name: facts.name,
      policy: { ...DEFAULT_POLICY },
      channels: [],
      members: [],
      monthly_quota: DEFAULT_MONTHLY_QUOTA,
      created_at,
      version: 0,
    },
    user: {
      id,
      email: facts.email,
      name: facts.name,
      account_id,
      ...(facts.home_account_id === undefined ? {} : { home_account_id: facts.home_account_id }),
      ...(facts.invited_by_account === undefined ? {} : { invited_by_account: facts.invited_by_account }),
      approver: deps.vault.hash('approver', id).slice(0, 16),
      user_handle: facts.user_handle ?? drawUserHandle(deps),
      default_ttl_seconds: DEFAULT_TTL_SECONDS,
      passkeys: [],
      backup_codes: [],
      devices: [],
      chat: [],
      created_at,
      enrolled_at: null,
      version: 0,
      audit: [],
    },
  }
}
