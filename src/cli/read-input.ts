import { createReadStream } from 'node:fs'
import { usageError } from './cli-error.ts'
import { terminal } from './terminal.ts'

/** A whole `GET /approvals/:id` body or key set is far smaller; more is never read for a stranger. */
const MAX_BYTES = 1_048_576

const TIMEOUT_MS = 10_000

/** Text of a file, or of stdin for `-`. @throws CliError (usage) when it cannot be read or is larger than 1 MiB */
export async function readInput(path: string): Promise<string> {
  const name = path === '-' ? 'stdin' : path
  try {
    return await readAll(path === '-' ? terminal().stdin : createReadStream(path), name)
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error)
      throw usageError(`${name} cannot be read: ${error.message}`)
    throw error
  }
}

/**
 * Fetches a text over https:, or over http: from this machine alone: a key set that came in the clear could be anybody's.
 * @throws CliError (usage) when it cannot be had within 10 s, is larger than 1 MiB, or the answer is not 200
 */
export async function fetchText(address: string): Promise<string> {
  const url = new URL(address)
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw usageError(`${url.origin} must be https: — keys that come in the clear could be anybody's.`)
  try {
    // A redirect would let whoever holds one address choose the keys.
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (response.status !== 200)
      throw usageError(`${url.href} answered ${response.status} instead of a key set.`)
    if (response.body === null) return ''
    return await readAll(response.body, url.href)
  } catch (error) {
    if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError'))
      throw usageError(`${url.href} cannot be fetched: ${reasonOf(error)}`)
    throw error
  }
}

/** Is it an address to fetch, rather than a file? */
export function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text)
}

async function readAll(stream: AsyncIterable<Uint8Array | string>, name: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > MAX_BYTES) throw usageError(`${name} is larger than 1 MiB.`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}
