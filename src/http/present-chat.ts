import type { AccountChannel } from '../domain/account.ts'
import { identityKey, type LinkedIdentity } from '../domain/chat.ts'
import type { ChatApps } from '../flow/chat/manage-installations.ts'
import type { ChatLink } from '../flow/chat-ports.ts'

/** What a one-time link is for; its token and the people behind it stay inside. */
export function presentChatLink({ id, kind, identity, shown_as, expires_at }: ChatLink) {
  const { person, workspace, channel } = shown_as
  return {
    id,
    kind,
    platform: identity.platform,
    person,
    workspace,
    ...(kind === 'channel' && channel !== undefined ? { channel } : {}),
    expires_at: expires_at.toISOString(),
  }
}

/** A linked identity as its person sees it. */
export function presentIdentity(identity: LinkedIdentity) {
  const { platform, tenant, shown_as, linked_at } = identity
  return {
    key: identityKey(identity),
    platform,
    tenant,
    ...(shown_as === undefined ? {} : { person: shown_as.person, workspace: shown_as.workspace }),
    linked_at: linked_at.toISOString(),
  }
}

/** A channel as the account's owner sees it. */
export function presentChannel({ platform, tenant, channel, name, workspace }: AccountChannel) {
  return {
    platform,
    tenant,
    channel,
    ...(name === undefined ? {} : { name }),
    ...(workspace === undefined ? {} : { workspace }),
  }
}

/** How chat is set up for an account; never a token. */
export function presentChatApps({ slack, teams }: ChatApps) {
  return {
    slack: {
      configured: slack !== undefined,
      mode: slack?.mode ?? null,
      installations: (slack?.workspaces ?? []).map(({ tenant, name, installed_at }) => ({
        tenant,
        name: name ?? null,
        installed_at: installed_at?.toISOString() ?? null,
      })),
    },
    teams: {
      configured: teams !== undefined,
      tenants: (teams?.workspaces ?? []).map(({ tenant }) => tenant),
    },
  }
}
