import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { parseJson } from '../domain/parse-json.ts'
import { sameBytes } from '../signing/base64.ts'
import { hashOnNode } from '../signing/digest.ts'
import { type OpenedCheckpoint, openCheckpoint, parseCheckpointText } from '../signing/log/checkpoint.ts'
import { leafHash, nodesOf, rangeHash } from '../signing/log/merkle.ts'
import { NoteError, parseNote } from '../signing/log/note.ts'
import type { TrustPolicy } from '../signing/log/policy.ts'
import { sliceHash, TILE_WIDTH, tilePath } from '../signing/log/tiles.ts'
import type { State } from './monitor-state.ts'
import { CliError, EXIT, oneLine, usageError } from './terminal.ts'

/** A log as it was verified: every leaf, under the root of the checkpoint. */
export interface WatchedLog {
  note: string
  head: OpenedCheckpoint
  leaves: Uint8Array[]
}

/** A log at an address. */
export interface PlacedLog {
  /** Absent for a log of which nothing but the address is known. */
  origin?: string
  /** The prefix of its addresses. */
  url: string
  /** Of a log that ended: its last known checkpoint. */
  last?: string
  /** It goes on for another one: its first entry is no record. */
  follows?: boolean
}

const placed = z.object({ origin: z.string(), url: z.url() })

const describedSchema = placed.extend({
  former: z.array(placed.extend({ checkpoint: z.string() })).default([]),
})

/** Finds where to begin: at the log of the state, or at the address. @param address a service, or the prefix of a log
 * @returns the logs from there on, each of which goes on for the one before, and all of the service. Nothing is trusted yet
 * @throws CliError */
export async function findLogs(
  address: string,
  before: State | undefined,
): Promise<{ logs: PlacedLog[]; all: PlacedLog[] }> {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw usageError(`${oneLine(address)} is no address; name a service, or the prefix of a log: https://…`)
  const { origin: host, pathname } = new URL(address)
  const path = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
  const all = await describedBy(host)
  const known = all.findIndex(({ origin }) => origin === before?.origin)
  const named = all.findIndex(({ url }) => url === host + path)
  if (known >= 0) return { logs: all.slice(known), all }
  if (path === '' && all.length > 0) return { logs: all.slice(-1), all }
  return { logs: named < 0 ? [{ url: `${host}${path || '/log'}` }] : all.slice(named), all }
}

/** Returns the logs of a service, oldest first; none of another server. */
async function describedBy(host: string): Promise<PlacedLog[]> {
  const found = await fetchBytes(`${host}/.well-known/countersign-log`, true)
  const described = describedSchema.safeParse(parseJson(found.toString()))
  if (!described.success) return []
  const { origin, url, former } = described.data
  // A service that is reached by another address than its own.
  const here = (prefix: string) => host + new URL(prefix).pathname
  return [
    ...former.map((log, at) => ({
      origin: log.origin,
      url: here(log.url),
      last: log.checkpoint,
      follows: at > 0,
    })),
    { origin, url: here(url) },
  ]
}

/** Verifies the checkpoint by the keys of the policy. @returns what is wrong, in words */
export async function verifyCheckpoint(
  note: string,
  { logs, witnesses }: TrustPolicy,
): Promise<OpenedCheckpoint | string> {
  try {
    const { text, signatures } = parseNote(note)
    const { origin } = parseCheckpointText(text)
    const named = logs.filter(({ key }) => key.name === origin)
    // A log whose key was rotated has several under its name.
    const log = named.find(({ key }) => signatures.some(({ id }) => id === key.id)) ?? named[0]
    if (log === undefined)
      return `the checkpoint is of the log ${oneLine(origin)}, which the policy does not name; add its line "log <vkey>" only if its operator says why it has another name`
    const keys = [...witnesses.values()].map(({ key }) => key)
    return await openCheckpoint(note, log.key, keys)
  } catch (error) {
    if (error instanceof NoteError) return `the checkpoint cannot be trusted: ${error.message}`
    throw error
  }
}

/**
 * Reads the new leaves, and recomputes the root over all. @returns what is wrong, in words
 * @param ended the log goes on under another name: its store may have lost the newest
 */
export async function followLog(
  { url, note, head }: Omit<WatchedLog, 'leaves'> & { url: string },
  before: State | undefined,
  ended: boolean,
): Promise<WatchedLog | string> {
  const known = before?.leaves ?? []
  if (before !== undefined && before.origin !== head.origin)
    return `the log was ${before.origin} and is now ${head.origin}; ask its operator why, then begin another --state file`
  if (head.size < known.length) {
    const same = sameBytes(rootOf(known.slice(0, head.size)), head.root)
    if (same && ended) return { note, head, leaves: known }
    return same
      ? `the log shows ${head.size} entries, and ${known.length} were seen before: something hides the newest`
      : `${FORKED}: ${known.length} entries were seen before, and its ${head.size} are not their beginning`
  }
  const leaves = [...known, ...(await newLeaves(url, known.length, head.size))]
  if (sameBytes(rootOf(leaves), head.root)) return { note, head, leaves }
  return known.length === 0
    ? 'the tiles do not have the root that the log signed'
    : `${FORKED}: its ${head.size} entries do not begin with the ${known.length} that were seen before`
}

export const FORKED = 'the log has forked, or was changed'

async function newLeaves(url: string, from: number, to: number): Promise<Uint8Array[]> {
  const leaves: Uint8Array[] = []
  for (let index = Math.floor(from / TILE_WIDTH); index * TILE_WIDTH < to; index += 1) {
    const start = index * TILE_WIDTH
    const width = Math.min(TILE_WIDTH, to - start)
    const bytes = await fetchTile(url, index, width)
    for (let at = Math.max(from, start); at < start + width; at += 1)
      leaves.push(bytes.subarray((at - start) * 32, (at - start + 1) * 32))
  }
  return leaves
}

/** Returns the first hashes of a tile of level 0. A log that has a tile whole may have deleted its parts (C2SP tlog-tiles). */
async function fetchTile(url: string, index: number, width: number): Promise<Buffer> {
  const fetched = (asked: number) =>
    fetchBytes(`${url}/tile/${tilePath({ level: 0, index, width: asked })}`, asked < TILE_WIDTH)
  const part = await fetched(width)
  const bytes = part.length === 0 ? (await fetched(TILE_WIDTH)).subarray(0, width * 32) : part
  if (bytes.length !== width * 32) throw unreachable(`${url} answered with a tile of another width`)
  return bytes
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const nodes = nodesOf({ start: 0, end: leaves.length }).map(({ level, index }) =>
    hashOnNode(sliceHash(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))),
  )
  return hashOnNode(rangeHash(nodes))
}

/** Says where a log went on. */
export function goesOn({ origin, size }: OpenedCheckpoint, next: string): string {
  return `${origin} ended with ${size} entries and goes on as ${oneLine(next)}`
}

/**
 * Checks that a log goes on for one that ended: that it begins with the last known checkpoint of that, which has all that was seen, and
 * then has the same entries, as far as the store still had them.
 * @param last that checkpoint
 * @param follows whether the log that ended itself went on for another: its first entry is no record
 */
export function succeeds(
  ended: WatchedLog,
  last: OpenedCheckpoint & { note: string },
  next: WatchedLog,
  follows: boolean,
): { ok: boolean; message: string } {
  const how = goesOn(last, next.head.origin)
  const seen = ended.leaves.length
  const bad = (why: string) => ({ ok: false, message: `${how}; ${why}` })
  if (last.origin !== ended.head.origin) return bad(`its own name is ${ended.head.origin}`)
  if (seen >= last.size && !sameBytes(rootOf(ended.leaves.slice(0, last.size)), last.root))
    return bad(`${FORKED}: these are not the entries that were seen before`)
  if (seen > last.size)
    return bad(
      `${seen} were seen before, so this is not its last checkpoint; ask its operator why, then begin another --state file`,
    )
  if (!beginsWith(next.leaves, last.note)) return bad('the first entry there is not its last checkpoint')
  const skipped = follows ? 1 : 0
  const [old, renewed] = [ended.leaves.slice(skipped), next.leaves.slice(1)]
  const differs = old.findIndex((leaf, at) => !isAt(renewed, at, leaf))
  const kept = differs < 0 ? old.length : differs
  if (kept < Math.min(ended.head.size - skipped, renewed.length))
    return bad(`its entry ${kept + skipped} is another one there`)
  return { ok: true, message: `${how}; ${kept} of the ${old.length} entries that were seen are in it again` }
}

/** Checks whether the first entry of a log is that checkpoint, of the log for which it goes on. */
export function beginsWith(leaves: readonly Uint8Array[], note: string): boolean {
  return isAt(leaves, 0, hashOnNode(leafHash(new TextEncoder().encode(note))))
}

/** Checks whether the log has that leaf at that place. */
export function isAt(leaves: readonly Uint8Array[], index: number, leaf: Uint8Array): boolean {
  const found = leaves[index]
  return found !== undefined && sameBytes(found, leaf)
}

const TIMEOUT_MS = 10_000
const TRIES = 10

/**
 * Fetches what a log serves; everything is verified later, so it may come over http.
 * @param optional nothing is found: empty. @throws CliError, exit code 2
 */
export async function fetchBytes(url: string, optional = false): Promise<Buffer> {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
      (error: Error) => {
        throw unreachable(
          `${url} cannot be fetched: ${error.cause instanceof Error ? error.cause.message : error.message}`,
        )
      },
    )
    if (response.status === 200) return bytesOf(response, url)
    if (response.status === 404 && optional) return Buffer.alloc(0)
    if (response.status !== 429 || tries === TRIES) {
      const { error } = Object(parseJson((await bytesOf(response, url)).toString()))
      const code = typeof error === 'string' ? ` (${error})` : ''
      throw unreachable(`${url} answered ${response.status}${code}${whatNow(String(error), url)}`)
    }
    await delay(1000 * Math.min(60, Number(response.headers.get('retry-after')) || 1))
  }
}

/** Explains what an answer means after a restore. */
function whatNow(error: string, url: string): string {
  if (error === 'log_rolled_back') return ': its store was restored, and its operator must renew the log'
  return error === 'not_found' && url.endsWith('/checkpoint') ? ': a new log has one within seconds' : ''
}

/** More than any checkpoint or tile has. */
const MAX_BYTES = 262_144

async function bytesOf({ body }: Response, url: string): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw unreachable(`${url} answered with more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function unreachable(sentence: string): CliError {
  return new CliError(
    'log_unreachable',
    `${oneLine(sentence)}; try again, or ask the operator of the log.`,
    EXIT.usage,
  )
}
