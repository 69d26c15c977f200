import { z } from 'zod'
import { type ChatIdentity, identityKey, type MessageRef } from '../../src/domain/chat.ts'
import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import type { ChatSpeaker } from '../../src/flow/chat/chat-answer.ts'
import { limitSpeaker } from '../../src/flow/chat/chat-links.ts'
import { removeInstallation } from '../../src/flow/chat/connect-account.ts'
import { type CardSubject, findSubject, isOver, showSubject } from '../../src/flow/chat/show-card.ts'
import { viewHome } from '../../src/flow/chat/view-home.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { OPEN_LINK_ID, renderAnswer, renderHome } from './answers.ts'
import { ACTION_IDS } from './cards.ts'
import { readIncoming } from './incoming.ts'
import { QUIET } from './port.ts'
import { unescapeText } from './rich-text.ts'
import type { SlackApp } from './slack-app.ts'
import { troubleOf } from './web-client.ts'
import type { Workspaces } from './workspaces.ts'

/** Everything that a person can do in Slack. What is not here is answered by `Answering`. */
export function listen(app: SlackApp, deps: FlowDeps, workspaces: Pick<Workspaces, 'find' | 'forget'>): void {
  listenForCommands(app, deps)
  listenInApp(app, deps, workspaces)
  listenForUninstalls(app, deps, workspaces)
  for (const id of [...Object.values(ACTION_IDS), OPEN_LINK_ID]) {
    // Links: the browser is on its way already, and nothing is decided here (T46).
    app.action(id, async ({ ack, body }) => {
      await ack()
      await healCard(deps, body).catch((error: unknown) =>
        deps.log.warn({ error }, 'a card on slack could not be looked at'),
      )
    })
  }
  app.event(/^(?!(?:app_home_opened|message|app_uninstalled|tokens_revoked)$)/, async ({ event }) => {
    deps.log.info({ event: event.type }, 'an event from slack has no listener')
  })
}

/** What was typed, for each of our slash commands. */
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

/** `/verify …` and `/countersign …`: the answer is the acknowledgement, seen by the speaker alone unless they share it. */
function listenForCommands(app: SlackApp, deps: FlowDeps): void {
  for (const [command, typed] of Object.entries(TYPED)) {
    app.command(command, async ({ body, ack }) => {
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

/** Slack names them; only a link made by the signed-in person says who that is here (T37). */
function speakerOf(body: unknown): ChatSpeaker {
  const { tenant = '', user = '', channel } = readIncoming(body)
  const { user_name, team_domain, channel_name } = commandSchema.parse(body)
  const shown = { person: user_name || user, workspace: team_domain || tenant }
  const identity = { platform: 'slack', tenant, user } as const
  // A direct message: there is no channel that could get cards.
  if (channel === undefined || channel.startsWith('D')) return { identity, shown_as: shown }
  return {
    identity,
    shown_as: { ...shown, channel: shownChannel(channel_name) || channel },
    channel: { platform: 'slack', tenant, channel },
  }
}

/** Slack does not say what a private channel is called. */
function shownChannel(name: string): string {
  return name === 'privategroup' ? 'a private channel' : name
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
 * The app's own place in Slack: its home is drawn anew whenever it is opened, and what a person types to the app is a command,
 * so that no word of theirs meets silence. What the app itself said comes back as an event, too.
 */
function listenInApp(app: SlackApp, deps: FlowDeps, workspaces: Pick<Workspaces, 'find'>): void {
  const clientOf = async (body: unknown) => {
    const { tenant } = readIncoming(body)
    const workspace = tenant === undefined ? undefined : await workspaces.find(tenant)
    return typeof workspace === 'object' ? workspace : undefined
  }
  app.event('app_home_opened', async ({ body }) => {
    const workspace = await clientOf(body)
    const { user, tab } = inAppSchema.safeParse(body).data?.event ?? {}
    if (workspace === undefined || user === undefined || tab !== 'home') return
    const identity = { platform: 'slack', tenant: workspace.tenant, user } as const
    if ((await limitSpeaker(deps, identity, 'look')) !== undefined) return
    const view = renderHome(await viewHome(deps, identity))
    await said(deps, workspace.client.views.publish({ user_id: user, view }))
  })
  app.event('message', async ({ body }) => {
    // Slack says it again when the answer takes long.
    const { eventId } = readIncoming(body)
    if (eventId !== undefined && !(await deps.seen.first(`slack:typed:${eventId}`))) return
    const workspace = await clientOf(body)
    const message = inAppSchema.safeParse(body).data?.event
    if (workspace === undefined || message?.channel === undefined || message.channel_type !== 'im') return
    if (message.bot_id !== undefined || message.subtype !== undefined) return
    const { user, channel, thread_ts } = message
    const identity = { platform: 'slack', tenant: workspace.tenant, user } as const
    const speaker = { identity, shown_as: { person: user, workspace: workspace.name } }
    const answer = await answerCommand(deps, speaker, typedText(message.text))
    const thread = thread_ts === undefined ? {} : { thread_ts }
    const drawn = renderAnswer(answer, { now: deps.clock.now() })
    await said(deps, workspace.client.chat.postMessage({ channel, ...thread, ...QUIET, ...drawn }))
  })
}

/** What could not be said is logged: sent again, it would be said twice. */
async function said({ log }: Pick<FlowDeps, 'log'>, call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) =>
    log.warn({ reason: troubleOf(error).code }, 'a person on Slack could not be answered'),
  )
}

/** In messages, unlike in commands, Slack makes links of addresses: `<https://a.example|a.example>`. */
function typedText(text: string): string {
  return unescapeText(text.replace(/<(https?:[^|>]+)(?:\|[^>]*)?>/g, '$1')).trim()
}

type UninstallDeps = Parameters<typeof removeInstallation>[0]

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

/** A workspace removed the app, or took its tokens back: what we keep of it is deleted (Slack says both, more than once). */
function listenForUninstalls(
  app: SlackApp,
  deps: UninstallDeps,
  workspaces: { forget(tenant: string): void },
): void {
  for (const type of ['app_uninstalled', 'tokens_revoked']) {
    app.event(type, async ({ body }) => forgetWorkspace(deps, workspaces, body))
  }
}

async function forgetWorkspace(
  deps: UninstallDeps,
  workspaces: { forget(tenant: string): void },
  body: unknown,
): Promise<void> {
  const { tenant } = readIncoming(body)
  const { event, event_time } = eventSchema.parse(body)
  // A person took back their own token: the app never had one.
  const ours = event.type === 'app_uninstalled' || (event.tokens?.bot.length ?? 0) > 0
  if (tenant === undefined || !ours) return
  const about = { tenant, event: event.type }
  const kept = await deps.installations.find('slack', tenant)
  // Slack repeats events for minutes: one from before must not undo a new installation.
  if (
    kept !== undefined &&
    event_time !== undefined &&
    kept.installed_at.getTime() >= (event_time + 1) * 1000
  ) {
    deps.log.info(about, 'the app was installed again since it was removed')
    return
  }
  const removed = await removeInstallation(deps, 'slack', tenant)
  workspaces.forget(tenant)
  deps.log.warn({ ...about, removed }, 'a slack workspace removed the app')
}

const element = z.object({ action_id: z.string().optional(), url: z.string().optional() })

const clickSchema = z.object({
  channel: z.object({ id: z.string() }),
  message: z.object({
    ts: z.string(),
    blocks: z
      .array(z.object({ elements: z.array(element).optional().catch(undefined) }))
      .optional()
      .catch(undefined),
  }),
  actions: z.array(element).min(1),
})

type HealDeps = Pick<FlowDeps, 'cards' | 'chats' | 'clock' | 'log'> &
  Parameters<typeof findSubject>[0] &
  Parameters<typeof showSubject>[0]

/** The last of a card's link: `<BASE_URL>/a/<request id>?d=approve`, and `/b/<bst id>` for an agent that asks for a key. */
const CARD_LINK = /\/(?:a\/(?=req_)|b\/(?=bst_))([a-z]{3}_[0-9a-z]{1,40})(?:\?|$)/

/**
 * A person pressed a button of ours that a card of a decided request does not have: the message shows an older state than
 * we believe, or waits for its next try. Has it edited now; changes nothing else (T46). A message that is no card we know of
 * was posted when the answer to the post was lost: it is ours all the same, since Slack tells of no others' buttons.
 */
async function healCard(deps: HealDeps, body: unknown): Promise<void> {
  const { cards, clock, log } = deps
  const click = clickSchema.safeParse(body).data
  const requestId = click === undefined ? undefined : requestOf(click)
  const { tenant, user = '' } = readIncoming(body)
  if (click === undefined || requestId === undefined || tenant === undefined) return
  const identity = { platform: 'slack', tenant, user } as const
  const request = await findSubject(deps, { request_id: requestId })
  if (request === undefined) return
  const over = isOver(request, clock.now())
  const pressed = { tenant, conversation: click.channel.id, message: click.message.ts }
  const here = (await cards.ofRequest(requestId)).filter(
    ({ platform, message }) =>
      platform === 'slack' && message?.tenant === tenant && message.conversation === pressed.conversation,
  )
  const card = here.find(({ message }) => message?.message === pressed.message)
  if (card === undefined && !(await mayHeal(deps, request, identity))) return
  if (card === undefined)
    return healStray(deps, request, pressed, over ? 'over' : here.length > 0 ? 'twice' : 'alone')
  if (!over || card.state === 'leased') return
  await cards.doubt(card.id, clock.now())
  log.info({ card: card.id, request: requestId }, 'a card on slack was out of date and is edited again')
}

/** What an agent that asks for a key shows is for the owner of the account alone. */
async function mayHeal({ users }: HealDeps, subject: CardSubject, identity: ChatIdentity): Promise<boolean> {
  if (!('client_name' in subject)) return true
  const person = await users.findByIdentity(identityKey(identity))
  return person !== undefined && person.account_id === subject.account_id
}

/** Who reads it is not known, so it says no more than a channel's card does. */
async function healStray(
  deps: HealDeps,
  request: CardSubject,
  pressed: MessageRef,
  stands: 'over' | 'twice' | 'alone',
): Promise<void> {
  const port = deps.chats.find(({ platform }) => platform === 'slack')
  if (port === undefined || stands === 'alone') return
  const { tenant, conversation } = pressed
  const reader = { recipient: { kind: 'channel', tenant, channel: conversation } } as const
  const view =
    stands === 'over'
      ? (await showSubject(deps, reader, request)).view
      : ({ kind: 'moved', twice: true } as const)
  const { ok } = await port.update(pressed, view)
  deps.log.info({ request: request.id, ok }, 'a card on slack that was posted twice was pressed')
}

/** Slack reports the link with the click, or at least the message with the button in it. */
function requestOf({ actions, message }: z.output<typeof clickSchema>): string | undefined {
  const [pressed] = actions
  const drawn = (message.blocks ?? []).flatMap(({ elements = [] }) => elements)
  const url = pressed?.url ?? drawn.find(({ action_id }) => action_id === pressed?.action_id)?.url
  return url === undefined ? undefined : CARD_LINK.exec(url)?.[1]
}
