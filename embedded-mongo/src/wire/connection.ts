import type { Socket } from 'node:net'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import { type Frame, FrameLengthError, FrameReader } from './frame-reader.ts'
import {
  expectsNoReply,
  OP_MSG,
  OP_QUERY,
  opMsgHead,
  opReplyHead,
  type Parsing,
  parseOpMsg,
  parseOpQuery,
} from './messages.ts'

/** Commands served in one go before other connections get their turn. */
const BURST = 32
/** Milliseconds for which a message is parsed before other connections get their turn. */
const TURN_MS = 10

/** Bytes a client may send before it has its reply; beyond that its socket is paused. */
const READ_AHEAD = 1 << 16

/** Bytes from which a reply is sent apart from its header, since joining them would cost more. */
const LARGE = 1 << 14

/** How long a client that broke the protocol may take to read why. */
const LINGER_MS = 1000

/** How long a refused client may take to send anything at all. */
const REFUSED_MS = 5000

/** The store, as a connection sees it. */
export interface CommandService {
  /**
   * Runs a command and replies once, now or later: when everything it has read and written is durable. Never throws:
   * a failure is a reply with `ok: 0`.
   */
  run(body: BsonDocument, connectionId: number, reply: (message: Uint8Array) => void): void
  /** The reply for a message that could not be read. */
  failure(error: unknown): Uint8Array
}

/**
 * One client. Messages are served one after the other, each reply only after the commit. Nothing a client sends can
 * make this throw: a message that cannot be read is answered with MongoDB's error, and if the stream cannot be
 * followed any further, the connection is closed.
 */
export class Connection {
  readonly #socket: Socket
  readonly #service: CommandService
  readonly #id: number
  readonly #refusal: MongoError | undefined
  readonly #reader = new FrameReader()
  #busy = false
  #ended = false
  #replies = 0

  /** With a `refusal`, the first message of any kind is answered with it, and the connection is closed. */
  constructor(socket: Socket, service: CommandService, id: number, refusal?: MongoError) {
    this.#socket = socket
    this.#service = service
    this.#id = id
    this.#refusal = refusal
    if (refusal !== undefined) setTimeout(() => socket.destroy(), REFUSED_MS).unref()
    socket.on('data', (chunk: Buffer) => {
      if (this.#ended) return
      this.#reader.push(chunk)
      this.#serve()
    })
    socket.on('drain', () => this.#idle())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#ended = true
    })
  }

  /** Serves the messages that have arrived, until a reply has to wait for its commit or for the client to read. */
  #serve(): void {
    for (let served = 0; !this.#busy && !this.#ended; served += 1) {
      if (served === BURST) {
        this.#busy = true
        setImmediate(() => this.#idle())
        break
      }
      const frame = this.#nextFrame()
      if (frame === undefined) break
      this.#busy = true
      this.#answer(frame)
    }
    if (this.#busy && this.#reader.buffered > READ_AHEAD) this.#socket.pause()
    else if (!this.#busy && this.#socket.isPaused()) this.#socket.resume()
  }

  #idle(): void {
    this.#busy = false
    this.#serve()
  }

  #nextFrame(): Frame | undefined {
    try {
      return this.#reader.next()
    } catch (error) {
      const requestId = error instanceof FrameLengthError ? error.requestId : 0
      const message = error instanceof Error ? error.message : String(error)
      this.#hangUp(requestId, new MongoError(17, message))
      return undefined
    }
  }

  #answer(frame: Frame): void {
    if (this.#refusal !== undefined) {
      this.#hangUp(frame.requestId, this.#refusal)
      return
    }
    if (frame.opCode !== OP_MSG && frame.opCode !== OP_QUERY) {
      this.#hangUp(frame.requestId, new MongoError(17, `Unsupported opcode ${frame.opCode}`))
      return
    }
    const silent = frame.opCode === OP_MSG && expectsNoReply(frame.bytes)
    let waited = false
    this.#run(parse(frame), (reply) => {
      const flowing = silent || this.#send(frame, reply)
      if (!flowing) return
      if (waited) this.#idle()
      else this.#busy = false
    })
    waited = true
  }

  /** Parses a message and runs its command; a large message is parsed in turns with other connections. */
  #run(parsing: Parsing, reply: (message: Uint8Array) => void): void {
    const end = performance.now() + TURN_MS
    let step: IteratorResult<undefined, BsonDocument>
    try {
      do step = parsing.next()
      while (step.done !== true && performance.now() < end)
    } catch (error) {
      reply(this.#service.failure(error))
      return
    }
    if (step.done === true) this.#service.run(step.value, this.#id, reply)
    else setImmediate(() => this.#run(parsing, reply))
  }

  /** Returns false if the client has to read before it is served again. */
  #send(frame: Frame, reply: Uint8Array): boolean {
    if (this.#ended || this.#socket.destroyed) return true
    this.#replies = (this.#replies + 1) & 0x7fffffff
    const headOf = frame.opCode === OP_QUERY ? opReplyHead : opMsgHead
    const head = headOf(reply.length, this.#replies, frame.requestId)
    if (reply.length < LARGE) return this.#socket.write(Buffer.concat([head, reply]))
    this.#socket.cork()
    this.#socket.write(head)
    const flowing = this.#socket.write(reply)
    this.#socket.uncork()
    return flowing
  }

  #hangUp(requestId: number, error: MongoError): void {
    this.#ended = true
    const reply = this.#service.failure(error)
    this.#socket.end(Buffer.concat([opMsgHead(reply.length, 0, requestId), reply]))
    // Closing at once, with bytes unread, would keep the reply from the client.
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref()
  }
}

function* parse({ opCode, bytes }: Frame): Parsing {
  return opCode === OP_MSG ? yield* parseOpMsg(bytes) : parseOpQuery(bytes)
}
