import { longDescription } from '../shared/app-description.ts'

/** The edition of Microsoft's manifest: the published version, or the developer preview, which knows slash commands. */
export type TeamsEdition = 'published' | 'preview'

/** The app's own version. Teams accepts a changed package only with a higher version: raise it with every change below. */
const APP_VERSION = '1.0.0'

/** The names of the icon files in the package. */
export const ICON_FILES = { color: 'color.png', outline: 'outline.png' } as const

const VERSIONS = { published: '1.19', preview: 'devPreview' } as const

/**
 * Returns the app's manifest (https://learn.microsoft.com/microsoftteams/platform/resources/schema/manifest-schema). It has no
 * `webApplicationInfo` and no resource-specific consent: people sign in on the hosted page, and the app reads only messages
 * that are sent to it.
 * @param baseUrl the service's public https: origin, without a slash at the end
 * @param appId the bot's app id, a UUID
 */
export function teamsManifest(baseUrl: string, appId: string, edition: TeamsEdition) {
  const manifestVersion = VERSIONS[edition]
  const bot = {
    botId: appId,
    scopes: [...PERSONAL, ...SHARED],
    supportsFiles: false,
    isNotificationOnly: false,
  }
  const lists = [
    { scopes: PERSONAL, commands: [...COMMANDS, BROWSER, HELP] },
    { scopes: SHARED, commands: [...COMMANDS, CHANNEL, HELP] },
  ]
  return {
    $schema: `https://developer.microsoft.com/json-schemas/teams/v${upperFirst(manifestVersion)}/MicrosoftTeams.schema.json`,
    manifestVersion,
    version: APP_VERSION,
    id: appId,
    developer: {
      name: 'Countersign',
      websiteUrl: baseUrl,
      // The service's operator may or may not have such pages; the service itself is where people would look for them.
      privacyUrl: baseUrl,
      termsOfUseUrl: baseUrl,
    },
    name: { short: 'Countersign', full: 'Countersign: approvals for agents and applications' },
    description: { short: SHORT_DESCRIPTION, full: longDescription('Teams') },
    icons: ICON_FILES,
    accentColor: '#0f5c46',
    defaultInstallScope: 'personal',
    bots: [
      edition === 'preview'
        ? { ...bot, supportsTargetedMessages: true, commandLists: lists.map(alsoBySlash) }
        : { ...bot, commandLists: lists },
    ],
    permissions: ['identity', 'messageTeamMembers'],
    // Teams accepts only host names: no address, no port.
    validDomains: [new URL(baseUrl).hostname],
  }
}

const PERSONAL = ['personal']
const SHARED = ['team', 'groupChat']

function alsoBySlash<List extends object>(list: List) {
  return { ...list, triggers: ['mention', 'slash'] }
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The commands of `src/flow/chat/answer-command.ts`. Choosing a title writes it into the message, so it is the command. */
const COMMANDS = [
  { title: 'verify', description: 'Check an approval: add req_…, dec_… or a pasted receipt' },
  { title: 'pending', description: 'List your pending requests' },
  { title: 'link', description: 'Link yourself to your Countersign account' },
  { title: 'unlink', description: 'Unlink yourself' },
]
const BROWSER = { title: 'browser', description: 'Trust a browser for signing in with codes' }
const CHANNEL = {
  title: 'channel',
  description: 'Notify this channel of every request of your account',
}
const HELP = { title: 'help', description: 'List the commands' }

const SHORT_DESCRIPTION = 'Approvals for agents and applications, confirmed with a passkey or a code'
