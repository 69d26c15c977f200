import { CloudAdapter, ConfigurationBotFrameworkAuthentication, type TurnContext } from 'botbuilder'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { refusal } from '../../src/domain/errors.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { eventOf, readActivity } from './activity.ts'
import type { BotCalls, BotEvents, BotMessage, BotUser, ClickAnswer, TeamsBot } from './bot-port.ts'
import { attempt, CALL_DEADLINE_MS, createAppTokens, createSendOnce, unlessAborted } from './connector.ts'
import { TOKEN_ISSUER } from './token-guard.ts'

type Parts = Pick<FlowDeps, 'clock' | 'log'>
type Authentication = ConfigurationBotFrameworkAuthentication
type LibraryActivity = Parameters<Authentication['authenticateRequest']>[0]
type Connector = Awaited<ReturnType<ReturnType<Authentication['createConnectorFactory']>['create']>>

const SCOPE = 'https://api.botframework.com'
const CHECK_MS = 5_000
const CARD = 'application/vnd.microsoft.card.adaptive'
const MESSAGE = 'application/vnd.microsoft.activity.message'
/**
 * The library throws away the keys it has when it cannot read them again, so that an outage of Microsoft's would end ours. Which
 * keys still count is for our guard to say; the library reads them once more only for a key that it has not got.
 */
const KEYS_LAST_HOURS = Number.POSITIVE_INFINITY

/**
 * The bot on botbuilder, which is past its end of life: this file is all there is of it. The library checks tokens once more
 * behind our own guard, runs the turn, and knows the connector's addresses and forms; what goes over the network is ours,
 * since its client repeats posts and never ends.
 */
export function createBot(settings: TeamsSettings, parts: Parts): TeamsBot {
  const adapter = new Adapter(authentication(settings, parts))
  return { ...createCalls(settings, adapter), receive: adapter.receive.bind(adapter, parts.log) }
}

/** All addresses, always: naming one makes the library forget its defaults for the others. */
function authentication(settings: TeamsSettings, parts: Parts): Authentication {
  const { appId, openIdUrl, loginUrl, tenantId, unauthenticated } = settings
  return new ConfigurationBotFrameworkAuthentication(
    {
      MicrosoftAppId: appId,
      MicrosoftAppTenantId: tenantId,
      ToBotFromChannelOpenIdMetadataUrl: openIdUrl,
      ToBotFromChannelTokenIssuer: TOKEN_ISSUER,
      ToBotFromEmulatorOpenIdMetadataUrl: openIdUrl,
      ToChannelFromBotLoginUrl: `${loginUrl}/${tenantId}`,
      ToChannelFromBotOAuthScope: SCOPE,
      OAuthUrl: SCOPE,
      CallerId: 'urn:botframework:azure',
      ValidateAuthority: true,
    },
    {
      isValidAppId: async (id) => id === appId,
      isAuthenticationDisabled: async () => unauthenticated,
      // Requests are signed where they are sent.
      createCredentials: async () => ({ signRequest: async (request) => request }),
    },
    { requiredEndorsements: ['msteams'] },
    undefined,
    { httpClient: httpClient(settings, parts), tokenRefreshInterval: KEYS_LAST_HOURS },
  )
}

type HttpClient = NonNullable<
  NonNullable<ConstructorParameters<typeof ConfigurationBotFrameworkAuthentication>[4]>['httpClient']
>

/** What it throws is an error type that the library does not retry. */
function httpClient(settings: TeamsSettings, parts: Parts): HttpClient {
  const sendOnce = createSendOnce(createAppTokens(settings, parts), settings, parts)
  return {
    async sendRequest(request) {
      const { method, url, body, abortSignal } = request
      const signal = abortSignal instanceof AbortSignal ? abortSignal : AbortSignal.timeout(CALL_DEADLINE_MS)
      const { status, text } = await sendOnce({
        method,
        url,
        signal,
        ...(typeof body === 'string' ? { body } : {}),
      })
      const headers = request.headers.clone()
      for (const name of headers.headerNames()) headers.remove(name)
      headers.set('Content-Type', 'application/json')
      return { request, status, headers, bodyAsText: text }
    },
  }
}

class Adapter extends CloudAdapter {
  private readonly inbound: Authentication

  constructor(inbound: Authentication) {
    super(inbound)
    this.inbound = inbound
  }

  async receive(
    log: FlowDeps['log'],
    authorization: string,
    body: object,
    events: BotEvents,
  ): Promise<BotAnswer> {
    if (!isActivity(body)) return { status: 400 }
    // The library reads the keys for itself, without a deadline.
    const checking = this.inbound.authenticateRequest(body, authorization)
    const authentic = await unlessAborted(checking, AbortSignal.timeout(CHECK_MS)).catch((error: unknown) => {
      log.warn({ error }, 'the bot library did not accept a token that had passed the guard')
      throw refusal(isRefusal(error) ? 'chat_token_refused' : 'chat_keys_unavailable')
    })
    const answer = await this.processActivity(authentic, body, (context) => dispatch(context, events))
    return answer === undefined ? { status: 200 } : { status: answer.status, body: answer.body }
  }

  /** A connector of the library for one address. */
  connector(appId: string, serviceUrl: string): Promise<Connector> {
    return this.inbound.createConnectorFactory(this.createClaimsIdentity(appId)).create(serviceUrl, SCOPE)
  }
}

/** The library's word for a bad token, and that of what it checks signatures with; anything else is no verdict. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'JsonWebTokenError' || Reflect.get(error, 'statusCode') === 401
}

/** Ours is the check that counts: the library's type demands much that activities do not have. */
function isActivity(body: object): body is LibraryActivity {
  return readActivity(body) !== undefined
}

async function dispatch(context: TurnContext, events: BotEvents): Promise<void> {
  const activity = readActivity(context.activity)
  if (activity === undefined) return
  const event = eventOf(activity)
  if (event.kind === 'presence') await events.onInstalled(event.presence)
  if (event.kind === 'command') await events.onCommand(event.command)
  if (event.kind === 'click' && event.click.fallback) await events.onClick(event.click)
  if (activity.type !== 'invoke') return
  const value = event.kind === 'click' ? answerClick(await events.onClick(event.click)) : { status: 501 }
  await context.sendActivity({ type: 'invokeResponse', value })
}

function createCalls({ appId, tenantId }: TeamsSettings, adapter: Adapter): BotCalls {
  const connectorOf = (serviceUrl: string) => adapter.connector(appId, serviceUrl)
  const opening = { bot: { id: `28:${appId}`, name: 'Countersign' }, tenantId }
  const tenant = { id: tenantId }
  return {
    post: (to, message) =>
      attempt(async (abortSignal) => {
        const { conversations } = await connectorOf(to.service_url)
        const activity = outgoing(message)
        if (to.kind === 'thread') {
          const channelData = { tenant, channel: { id: to.channel } }
          const parameters = { ...opening, isGroup: true, channelData, activity }
          const { id, activityId } = await conversations.createConversation(parameters, { abortSignal })
          return { conversation_id: id, message_id: activityId ?? '' }
        }
        const conversation_id =
          to.kind === 'unmet'
            ? await openWith(conversations, { ...opening, channelData: { tenant } }, to.user, abortSignal)
            : to.conversation_id
        const { id } = await conversations.sendToConversation(conversation_id, activity, { abortSignal })
        return { conversation_id, message_id: id ?? '' }
      }),
    update: ({ service_url, conversation_id }, messageId, message) =>
      attempt(async (abortSignal) => {
        const { conversations } = await connectorOf(service_url)
        const activity = { ...outgoing(message), id: messageId }
        await conversations.updateActivity(conversation_id, messageId, activity, { abortSignal })
      }),
    resolveUser: ({ service_url, conversation_id }, user) =>
      attempt(async (abortSignal) => {
        const { conversations } = await connectorOf(service_url)
        return userOf(await conversations.getConversationMember(conversation_id, user, { abortSignal }))
      }),
  }
}

/** The conversation with one person: the same one however often it is opened. */
async function openWith(
  conversations: Connector['conversations'],
  opening: { bot: { id: string; name: string }; tenantId: string; channelData: object },
  user: string,
  abortSignal: AbortSignal,
): Promise<string> {
  const members = [{ id: user, name: '' }]
  const { id } = await conversations.createConversation(
    { ...opening, isGroup: false, members },
    { abortSignal },
  )
  return id
}

/** `text` beside a card would be shown twice; `summary` is what notifications read. */
function outgoing({ card, text }: BotMessage): LibraryActivity {
  const activity = { type: 'message', summary: text, attachments: [{ contentType: CARD, content: card }] }
  if (!isActivity(activity)) throw new Error('no activity')
  return activity
}

function userOf(member: object): BotUser {
  const read = (name: string): string | undefined => {
    const value: unknown = Object.entries(member).find(([key]) => key === name)?.[1]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const email = read('email') ?? read('userPrincipalName')
  const name = read('name')
  return { ...(email === undefined ? {} : { email }), ...(name === undefined ? {} : { name }) }
}

/** What goes back to Teams. */
interface BotAnswer {
  status: number
  body?: unknown
}

/** The answer to `adaptiveCard/action` (Teams "Universal Actions for Adaptive Cards", response format). */
function answerClick(answer: ClickAnswer): BotAnswer {
  const body =
    'card' in answer
      ? { statusCode: 200, type: CARD, value: answer.card }
      : { statusCode: 200, type: MESSAGE, value: answer.words }
  return { status: 200, body }
}
