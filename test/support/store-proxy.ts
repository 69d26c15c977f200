import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Document } from 'bson'
import { type Frame, FrameReader } from 'embedded-mongo/wire/frame-reader'
import { isCommand, nameOf, readMessage } from './store-proxy-message.ts'

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
  close(): Promise<void>
}

interface Armed extends Trap {
  left: number
  spring(): void
}

interface Watch {
  see: (command: Document, reply: Document) => void
}

/** Opens a proxy before the store of this connection string, which names a Unix socket. */
export async function startStoreProxy(storeUri: string): Promise<StoreProxy> {
  const storePath = decodeURIComponent(/^mongodb:\/\/([^/?]+\.sock)/.exec(storeUri)?.[1] ?? '')
  if (storePath === '') throw new Error(`no Unix socket: ${storeUri}`)
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  // The driver takes an address for a socket path only if it ends in ".sock".
  const path = join(folder, 'proxy.sock')
  const sent = new Map<string, number>()
  const watches = new Map<string, Watch>()
  const links = new Set<() => void>()
  let armed: Armed | undefined

  const spring = (trap: Armed): void => {
    armed = undefined
    trap.spring()
    for (const cut of [...links]) cut()
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

  const server = createServer((client) => link(client, connect({ path: storePath }), see, links))
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
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const cut of [...links]) cut()
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Carries frames between the two sockets until either ends. */
function link(
  client: Socket,
  store: Socket,
  see: (frame: Frame) => 'dead' | ((reply: Frame) => boolean) | undefined,
  links: Set<() => void>,
): void {
  const waiting = new Map<number, (reply: Frame) => boolean>()
  const requests = new FrameReader()
  const replies = new FrameReader()
  const cut = (): void => {
    links.delete(cut)
    client.destroy()
    store.destroy()
  }
  links.add(cut)
  for (const socket of [client, store]) {
    socket.on('error', cut)
    socket.on('close', cut)
  }
  client.on('data', (chunk: Buffer) => {
    requests.push(chunk)
    for (let frame = requests.next(); frame !== undefined && links.has(cut); frame = requests.next()) {
      const verdict = isCommand(frame) ? see(frame) : undefined
      if (verdict === 'dead') return
      if (verdict !== undefined) waiting.set(frame.requestId, verdict)
      store.write(frame.bytes)
    }
  })
  store.on('data', (chunk: Buffer) => {
    replies.push(chunk)
    for (let frame = replies.next(); frame !== undefined && links.has(cut); frame = replies.next()) {
      const responseTo = frame.bytes.readInt32LE(8)
      const pass = waiting.get(responseTo)
      waiting.delete(responseTo)
      if (pass === undefined || pass(frame)) client.write(frame.bytes)
    }
  })
}
