import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { bodyOf, closeServer, listenLocally, sendJson } from './local-server.ts'
import type { TeamsIdentity } from './teams-identity.ts'
import { createTeamsPace } from './teams-pace.ts'

/** Somebody of the tenant. */
export interface TeamsPerson {
  /** `aadObjectId`, lower case. */
  id: string
  name: string
  email?: string
  userPrincipalName?: string
}

/** An activity as the bot sent it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into activities freely; a wrong path fails the assertion
export type SentActivity = any

/** A message as it stands in Teams, with everything it ever showed. */
export interface TeamsMessageState {
  id: string
  conversation: string
  shown: SentActivity[]
}

interface ConnectorCall {
  what: 'create' | 'post' | 'update' | 'member'
  /** The conversation's id, or of a new one the person or channel. */
  to: string
  /** Of all calls of that kind for that place, from 1. */
  nth: number
  activity?: SentActivity
}

/** How a call is taken; nothing: accepted. `lost`: accepted, and the connection is cut before the answer; `broken`: within it. */
export type ConnectorMood =
  | undefined
  | 'hang'
  | 'lost'
  | 'broken'
  | { status: number; code?: string; retryAfter?: string | number; headers?: Record<string, string> }

export interface ConnectorOptions {
  identity: Pick<TeamsIdentity, 'isGranted'>
  tenantId: string
  people: readonly TeamsPerson[]
  channels?: readonly string[]
  /** Group chats the bot is in. */
  groups?: readonly string[]
  /** Bytes of UTF-16 that an activity may have; Teams documents 100 KB. */
  largest?: number
  /** See `createTeamsPace`; 0 counts nothing. */
  strict?: number
  /** Asks for no token, as local test clients do; `bearers` says what came along all the same. */
  open?: boolean
}

/** The connector of Teams: keeps conversations and their messages, refuses what Teams refuses. */
export interface TeamsConnector {
  /** `serviceUrl` of activities. */
  serviceUrl: string
  /** `host:port`, for the settings. */
  host: string
  calls: ConnectorCall[]
  /** Every bearer token that was shown. */
  bearers: Set<string>
  /** Answers that were not successes, `429` and the like, in order. */
  refused: number[]
  /** Who has the app: others cannot be written to. */
  installed: Set<string>
  messages: TeamsMessageState[]
  behave(how: (call: ConnectorCall) => ConnectorMood | Promise<ConnectorMood>): void
  /** The person's own conversation with the bot. */
  conversationOf(person: string): string
  /** Messages to that person, or in that channel and its threads. */
  in(to: string): TeamsMessageState[]
  close(): Promise<void>
}

export async function startTeamsConnector(options: ConnectorOptions): Promise<TeamsConnector> {
  const { identity, strict = 1 } = options
  const pace = strict === 0 ? undefined : createTeamsPace(strict)
  const counts = new Map<string, number>()
  let how: (call: ConnectorCall) => ConnectorMood | Promise<ConnectorMood> = () => undefined
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) =>
      sendJson(response, 500, { error: String(error) }),
    )
  })
  const url = await listenLocally(server)
  const refuse = (
    response: ServerResponse,
    status: number,
    code: string,
    headers: Record<string, string> = {},
  ) => {
    it.refused.push(status)
    sendJson(response, status, { error: { code, message: code } }, headers)
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request)
    const { pathname } = new URL(request.url ?? '/', url)
    const parts = pathname.split('/').slice(1).map(decodeURIComponent)
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (token !== undefined) it.bearers.add(token)
    const known = options.open === true || (token !== undefined && identity.isGranted(token))
    if (!known) return refuse(response, 401, 'Unauthorized')
    const asked = readCall(request.method ?? '', parts, body === '' ? undefined : JSON.parse(body))
    if (asked === undefined) return refuse(response, 404, 'NotFound')
    const nth = (counts.get(`${asked.what} ${asked.to}`) ?? 0) + 1
    counts.set(`${asked.what} ${asked.to}`, nth)
    const call: ConnectorCall = { what: asked.what, to: asked.to, nth, activity: asked.activity }
    it.calls.push(call)
    const mood = await how(call)
    if (mood === 'hang') return
    if (typeof mood === 'object') {
      const after: Record<string, string> =
        mood.retryAfter === undefined ? {} : { 'Retry-After': String(mood.retryAfter) }
      return refuse(response, mood.status, mood.code ?? 'ServiceError', { ...after, ...mood.headers })
    }
    const patience = asked.what === 'member' ? undefined : pace?.take(asked.to.split(';')[0] ?? '')
    if (patience !== undefined)
      return refuse(response, 429, 'TooManyRequests', { 'Retry-After': String(patience) })
    const size = JSON.stringify(asked.activity ?? {}).length * 2
    if (size > (options.largest ?? 100_000)) return refuse(response, 413, 'MessageSizeTooBig')
    const result = take(it, options, asked)
    if ('code' in result) return refuse(response, result.status, result.code)
    if (mood === 'lost') {
      request.socket.destroy()
      return
    }
    if (mood === 'broken') {
      response.writeHead(result.status, { 'Content-Type': 'application/json', 'Content-Length': 500 })
      response.write('{"id":', () => request.socket.destroy())
      return
    }
    sendJson(response, result.status, result.body)
  }

  const it: TeamsConnector = {
    serviceUrl: `${url}/teams/`,
    host: new URL(url).host,
    calls: [],
    bearers: new Set(),
    refused: [],
    installed: new Set(options.people.map(({ id }) => id)),
    messages: [],
    behave: (next) => {
      how = next
    },
    conversationOf: (person) => `a:${person}`,
    in: (to) =>
      it.messages.filter(
        ({ conversation }) => conversation === `a:${to}` || conversation.split(';')[0] === to,
      ),
    close: () => closeServer(server),
  }
  return it
}

interface AskedCall extends Omit<ConnectorCall, 'nth'> {
  message?: string
}

type Result = { status: number; body: unknown } | { status: number; code: string }

/** `/teams/v3/conversations[/<id>/activities[/<message>] | /<id>/members/<person>]` */
function readCall(
  method: string,
  [root, v3, conversations, id, kind, rest]: string[],
  body: SentActivity,
): AskedCall | undefined {
  if (root !== 'teams' || v3 !== 'v3' || conversations !== 'conversations') return undefined
  if (id === undefined) {
    if (method !== 'POST') return undefined
    const to = body?.channelData?.channel?.id ?? body?.members?.[0]?.id
    return { what: 'create', to: String(to), activity: body?.activity ?? body }
  }
  if (kind === 'members' && method === 'GET' && rest !== undefined)
    return { what: 'member', to: id, message: rest }
  if (kind !== 'activities') return undefined
  if (method === 'PUT' && rest !== undefined) return { what: 'update', to: id, message: rest, activity: body }
  return method === 'POST' ? { what: 'post', to: id, activity: body } : undefined
}

function take(it: TeamsConnector, options: ConnectorOptions, call: AskedCall): Result {
  switch (call.what) {
    case 'create':
      return create(it, options, call)
    case 'post':
      return isOpen(it, options, call.to) ? posted(it, call.to, call.activity) : notIn()
    case 'update': {
      const message = it.messages.find(
        ({ id, conversation }) => id === call.message && conversation === call.to,
      )
      if (message === undefined) return { status: 404, code: 'ActivityNotFoundInConversation' }
      message.shown.push(call.activity)
      return { status: 200, body: { id: message.id } }
    }
    case 'member': {
      // By the id of the conversation's members alone: clients differ in whether the directory's will do.
      const person = options.people.find(({ id }) => `29:${id}` === call.message)
      if (person === undefined) return { status: 404, code: 'MemberNotFoundInConversation' }
      const { id, ...told } = person
      const account = { id: `29:${id}`, aadObjectId: id, objectId: id, tenantId: options.tenantId, ...told }
      return { status: 200, body: account }
    }
  }
}

function create(it: TeamsConnector, options: ConnectorOptions, { to, activity }: AskedCall): Result {
  if (options.channels?.includes(to)) {
    const made = posted(it, '', activity)
    const message = it.messages.at(-1)
    if (message === undefined || 'code' in made) return made
    message.conversation = `${to};messageid=${message.id}`
    return { status: 201, body: { id: message.conversation, activityId: message.id } }
  }
  const person = options.people.find(({ id }) => id === to)
  if (person === undefined) return { status: 400, code: 'BadSyntax' }
  return it.installed.has(to) ? { status: 201, body: { id: `a:${to}` } } : notIn()
}

function posted(it: TeamsConnector, conversation: string, activity: SentActivity): Result {
  const id = String(1_700_000_000_000 + it.messages.length)
  it.messages.push({ id, conversation, shown: [activity] })
  return { status: 201, body: { id } }
}

function isOpen(it: TeamsConnector, options: ConnectorOptions, conversation: string): boolean {
  const [place = ''] = conversation.split(';')
  return (
    [...(options.channels ?? []), ...(options.groups ?? [])].includes(place) ||
    it.installed.has(place.replace(/^a:/, ''))
  )
}

function notIn(): Result {
  return { status: 403, code: 'BotNotInConversationRoster' }
}
