import { createHmac } from 'node:crypto'
import type { ChatIdentity } from '../../src/domain/chat.ts'
import { startStopwatch, untilInTime } from './stopwatch.ts'

/** What Slack gets from us, and how long it had to wait. */
export interface SlackReply {
  status: number
  headers: Headers
  /** The body as it came. */
  text: string
  /** The body as JSON; undefined when it is empty or none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely; a wrong path fails the assertion
  body: any
  ms: number
}

/** Where a request differs from an honest one. */
interface Knobs {
  /** Unix seconds that are signed and sent; now unless named. */
  timestamp?: number | string
  /** Sent instead of the true signature; null leaves the header out. */
  signature?: string | null
  /** Signs with this secret. */
  secret?: string
  /** Changes the body after it was signed. */
  tamper?: (body: string) => string
  contentType?: string
  /** Sent besides and instead of the others; null leaves one out. */
  headers?: Record<string, string | null>
  /** As Slack says that it tries again. */
  retry?: { num: number; reason: string }
  /** Takes also for an answer that there is none yet. */
  hasty?: boolean
}

/** Who types or presses, and where; a direct message with the app unless named. */
export interface Whereabouts extends Knobs {
  user?: string
  userName?: string
  channel?: string
  channelName?: string
  /** Laid over the payload: other workspaces, forged addresses, fields left out (undefined). */
  fields?: Record<string, unknown>
}

/** A message as read back from Slack, and where it is. */
export interface ReadMessage {
  channel: string
  ts: string
  blocks?: readonly unknown[]
  [field: string]: unknown
}

/** Slack's side of the events address: signed like Slack signs, over real HTTP. */
export interface SlackDriver {
  /** `command('/verify', 'req_…')`, as somebody types it. */
  command(command: string, text?: string, where?: Whereabouts): Promise<SlackReply>
  /** Presses the button of a message as it was read back. @throws when it has no such button */
  click(message: ReadMessage, actionId: string, user: string, where?: Whereabouts): Promise<SlackReply>
  /** Any interactive payload: shortcuts, views, actions that no message has. */
  interact(payload: Record<string, unknown>, knobs?: Knobs): Promise<SlackReply>
  /** An event of the Events API; `fields` are laid over its envelope. */
  event(event: Record<string, unknown>, where?: Whereabouts): Promise<SlackReply>
  /** Exactly this body, signed. */
  post(body: string, knobs?: Knobs): Promise<SlackReply>
}

export interface DriverOptions {
  /** The service's address, without a path. */
  url: string
  signingSecret: string
  teamId: string
  teamDomain?: string
}

const FORM = 'application/x-www-form-urlencoded'
const PERSON = 'U0000ANA'
const DIRECT = 'D0000ANA'

let drawn = 0

/** A name that Slack never used before: event ids, trigger ids. */
export function fresh(prefix: string): string {
  drawn += 1
  return `${prefix}${process.pid}${Date.now().toString(36).toUpperCase()}${drawn}`
}

/** Signature of docs.slack.dev, "Verifying requests from Slack". */
export function signSlack(secret: string, timestamp: number | string, body: string): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`
}

/** The payload of a slash command, before it is encoded. */
export function commandPayload(
  { teamId, teamDomain = 'acme' }: Pick<DriverOptions, 'teamId' | 'teamDomain'>,
  command: string,
  text: string,
  { user = PERSON, userName = 'ana', channel = DIRECT, channelName = 'directmessage', fields }: Whereabouts,
): Record<string, unknown> {
  return {
    token: 'deprecated-token',
    team_id: teamId,
    team_domain: teamDomain,
    channel_id: channel,
    channel_name: channelName,
    user_id: user,
    user_name: userName,
    command,
    text,
    api_app_id: 'A0COUNTER',
    is_enterprise_install: 'false',
    response_url: 'https://hooks.slack.example/commands/never',
    trigger_id: fresh('13345224609.'),
    ...fields,
  }
}

/** The payload of a pressed button. @throws when the message has no such button */
function clickPayload(
  { teamId, teamDomain = 'acme' }: Pick<DriverOptions, 'teamId' | 'teamDomain'>,
  message: ReadMessage,
  actionId: string,
  user: string,
  { userName = 'ana', fields }: Whereabouts = {},
): Record<string, unknown> {
  const button = buttonOf(message, actionId)
  return {
    type: 'block_actions',
    token: 'deprecated-token',
    api_app_id: 'A0COUNTER',
    team: { id: teamId, domain: teamDomain },
    enterprise: null,
    is_enterprise_install: false,
    user: { id: user, username: userName, name: userName, team_id: teamId },
    channel: { id: message.channel, name: 'directmessage' },
    container: {
      type: 'message',
      message_ts: message.ts,
      channel_id: message.channel,
      is_ephemeral: false,
    },
    message: { type: 'message', ...message },
    state: { values: {} },
    trigger_id: fresh('12466734323.'),
    response_url: 'https://hooks.slack.example/actions/never',
    actions: [{ ...button, action_ts: `${Math.floor(Date.now() / 1000)}.000100` }],
    ...fields,
  }
}

/** The envelope of an event. */
export function eventPayload(
  { teamId }: Pick<DriverOptions, 'teamId'>,
  event: Record<string, unknown>,
  { fields }: Whereabouts = {},
): Record<string, unknown> {
  return {
    token: 'deprecated-token',
    team_id: teamId,
    api_app_id: 'A0COUNTER',
    type: 'event_callback',
    event_id: fresh('Ev'),
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [{ enterprise_id: null, team_id: teamId, user_id: 'U0BOT', is_bot: true }],
    event: { event_ts: '1700000000.000100', ...event },
    ...fields,
  }
}

/** Drives the events address of the service at `url`. */
export function createSlackDriver(options: DriverOptions): SlackDriver {
  const post = (body: string, knobs: Knobs = {}) => send(options, body, knobs)
  const interact = (payload: Record<string, unknown>, knobs: Knobs = {}) =>
    post(new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), knobs)
  return {
    post,
    interact,
    command(command, text = '', where = {}) {
      const say = () => post(formOf(commandPayload(options, command, text, where)), where)
      return where.hasty ? say() : untilInTime(say)
    },
    click: async (message, actionId, user, where = {}) =>
      interact(clickPayload(options, message, actionId, user, where), where),
    async event(event, where = {}) {
      const body = JSON.stringify(eventPayload(options, event, where))
      const say = () => post(body, { contentType: 'application/json', ...where })
      let reply = await say()
      // As Slack does with what was not acknowledged in time.
      for (let times = 0; times < 20 && reply.status === 503 && !where.hasty; times += 1) reply = await say()
      return reply
    },
  }
}

/** How the identity of somebody who types is called here. */
export function slackIdentity(teamId: string, user = PERSON): ChatIdentity {
  return { platform: 'slack', tenant: teamId, user }
}

function formOf(payload: Record<string, unknown>): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(payload)) {
    if (value !== undefined && value !== null) form.append(name, String(value))
  }
  return form.toString()
}

function buttonOf({ blocks = [] }: ReadMessage, actionId: string): Record<string, unknown> {
  for (const block of blocks) {
    if (!isRecord(block) || !Array.isArray(block.elements)) continue
    const element = block.elements.find((each) => isRecord(each) && each.action_id === actionId)
    if (isRecord(element)) return { ...element, block_id: block.block_id }
  }
  throw new Error(`the message has no button ${actionId}`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

async function send({ url, signingSecret }: DriverOptions, body: string, knobs: Knobs): Promise<SlackReply> {
  const timestamp = knobs.timestamp ?? Math.floor(Date.now() / 1000)
  const signature =
    knobs.signature === undefined
      ? signSlack(knobs.secret ?? signingSecret, timestamp, body)
      : knobs.signature
  const headers: Record<string, string | null> = {
    'content-type': knobs.contentType ?? FORM,
    'x-slack-request-timestamp': String(timestamp),
    'x-slack-signature': signature,
    ...(knobs.retry && {
      'x-slack-retry-num': String(knobs.retry.num),
      'x-slack-retry-reason': knobs.retry.reason,
    }),
    ...knobs.headers,
  }
  const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null)
  const stop = startStopwatch()
  const response = await fetch(`${url}/slack/events`, {
    method: 'POST',
    headers: Object.fromEntries(sent),
    body: knobs.tamper === undefined ? body : knobs.tamper(body),
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
