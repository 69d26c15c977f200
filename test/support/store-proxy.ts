import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Document } from 'bson'
import { type Frame, FrameReader } from 'embedded-mongo/wire/frame-reader'
import { addressOf } from './gate.ts'
import { isCommand, nameOf, readMessage, readReply, writeReply } from './store-proxy-message.ts'

/** A point at which the process behind a proxy dies. */
export interface Trap {
  /** `insert`, `update`, `findAndModify` … */
  command: string
  collection: string
  /** `before`: the store never sees the command. `after`: the store has done it, and the process never learns. */
  side: 'before' | 'after'
  /** Which of the matching commands, from now on; 1 = the next. */
  nth?: number
  /** Looks into the command, document sequences folded in. */
  where?: (command: Document) => boolean
  /** `after` only: looks into the store's reply. */
  answer?: (reply: Document) => boolean
}

/**
 * How the line to the store is. `frozen`: connections stand and nothing passes until it is `open` again. `lost`: as well, but
 * what is sent meanwhile never arrives, and the connections are found broken afterwards. `refused`: there are no connections.
 */
export type Line = 'open' | 'frozen' | 'lost' | 'refused'

/** A part that the proxy plays for the store. `name` as in `sent`, undefined for the first question of a connection. */
export interface Part {
  /** @returns a reply in place of the store's, which never sees the command; `nothing`: there is none */
  before?(command: Document, name: string): Document | 'nothing' | undefined
  /** The store has done it. @returns another reply; `torn`: the half of it, then the connection breaks */
  after?(reply: Document, name: string | undefined): Document | 'torn' | undefined
}

/** Stands between one service process and its store, and knows every command that passes. */
export interface StoreProxy {
  /** Connection string of the proxy. */
  uri(database: string): string
  /** How often each command was sent: `insert requests` → 12. */
  readonly sent: ReadonlyMap<string, number>
  /**
   * Arms the one trap. When it springs, `kill` is called at once, nothing more passes on any connection open then, and the
   * promise resolves. Arming again replaces a trap that has not sprung.
   */
  arm(trap: Trap, kill: () => void): Promise<void>
  disarm(): void
  /** Tells each such command together with the store's reply, on its way back. */
  watch(command: string, collection: string, see: (command: Document, reply: Document) => void): void
  line(line: Line): void
  /** From now on; an empty part ends it. */
  play(part: Part): void
  close(): Promise<void>
}

interface Armed extends Trap {
  left: number
  spring(): void
}

interface Watch {
  see: (command: Document, reply: Document) => void
}

/** Opens a proxy before the store of this connection string. */
export async function startStoreProxy(storeUri: string): Promise<StoreProxy> {
  const store = addressOf(storeUri)
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  // The driver takes an address for a socket path only if it ends in ".sock".
  const path = join(folder, 'proxy.sock')
  const sent = new Map<string, number>()
  const watches = new Map<string, Watch>()
  let armed: Armed | undefined
  let part: Part = {}

  const spring = (trap: Armed): void => {
    armed = undefined
    trap.spring()
    for (const { cut } of [...ends.links]) cut()
  }

  /** @returns what waits for the reply, or `dead` when the command must not pass. */
  const see = (frame: Frame): 'dead' | ((reply: Frame) => boolean) | undefined => {
    const name = nameOf(frame)
    sent.set(name, (sent.get(name) ?? 0) + 1)
    const watch = watches.get(name)
    const trap = armed
    const matches = trap !== undefined && name === `${trap.command} ${trap.collection}`
    if (watch === undefined && !matches) return undefined
    const command = readMessage(frame)
    const aimed = matches && (trap.where?.(command) ?? true)
    if (aimed && trap.side === 'before' && --trap.left === 0) {
      spring(trap)
      return 'dead'
    }
    if (watch === undefined && !(aimed && trap.side === 'after')) return undefined
    return (frame) => {
      const reply = readMessage(frame)
      watch?.see(command, reply)
      const hit = aimed && trap.side === 'after' && trap === armed && (trap.answer?.(reply) ?? true)
      if (!hit || --trap.left > 0) return true
      spring(trap)
      return false
    }
  }

  const ends: Ends = { see, played: () => part, line: 'open', links: new Set() }
  const server = createServer((client) => link(client, () => connect(store), ends))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return {
    uri: (database) =>
      `mongodb://${encodeURIComponent(path)}/${database}?directConnection=true&retryWrites=false`,
    sent,
    arm: (trap, kill) =>
      new Promise((resolve) => {
        const sprung = (): void => {
          kill()
          resolve()
        }
        armed = { ...trap, left: trap.nth ?? 1, spring: sprung }
      }),
    disarm: () => {
      armed = undefined
    },
    watch: (command, collection, look) => void watches.set(`${command} ${collection}`, { see: look }),
    line(line) {
      const before = ends.line
      ends.line = line
      for (const { cut, hold } of [...ends.links]) {
        if (line === 'refused' || before === 'lost') cut()
        else hold(line === 'frozen')
      }
    },
    play(played) {
      part = played
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const { cut } of [...ends.links]) cut()
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What all connections of a proxy share. */
interface Ends {
  see(frame: Frame): 'dead' | ((reply: Frame) => boolean) | undefined
  played(): Part
  line: Line
  links: Set<{ cut(): void; hold(held: boolean): void }>
}

/** Carries frames between the two sockets until either ends. */
function link(client: Socket, open: () => Socket, ends: Ends): void {
  if (ends.line === 'refused') {
    client.destroy()
    return
  }
  const store = open()
  const waiting = new Map<number, { name: string | undefined; pass?: (reply: Frame) => boolean }>()
  const self = {
    cut(): void {
      ends.links.delete(self)
      client.destroy()
      store.destroy()
    },
    hold(held: boolean): void {
      for (const socket of [client, store]) held ? socket.pause() : socket.resume()
    },
  }
  ends.links.add(self)
  for (const socket of [client, store]) {
    socket.on('error', self.cut)
    socket.on('close', self.cut)
  }
  const passes = (): boolean => ends.links.has(self)
  const request = (frame: Frame): void => {
    const name = isCommand(frame) ? nameOf(frame) : undefined
    const verdict = name === undefined ? undefined : ends.see(frame)
    if (verdict === 'dead' || ends.line === 'lost') return
    const { before } = ends.played()
    const answer = name === undefined ? undefined : before?.(readMessage(frame), name)
    if (answer === undefined) {
      waiting.set(frame.requestId, { name, ...(verdict && { pass: verdict }) })
      store.write(frame.bytes)
    } else if (answer !== 'nothing') client.write(writeReply(frame.requestId, frame.opCode, answer))
  }
  const reply = (frame: Frame): void => {
    if (ends.line === 'lost') return
    const asked = frame.bytes.readInt32LE(8)
    const { name, pass } = waiting.get(asked) ?? {}
    waiting.delete(asked)
    if (pass !== undefined && !pass(frame)) return
    const { after } = ends.played()
    const answer = after?.(readReply(frame), name)
    if (answer === 'torn') client.write(frame.bytes.subarray(0, frame.bytes.length >> 1), self.cut)
    else client.write(answer === undefined ? frame.bytes : writeReply(asked, frame.opCode, answer))
  }
  readFrames(client, passes, request)
  readFrames(store, passes, reply)
  self.hold(ends.line === 'frozen')
}

function readFrames(socket: Socket, passes: () => boolean, take: (frame: Frame) => void): void {
  const reader = new FrameReader()
  socket.on('data', (chunk: Buffer) => {
    reader.push(chunk)
    for (let frame = reader.next(); frame !== undefined && passes(); frame = reader.next()) take(frame)
  })
}
