import type { AuditEntry, AuditType } from '../../domain/audit.ts'
import type { ChatPlatform } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import { ID_BYTES, newId } from '../../domain/identifier.ts'
import { sha256Hex } from '../../signing/encoding.ts'
import type { ChatInstallation } from '../chat-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { type Owner, ownerAudit } from '../webhooks/own-webhook.ts'

type InstallationDeps = Pick<FlowDeps, 'installations' | 'audit' | 'clock' | 'random'>

/** A workspace and its sealed tokens, as a platform hands them over. */
export type NewInstallation = Pick<ChatInstallation, 'platform' | 'tenant' | 'workspace_name' | 'sealed'>

/**
 * Keeps a workspace for the owner's account, beside the accounts that have it already; its name and tokens are replaced.
 * The trail is told first: an entry about an installation that then fails does no harm, one without an entry would.
 */
export async function addInstallation(
  deps: InstallationDeps,
  owner: Owner,
  fresh: NewInstallation,
): Promise<void> {
  const at = deps.clock.now()
  await deps.audit.append(entryOf(deps, 'chat.installed', owner, fresh, at))
  await deps.installations.put({ ...fresh, account_ids: [owner.accountId], installed_at: at })
}

/**
 * Forgets a workspace whose people removed the app, for every account, and its tokens with it. Here, too, the trail is told
 * first; whoever was interrupted may begin again.
 * @returns false when it was not known (any more): platforms tell of one removal more than once
 */
export async function removeInstallation(
  deps: InstallationDeps,
  platform: ChatPlatform,
  tenant: string,
): Promise<boolean> {
  const known = await deps.installations.find(platform, tenant)
  if (known === undefined) return false
  const at = deps.clock.now()
  const entries = known.account_ids.map((accountId) => {
    const entry = entryOf(deps, 'chat.uninstalled', { accountId, actor: { kind: 'service' } }, known, at)
    return { ...entry, eid: removalId(known, accountId) }
  })
  await deps.audit.append(...entries)
  return (await deps.installations.remove(platform, tenant)) !== undefined
}

/**
 * The account's people get no more cards in that workspace. What no account has any more is forgotten, tokens and all; the
 * app itself stays in the workspace until somebody there removes it. As everywhere here, the trail is told first.
 * @throws Refusal `not_found` when the account does not have it
 */
export async function leaveInstallation(
  deps: InstallationDeps & Pick<FlowDeps, 'log'>,
  owner: Owner,
  platform: ChatPlatform,
  tenant: string,
): Promise<void> {
  const known = await deps.installations.find(platform, tenant)
  if (!known?.account_ids.includes(owner.accountId)) throw refusal('not_found')
  await deps.audit.append(entryOf(deps, 'chat.uninstalled', owner, known, deps.clock.now()))
  await deps.installations.leave(platform, tenant, owner.accountId)
  deps.log.info({ account_id: owner.accountId, platform, tenant }, 'an account left a workspace')
}

/** The same whenever this removal is told of, so that the trail has it once. */
function removalId({ platform, tenant, installed_at }: ChatInstallation, accountId: string): string {
  const digest = sha256Hex(JSON.stringify([platform, tenant, installed_at, accountId]))
  return newId('evt', Buffer.from(digest, 'hex').subarray(0, ID_BYTES))
}

function entryOf(
  deps: Pick<FlowDeps, 'random'>,
  type: AuditType,
  owner: Owner,
  { platform, tenant, workspace_name }: Omit<NewInstallation, 'sealed'>,
  at: Date,
): AuditEntry {
  const entry = ownerAudit(deps, type, owner, `${platform}:${tenant}`, at)
  return { ...entry, detail: { platform, tenant, workspace: workspace_name } }
}
