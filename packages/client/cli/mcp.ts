import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { readPeer } from '../src/client.ts'
import { CountersignError, Refused } from '../src/errors.ts'
import { now, type Peer, send } from '../src/send.ts'
import { readCredentials } from './credentials.ts'
import { headersOf, type Message, parseMessage, versionIn } from './mcp-message.ts'

/**
 * `countersign mcp`: hands every message on stdin to the service's `/mcp`, and its answers back. The tools are the service's own.
 * A call whose answer was lost is repeated with the same key, so that it does nothing twice; over a restart of the service the
 * client notices nothing.
 */
export async function runMcp(): Promise<number> {
  const bridge = createBridge(readPeer({ ...readCredentials(), fetch: fetchMessage }))
  for await (const line of createInterface({ input: process.stdin }))
    if (line.trim() !== '') void bridge.take(line)
  bridge.stop()
  return 0
}

function createBridge(peer: Peer) {
  /** By its own control, and not by its id: a host may give an id twice, and the calls are two. */
  const open = new Map<AbortController, unknown>()
  /** The revision agreed on by `initialize`: older clients do not repeat it in their messages. */
  let agreed: string | undefined
  const forward = async (message: Message, signal: AbortSignal): Promise<object> => {
    const call = {
      path: '/mcp',
      body: message,
      once: randomUUID(),
      headers: headersOf(message, agreed),
      timeout: 75_000,
    }
    const answer = await send(peer, { end: now() + peer.patience, signal }, call)
    if (message.method === 'initialize') agreed = versionIn(answer.result)
    return answer
  }
  return {
    async take(line: string): Promise<void> {
      const message = parseMessage(line)
      if (message === undefined)
        return write({ id: null, error: { code: -32700, message: 'This is not a JSON-RPC message.' } })
      const { id, method, params } = message
      if (method === 'notifications/cancelled')
        for (const [control, called] of open) if (called === params?.requestId) control.abort()
      const control = new AbortController()
      if (id !== undefined) open.set(control, id)
      try {
        const answer = await forward(message, control.signal)
        if (id !== undefined) write(answer)
      } catch (error) {
        if (id !== undefined && !control.signal.aborted) write(failureOf(id, error))
      } finally {
        open.delete(control)
      }
    },
    stop(): void {
      for (const control of open.keys()) control.abort()
    },
  }
}

/** The protocol's own errors pass unchanged; others become one that the host shows. */
function failureOf(id: string | number, error: unknown): object {
  if (error instanceof Refused && 'jsonrpc' in error.body) return error.body
  const message = error instanceof CountersignError ? error.sentence : String(error)
  return { id, error: { code: -32000, message } }
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

/** Fetches, and turns an event stream into its last message: the tools of the service send nothing before their answer. */
async function fetchMessage(...args: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...args)
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
  const data = (await response.text()).matchAll(/^data: ?(.+)$/gm)
  const { status, headers } = response
  return new Response([...data].at(-1)?.[1] ?? null, { status, headers })
}
