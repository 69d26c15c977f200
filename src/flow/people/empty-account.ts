import type { Account } from '../../domain/account.ts'
import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import type { ChatPlatform } from '../../domain/chat.ts'
import { Refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import type { User } from '../../domain/user.ts'
import { withdraw } from '../cancel-request.ts'
import { leaveInstallation } from '../chat/connect-account.ts'
import type { FlowDeps } from '../deps.ts'
import { revokeApiKey } from '../manage-api-keys.ts'
import type { Owner } from '../webhooks/manage-webhooks.ts'
import { deleteWebhook } from '../webhooks/manage-webhooks.ts'
import { changeAccount } from './accounts.ts'
import { memberAudit } from './members.ts'

export type EmptyDeps = Pick<
  FlowDeps,
  | 'accounts'
  | 'apiKeys'
  | 'requests'
  | 'webhooks'
  | 'installations'
  | 'changes'
  | 'targets'
  | 'vault'
  | 'audit'
  | 'clock'
  | 'random'
  | 'log'
>

/** Requests withdrawn at a time. */
const BATCH = 100

const PLATFORMS: readonly ChatPlatform[] = ['slack', 'teams']

/**
 * Takes out of a person's own account what an earlier holder may have left there to read along or to ask: webhooks,
 * keys and what waits that was asked with them, workspaces, channels, members and the policy that names them. May be
 * interrupted and repeated anywhere.
 */
export async function emptyAccount(
  deps: EmptyDeps,
  { id, account_id: accountId }: Pick<User, 'id' | 'account_id'>,
  address: string,
): Promise<void> {
  const actor = { kind: 'user', id, address } as const
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
  await removeChannels(deps, owner)
  await changeAccount(deps, accountId, (account) => withoutOthers(deps, account, actor))
}

/** A callback would hand its caller a receipt in the name of the person who has the account now. */
async function withdrawAll(deps: EmptyDeps, api_key_id: string, actor: AuditActor): Promise<void> {
  for (;;) {
    const waiting = await deps.requests.list({ api_key_id, status: 'pending', limit: BATCH })
    await Promise.all(waiting.map((request) => withdraw(deps, request, actor)))
    if (waiting.length < BATCH) return
  }
}

/** Another process ended it at the same moment. */
async function unlessGone(ending: Promise<unknown>): Promise<void> {
  try {
    await ending
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error
  }
}

async function removeChannels(deps: EmptyDeps, { accountId, actor }: Owner): Promise<void> {
  const { channels = [] } = (await deps.accounts.find(accountId)) ?? {}
  for (const { platform, tenant, channel } of channels) {
    const entry = entryOf(deps, 'channel.removed', { accountId, actor }, { platform, tenant, channel })
    await deps.accounts.removeChannel(accountId, { platform, tenant, channel }, entry)
  }
}

/** @returns undefined when it has neither members nor a policy of its own */
function withoutOthers(deps: EmptyDeps, account: Account, actor: AuditActor) {
  const { id: accountId, members, policy } = account
  const plain = JSON.stringify(policy) === JSON.stringify({ ...policy, ...DEFAULT_POLICY })
  if (plain && members.length === 0) return undefined
  const { quorum, passkey_only, high_impact } = DEFAULT_POLICY
  const rules = { quorum, passkey_only, high_impact, approvers: account.owner_id }
  const changed = plain ? [] : [entryOf(deps, 'policy.changed', { accountId, actor }, rules)]
  const removed = members.map((member) => memberAudit(deps, 'member.removed', account, member, actor))
  return { fields: { members: [], policy: DEFAULT_POLICY }, audit: [...changed, ...removed] }
}

function entryOf(
  deps: Pick<FlowDeps, 'random' | 'clock'>,
  type: 'channel.removed' | 'policy.changed',
  { accountId, actor }: Owner,
  detail: NonNullable<AuditEntry['detail']>,
): AuditEntry {
  const about = { account_id: accountId, subject: accountId, detail }
  return { eid: drawId(deps, 'evt'), type, at: deps.clock.now(), actor, ...about }
}
