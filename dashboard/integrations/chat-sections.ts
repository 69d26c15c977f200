import { slackManifest } from '../../adapters/slack/manifest.ts'
import { visibleString } from '../../src/domain/text.ts'
import {
  type ChatChannel,
  type ChatIdentity,
  channelsShape,
  identitiesShape,
  okShape,
  type Platform,
} from '../../webauthn-page/kit/api/contract.ts'
import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { type Child, div, el, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import {
  channelName,
  chatName,
  nameWarnings,
  typed,
  typedAnywhere,
  wordsOf,
} from '../../webauthn-page/kit/show/chat.ts'
import { chatEntry, rowPanel } from '../parts/rows.ts'
import { command, secretBox } from '../parts/secret-box.ts'
import { orFailure, type Section, section, showFailure } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { type ChatApps, chatAppsShape, type SlackWorkspace } from './integration-shapes.ts'

/** Slack, Teams and the notified channels, or the failure to load them. */
export function chatSections(
  chat: Awaited<ReturnType<typeof loadChatSetup>>,
  context: PageContext,
): HTMLElement[] {
  if ('failure' in chat) {
    const part = section('Chat', 'Cards in Slack and Microsoft Teams.')
    return [showFailure(part, chat.failure, () => context.done())]
  }
  const { apps, channels, identities } = chat
  const mine = (platform: 'slack' | 'teams') => identities.filter((one) => one.platform === platform)
  const anywhere = apps.slack.configured || apps.teams.configured || channels.length > 0
  return [
    slackSection(apps.slack, mine('slack'), context),
    teamsSection(apps.teams, mine('teams'), context),
    ...(anywhere ? [channelsSection(channels, apps, context)] : []),
  ]
}

/** Loads the chat set-up: apps, channels and the person's identities. @throws RequestFailure 401 */
export function loadChatSetup() {
  const all = Promise.all([
    get('/account/chat-apps', chatAppsShape),
    get('/account/channels', channelsShape),
    get('/me/chat', identitiesShape),
  ])
  return orFailure(all.then(([apps, { data: channels }, { identities }]) => ({ apps, channels, identities })))
}

/** The platforms that this service is connected with. */
export function platformsOf({ slack, teams }: ChatApps): Platform[] {
  return [
    ...(slack.configured ? (['slack'] as const) : []),
    ...(teams.configured ? (['teams'] as const) : []),
  ]
}

/** Whether Slack is set up, in which workspaces, and what to do next. */
function slackSection(
  slack: ChatApps['slack'],
  identities: readonly ChatIdentity[],
  context: PageContext,
): HTMLElement {
  const part = section('Slack', 'Approvers get a card for every request. Nothing can be approved in Slack.')
  if (!slack.configured) {
    part.body.append(notSetUp('Slack', slackSteps()))
    return part.element
  }
  part.body.append(...troubles('Slack', slack.unavailable))
  if (slack.mode === 'many') installable(part, slack, context)
  else fixed(part, slack.installations)
  part.body.append(linkedPerson('slack', identities, context))
  return part.element
}

/** The single workspace that the operator connected for all accounts. */
function fixed(part: Section, [workspace]: readonly SlackWorkspace[]): void {
  if (workspace === undefined) {
    part.body.append(
      p(
        'Slack is set up with one workspace, but Slack has not said which one yet. If this does not change, ask the operator of this service to run ',
        el('code', {}, 'npx countersign doctor'),
        '.',
      ),
    )
    return
  }
  const name = workspace.name ?? workspace.tenant
  part.body.append(
    p('Cards go to the workspace ', chatName(name), '.'),
    ...nameWarnings(name),
    hint(
      'The operator of this service has connected this one workspace for all accounts; it cannot be changed here.',
    ),
  )
}

function installable(
  part: Section,
  { installations: workspaces, unavailable = [] }: ChatApps['slack'],
  context: PageContext,
): void {
  const held = workspaces.map(({ tenant }) => tenant)
  const lost = unavailable.flatMap(({ tenant }) => (tenant === null || held.includes(tenant) ? [] : tenant))
  const add = link('/slack/install', workspaces.length === 0 ? 'Add to Slack' : 'Add another workspace', {
    class: `button ${workspaces.length === 0 ? 'primary' : 'plain'}`,
  })
  part.body.append(
    ...lost.flatMap((tenant) => giveUp(tenant, context)),
    workspaces.length > 0
      ? el('ul', { class: 'entries' }, ...workspaces.map((one) => workspaceEntry(one, context)))
      : p('No workspace gets cards of this account yet. Add the app to one where you may install apps.'),
    buttonRow(add),
  )
}

function workspaceEntry({ tenant, name, installed_at }: SlackWorkspace, context: PageContext): HTMLElement {
  const panel = rowPanel()
  const shown = name ?? tenant
  const consequence = [
    chatName(shown),
    ' will no longer get cards from this account. The app itself stays there until it is removed in Slack, under “Manage apps”.',
  ]
  const remove = () => disconnect(tenant, ['Remove', 'removed'], consequence, context)
  const added = installed_at === null ? [] : [' · added ', day(installed_at)]
  return chatEntry(
    [chatName(shown)],
    [hint('Slack workspace ', el('code', {}, tenant), ...added), ...nameWarnings(shown)],
    panel.opener('Remove', { 'aria-label': `Remove the workspace ${visibleString(shown)}` }, remove),
    panel.element,
  )
}

/** Ends the warning about a workspace in which the app is no longer installed. */
function giveUp(tenant: string, context: PageContext): HTMLElement[] {
  const panel = rowPanel()
  const words = [
    'No more cards are expected in ',
    el('code', {}, tenant),
    ' until the app is added there again. Its channels stay listed below until you remove them.',
  ]
  const stop = () => disconnect(tenant, ['Give up', 'given up'], words, context)
  return [buttonRow(panel.opener(`Give up the workspace ${visibleString(tenant)}`, {}, stop)), panel.element]
}

/** Asks first, then tells the service that the account wants no cards in the workspace. */
async function disconnect(
  tenant: string,
  [verb, done]: [string, string],
  consequence: Child[],
  context: PageContext,
): Promise<void> {
  if (!(await askFirst(`${verb} this workspace?`, verb, ...consequence))) return
  await post('/account/chat-apps/remove', { platform: 'slack', tenant }, okShape)
  await context.done(`The workspace is ${done}.`)
}

/** Whether Microsoft Teams is set up, for which organisation, and what to do next. */
function teamsSection(
  { configured, tenants, name, unavailable }: ChatApps['teams'],
  identities: readonly ChatIdentity[],
  context: PageContext,
): HTMLElement {
  const part = section(
    'Microsoft Teams',
    'Approvers get a card for every request. Nothing can be approved in Teams.',
  )
  if (!configured) {
    part.body.append(notSetUp('Microsoft Teams', teamsSteps()))
    return part.element
  }
  part.body.append(
    ...troubles('Microsoft Teams', unavailable),
    p(
      'Cards go to the organisation ',
      ...(name === undefined ? tenants.map((tenant) => el('code', {}, tenant)) : [chatName(name)]),
      '.',
    ),
    hint(
      'The operator of this service has connected this one organisation for all accounts; it cannot be changed here. Each approver adds the Countersign app in Teams once and writes to it, so that it may write to them.',
    ),
    linkedPerson('teams', identities, context),
  )
  return part.element
}

/** For each workspace that takes no cards: since when, why, and what to do. */
function troubles(platform: string, unavailable: ChatApps['slack']['unavailable'] = []): HTMLElement[] {
  return unavailable.map(({ tenant, ...trouble }) => {
    const where = tenant === null ? [] : [' in ', el('code', {}, tenant)]
    return noCards([`${platform} refuses cards`, ...where], trouble)
  })
}

function noCards(
  what: Child[],
  { since, reason, advice }: NonNullable<ChatChannel['unavailable']>,
): HTMLElement {
  return notice('warning', ...what, ' since ', moment(since), ' (', el('code', {}, reason), '). ', advice)
}

/** The channels whose members see action, requester and status of every request of the account. */
function channelsSection(
  channels: readonly ChatChannel[],
  apps: ChatApps,
  context: PageContext,
): HTMLElement {
  const part = section(
    'Channels notified of every request',
    'Their members see action, caller and status, never the details.',
  )
  part.body.append(
    channels.length > 0
      ? el('ul', { class: 'entries' }, ...channels.map((channel) => channelEntry(channel, context)))
      : p('No channel is notified.'),
    hint(
      'To add one, link yourself, type ',
      ...typedAnywhere('channel', platformsOf(apps)),
      ' in that channel, and open the link you get in this browser. An account has at most 5. To show names there, see the ',
      link(context.href('/settings'), 'settings of the account'),
      '.',
    ),
  )
  return part.element
}

function channelEntry(
  { platform, tenant, channel, unavailable, ...shown }: ChatChannel,
  context: PageContext,
): HTMLElement {
  const panel = rowPanel()
  const name = channelName(platform, shown.name ?? channel)
  const workspace = shown.workspace ?? tenant
  const remove = async (): Promise<void> => {
    const sure = await askFirst(
      'Remove this channel?',
      'Remove',
      chatName(name),
      ' will no longer be notified of requests of your account.',
    )
    if (!sure) return
    await post('/account/channels/remove', { platform, tenant, channel }, okShape)
    await context.done('The channel is removed.')
  }
  return chatEntry(
    [chatName(name)],
    [
      hint(`${wordsOf(platform).workspace} `, chatName(workspace)),
      ...nameWarnings(name, workspace),
      ...(unavailable ? [noCards(['It refuses cards'], unavailable)] : []),
    ],
    panel.opener('Remove', { 'aria-label': `Remove ${visibleString(name)}` }, remove),
    panel.element,
  )
}

/** The names of the person's linked identities on a platform, or how to link one. */
function linkedPerson(
  platform: Platform,
  identities: readonly ChatIdentity[],
  { href }: PageContext,
): HTMLElement {
  const names = identities.map(({ person, key }) => chatName(person ?? key))
  if (names.length === 0) {
    return p(
      'You are not linked there yet: type ',
      ...typed({ platform, kind: 'link' }),
      ', and open the link you get in this browser. Cards find you by your e-mail address until then; commands do not.',
    )
  }
  return p(
    'You are linked as ',
    ...names.flatMap((name, index) => (index === 0 ? [name] : [', ', name])),
    '; unlink on ',
    link(href('/account'), 'your account page'),
    '.',
  )
}

/** The operator's steps, once for all accounts; shown to owners because an owner often is the operator. */
function notSetUp(platform: string, steps: readonly Child[][]): HTMLElement {
  return div(
    'not-set-up',
    p(`${platform} is not set up on this service. The operator connects it once, for all accounts.`),
    el(
      'details',
      {},
      el('summary', {}, `Set up ${platform}, step by step`),
      el('ol', { class: 'steps' }, ...steps.map((step) => el('li', {}, div('section-body', ...step)))),
    ),
  )
}

function slackSteps(): Child[][] {
  const isPublic = location.protocol === 'https:'
  return [
    [
      p(
        'Copy the manifest of the app; ',
        el('code', {}, 'npx countersign slack manifest --socket'),
        ' prints the same:',
      ),
      command(JSON.stringify(slackManifest(location.origin, 'socket'), null, 2), 'the manifest'),
    ],
    [
      p(
        'At ',
        elsewhere('https://api.slack.com/apps', 'api.slack.com/apps'),
        ' choose “Create New App”, “From a manifest”, the workspace and “JSON”; paste it there.',
      ),
    ],
    [
      p(
        'Under “Install App” install it and copy the bot token (xoxb-…). Under “Basic Information”, “App-Level Tokens”, generate one with the scope ',
        el('code', {}, 'connections:write'),
        ' and copy it (xapp-…).',
      ),
    ],
    [
      p('Put both into the settings of the service (.env), and start it again:'),
      settings('SLACK_BOT_TOKEN=xoxb-…', 'SLACK_APP_TOKEN=xapp-…'),
    ],
    [
      p('Have the connection checked; every line that fails says what to do:'),
      shell('npx countersign doctor slack'),
    ],
    ...(isPublic
      ? [
          [
            p(
              'Slack can also send to this public address instead of the service connecting to Slack: print the manifest without --socket, and set SLACK_SIGNING_SECRET (“Basic Information”, “App Credentials”) in place of SLACK_APP_TOKEN. The address for requests is',
            ),
            secretBox(`${location.origin}/slack/events`, 'the address for Slack'),
          ],
        ]
      : []),
  ]
}

function teamsSteps(): Child[][] {
  const isPublic = location.protocol === 'https:'
  return [
    [
      p(
        'At ',
        elsewhere('https://portal.azure.com', 'portal.azure.com'),
        ' create an “Azure Bot” of the type “Single Tenant” with a new Microsoft App ID. Under “Configuration” give it this messaging endpoint:',
      ),
      secretBox(`${location.origin}/api/messages`, 'the messaging endpoint'),
      isPublic
        ? undefined
        : hint(
            'Teams sends to public https: addresses only. This service has none yet: give it one as BASE_URL first.',
          ),
    ],
    [
      p(
        'Under “Channels” add Microsoft Teams. Under “Manage Password” make a client secret and copy its value.',
      ),
    ],
    [
      p('Put the ids and the secret into the settings of the service (.env), and start it again:'),
      settings('TEAMS_APP_ID=…', 'TEAMS_APP_PASSWORD=…', 'TEAMS_TENANT_ID=…'),
    ],
    [
      p(
        'Write the package of the app, and upload countersign-teams.zip in Teams: “Apps”, “Manage your apps”, “Upload an app”.',
      ),
      shell('npx countersign teams package'),
    ],
    [
      p('Have the connection checked; every line that fails says what to do:'),
      shell('npx countersign doctor teams'),
    ],
  ]
}

function shell(text: string): HTMLElement {
  return command(text, 'the command')
}

function settings(...lines: string[]): HTMLElement {
  return command(lines.join('\n'), 'the settings')
}

/** A link to a page of the platform, in a new tab: the steps stay in sight. */
function elsewhere(href: string, label: string): HTMLElement {
  return link(href, label, { target: '_blank', rel: 'noreferrer' })
}
