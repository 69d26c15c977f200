import { CloudAdapter, ConfigurationBotFrameworkAuthentication, type TurnContext } from 'botbuilder'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { given } from '../../src/domain/given.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { BotCalls, BotEvent, BotEvents, BotMessage, BotUser, ClickAnswer, TeamsBot } from './bot-port.ts'
import { attempt, CALL_DEADLINE_MS, createAppTokens, createSendOnce } from './connector.ts'

type Parts = Pick<FlowDeps, 'clock' | 'log'>
type Authentication = ConfigurationBotFrameworkAuthentication
type LibraryActivity = TurnContext['activity']
type Connector = Awaited<ReturnType<ReturnType<Authentication['createConnectorFactory']>['create']>>

const SCOPE = 'https://api.botframework.com'
const CARD = 'application/vnd.microsoft.card.adaptive'
const MESSAGE = 'application/vnd.microsoft.activity.message'

/**
 * Creates the bot on botbuilder, which is past its end of life and used in this file only. The library runs the turn, and knows
 * the connector's addresses and formats. It checks no token, because our guard has done so: alone it accepts other issuers,
 * tokens without expiry and keys without an endorsement, and reads keys without a deadline. The HTTP requests are our own,
 * because the library's client repeats posts and has no deadline.
 */
export function createBot(settings: TeamsSettings, parts: Parts): TeamsBot {
  const adapter = new Adapter(authentication(settings, parts), settings.appId)
  return { ...createCalls(settings, adapter), receive: adapter.receive.bind(adapter) }
}

/** Configures what the library needs for sending. Naming one address makes it drop its defaults for those that check tokens. */
function authentication(settings: TeamsSettings, parts: Parts): Authentication {
  const { appId, loginUrl, tenantId } = settings
  return new ConfigurationBotFrameworkAuthentication(
    {
      MicrosoftAppId: appId,
      MicrosoftAppTenantId: tenantId,
      ToChannelFromBotLoginUrl: `${loginUrl}/${tenantId}`,
      ToChannelFromBotOAuthScope: SCOPE,
      OAuthUrl: SCOPE,
    },
    {
      isValidAppId: async () => false,
      isAuthenticationDisabled: async () => false,
      // Nothing to do here: `createSendOnce` adds the token.
      createCredentials: async () => ({ signRequest: async (request) => request }),
    },
    undefined,
    undefined,
    { httpClient: httpClient(settings, parts) },
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
  private readonly authentication: Authentication
  private readonly appId: string

  constructor(authentication: Authentication, appId: string) {
    super(authentication)
    this.authentication = authentication
    this.appId = appId
  }

  async receive(activity: { type: string }, event: BotEvent, events: BotEvents): Promise<BotAnswer> {
    const claimsIdentity = this.createClaimsIdentity(this.appId)
    const connectorFactory = this.authentication.createConnectorFactory(claimsIdentity)
    const authentic = { audience: SCOPE, claimsIdentity, connectorFactory }
    const run = (context: TurnContext): Promise<void> => dispatch(context, event, events)
    const answer = await this.processActivity(authentic, forLibrary({ ...activity }), run)
    return answer === undefined ? { status: 200 } : { status: answer.status, body: answer.body }
  }

  /** Creates a connector of the library for one address. */
  connector(serviceUrl: string): Promise<Connector> {
    const identity = this.createClaimsIdentity(this.appId)
    return this.authentication.createConnectorFactory(identity).create(serviceUrl, SCOPE)
  }
}

/** Narrows to the library's type, which demands many fields that activities do not have. */
function forLibrary(activity: { type: string }): LibraryActivity {
  if (!isActivity(activity)) throw new Error('no activity')
  return activity
}

function isActivity(activity: { type: string }): activity is LibraryActivity {
  return activity.type !== ''
}

async function dispatch(context: TurnContext, event: BotEvent, events: BotEvents): Promise<void> {
  if (event.kind === 'presence') await events.onInstalled(event.presence)
  if (event.kind === 'command') await events.onCommand(event.command)
  if (event.kind === 'click' && event.click.fallback) await events.onClick(event.click)
  if (context.activity.type !== 'invoke') return
  const value = event.kind === 'click' ? answerClick(await events.onClick(event.click)) : { status: 501 }
  await context.sendActivity({ type: 'invokeResponse', value })
}

function createCalls({ appId, tenantId }: TeamsSettings, adapter: Adapter): BotCalls {
  const connectorOf = (serviceUrl: string) => adapter.connector(serviceUrl)
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
  return forLibrary(activity)
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
