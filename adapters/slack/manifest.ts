import type { webApi } from '@slack/bolt'
import { longDescription } from '../shared/app-description.ts'

/** How Slack reaches us: by requests to the public address, or over a connection that we open (Socket Mode). */
export type SlackReach = 'http' | 'socket'

/** Slack's own description of a manifest. */
type Manifest = NonNullable<webApi.AppsManifestValidateArguments['manifest']>

/**
 * Returns the app's manifest (https://docs.slack.dev/reference/app-manifest), to be pasted into Slack's page for new apps. In
 * Socket Mode Slack accepts no addresses for requests; it accepts an OAuth redirect only over https.
 * @param baseUrl the service's public origin, without a slash at the end
 */
export function slackManifest(baseUrl: string, reach: SlackReach) {
  const toUs = reach === 'http' ? { url: `${baseUrl}/slack/events` } : {}
  const requests = reach === 'http' ? { request_url: `${baseUrl}/slack/events` } : {}
  const redirect = baseUrl.startsWith('https:') ? { redirect_urls: [`${baseUrl}/slack/oauth_redirect`] } : {}
  return {
    display_information: {
      name: 'Countersign',
      description: 'Approvals for agents and applications',
      // Slack requires 174 to 4000 characters.
      long_description: longDescription('Slack'),
      background_color: '#0f5c46',
    },
    features: {
      // Cards arrive in the messages tab. If it were read-only, it would take no commands.
      app_home: {
        home_tab_enabled: true,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: 'Countersign', always_online: true },
      slash_commands: COMMANDS.map((command) => ({ ...command, ...toUs, should_escape: false })),
    },
    oauth_config: { ...redirect, scopes: { bot: [...BOT_SCOPES] } },
    settings: {
      event_subscriptions: {
        ...requests,
        bot_events: ['app_home_opened', 'app_uninstalled', 'message.im', 'tokens_revoked'],
      },
      interactivity: { is_enabled: true, ...requests },
      org_deploy_enabled: false,
      socket_mode_enabled: reach === 'socket',
      // Rotated tokens expire after twelve hours, and the service does not renew them.
      token_rotation_enabled: false,
    },
  } satisfies Manifest
}

const COMMANDS = [
  {
    command: '/verify',
    description: 'Check a request, a decision or a pasted receipt',
    usage_hint: 'req_… | dec_… | receipt [share]',
  },
  {
    command: '/countersign',
    description: 'Your pending requests, linking yourself, help',
    usage_hint: 'help | pending | link | unlink | browser | channel | verify …',
  },
]

/** The app's permissions in a workspace, each with its reason; the app asks for nothing else. */
export const BOT_SCOPES = [
  // chat.postMessage, chat.update, chat.postEphemeral: cards, replies under them, answers that only one person sees.
  'chat:write',
  // /verify and /countersign.
  'commands',
  // message.im: messages that people type to the app itself, so that it can answer. It reads no other conversation.
  'im:history',
  // conversations.open: a card goes to an approver's direct message with the app.
  'im:write',
  // users.lookupByEmail: addresses cards to approvers who linked no identity; Slack gives it only together with users:read.
  'users:read',
  'users:read.email',
] as const
