import { z } from 'zod'
import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import type { ChatSpeaker } from '../../src/flow/chat/chat-answer.ts'
import { limitSpeaker } from '../../src/flow/chat/chat-links.ts'
import { removeInstallation } from '../../src/flow/chat/connect-account.ts'
import { viewHome } from '../../src/flow/chat/view-home.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { noteChannels } from '../../src/flow/tell/trouble.ts'
import { OPEN_LINK_ID, renderAnswer, renderHome } from './answers.ts'
import { ACTION_IDS } from './cards.ts'
import { healCard } from './heal-card.ts'
import { readIncoming } from './incoming.ts'
import { QUIET } from './port.ts'
import { unescapeText } from './rich-text.ts'
import type { SlackApp } from './slack-app.ts'
import { logUnanswered, NOTICES } from './tell-person.ts'
import type { Workspaces } from './workspaces.ts'

/** Registers a listener for everything that a person can do in Slack. `Answering` answers the rest. */
export function listen(app: SlackApp, deps: FlowDeps, workspaces: Pick<Workspaces, 'find' | 'forget'>): void {
  listenForCommands(app, deps)
  listenInApp(app, deps, workspaces)
  listenForUninstalls(app, deps, workspaces)
  listenForChannels(app, deps)
  for (const id of [...Object.values(ACTION_IDS), OPEN_LINK_ID]) {
    // These buttons are links: the browser follows them already, and nothing is decided here (T46).
    app.action(id, async function openLink({ ack, body }) {
      await ack()
      await healCard(deps, body).catch((error: unknown) =>
        deps.log.warn({ error }, 'reading a card in Slack failed'),
      )
    })
  }
  app.event(UNHEARD, async function ignoreEvent({ event }) {
    deps.log.info({ event: event.type }, 'an event from Slack was ignored: it has no listener')
  })
}

const UNHEARD =
  /^(?!(?:app_home_opened|message|app_uninstalled|tokens_revoked|channel_left|group_left|member_joined_channel)$)/

/** Restores the typed command, for each of our slash commands. */
const TYPED: Record<string, (text: string) => string> = {
  '/verify': (text) => `/verify ${text}`,
  '/countersign': (text) => text,
}

const commandSchema = z.object({
  text: z.string().catch(''),
  user_name: z.string().catch(''),
  team_domain: z.string().catch(''),
  channel_name: z.string().catch(''),
})

/** Answers `/verify …` and `/countersign …` in the acknowledgement, seen by the speaker alone unless they share it. */
function listenForCommands(app: SlackApp, deps: FlowDeps): void {
  for (const [command, typed] of Object.entries(TYPED)) {
    app.command(command, async function runCommand({ body, ack }) {
      const { text } = commandSchema.parse(body)
      const speaker = speakerOf(body)
      const answer = await answerCommand(deps, speaker, typed(unescapeText(text)).trim())
      const share = answer.kind === 'verdict' && answer.share
      const sharedBy = share ? speaker.identity.user : undefined
      await ack({
        response_type: share ? 'in_channel' : 'ephemeral',
        unfurl_links: false,
        unfurl_media: false,
        ...renderAnswer(answer, { now: deps.clock.now(), sharedBy }),
      })
    })
  }
}

/** Reads the speaker as Slack names them; only a link made by the signed-in person says who they are here (T37). */
function speakerOf(body: unknown): ChatSpeaker {
  const { tenant = '', user = '', channel } = readIncoming(body)
  const { user_name, team_domain, channel_name } = commandSchema.parse(body)
  const shown = { person: user_name || user, workspace: team_domain || tenant }
  const identity = { platform: 'slack', tenant, user } as const
  // A direct message is not a channel that could get cards.
  if (channel === undefined || channel.startsWith('D')) return { identity, shown_as: shown }
  return {
    identity,
    shown_as: { ...shown, channel: shownChannel(channel_name, channel) },
    channel: { platform: 'slack', tenant, channel },
  }
}

/** Returns the name to show; Slack does not tell the name of a private channel. */
function shownChannel(name: string, channel: string): string {
  return name === 'privategroup' ? `private channel ${channel}` : name || channel
}

const inAppSchema = z.object({
  event: z.object({
    user: z.string(),
    channel: z.string().optional(),
    channel_type: z.string().optional(),
    tab: z.string().optional(),
    text: z.string().catch(''),
    thread_ts: z.string().optional(),
    bot_id: z.string().optional(),
    subtype: z.string().optional(),
  }),
})

/**
 * Serves the app's own pages in Slack: its home is redrawn each time it is opened, and any text typed to the app is a command,
 * so that no message goes unanswered. The app's own messages also arrive as events and are ignored.
 */
function listenInApp(app: SlackApp, deps: FlowDeps, workspaces: Pick<Workspaces, 'find'>): void {
  const clientOf = async (body: unknown) => {
    const { tenant } = readIncoming(body)
    const workspace = tenant === undefined ? undefined : await workspaces.find(tenant)
    return typeof workspace === 'object' ? workspace : undefined
  }
  app.event('app_home_opened', async function showHome({ body }) {
    const workspace = await clientOf(body)
    const { user, tab } = inAppSchema.safeParse(body).data?.event ?? {}
    if (workspace === undefined || user === undefined || tab !== 'home') return
    const identity = { platform: 'slack', tenant: workspace.tenant, user } as const
    if ((await limitSpeaker(deps, identity, 'look')) !== undefined) return
    const view = renderHome(await viewHome(deps, identity))
    await said(deps, workspace.client.views.publish({ user_id: user, view }))
  })
  app.event('message', async function answerMessage({ body }) {
    // Slack repeats the event when the answer takes long.
    const { eventId } = readIncoming(body)
    if (eventId !== undefined && !(await deps.seen.first(`slack:typed:${eventId}`))) return
    const workspace = await clientOf(body)
    const message = inAppSchema.safeParse(body).data?.event
    if (workspace === undefined || message?.channel === undefined || message.channel_type !== 'im') return
    const { user, channel, thread_ts, subtype = 'text' } = message
    if (message.bot_id !== undefined || !BY_PEOPLE.has(subtype) || user === SLACKBOT) return
    const identity = { platform: 'slack', tenant: workspace.tenant, user } as const
    const speaker = { identity, shown_as: { person: user, workspace: workspace.name } }
    const answer =
      subtype === 'file_share'
        ? ((await limitSpeaker(deps, identity, 'look')) ?? NOTICES.file)
        : await answerCommand(deps, speaker, typedText(message.text))
    const thread = thread_ts === undefined ? {} : { thread_ts }
    const drawn = renderAnswer(answer, { now: deps.clock.now() })
    await said(deps, workspace.client.chat.postMessage({ channel, ...thread, ...QUIET, ...drawn }))
  })
}

/** Kinds of messages that people send. Most others report changes. Slack's window makes a file of a long text. */
const BY_PEOPLE: ReadonlySet<string> = new Set(['text', 'thread_broadcast', 'me_message', 'file_share'])

/** Slack's own bot, which would answer our answer. */
const SLACKBOT = 'USLACKBOT'

const channelSchema = z.object({
  event: z.object({ type: z.string(), channel: z.string(), user: z.string().optional() }),
  authorizations: z.array(z.object({ user_id: z.string().optional() })).catch([]),
})

/**
 * Notes that the app left or joined a channel. Slack reports this only where the operator granted `channels:read` and
 * `groups:read`; elsewhere it shows with the first card that Slack refuses or accepts.
 */
function listenForChannels(app: SlackApp, deps: FlowDeps): void {
  for (const type of ['channel_left', 'group_left', 'member_joined_channel']) {
    app.event(type, async function noteChannel({ body }) {
      const { tenant } = readIncoming(body)
      const said = channelSchema.safeParse(body).data
      if (tenant === undefined || said === undefined) return
      const { event, authorizations } = said
      const here = event.type === 'member_joined_channel'
      const joined = event.user !== undefined && authorizations.some(({ user_id }) => user_id === event.user)
      if (here && !joined) return
      await noteChannels(deps, { platform: 'slack', tenant }, here, async (one) => one === event.channel)
    })
  }
}

/** Logs a failed answer instead of throwing: Slack would send the event again, and the answer might appear twice. */
async function said({ log }: Pick<FlowDeps, 'log'>, call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => logUnanswered(log, error))
}

/**
 * Restores what was typed. In messages, unlike in commands, Slack makes links of addresses, numbers, channels and mentions:
 * `<https://a.example>`, `<http://a.example|a.example>`, `<#C1|general>`, `<!here>`. The typed text is the part after the bar;
 * otherwise a receipt would be judged with altered text.
 */
function typedText(text: string): string {
  const typed = text
    .replace(/<(?:https?|mailto|tel):[^|>]+\|([^>]*)>|<(https?:[^|>]+)>/g, '$1$2')
    .replace(
      /<(#)[A-Z0-9]+\|([^>]*)>|<!(here|channel|everyone)(?:\|[^>]*)?>/g,
      (_, hash = '@', name, all) => `${hash}${name ?? all}`,
    )
  return unescapeText(typed).trim()
}

const eventSchema = z.object({
  /** Unix seconds. */
  event_time: z.number().optional().catch(undefined),
  event: z.object({
    type: z.string(),
    tokens: z
      .object({ bot: z.array(z.string()).catch([]) })
      .optional()
      .catch(undefined),
  }),
})

/** Deletes a workspace's data when it removed the app or revoked its tokens (Slack reports both, more than once). */
function listenForUninstalls(
  app: SlackApp,
  deps: FlowDeps,
  workspaces: Pick<Workspaces, 'find' | 'forget'>,
): void {
  for (const type of ['app_uninstalled', 'tokens_revoked']) {
    app.event(type, async function uninstall({ body }) {
      await forgetWorkspace(deps, workspaces, body)
    })
  }
}

async function forgetWorkspace(
  deps: FlowDeps,
  workspaces: Pick<Workspaces, 'find' | 'forget'>,
  body: unknown,
): Promise<void> {
  const { tenant } = readIncoming(body)
  const { event, event_time } = eventSchema.parse(body)
  // Ignores people who revoke their own token: the app never had one.
  const ours = event.type === 'app_uninstalled' || (event.tokens?.bot.length ?? 0) > 0
  if (tenant === undefined || !ours) return
  const about = { tenant, event: event.type }
  const kept = await deps.installations.find('slack', tenant)
  // Slack repeats events for minutes, and may send one late: what came before a new installation must not undo it.
  const sent = event_time === undefined ? Number.POSITIVE_INFINITY : (event_time + 1) * 1000
  if (kept !== undefined && (kept.installed_at.getTime() >= sent || (await takesToken(workspaces, tenant)))) {
    deps.log.info(about, 'a removal was reported after the app had been installed again; it is ignored')
    return
  }
  const removed = await removeInstallation(deps, 'slack', tenant)
  workspaces.forget(tenant)
  deps.log.warn({ ...about, removed }, 'a Slack workspace removed the app')
}

/** Asks Slack whether it still accepts the workspace's token; an answer that says neither counts as no. */
async function takesToken(workspaces: Pick<Workspaces, 'find'>, tenant: string): Promise<boolean> {
  const workspace = await workspaces.find(tenant)
  if (typeof workspace !== 'object') return false
  return workspace.client.auth.test().then(
    () => true,
    () => false,
  )
}
