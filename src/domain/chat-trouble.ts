import { type ChatPlatform, UNKNOWN_TENANT } from './chat.ts'
import { given } from './given.ts'

/** A workspace or channel that takes no messages from the app: a state of the installation, not of a person or a card. */
export interface ChatTrouble {
  platform: ChatPlatform
  /** `UNKNOWN_TENANT` when the platform has not named its workspace. */
  tenant: string
  /** The one channel in trouble; absent: the whole workspace. */
  channel?: string
  /** What the channel was called when it was connected. */
  name?: string
  /** The platform's own code, or ours: `not_installed`, `app_removed`. */
  reason: string
  since: Date
}

/** The reason of a call in a workspace for which there are no tokens. */
export const NOT_INSTALLED = 'not_installed'

/** Refusals of the app that may concern one channel, while its token is good everywhere else. */
export const MAY_BE_OF_CHANNEL: ReadonlySet<string> = new Set([
  'team_access_not_granted',
  'access_denied',
  'no_permission',
  'ekm_access_denied',
  'team_not_found',
])

/** Most troubles recorded for an account at a time; further ones are not reported until one of these ends. */
export const MOST_TROUBLES = 50

/** A workspace, or a channel of it. */
export type ChatPlace = Pick<ChatTrouble, 'platform' | 'tenant' | 'channel'>

/** Checks whether a trouble belongs to that very place, or to a workspace whose id was not known yet. */
export function isTroubleOf({ platform, tenant, channel }: ChatPlace, where: ChatPlace): boolean {
  const named = tenant === where.tenant || tenant === UNKNOWN_TENANT
  return platform === where.platform && named && channel === where.channel
}

/** Builds `data` of `chat.unavailable`, and of `chat.restored` when `restored` is given. */
export function troubleData({ platform, tenant, channel, reason, since }: ChatTrouble, restored?: Date) {
  return {
    platform,
    tenant: tenant === UNKNOWN_TENANT ? null : tenant,
    ...given({ channel }),
    reason,
    since: since.toISOString(),
    ...(restored === undefined ? {} : { restored_at: restored.toISOString() }),
  }
}

/** Platform names for people. */
export const PLATFORM_NAMES: Record<ChatPlatform, string> = { slack: 'Slack', teams: 'Microsoft Teams' }

const INSTALL_AGAIN =
  'Add the app to the workspace again. If the operator of this service set SLACK_BOT_TOKEN, it then needs the new token.'
const LACKS_SCOPES = 'Give the app the scopes that docs/slack.md lists, and install it again.'

const EKM =
  'Administrators of the workspace suspended messages there (Enterprise Key Management); ask them to allow these.'
const DOCTOR = 'The operator of this service can run: npx countersign doctor slack.'
const MINDS_ADDRESS = `${DOCTOR} Slack may allow the app only from certain IP addresses: these are in the app’s settings, or the administrator’s. ${INSTALL_AGAIN}`

const OR_REMOVE = 'Or remove the channel on the page Integrations.'

/** What to do, by reason; any other reason gets the platform's `otherwise`. */
type Advice = Record<ChatPlatform, Record<string, string> & { otherwise: string }>

const LETS_ONLY_SOME = `The settings of the channel restrict who can post; allow the app to post. ${OR_REMOVE}`

/** What to do when one channel is in trouble. */
const CHANNEL_ADVICE: Advice = {
  slack: {
    channel_not_found: `Invite the app to the channel, /invite @Countersign. If it is there already, the channel’s id has changed (Slack Connect): remove the channel on the page Integrations, and type /countersign channel there again.`,
    ekm_access_denied: `${EKM} ${OR_REMOVE}`,
    is_archived: `Unarchive the channel and invite the app, /invite @Countersign. ${OR_REMOVE}`,
    restricted_action: LETS_ONLY_SOME,
    restricted_action_read_only_channel: LETS_ONLY_SOME,
    otherwise: `Invite the app to the channel again, /invite @Countersign; the next card is posted there. ${OR_REMOVE}`,
  },
  teams: {
    BotDisabledByAdmin: `An administrator has to allow the app in the Teams admin center. ${OR_REMOVE}`,
    // Teams heeds the box for bots even while moderation, which shows it, is turned off.
    ConversationBlockedByUser: `Allow bots to post there: Manage channel, Channel moderation. The box is shown only while moderation is on. ${OR_REMOVE}`,
    ConversationNotFound: `Teams cannot find the channel. If it was deleted or archived, restore it. ${OR_REMOVE}`,
    NotEnoughPermissions: `The app may not post there. Check the channel's moderation, and whether the team is archived. ${OR_REMOVE}`,
    otherwise: `Add the app to the team or group chat again; the waiting cards are then posted. ${OR_REMOVE}`,
  },
}

/** What to do when a whole workspace is. */
const ADVICE: Advice = {
  slack: {
    missing_scope: LACKS_SCOPES,
    no_permission: LACKS_SCOPES,
    app_removed: INSTALL_AGAIN,
    not_installed: INSTALL_AGAIN,
    account_inactive: INSTALL_AGAIN,
    token_revoked: INSTALL_AGAIN,
    ekm_access_denied: EKM,
    accesslimited: MINDS_ADDRESS,
    invalid_auth: MINDS_ADDRESS,
    otherwise: `${DOCTOR} ${INSTALL_AGAIN}`,
  },
  teams: {
    otherwise:
      'The operator of this service can run: npx countersign doctor teams. Most often the client secret has expired.',
  },
}

/** Says in a sentence or two what to do about a trouble. */
export function troubleAdvice({
  platform,
  channel,
  reason,
}: Pick<ChatTrouble, 'platform' | 'channel' | 'reason'>): string {
  const known = (channel === undefined ? ADVICE : CHANNEL_ADVICE)[platform]
  return (Object.hasOwn(known, reason) ? known[reason] : undefined) ?? known.otherwise
}

/** Codes by which a platform says that there is no such person, and not only that they cannot be written to. */
export const UNKNOWN_PERSON: ReadonlySet<string> = new Set(['user_not_found', 'users_not_found'])
