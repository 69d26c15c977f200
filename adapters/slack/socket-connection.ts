import { setTimeout as pause } from 'node:timers/promises'
import { SocketModeReceiver } from '@slack/bolt'
import { z } from 'zod'
import type { Log } from '../../src/flow/ports.ts'
import type { SlackApp } from './slack-app.ts'
import { CALL_MS, createSlackLog } from './web-client.ts'

/** A connection that we open to Slack, and open again whenever it ends. */
export interface SocketConnection {
  /** Begins; whether Slack answers shows in the log. */
  start(): void
  stop(): Promise<void>
}

/** From asking for the address to Slack's greeting. */
const CONNECT_MS = 20_000
/** A connection that ends sooner counts as failed: Slack ends honest ones after hours. */
const HELD_MS = 10_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

const envelopeSchema = z.object({ envelope_id: z.string().min(1) })

/**
 * Socket Mode. Reconnecting is ours: the library's own gives up for good when its address cannot be reached once, with a
 * rejection that no caller can catch.
 */
export function createSocketConnection(
  { appToken, apiUrl }: { appToken: string; apiUrl: string },
  log: Log,
  connect: (receiver: SocketModeReceiver) => SlackApp,
): SocketConnection {
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
        slackApiUrl: apiUrl,
        timeout: CALL_MS,
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        fetch: (url, init) => fetch(url, { ...init, signal: eitherSignal(init?.signal, ending.signal) }),
      },
    },
  })
  connect(receiver)
  let running: Promise<void> | undefined
  return {
    start() {
      running ??= stayConnected(receiver, ending.signal, log)
    },
    async stop() {
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
      if (!ending.aborted) log.warn({ error: wordsOf(error) }, 'slack cannot be reached in socket mode')
    }
    failures = performance.now() - started > HELD_MS ? 0 : failures + 1
    const wait = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
    await pause(wait, undefined, { signal: ending }).catch(() => undefined)
  }
  ending.removeEventListener('abort', hangUp)
}

/** Resolves when an open connection has ended. @throws when none came about */
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
    log.info({}, 'connected to slack in socket mode')
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

/** Without the call that failed. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : 'the connection ended before it began'
}
