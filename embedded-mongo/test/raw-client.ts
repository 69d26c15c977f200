import { connect, type Socket } from 'node:net'
import { BSON, type Document } from 'bson'

/** A client that sends any bytes it likes and reads the replies. */
export class RawClient {
  readonly socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #wake: (() => void) | undefined
  #closed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake?.()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#closed = true
      this.#wake?.()
    })
  }

  static open(path: string): Promise<RawClient> {
    return new Promise((done, fail) => {
      const socket = connect({ path })
      socket.once('error', fail)
      socket.once('connect', () => done(new RawClient(socket)))
    })
  }

  send(bytes: Buffer): void {
    this.socket.write(bytes)
  }

  /** Sends a command as OP_MSG and reads its reply. */
  async command(body: Document): Promise<Document> {
    this.send(opMsg(body))
    return await this.reply()
  }

  /** The next reply's document, whether OP_MSG or OP_REPLY. */
  async reply(): Promise<Document> {
    for (;;) {
      const length = this.#received.length >= 4 ? this.#received.readInt32LE(0) : Number.POSITIVE_INFINITY
      if (this.#received.length >= length) {
        const message = this.#received.subarray(0, length)
        this.#received = this.#received.subarray(length)
        return BSON.deserialize(message.subarray(message.readInt32LE(12) === 1 ? 36 : 21))
      }
      if (this.#closed) throw new Error('the server closed the connection')
      await new Promise<void>((done) => {
        this.#wake = done
      })
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.#closed) {
      await new Promise<void>((done) => {
        this.#wake = done
      })
    }
  }

  close(): void {
    this.socket.destroy()
  }
}

export function frame(opCode: number, payload: Buffer, length = payload.length + 16): Buffer {
  const header = Buffer.alloc(16)
  header.writeInt32LE(length, 0)
  header.writeInt32LE(7, 4)
  header.writeInt32LE(opCode, 12)
  return Buffer.concat([header, payload])
}

export function opMsg(
  body: Document,
  { flags = 0, rest = Buffer.alloc(0) }: { flags?: number; rest?: Buffer } = {},
): Buffer {
  return frame(2013, Buffer.concat([flagBytes(flags), kind0(body), rest]))
}

export function flagBytes(flags: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(flags)
  return bytes
}

export function kind0(body: Document): Buffer {
  return Buffer.concat([Buffer.from([0]), Buffer.from(BSON.serialize(body))])
}

export function kind1(name: string, documents: Document[]): Buffer {
  const content = Buffer.concat([
    Buffer.from(`${name}\0`),
    ...documents.map((item) => Buffer.from(BSON.serialize(item))),
  ])
  const head = Buffer.alloc(5)
  head.writeUInt8(1)
  head.writeInt32LE(content.length + 4, 1)
  return Buffer.concat([head, content])
}
