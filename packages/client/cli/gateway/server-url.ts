import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { headersOf, type Message, parseMessage, versionIn } from '../mcp-message.ts'
import { readBody, readEvents, TooLong } from './read-lines.ts'
import { type Hears, type Link, type Secrets, startServer } from './server-process.ts'

const CHECK = 'The call may have been done; check.'
const LOST = `The connection to the MCP server broke before it answered. ${CHECK}`

/** How often in a row the rest of an answer is asked for in vain. */
const MOST_FAILURES = 10

/** Where a stream of events can be gone on with, and when. */
interface Place {
  id?: string | undefined
  retry?: number | undefined
}

/** Opens the server that the words after `--` name: an address, or a command. */
export function openLink(words: readonly string[], secrets: Secrets, hears: Hears): Link {
  const [first = ''] = words
  if (words.length !== 1 || !/^https?:\/\//i.test(first)) return startServer(words, secrets, hears)
  return new Connection(new URL(first), secrets.headers, hears)
}

/**
 * A server that speaks Streamable HTTP. Not by `fetch`, which gives up on a call that sends nothing for five minutes. Nothing is sent
 * twice, and no redirect is followed: it would get the headers.
 */
class Connection implements Link {
  readonly #url: URL
  readonly #headers: Secrets['headers']
  readonly #hears: Hears
  readonly #agent: HttpAgent
  readonly #stop = new AbortController()
  /** Of each request that waits for its answer: ends it. */
  readonly #open = new Map<string | number, AbortController>()
  #initialize: string | number | undefined
  #session: string | undefined
  #agreed: string | undefined

  constructor(url: URL, headers: Secrets['headers'], hears: Hears) {
    this.#url = url
    this.#headers = headers
    this.#hears = hears
    this.#agent = new (url.protocol === 'http:' ? HttpAgent : HttpsAgent)({ keepAlive: true })
  }

  send(line: string, message: Message): void {
    const { id, method, params } = message
    const control = new AbortController()
    if (method !== undefined && id !== undefined) this.#open.set(id, control)
    const cancelled =
      method === 'notifications/cancelled' ? this.#open.get(Object(params).requestId) : undefined
    // From revision 2026-07-28 on, which has no `initialize`, a request is cancelled by the end of its own stream.
    if (cancelled && this.#agreed === undefined) {
      cancelled.abort()
      return
    }
    this.#post(line, message, control).catch((error) => {
      const sentence = error instanceof TooLong ? `${error.message} ${CHECK}` : LOST
      if (!this.#stop.signal.aborted && !control.signal.aborted) this.#fail(message, sentence)
    })
  }

  async close(): Promise<void> {
    if (this.#session !== undefined) {
      const ended = this.#exchange('DELETE', {}, undefined, AbortSignal.timeout(2000))
      await ended.then((response) => response.resume()).catch(() => {})
    }
    this.#stop.abort()
    this.#agent.destroy()
  }

  async #post(line: string, message: Message, control: AbortController): Promise<void> {
    const { id, method } = message
    const headers = { 'content-type': 'application/json', ...headersOf(message, this.#agreed) }
    if (method === 'initialize') this.#initialize = id
    const signal = AbortSignal.any([this.#stop.signal, control.signal])
    const answer = await this.#exchange('POST', headers, line, signal)
    const { statusCode = 0 } = answer
    if (statusCode < 200 || statusCode > 299) return this.#refused(message, answer)
    if (method === 'initialize') this.#session = answer.headers['mcp-session-id']?.toString()
    if (answer.headers['content-type']?.startsWith('text/event-stream')) {
      const isDone = () => id === undefined || this.#open.get(id) !== control
      const place = await this.#pump(answer)
      if (place.id !== undefined) await this.#listen(place, isDone)
    } else {
      const body = await readBody(answer)
      if (body.length > 0) this.#hear(body)
    }
    if (method === 'notifications/initialized')
      this.#listen({}, () => false).catch((error: Error) => this.#hears.ended(error.message))
    this.#fail(message, LOST)
  }

  async #refused(message: Message, answer: IncomingMessage): Promise<void> {
    const body = await readBody(answer)
    const { id, error } = Object(parseMessage(body.toString()))
    // The words of a proxy, or of a server that repeats a header, are not for the client.
    if (error !== undefined && id !== undefined && id === message.id) this.#hear(body)
    else this.#fail(message, `The MCP server answered ${answer.statusCode}.`)
    if (answer.statusCode === 404 && this.#session !== undefined)
      this.#hears.ended('The MCP server has ended the session.')
  }

  #exchange(
    method: string,
    more: Record<string, string>,
    body?: string,
    signal: AbortSignal = this.#stop.signal,
  ): Promise<IncomingMessage> {
    const session = this.#session === undefined ? {} : { 'mcp-session-id': this.#session }
    const headers = { ...this.#headers, ...more, ...session }
    const request = this.#url.protocol === 'http:' ? httpRequest : httpsRequest
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, { method, agent: this.#agent, signal, headers }, resolve)
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** Hands on the events of a stream until it ends or is cut. @throws TooLong */
  async #pump(response: IncomingMessage): Promise<Place> {
    let place: Place = {}
    try {
      for await (const event of readEvents(response)) {
        place = event
        if (event.data !== '') this.#hear(Buffer.from(event.data))
      }
    } catch (error) {
      if (error instanceof TooLong) throw error
      // Gone on with from the last event, where the server gave it an id.
    }
    return place
  }

  /** Hears what the server says by itself, or the rest of a stream. @throws TooLong */
  async #listen(place: Place, isDone: () => boolean): Promise<void> {
    const { signal } = this.#stop
    let failures = 0
    for (let next = place; !isDone() && !signal.aborted; ) {
      if (next.id !== undefined) await sleep(next.retry ?? 1000, undefined, { signal }).catch(() => {})
      const headers = {
        accept: 'text/event-stream',
        ...(this.#agreed !== undefined && { 'mcp-protocol-version': this.#agreed }),
        ...(next.id !== undefined && { 'last-event-id': next.id }),
      }
      const response = await this.#exchange('GET', headers).catch(() => undefined)
      if (response && response.statusCode !== 200) return void response.resume()
      failures = response ? 0 : failures + 1
      // The rest of an answer is not waited for without end.
      if (place.id !== undefined && failures > MOST_FAILURES) return
      const seen = response ? await this.#pump(response) : {}
      next = { ...next, ...seen }
      if (next.id === undefined) await sleep(next.retry ?? 1000, undefined, { signal }).catch(() => {})
    }
  }

  #hear(line: Buffer): void {
    const { id, method, result } = Object(parseMessage(line.toString()))
    if (method === undefined && id !== undefined) {
      this.#open.delete(id)
      if (id === this.#initialize) this.#agreed = versionIn(result)
    }
    // Line breaks stand between the parts of a JSON text, never in one.
    const isOneLine = !line.includes(10) && !line.includes(13)
    this.#hears.message(isOneLine ? line : Buffer.from(line.toString().replace(/[\r\n]+/g, ' ')))
  }

  #fail({ id }: Message, sentence: string): void {
    if (id !== undefined && this.#open.delete(id)) this.#hears.failed(id, sentence)
  }
}
