import { createHash } from 'node:crypto'
import { Invalid } from '../../src/errors.ts'
import { canonical, type Json } from '../../src/json.ts'
import { type Message, parseMessage, VERSION_KEY, versionIn } from '../mcp-message.ts'
import { type ClientMessage, readClientMessage, readToolCall, type ToolCall } from './client-message.ts'
import { type Caller, type Desk, type Question, sentenceIn } from './desk.ts'
import { type Judgement, judge, type Rulebook } from './judge.ts'
import type { Hears, Link } from './server-process.ts'
import { clientMeta, createToolList } from './tool-list.ts'

/** Methods of the protocol that run no tool. Another one may: it passes if the configuration names it. */
const HARMLESS =
  /^(initialize|ping|server\/discover|tools\/list|(notifications|resources|prompts|completion|logging|roots|sampling|elicitation|tasks|subscriptions)\/.+)$/

/** Calls that may be gone on with at the same time, and ids of cancelled ones that stay used. */
const MOST_KEPT = 1000

type Id = string | number

/** What stands between the client and the server. */
export interface Relay extends Hears {
  /** One line of the client. */
  take(line: string): void
  /** Ends every wait: the host is gone. */
  stop(): void
}

interface RelayOptions {
  /** Throws Invalid while the rules cannot be read. */
  rules(): Rulebook
  desk: Desk
  link(): Link
  /** Writes a line to the client. */
  write(line: string | Buffer): void
  /** Tells the operator. */
  say(words: string): void
  /** The server is gone. */
  ended(sentence: string): void
}

/** A request that was handed on, until its answer comes. */
interface Open {
  method: string
  /** A list that the client goes on with. */
  cursor?: unknown
  /** A call that a person approved. */
  approved?: ToolCall
}

/** A call that is not handed on yet. */
interface Held extends Pick<Caller, 'signal' | 'refuse'> {
  id: Id
  /** Ends the holding. @returns whether it was held still: another call may have its id by now */
  release(): boolean
}

export function createRelay(options: RelayOptions): Relay {
  return new Gateway(options)
}

class Gateway implements Relay {
  readonly #with: RelayOptions
  readonly #open = new Map<Id, Open>()
  /** Calls that are judged or wait for a person. */
  readonly #held = new Map<Id, AbortController>()
  /** Ids of requests that were handed on and then cancelled: a late answer must not pass for that to another request. */
  readonly #cancelled = new Set<Id>()
  /** Approved calls that the server answered with a question to the client, who sends them again with the answer: once each. */
  readonly #continued = new Set<string>()
  /** The client speaks a revision from 2026-07-28 on, in which every result says of which kind it is. */
  #isNewer = false
  readonly #tools = createToolList((message) => this.#with.link().send(JSON.stringify(message), message))

  constructor(options: RelayOptions) {
    this.#with = options
  }

  take(line: string): void {
    try {
      this.#take(readClientMessage(line))
    } catch (error) {
      const { id }: { id?: unknown } = parseMessage(line) ?? {}
      const isId = typeof id === 'string' || typeof id === 'number'
      this.#error(isId ? id : null, -32600, this.#wordsOf(error))
    }
  }

  #take(message: ClientMessage): void {
    const { id, method, params } = message
    this.#isNewer ||= versionIn(params?._meta, VERSION_KEY) !== undefined
    const about: unknown = Object(params).requestId
    if (method === undefined) this.#forward(message)
    else if (id !== undefined && (this.#open.has(id) || this.#held.has(id) || this.#cancelled.has(id)))
      this.#error(id, -32600, 'This id is in use.')
    else if (method === 'tools/call') this.#takeCall(message)
    else if (method === 'notifications/cancelled' && this.#held.has(about as Id)) this.#letGo(about as Id)
    else if (!HARMLESS.test(method) && !this.#isNamed(method)) this.#refuseMethod(method, id)
    else {
      if (method === 'notifications/cancelled' && this.#open.delete(about as Id))
        keep(this.#cancelled, about as Id)
      if (id !== undefined) this.#open.set(id, { method, cursor: params?.cursor })
      this.#forward(message)
      if (method === 'notifications/initialized')
        this.#tools.refresh({}).catch((error) => this.#with.say(String(error)))
    }
  }

  message(line: Buffer): void {
    const text = line.toString()
    const message = parseMessage(text)
    if (message !== undefined) {
      if (this.#tools.isAnswer(message) || !this.#isForClient(message)) return
      this.#with.write(line)
    }
    // Several messages in one, as revision 2025-03-26 had them, or something that a server printed.
    else if (text.startsWith('['))
      for (const one of listIn(text)) this.message(Buffer.from(JSON.stringify(one)))
    else if (text.trim() !== '')
      this.#with.say('the server wrote a line that is no message; it was left out.')
  }

  #isForClient(message: Message): boolean {
    try {
      if (this.#note(message)) return true
      this.#with.say('the server answered a question that nobody asks any more; it was left out.')
    } catch (error) {
      // Such as one that is nested without end. Whoever reads the server must not end by it.
      this.#with.say(String(error))
      const unread = 'The answer of the MCP server could not be read. The call may have been done; check.'
      if (message.id !== undefined) this.#result(message.id, unread)
    }
    return false
  }

  failed(id: Id, sentence: string): void {
    if (this.#tools.failed(id)) return
    const open = this.#open.get(id)
    this.#open.delete(id)
    if (open?.method === 'tools/call') this.#result(id, sentence)
    else if (open) this.#error(id, -32000, sentence)
  }

  ended(sentence: string): void {
    for (const [id, { method }] of [...this.#open])
      this.failed(id, method === 'tools/call' ? `${sentence} The call may have been done; check.` : sentence)
    for (const id of this.#held.keys()) this.#result(id, `Not done: ${sentence}`)
    this.stop()
    this.#with.ended(sentence)
  }

  stop(): void {
    for (const control of this.#held.values()) control.abort()
    this.#held.clear()
    this.#tools.stop()
    this.#with.desk.close()
  }

  #takeCall({ id, params }: ClientMessage): void {
    if (id === undefined) {
      this.#with.say('a call without an id was not handed on.')
      return
    }
    const control = new AbortController()
    this.#held.set(id, control)
    const release = () => this.#held.get(id) === control && this.#held.delete(id)
    const refuse = (sentence: string): void => {
      if (release()) this.#result(id, sentence)
    }
    const held = { id, signal: control.signal, refuse, release }
    this.#judgeCall(held, params).catch((error) => refuse(this.#wordsOf(error)))
  }

  #letGo(id: Id): void {
    this.#held.get(id)?.abort()
    this.#held.delete(id)
  }

  async #judgeCall(held: Held, params: unknown): Promise<void> {
    const { id, signal, refuse, release } = held
    const call = readToolCall(params)
    // From here on nothing of the call changes: these are the words that go to the server.
    const frozen: Message = { id, method: 'tools/call', params: call.params }
    const line = JSON.stringify({ jsonrpc: '2.0', ...frozen })
    const forward = (approved?: ToolCall): void => {
      if (!release()) return
      this.#open.set(id, { method: 'tools/call', ...(approved && { approved }) })
      this.#with.link().send(line, frozen)
    }
    await this.#tools.ready(clientMeta(call.params))
    if (signal.aborted) return
    const judged = this.#judge(call)
    if (judged.effect === 'deny') refuse(denial(call.name, judged.rule?.reason))
    else if (judged.effect === 'allow') forward()
    else if (this.#goesOn(call)) forward(call)
    else await this.#ask(call, judged.question(), { ...held, forward: () => forward(call) })
  }

  async #ask(call: ToolCall, question: Question, held: Held & Pick<Caller, 'forward'>): Promise<void> {
    const { gate } = this.#with.rules()
    const { _meta, ...exact } = call.params
    const meta = Object(_meta)
    const progress = meta.progressToken === undefined ? undefined : this.#progressTo(meta.progressToken)
    const holdSeconds = progress ? gate.holdWithProgressSeconds : gate.holdSeconds
    const check = async (used: boolean): Promise<void> => {
      if (!used) await this.#tools.refresh(clientMeta(call.params))
      const now = this.#judge(call)
      if (now.effect !== 'approve' || contentOf(now.question()) !== contentOf(question))
        throw new Invalid(used ? CHANGED_LATE : CHANGED)
    }
    await this.#with.desk.wait(question, { ...held, exact, holdSeconds, progress }, check)
  }

  #judge({ name, given, params }: ToolCall): Judgement {
    return judge(this.#with.rules(), { name, given, answers: params.inputResponses }, this.#tools.get(name))
  }

  /** Whether an approved call is gone on with, by the words that the server gave for that. */
  #goesOn(call: ToolCall): boolean {
    const { inputResponses, requestState } = call.params
    if (inputResponses === undefined && requestState === undefined) return false
    return this.#continued.delete(this.#stateOf(call, requestState))
  }

  #stateOf({ name, given }: ToolCall, requestState: Json = null): string {
    const state = canonical([name, given, requestState, this.#tools.get(name)?.sha256 ?? null])
    return createHash('sha256').update(state).digest('hex')
  }

  /** @returns whether the message is for the client. Under an id in another form, some would take it for the answer to theirs. */
  #note(message: Message): boolean {
    const { id, method } = message
    if (method === 'notifications/tools/list_changed') this.#tools.expire()
    if (method !== undefined || (id ?? null) === null) return true
    const open = this.#open.get(id as Id)
    if (open === undefined) return false
    this.#open.delete(id as Id)
    const result = Object(Object(message).result)
    if (open.method === 'tools/list') this.#tools.note(result, open.cursor === undefined)
    if (open.approved === undefined || result.resultType !== 'input_required') return true
    keep(this.#continued, this.#stateOf(open.approved, result.requestState))
    return true
  }

  /** Tells the client that a call still waits, so that it does not give up. The figures leave room for those of the server. */
  #progressTo(progressToken: unknown): (reviewUrl: string | undefined) => void {
    let progress = 0
    return (reviewUrl) => {
      progress += 0.001
      const message = reviewUrl === undefined ? 'Asking a person' : `A person can decide at ${reviewUrl}`
      this.#write({ method: 'notifications/progress', params: { progressToken, progress, message } })
    }
  }

  #isNamed(method: string): boolean {
    try {
      return this.#with.rules().gate.methods.includes(method)
    } catch {
      return false
    }
  }

  #refuseMethod(method: string, id: Id | undefined): void {
    this.#with.say(`${method} was not handed on: it may run something. See "methods" of the configuration.`)
    if (id !== undefined) this.#error(id, -32601, `The gateway does not hand on ${method}.`)
  }

  /** For the model. What is wrong with a file is for the operator. */
  #wordsOf(error: unknown): string {
    const sentence = sentenceIn(error)
    if (!(error instanceof Error) || error.message !== sentence) this.#with.say(String(error))
    return sentence
  }

  #forward(message: ClientMessage): void {
    this.#with.link().send(JSON.stringify(message), message)
  }

  #result(id: Id, text: string): void {
    const kind = this.#isNewer ? { resultType: 'complete' } : {}
    this.#write({ id, result: { ...kind, content: [{ type: 'text', text }], isError: true } })
  }

  #error(id: Id | null, code: number, message: string): void {
    this.#write({ id, error: { code, message } })
  }

  #write(message: object): void {
    this.#with.write(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }
}

const CHANGED = 'the tool or its rule has changed since a person was asked. Repeat the same call.'
const CHANGED_LATE =
  'the tool or its rule changed in the moment in which the approval was used up. Repeat the same call.'

function keep<T>(kept: Set<T>, one: T): void {
  kept.add(one)
  const [oldest] = kept
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest)
}

function contentOf({ action, context }: Question): string {
  return canonical([action, context])
}

function denial(tool: string, reason: string | undefined): string {
  const why = reason === undefined ? '' : ` (${reason})`
  return `Not done: the rules of the gateway forbid ${tool} with these arguments${why}. Do not do it in another way; tell the user.`
}

function listIn(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
