import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ExpressReceiver, type Receiver, SocketModeReceiver } from '@slack/bolt'
import { z } from 'zod'
import type { SlackSettings } from '../../src/config/slack.ts'
import { refusal } from '../../src/domain/errors.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { Log } from '../../src/ports/ports.ts'
import { warnSeldom } from '../../src/ports/warn-seldom.ts'
import type { ChatInstallationStore } from '../../src/store/chat/chat-installations.ts'
import { mountFixed, mountInstall } from './install.ts'
import { listen } from './listeners.ts'
import { createSlackPort } from './port.ts'
import { createAnswering, SlackApp } from './slack-app.ts'
import { callingOnce, createSlackLog } from './web-client.ts'
import { createWorkspaces, type Workspaces } from './workspaces.ts'

export interface SlackParts {
  installations: ChatInstallationStore
  vault: FlowDeps['vault']
  clock: FlowDeps['clock']
  log: FlowDeps['log']
  baseUrl: string
}

/** Creates a port that sends to Slack, and a receiver that answers it. Neither calls Slack before it is used. */
export function createSlack(settings: SlackSettings, parts: SlackParts) {
  const workspaces = createWorkspaces(settings, parts)
  return {
    port: createSlackPort(workspaces, parts),
    receive(deps: FlowDeps) {
      const receiver = createSlackReceiver(settings, workspaces, deps)
      const mount: Mount = (app, edge) => {
        if (settings.workspaces.kind === 'one') mountFixed([app, edge])
        mountInstall([app, edge], settings, deps, (tenant) => workspaces.forget(tenant))
        receiver.mount?.(app, edge)
      }
      return { ...receiver, mount }
    },
  }
}

/** Receives commands, clicks and events at `POST /slack/events`, or over a connection that we open (Socket Mode). */
function createSlackReceiver(
  { apiUrl, receive }: SlackSettings,
  workspaces: Pick<Workspaces, 'find' | 'forget'>,
  deps: FlowDeps,
): { mount?: Mount; start(): Promise<void>; stop(): Promise<void> } {
  const { seen, settings, clock, log } = deps
  const answering = createAnswering({ seen, settings, clock, log, workspaces })
  const connect = (receiver: Receiver): SlackApp => {
    const app = new SlackApp(receiver, { answering, log })
    listen(app, deps, workspaces)
    return app
  }
  if (receive.kind === 'http') {
    return {
      mount: (app) => mountEvents(app, receive.signingSecret, deps, connect),
      start: async () => undefined,
      stop: () => answering.settled(),
    }
  }
  const socket = createSocketConnection({ apiUrl, appToken: receive.appToken }, log, connect)
  return {
    start: async () => socket.start(),
    async stop() {
      // Pending answers still need the connection.
      await answering.settled()
      await socket.stop()
    },
  }
}

const PATH = '/slack/events'

/** A command that contains a whole pasted receipt has about 20 KB. */
const BODY_LIMIT = '256kb'

/** Mounts `POST /slack/events`. Must come before every body parser, because the signature covers the raw bytes. */
function mountEvents(
  app: Parameters<Mount>[0],
  signingSecret: string,
  { log, clock }: Pick<FlowDeps, 'log' | 'clock'>,
  connect: (receiver: ExpressReceiver) => SlackApp,
): void {
  // Open to the internet: strangers must not be able to fill the log.
  const refused = warnSeldom(log, 'a request that Slack did not sign was refused')
  app.post(PATH, function refuseForgery(request, _response, next) {
    const forgery = findForgery(request.headers, clock.now())
    if (forgery === undefined) return next()
    refused.failed(forgery)
    next(refusal('chat_signature_refused'))
  })
  connect(
    new ExpressReceiver({
      app,
      signingSecret,
      endpoints: { events: PATH },
      bodyLimit: BODY_LIMIT,
      logger: { ...createSlackLog(log), warn: (...said) => refused.failed(said.map(String).join(' ')) },
      customPropertiesExtractor: ({ headers, res }) => ({
        delivery: String(headers['x-slack-signature']),
        request_id: String(res?.getHeader('X-Request-Id') ?? ''),
      }),
      processEventErrorHandler: async ({ response }) => sendAgain(response),
      unhandledRequestHandler: ({ response }) => void sendAgain(response),
    }),
  )
}

/** Answers 503, upon which Slack sends the event again: nothing was done with it. */
function sendAgain(response: { headersSent: boolean; writeHead(status: number): { end(): void } }): true {
  if (!response.headersSent) response.writeHead(503).end()
  return true
}

/** How far Slack's clock and ours may differ, in either direction (T36). */
const WINDOW_SECONDS = 300

/**
 * Says what is wrong with the headers of a request that claims to come from Slack; undefined when its signature can be
 * checked. Bolt does that, but accepts any future timestamp, any version before the `=` of the signature (which it then
 * hashes as well) and anything after a second `=`: one request would have many valid signatures.
 */
function findForgery(headers: IncomingHttpHeaders, now: Date): string | undefined {
  const timestamp = headers['x-slack-request-timestamp']
  const signature = headers['x-slack-signature']
  if (typeof timestamp !== 'string' || !/^\d{1,11}$/.test(timestamp)) return 'no timestamp'
  if (typeof signature !== 'string' || !/^v0=[0-9a-f]{64}$/.test(signature)) return 'no signature'
  const apart = Math.floor(now.getTime() / 1000) - Number(timestamp)
  return Math.abs(apart) > WINDOW_SECONDS ? `the timestamp is ${apart} seconds old` : undefined
}

/** Most milliseconds from the request for the socket's address to Slack's greeting. */
const CONNECT_MS = 20_000
/** A connection that ends sooner counts as failed: Slack closes a healthy one only after hours. */
const HELD_MS = 10_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

const envelopeSchema = z.object({ envelope_id: z.string().min(1) })

const messageSchema = z.union([
  z.looseObject({ type: z.enum(['hello', 'disconnect']) }),
  envelopeSchema.loose().extend({ type: z.string() }),
])
const eventSchema = z.object({ event: z.looseObject({}) })

/**
 * Keeps from the library what it cannot read: there its listener rejects, which no caller can catch, and the process would end.
 * An event without content, such as `app_rate_limited`, gets another type, so that `Answering` acknowledges and logs it.
 */
function passReadable({ client }: SocketModeReceiver, log: Log): void {
  const [read] = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  client.on('ws_message', async (data: unknown) => {
    try {
      const message = messageSchema.parse(JSON.parse(String(data)))
      const contentless = message.type === 'events_api' && !eventSchema.safeParse(message.payload).success
      await read?.(contentless ? JSON.stringify({ ...message, type: 'control' }) : data)
    } catch {
      log.warn({}, 'Slack sent an unreadable message in Socket Mode')
    }
  })
}

/**
 * Socket Mode: opens a connection, and opens it again whenever it ends. We reconnect ourselves: the library gives up for good
 * when it fails once to reach the address, with a rejection that no caller can catch.
 */
function createSocketConnection(
  { appToken, apiUrl }: { appToken: string; apiUrl: string },
  log: Log,
  connect: (receiver: SocketModeReceiver) => SlackApp,
) {
  const ending = new AbortController()
  const receiver = new SocketModeReceiver({
    appToken,
    autoReconnectEnabled: false,
    logger: createSlackLog(log),
    customPropertiesExtractor: (args: unknown) => {
      const { envelope_id } = envelopeSchema.parse(args)
      return { delivery: `envelope:${envelope_id}`, request_id: envelope_id }
    },
    installerOptions: {
      clientOptions: {
        ...callingOnce(apiUrl),
        fetch: (url, init) => fetch(url, { ...init, signal: eitherSignal(init?.signal, ending.signal) }),
      },
    },
  })
  connect(receiver)
  passReadable(receiver, log)
  let running: Promise<void> | undefined
  return {
    /** Starts connecting; the log shows whether Slack answers. */
    start(): void {
      running ??= stayConnected(receiver, ending.signal, log)
    },
    async stop(): Promise<void> {
      ending.abort()
      await running
    },
  }
}

async function stayConnected(receiver: SocketModeReceiver, ending: AbortSignal, log: Log): Promise<void> {
  const { client } = receiver
  const hangUp = () => void client.disconnect()
  ending.addEventListener('abort', hangUp)
  for (let failures = 0; !ending.aborted; ) {
    const started = performance.now()
    try {
      await holdConnection(receiver, ending, log)
    } catch (error) {
      if (!ending.aborted) log.warn({ error: wordsOf(error) }, 'connecting to Slack in Socket Mode failed')
    }
    failures = performance.now() - started > HELD_MS ? 0 : failures + 1
    const wait = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
    await pause(wait, undefined, { signal: ending }).catch(() => undefined)
  }
  ending.removeEventListener('abort', hangUp)
}

/** Resolves when an open connection has ended. @throws when no connection could be opened */
async function holdConnection(receiver: SocketModeReceiver, ending: AbortSignal, log: Log): Promise<void> {
  const { client } = receiver
  let lost: () => void = () => undefined
  const loss = new Promise<void>((resolve) => {
    lost = resolve
  })
  client.on('disconnected', lost)
  const tooLong = setTimeout(() => void client.disconnect(), CONNECT_MS)
  try {
    await receiver.start()
    clearTimeout(tooLong)
    log.info({}, 'connected to Slack in Socket Mode')
    if (ending.aborted) void client.disconnect()
    await loss
  } finally {
    clearTimeout(tooLong)
    client.off('disconnected', lost)
  }
}

function eitherSignal(one: AbortSignal | null | undefined, other: AbortSignal): AbortSignal {
  return one === null || one === undefined ? other : AbortSignal.any([one, other])
}

/** Returns only the message of an error, without the call that failed. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : 'the connection ended before it began'
}
