import { randomUUID } from 'node:crypto'
import { startStopwatch, untilInTime } from './stopwatch.ts'
import type { TeamsConnector, TeamsPerson } from './teams-connector.ts'
import type { TeamsIdentity, TokenKnobs } from './teams-identity.ts'

/** What Teams gets from us, and how long it had to wait. */
export interface TeamsReply {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely; a wrong path fails the assertion
  body: any
  ms: number
}

/** Where a delivery differs from an honest one. */
interface Knobs {
  token?: TokenKnobs
  /** The whole header instead; null leaves it out. */
  authorization?: string | null
  /** Laid over the activity; undefined leaves a field out. */
  activity?: Record<string, unknown>
  /** Exactly this body. */
  raw?: string
  contentType?: string
  headers?: Record<string, string>
  /** Takes also for an answer that there is none yet. */
  hasty?: boolean
}

/** Where somebody is: in their own chat with the bot unless a channel or group chat is named. */
export interface Whereabouts extends Knobs {
  channel?: string
  channelName?: string
  team?: string
  group?: string
}

/** Teams' side of `/api/messages`: signed activities over real HTTP. */
export interface TeamsDriver {
  /** Somebody writes; in a channel they mention the bot. */
  message(person: TeamsPerson, text: string, where?: Whereabouts): Promise<TeamsReply>
  /** Somebody presses an `Action.Execute`. */
  press(person: TeamsPerson, verb: string, data: unknown, where?: Whereabouts): Promise<TeamsReply>
  /** Somebody presses the `Action.Submit` that stands in for it. */
  submit(person: TeamsPerson, value: unknown, where?: Whereabouts): Promise<TeamsReply>
  /** `installationUpdate`: `add`, `remove`, and their `-upgrade`s. */
  installation(person: TeamsPerson, action: string, where?: Whereabouts): Promise<TeamsReply>
  /** `conversationUpdate`, for example `{membersAdded: [BOT]}`. */
  update(person: TeamsPerson, fields: Record<string, unknown>, where?: Whereabouts): Promise<TeamsReply>
  /** Exactly this activity. */
  post(activity: Record<string, unknown>, knobs?: Knobs): Promise<TeamsReply>
  /** The activity that `message` would send. */
  written(person: TeamsPerson, text: string, where?: Whereabouts): Record<string, unknown>
}

export interface DriverOptions {
  /** The service's address, without a path. */
  url: string
  identity: Pick<TeamsIdentity, 'tokenFor'>
  connector: Pick<TeamsConnector, 'serviceUrl'>
  tenantId: string
}

/** The bot, as members of a conversation are named. */
export const BOT = { id: '28:countersign', name: 'Countersign' }
const MENTION = '<at>Countersign</at>'

let drawn = 0

export function createTeamsDriver(options: DriverOptions): TeamsDriver {
  const post = (activity: Record<string, unknown>, knobs: Knobs = {}) => send(options, activity, knobs)
  const base = (person: TeamsPerson, where: Whereabouts) => baseOf(options, person, where)
  const written = (person: TeamsPerson, text: string, where: Whereabouts = {}) => {
    const apart = where.channel === undefined && where.group === undefined
    const mention = { type: 'mention', text: MENTION, mentioned: BOT }
    const said = apart
      ? { text, entities: [{ type: 'clientInfo', locale: 'en-US' }] }
      : { text: `${MENTION}&nbsp;${text}`, entities: [mention] }
    return { ...base(person, where), type: 'message', textFormat: 'plain', ...said }
  }
  return {
    post,
    written,
    message: (person, text, where = {}) => post(written(person, text, where), where),
    press: (person, verb, data, where = {}) => {
      const value = { action: { type: 'Action.Execute', title: 'Refresh', verb, data }, trigger: 'manual' }
      const say = () =>
        post({ ...base(person, where), type: 'invoke', name: 'adaptiveCard/action', value }, where)
      return where.hasty ? say() : untilInTime(say)
    },
    submit: (person, value, where = {}) => post({ ...base(person, where), type: 'message', value }, where),
    installation: (person, action, where = {}) =>
      post({ ...base(person, where), type: 'installationUpdate', action }, where),
    update: (person, fields, where = {}) =>
      post({ ...base(person, where), type: 'conversationUpdate', ...fields }, where),
  }
}

function baseOf({ connector, tenantId }: DriverOptions, person: TeamsPerson, where: Whereabouts) {
  const { channel, channelName, team, group } = where
  drawn += 1
  const conversation =
    channel !== undefined
      ? { id: `${channel};messageid=1699999999999`, conversationType: 'channel', isGroup: true, tenantId }
      : group !== undefined
        ? { id: group, conversationType: 'groupChat', isGroup: true, tenantId }
        : { id: `a:${person.id}`, conversationType: 'personal', tenantId }
  return {
    id: `${process.pid}${Date.now()}${drawn}`,
    timestamp: new Date().toISOString(),
    channelId: 'msteams',
    serviceUrl: connector.serviceUrl,
    from: { id: `29:${person.id}`, name: person.name, aadObjectId: person.id },
    recipient: BOT,
    conversation,
    channelData: {
      tenant: { id: tenantId },
      ...(channel !== undefined && { channel: { id: channel, name: channelName } }),
      ...(team !== undefined && { team: { id: `19:${randomUUID()}`, name: team } }),
    },
  }
}

async function send(
  options: DriverOptions,
  activity: Record<string, unknown>,
  knobs: Knobs,
): Promise<TeamsReply> {
  const token = options.identity.tokenFor(options.connector.serviceUrl, knobs.token)
  const authorization = knobs.authorization === undefined ? `Bearer ${token}` : knobs.authorization
  const stop = startStopwatch()
  const response = await fetch(`${options.url}/api/messages`, {
    method: 'POST',
    headers: {
      'Content-Type': knobs.contentType ?? 'application/json; charset=utf-8',
      ...(authorization === null ? {} : { Authorization: authorization }),
      ...knobs.headers,
    },
    body: knobs.raw ?? JSON.stringify({ ...activity, ...knobs.activity }),
  })
  const text = await response.text()
  const ms = stop()
  return { status: response.status, headers: response.headers, text, body: parsed(text), ms }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
