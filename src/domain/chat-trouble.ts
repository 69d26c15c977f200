import { type ChatPlatform, UNKNOWN_TENANT } from './chat.ts'

/** A workspace takes nothing from the app at all: a state of the installation, not of a person or a card. */
export interface ChatTrouble {
  platform: ChatPlatform
  /** `UNKNOWN_TENANT` when the platform did not even say which one it is. */
  tenant: string
  /** The platform's own code, or ours: `not_installed`, `app_removed`. */
  reason: string
  since: Date
}

/** Is this the trouble of that workspace, or of one that was not known by name yet? */
export function isTroubleOf(
  { platform, tenant }: Pick<ChatTrouble, 'platform' | 'tenant'>,
  where: Pick<ChatTrouble, 'platform' | 'tenant'>,
): boolean {
  return platform === where.platform && (tenant === where.tenant || tenant === UNKNOWN_TENANT)
}

/** `data` of `chat.unavailable`, and with the time of `chat.restored`. */
export function troubleData({ platform, tenant, reason, since }: ChatTrouble, restored?: Date) {
  return {
    platform,
    tenant: tenant === UNKNOWN_TENANT ? null : tenant,
    reason,
    since: since.toISOString(),
    ...(restored === undefined ? {} : { restored_at: restored.toISOString() }),
  }
}

/** How people call a platform. */
export const PLATFORM_NAMES: Record<ChatPlatform, string> = { slack: 'Slack', teams: 'Microsoft Teams' }

const INSTALL_AGAIN =
  'Add the app to the workspace again. Where the operator of this service set one bot token, SLACK_BOT_TOKEN then needs the new one.'
const LACKS_SCOPES = 'Give the app the scopes that docs/slack.md lists, and install it again.'

/** What to do, by reason; the rest has the last line of its platform. */
const ADVICE: Record<ChatPlatform, Record<string, string> & { otherwise: string }> = {
  slack: {
    missing_scope: LACKS_SCOPES,
    no_permission: LACKS_SCOPES,
    app_removed: INSTALL_AGAIN,
    not_installed: INSTALL_AGAIN,
    account_inactive: INSTALL_AGAIN,
    token_revoked: INSTALL_AGAIN,
    otherwise: `The operator of this service can run: npx countersign doctor slack. ${INSTALL_AGAIN}`,
  },
  teams: {
    BotDisabledByAdmin: 'An administrator has to allow the app in the Teams admin center.',
    otherwise:
      'The operator of this service can run: npx countersign doctor teams. Most often the client secret has run out.',
  },
}

/** What to do about it, in a sentence or two. */
export function troubleAdvice({ platform, reason }: Pick<ChatTrouble, 'platform' | 'reason'>): string {
  const known = ADVICE[platform]
  return (Object.hasOwn(known, reason) ? known[reason] : undefined) ?? known.otherwise
}
