import type { Account } from '../../domain/account.ts'
import type { AuditActor } from '../../domain/audit.ts'
import type { ChatPlatform } from '../../domain/chat.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import type { User } from '../../domain/user.ts'
import { channelAudit, leaveInstallation } from '../chat/connect-account.ts'
import type { FlowDeps } from '../deps.ts'
import { revokeApiKey } from '../keys/manage-api-keys.ts'
import { changeFresh, personAudit } from '../people/person.ts'
import { withdraw } from '../requests/cancel-request.ts'
import { deleteWebhook } from '../webhooks/manage-webhooks.ts'
import { memberAudit, unlessGone } from './members.ts'

/** Requests withdrawn at a time. */
const BATCH = 100

/** The platforms whose workspaces an account can have. */
export const PLATFORMS: readonly ChatPlatform[] = ['slack', 'teams']

/**
 * Empties the account, then confirms the address. Webhooks, keys and channels of the earlier holder would still receive events,
 * or ask, on behalf of the account. The address counts for the person only afterwards: should the service stop before, nothing
 * reaches them by it, and another link from the operator starts again.
 */
export async function takeOver(deps: FlowDeps, person: User, address: string): Promise<void> {
  await emptyAccount(deps, person, { kind: 'user', id: person.id, address })
  await changeFresh(deps.users, person.id, () => ({ fields: { invited_by_account: null }, audit: [] }))
}

/**
 * Removes from a person's own account what an earlier holder may have left there to read along or to make requests:
 * webhooks, keys and the pending requests made with them, workspaces, channels, members and the policy that names them.
 * May be interrupted and repeated at any point.
 */
export async function emptyAccount(
  deps: FlowDeps,
  person: Pick<User, 'id' | 'account_id'>,
  actor: AuditActor,
): Promise<void> {
  const { account_id: accountId } = person
  const owner = { accountId, actor }
  for (const webhook of await deps.webhooks.list(accountId))
    await unlessGone(deleteWebhook(deps, owner, webhook.id))
  for (const key of await deps.apiKeys.list(accountId)) {
    if (key.internal === true) continue
    if (key.revoked_at === null) await unlessGone(revokeApiKey(deps, key.id, accountId, actor))
    await withdrawAll(deps, key.id, actor)
  }
  for (const platform of PLATFORMS)
    for (const { tenant } of await deps.installations.ofAccount(platform, accountId))
      await unlessGone(leaveInstallation(deps, owner, platform, tenant))
  const { channels = [] } = (await deps.accounts.find(accountId)) ?? {}
  for (const channel of channels) {
    const entry = channelAudit(deps, person, { type: 'channel.removed', channel, actor })
    await deps.accounts.removeChannel(accountId, channel, entry)
  }
  // Whoever was invited may have made no account.
  await unlessGone(changeFresh(deps.accounts, accountId, (account) => withoutOthers(deps, account, actor)))
}

/** Withdraws the key's requests: a callback would hand its caller a receipt in the name of the account's new holder. */
async function withdrawAll(deps: FlowDeps, api_key_id: string, actor: AuditActor): Promise<void> {
  for (;;) {
    const waiting = await deps.requests.list({ api_key_id, status: 'pending', limit: BATCH })
    await Promise.all(waiting.map((request) => withdraw(deps, request, actor)))
    if (waiting.length < BATCH) return
  }
}

/** Plans the removal of members and policy. @returns undefined when the account has neither members nor a policy of its own */
function withoutOthers(deps: FlowDeps, account: Account, actor: AuditActor) {
  const { id: account_id, owner_id, members, policy } = account
  const { authenticators, ...rest } = policy
  const plain =
    authenticators === undefined && JSON.stringify(rest) === JSON.stringify({ ...rest, ...DEFAULT_POLICY })
  if (plain && members.length === 0) return undefined
  const { quorum, passkey_only, high_impact } = DEFAULT_POLICY
  const detail = { quorum, passkey_only, high_impact, approvers: owner_id }
  const about = { actor, subject: account_id, detail }
  const changed = plain ? [] : [personAudit(deps, 'policy.changed', { id: owner_id, account_id }, about)]
  const removed = members.map((member) => memberAudit(deps, 'member.removed', account, member, actor))
  return { fields: { members: [], policy: DEFAULT_POLICY }, audit: [...changed, ...removed] }
}
