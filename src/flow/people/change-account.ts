import type { Account } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { FlowDeps } from '../deps.ts'

/** What an account's document may be given in one write. */
export interface AccountPlan {
  fields: Partial<Pick<Account, 'name' | 'policy' | 'members'>>
  audit: AuditEntry[]
}

/** Lost races in a row before giving up. */
const MAX_ATTEMPTS = 16

/**
 * Changes an account by one conditional write, decided anew on fresh data whenever somebody else was faster.
 * @param plan what to write; undefined: nothing is to be done. Its refusals pass through
 * @throws Refusal `unavailable` after too many lost races, `not_found` when there is no such account
 */
export async function changeAccount(
  deps: Pick<FlowDeps, 'accounts'>,
  accountId: string,
  plan: (account: Account) => AccountPlan | undefined | Promise<AccountPlan | undefined>,
): Promise<Account> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const account = await deps.accounts.find(accountId)
    if (account === undefined) throw refusal('not_found')
    const planned = await plan(account)
    if (planned === undefined) return account
    const changed = await deps.accounts.change(account.id, account.version, planned.fields, planned.audit)
    if (changed !== undefined) return changed
  }
  throw refusal('unavailable')
}
