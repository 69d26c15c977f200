import type { Message } from '../mcp-message.ts'
import { startServer } from './server-process.ts'
import { connectServer } from './server-url.ts'

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

/** Opens the server that the words after `--` name: an address, or a command. */
export function openLink(words: readonly string[], secrets: Secrets, hears: Hears): Link {
  const [first = ''] = words
  if (words.length === 1 && /^https?:\/\//i.test(first)) return connectServer(first, secrets, hears)
  return startServer(words, secrets, hears)
}
