import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Message } from '../mcp-message.ts'
import { readLines, TooLong } from './read-lines.ts'

/** What a link to the server tells. Its sentences never hold the command's arguments, the address or a header: they may be secret. */
export interface Hears {
  /** One message of the server, as it came. */
  message(line: Buffer): void
  /** A request that gets no answer. */
  failed(id: string | number, sentence: string): void
  /** The server is gone, and does not come back. */
  ended(sentence: string): void
}

export interface Link {
  /** @param line the message as text */
  send(line: string, message: Message): void
  /** Ends the server, or the session. */
  close(): Promise<void>
}

/** What a server gets besides messages. */
export interface Secrets {
  env: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
}

/** ms that a server gets to end by itself, and then after SIGTERM. */
const GRACE_MS = 2000

/** Starts a server that speaks on stdin and stdout. */
export function startServer(
  [command = '', ...args]: readonly string[],
  { env }: Secrets,
  hears: Hears,
): Link {
  const child = spawn(command, args, { env: { ...inherited(), ...env }, stdio: 'pipe', windowsHide: true })
  let gone = false
  let end = (_sentence: string): void => {}
  const ended = new Promise<void>((resolve) => {
    end = (sentence) => {
      if (!gone) hears.ended(sentence)
      gone = true
      resolve()
    }
    child.on('error', ({ code }: NodeJS.ErrnoException) =>
      end(`The MCP server could not be started (${code}).`),
    )
    // `close`, not `exit`: what it wrote last has then been read.
    child.on('close', (code, signal) => end(`The MCP server has ended (${signal ?? `exit code ${code}`}).`))
  })
  // A server that ended reads no more.
  child.stdin.on('error', () => {})
  const readAll = async (stream: AsyncIterable<Uint8Array>, read: (line: Buffer) => void): Promise<void> => {
    try {
      for await (const line of readLines(stream)) read(line)
    } catch (error) {
      // Any other pipe that broke has ended.
      if (!(error instanceof TooLong)) return
      end(error.message)
      child.kill('SIGKILL')
    }
  }
  void readAll(child.stdout, (line) => hears.message(line))
  const hide = hider(Object.values(env))
  void readAll(child.stderr, (line) => process.stderr.write(`${hide(line.toString())}\n`))
  return {
    send: (line) => void child.stdin.write(`${line}\n`),
    async close() {
      child.stdin.end()
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        await Promise.race([ended, sleep(GRACE_MS, undefined, { ref: false })])
        if (!gone) child.kill(signal)
      }
      await ended
    },
  }
}

/** The gateway's own environment without the key by which it asks: with that, a server could ask and use approvals itself. */
function inherited(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !name.toUpperCase().startsWith('COUNTERSIGN_'),
  )
  return Object.fromEntries(entries)
}

/** Hosts keep what a server prints on stderr, and may show it to the model. */
function hider(secrets: readonly string[]): (text: string) => string {
  const long = secrets.filter((secret) => secret.length >= 6)
  return (text) => long.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
}
