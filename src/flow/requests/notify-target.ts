import { type Account, roleIn } from '../../domain/account.ts'
import { type ChatPlatform, UNKNOWN_TENANT } from '../../domain/chat.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import { channelsNamed, type NotifyTarget, type ShownTarget } from '../../domain/notify.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { visibleLine } from '../../domain/text.ts'
import { normaliseEmail, type User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'

/** `notify` of a create body: exactly one of the two. */
export interface NotifyInput {
  channel?: string | undefined
  member?: string | undefined
}

/**
 * Finds where the caller wants the outcome told. A caller can write only to channels that the owner has connected and to members
 * who linked an identity, turned on notifications or confirmed their address themselves; strangers, and members who did none of
 * that, are refused alike (T89).
 * @throws Refusal `notify_not_linked`, `invalid_field` for a name that several channels have
 */
export async function findTarget(
  deps: FlowDeps,
  account: Account,
  input: NotifyInput,
): Promise<NotifyTarget> {
  const served = await servedTo(deps, account.id)
  if (input.channel !== undefined) {
    const named = channelsNamed(account, input.channel)
    const [found, ...others] = named.filter((one) => serves(served, one.platform, one.tenant))
    if (others.length > 0)
      throw invalidField('notify.channel', 'is the name of several channels; send the id of one')
    if (found === undefined) throw refusal('notify_not_linked', { field: 'notify.channel' })
    const { platform, tenant, channel } = found
    return { kind: 'channel', named: input.channel, platform, tenant, channel }
  }
  const { member = '' } = input
  const person = await memberNamed(deps, account, member)
  const linked = person?.chat.some(({ platform, tenant }) => serves(served, platform, tenant))
  const heard = linked || (person !== undefined && (await deps.pushDevices.activeOf([person.id])).length > 0)
  if (person === undefined || !heard) throw refusal('notify_not_linked', { field: 'notify.member' })
  return { kind: 'member', named: member, user_id: person.id }
}

async function memberNamed({ users }: FlowDeps, account: Account, named: string): Promise<User | undefined> {
  const email = normaliseEmail(named)
  const found = isId('usr', named)
    ? users.find(named)
    : email === undefined
      ? undefined
      : users.findByEmail(email)
  const person = await found
  return person !== undefined && roleIn(account, person.id) !== undefined ? person : undefined
}

/** The workspaces of a platform in which an account is served. */
interface Served {
  platform: ChatPlatform
  tenants: readonly string[]
}

/** Lists the workspaces in which this account is served. */
export async function servedTo({ chats }: FlowDeps, accountId: string): Promise<Served[]> {
  return Promise.all(
    chats.map(async (chat) => ({ platform: chat.platform, tenants: await chat.tenantsOf(accountId) })),
  )
}

/** Checks whether cards go there; yes while the platform has not named its workspace. */
export function serves(served: readonly Served[], platform: ChatPlatform, tenant: string): boolean {
  return served.some(
    (one) => one.platform === platform && [tenant, UNKNOWN_TENANT].some((id) => one.tenants.includes(id)),
  )
}

/** Names to its approvers where the outcome of a pending request goes; undefined where it goes nowhere else. */
export async function nameTarget(
  { accounts, users }: FlowDeps,
  { status, sandbox, notify, account_id }: ApprovalRequest,
): Promise<ShownTarget | undefined> {
  if (notify === undefined || status !== 'pending' || sandbox) return undefined
  if (notify.kind === 'member') {
    const person = await users.find(notify.user_id)
    return person && { kind: notify.kind, name: visibleLine(person.name) }
  }
  const { kind, platform, tenant, channel } = notify
  const found = (await accounts.find(account_id))?.channels.find(
    (one) => one.platform === platform && one.tenant === tenant && one.channel === channel,
  )
  return found && { kind, platform, name: found.name ?? channel }
}
