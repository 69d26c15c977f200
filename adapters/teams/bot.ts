import { CloudAdapter, ConfigurationBotFrameworkAuthentication, type TurnContext } from 'botbuilder'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { refusal } from '../../src/domain/errors.ts'
import { given } from '../../src/domain/given.ts'
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
 * How long the library keeps keys: forever. It discards its keys when it fails to read them again, so an outage at Microsoft
 * would become ours. Our guard decides which keys are still valid; the library reads them again only for an unknown key.
 */
const KEYS_LAST_HOURS = Number.POSITIVE_INFINITY

/**
 * Creates the bot on botbuilder, which is past its end of life and used in this file only. The library checks tokens again
 * after our own guard, runs the turn, and knows the connector's addresses and formats. The HTTP requests are our own, because
 * the library's client repeats posts and has no deadline.
 */
export function createBot(settings: TeamsSettings, parts: Parts): TeamsBot {
  const adapter = new Adapter(authentication(settings, parts))
  return { ...createCalls(settings, adapter), receive: adapter.receive.bind(adapter, parts.log) }
}

/** Configures every address, because naming a single one makes the library drop its defaults for the others. */
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
      // Nothing to do here: `createSendOnce` adds the token.
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

/** Creates the HTTP client for the library. Its errors are of types that the library does not retry. */
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
    // The library reads the keys itself, without a deadline.
    const checking = this.inbound.authenticateRequest(body, authorization)
    const authentic = await unlessAborted(checking, AbortSignal.timeout(CHECK_MS)).catch((error: unknown) => {
      log.warn({ error }, 'the bot library refused a token that the guard had accepted')
      throw refusal(isRefusal(error) ? 'chat_token_refused' : 'chat_keys_unavailable')
    })
    const answer = await this.processActivity(authentic, body, (context) => dispatch(context, events))
    return answer === undefined ? { status: 200 } : { status: answer.status, body: answer.body }
  }

  /** Creates a connector of the library for one address. */
  connector(appId: string, serviceUrl: string): Promise<Connector> {
    return this.inbound.createConnectorFactory(this.createClaimsIdentity(appId)).create(serviceUrl, SCOPE)
  }
}

/** Checks whether the library, or its JWT package, judged the token bad; any other error says nothing about the token. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'JsonWebTokenError' || Reflect.get(error, 'statusCode') === 401
}

/** Narrows to the library's type by our own check: that type demands many fields that activities do not have. */
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

/** Opens the conversation with one person and returns its id, which is the same each time. */
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

/** Builds the activity. Notifications use `summary`; a `text` beside the card would show the words twice. */
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
  return given({ email, name })
}

/** The answer to Teams. */
interface BotAnswer {
  status: number
  body?: unknown
}

/** Builds the answer to `adaptiveCard/action` (Teams "Universal Actions for Adaptive Cards", response format). */
function answerClick(answer: ClickAnswer): BotAnswer {
  const body =
    'card' in answer
      ? { statusCode: 200, type: CARD, value: answer.card }
      : { statusCode: 200, type: MESSAGE, value: answer.words }
  return { status: 200, body }
}
