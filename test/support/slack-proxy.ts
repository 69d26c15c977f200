import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { checkBlocks } from './check-blocks.ts'
import type { SlackLimits } from './slack-limits.ts'

/** A call of Slack's Web API, as it came in and what became of it. */
export interface SlackCall {
  /** `chat.postMessage` */
  method: string
  /** JSON in a field (`blocks`) is parsed. */
  args: Record<string, unknown>
  token: string
  /** Of all calls of that method, from 1. */
  nth: number
  /** Local clock, in milliseconds. */
  at: number
  /** The emulator acted on it, whatever the caller learned of it. */
  taken: boolean
  /** `ok`, Slack's error code, `HTTP 500`, or that the connection was cut; absent while it is under way. */
  outcome?: string
}

/** How Slack takes a call; nothing: as usual. An async `behave` delays the call. */
export type SlackBehaviour =
  | undefined
  /** Refused with this code. */
  | { error: string }
  /** Answered with this, whatever the emulator knows. */
  | { answer: Record<string, unknown> }
  | { status: number; headers?: Record<string, string>; body?: string }
  /** The connection is cut: before the call was taken, or after. */
  | 'drop'
  | 'take-and-drop'
  /** No answer at all: before the call was taken, or after. */
  | 'stall'
  | 'take-and-stall'
  /** Taken, and answered when this resolves. */
  | { late: Promise<unknown> }

export interface SlackProxy {
  url: string
  calls: SlackCall[]
  behave(how: (call: SlackCall) => SlackBehaviour | Promise<SlackBehaviour>): void
  /** Lets the app read messages, as if the scope for that had been granted just now; or no longer. */
  letRead(may: boolean): void
  close(): Promise<void>
}

interface Reply {
  status: number
  headers: Record<string, string>
  body: string
}

interface Setting {
  emulator: string
  /** Good tokens, and their scopes for the header that tells them. OAuth adds to them. */
  tokens: Map<string, string>
  limits: SlackLimits | undefined
  /** May the app read messages? */
  reading: boolean
  /** Metadata of messages, which the emulator does not keep, by channel and `ts`. */
  metadata: Map<string, unknown>
}

/**
 * Stands before the emulator and refuses what Slack refuses and the emulator takes: bad tokens, bad blocks, edits by a
 * person's id, posts to channels the app is not in, and, when asked, too many calls. It keeps no message itself.
 */
export async function startSlackProxy(
  emulator: string,
  { limits, tokens }: Pick<Setting, 'limits' | 'tokens'>,
): Promise<SlackProxy> {
  const calls: SlackCall[] = []
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  const setting: Setting = { emulator, tokens, limits, metadata: new Map(), reading: false }
  let how: Parameters<SlackProxy['behave']>[0] = () => undefined

  const record = (request: IncomingMessage, method: string, body: Buffer): SlackCall => {
    const nth = (counts.get(method) ?? 0) + 1
    counts.set(method, nth)
    const args = readArguments(String(request.headers['content-type']), body.toString())
    const call = { method, args, token: tokenOf(request), nth, at: Date.now(), taken: false }
    calls.push(call)
    return call
  }
  const server = createServer(async (request, response) => {
    const method = /^\/api\/([\w.]+)/.exec(request.url ?? '')?.[1]
    try {
      const body = await readBody(request)
      if (method === undefined) send(response, await forward(emulator, request, body))
      else await answer(setting, record(request, method, body), how, { request, response, body })
    } catch {
      response.destroy()
    }
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  const url = await listen(server)
  return {
    url,
    calls,
    behave: (next) => {
      how = next
    },
    letRead: (may) => {
      setting.reading = may
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  body: Buffer
}

async function answer(
  setting: Setting,
  call: SlackCall,
  how: Parameters<SlackProxy['behave']>[0],
  { request, response, body }: Exchange,
): Promise<void> {
  const behaviour = await how(call)
  const cut = behaviour === 'drop' || behaviour === 'take-and-drop'
  const silent = behaviour === 'stall' || behaviour === 'take-and-stall'
  const scripted = scriptedReply(behaviour)
  if (behaviour === 'drop' || behaviour === 'stall') call.outcome = behaviour
  if (scripted !== undefined) return finish(call, response, scripted)
  if (behaviour === 'drop') return void response.destroy()
  if (behaviour === 'stall') return
  const reply = (await refusal(setting, call)) ?? (await take(setting, call, request, body))
  if (typeof behaviour === 'object' && 'late' in behaviour) await behaviour.late
  if (cut || silent) call.outcome = String(behaviour)
  if (cut) return void response.destroy()
  if (!silent) finish(call, response, reply)
}

function scriptedReply(behaviour: SlackBehaviour): Reply | undefined {
  if (typeof behaviour !== 'object' || 'late' in behaviour) return undefined
  if ('error' in behaviour) return asJson({ ok: false, error: behaviour.error })
  if ('answer' in behaviour) return asJson(behaviour.answer)
  return { status: behaviour.status, headers: behaviour.headers ?? {}, body: behaviour.body ?? '' }
}

function finish(call: SlackCall, response: ServerResponse, reply: Reply): void {
  call.outcome = outcomeOf(reply)
  send(response, reply)
}

function outcomeOf({ status, body }: Reply): string {
  const read = Object(parseJson(body))
  if (read.ok === true) return 'ok'
  return typeof read.error === 'string' ? read.error : `HTTP ${status}`
}

/** What Slack would not have taken, and the emulator would. */
async function refusal(setting: Setting, call: SlackCall): Promise<Reply | undefined> {
  const { emulator, limits, tokens } = setting
  const anonymous = call.method.startsWith('oauth.')
  if (!anonymous && !tokens.has(call.token)) return refuse(call.token === '' ? 'not_authed' : 'invalid_auth')
  const channel = String(call.args.channel ?? '')
  const seconds = limits?.take(call.token, call.method, channel)
  if (seconds !== undefined) {
    const refused = asJson({ ok: false, error: 'ratelimited' })
    return { ...refused, status: 429, headers: { ...refused.headers, 'retry-after': String(seconds) } }
  }
  // None at all is how an edit takes them away.
  const none = Array.isArray(call.args.blocks) && call.args.blocks.length === 0
  if (call.args.blocks !== undefined && !none) {
    const problems = checkBlocks(call.args.blocks)
    const tooLong = problems.length > 0 && problems.every((line) => /characters of (text|JSON)$/.test(line))
    const error = tooLong ? 'msg_blocks_too_long' : 'invalid_blocks'
    if (problems.length > 0) return asJson({ ok: false, error, response_metadata: { messages: problems } })
  }
  if (call.method === 'conversations.history' && !setting.reading) return refuse('missing_scope')
  if (call.method === 'chat.update' && !/^[CDG]/.test(channel)) return refuse('channel_not_found')
  if (call.method !== 'chat.postMessage' || !/^[CG]/.test(channel)) return undefined
  const info = Object(await callEmulator(emulator, 'conversations.info', { channel }, call.token))
  return info.ok === true && info.channel?.is_member === false ? refuse('not_in_channel') : undefined
}

async function take(
  { emulator, tokens, metadata }: Setting,
  call: SlackCall,
  request: IncomingMessage,
  body: Buffer,
): Promise<Reply> {
  const reply = withMetadata(metadata, call, await forward(emulator, request, body))
  call.taken = outcomeOf(reply) === 'ok'
  const { access_token: issued, scope } = Object(parseJson(reply.body))
  if (typeof issued === 'string') tokens.set(issued, String(scope))
  const granted = tokens.get(call.token)
  return granted === undefined
    ? reply
    : { ...reply, headers: { ...reply.headers, 'x-oauth-scopes': granted } }
}

/** Keeps what came with a post, and lays it over what history says when that is asked for. */
function withMetadata(metadata: Map<string, unknown>, { method, args }: SlackCall, reply: Reply): Reply {
  const body = Object(parseJson(reply.body))
  if (method === 'chat.postMessage' && args.metadata !== undefined)
    metadata.set(`${body.channel} ${body.ts}`, args.metadata)
  if (method !== 'conversations.history' || String(args.include_all_metadata) !== 'true') return reply
  const messages: unknown[] = Array.isArray(body.messages) ? body.messages : []
  const told = messages.map((message) => {
    const { ts } = Object(message)
    return { ...Object(message), metadata: metadata.get(`${args.channel} ${ts}`) }
  })
  return { ...reply, body: JSON.stringify({ ...body, messages: told }) }
}

/** Calls the emulator itself: neither recorded nor limited. */
export async function callEmulator(
  emulator: string,
  method: string,
  args: Record<string, string>,
  token: string,
): Promise<unknown> {
  const response = await fetch(`${emulator}/api/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams(args),
  })
  return response.json()
}

async function forward(emulator: string, request: IncomingMessage, body: Buffer): Promise<Reply> {
  const headers = new Headers()
  for (const name of ['authorization', 'content-type', 'cookie', 'accept']) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  const response = await fetch(`${emulator}${request.url}`, {
    method: request.method ?? 'GET',
    headers,
    redirect: 'manual',
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  })
  const kept = ['content-type', 'location', 'set-cookie'].flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { status: response.status, headers: Object.fromEntries(kept), body: await response.text() }
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers).end(body)
}

function refuse(error: string): Reply {
  return asJson({ ok: false, error })
}

function asJson(body: unknown): Reply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  }
}

function readArguments(contentType: string, text: string): Record<string, unknown> {
  if (contentType.includes('application/json')) return { ...Object(parseJson(text)) }
  const fields = [...new URLSearchParams(text)].map(([name, value]): [string, unknown] => [
    name,
    /^[[{]/.test(value) ? (parseJson(value) ?? value) : value,
  ])
  return Object.fromEntries(fields)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function tokenOf(request: IncomingMessage): string {
  return (request.headers.authorization ?? '').replace(/^Bearer\s+/i, '')
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (address === null || typeof address !== 'object') return reject(new Error('no port'))
      resolve(`http://127.0.0.1:${address.port}`)
    })
  })
}
