import { open, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { parseJson } from '../domain/parse-json.ts'
import { sameBytes } from '../signing/base64.ts'
import { readBundle } from '../signing/bundle.ts'
import { hashOnNode } from '../signing/digest.ts'
import { type OpenedCheckpoint, openCheckpoint, parseCheckpointText } from '../signing/log/checkpoint.ts'
import { nodesOf, rangeHash } from '../signing/log/merkle.ts'
import { NoteError, parseNote } from '../signing/log/note.ts'
import { quorumMet, type TrustPolicy } from '../signing/log/policy.ts'
import { sliceHash, TILE_WIDTH, tilePath } from '../signing/log/tiles.ts'
import { placeOf } from '../signing/verify-bundle.ts'
import { readPolicy } from './policy-file.ts'
import { readTexts } from './read-input.ts'
import { syncFolder } from './sync-folder.ts'
import { CliError, type CommandResult, EXIT, oneLine, readCount, usageError } from './terminal.ts'

export interface MonitorOptions {
  state: string
  policy: string
  maxAge: string
  receipts?: string
  mine?: string
  audit?: string
}

/** What one check found. */
interface Finding {
  check: 'signature' | 'append_only' | 'witnesses' | 'age' | 'receipts' | 'mine'
  ok: boolean
  message: string
}

/** The log as this monitor has verified it: every leaf, under the root of the checkpoint. */
interface Watched {
  note: string
  head: OpenedCheckpoint
  leaves: Uint8Array[]
}

/**
 * `countersign log monitor`: checks that a log is signed, has only grown since the last run, is witnessed and fresh, and holds the
 * receipts in a folder. @throws CliError, with exit code 2 when the log cannot be reached
 */
export async function runMonitor(address: string, options: MonitorOptions): Promise<CommandResult> {
  if ((options.mine === undefined) !== (options.audit === undefined))
    throw usageError(
      '--mine and --audit belong together: the file has the decisions that must have a receipt.',
    )
  if (options.mine !== undefined && options.receipts === undefined)
    throw usageError('--mine also needs --receipts, the folder with the receipts that you hold.')
  const hours = readCount('--max-age', options.maxAge, 8_760)
  const policy = await readPolicy(options.policy)
  const before = await readState(options.state)
  const url = logUrl(address)
  const note = (await fetchBytes(`${url}/checkpoint`)).toString()
  const head = await verified(note, policy)
  if (typeof head === 'string') return resultOf([{ check: 'signature', ok: false, message: head }])
  const findings: Finding[] = [
    { check: 'signature', ok: true, message: `${head.origin} signed a log of ${head.size} entries` },
  ]
  const grown = await follow(url, { note, head }, before)
  if (typeof grown === 'string') {
    await keepEvidence(options.state, note)
    return resultOf([...findings, { check: 'append_only', ok: false, message: grown }])
  }
  const since = before === undefined ? 'read whole, for the first time' : `grown from ${before.size} entries`
  findings.push(
    { check: 'append_only', ok: true, message: since },
    witnessed(head, policy),
    aged(head, hours),
  )
  const held = options.receipts === undefined ? undefined : await readReceipts(options.receipts, grown)
  if (held !== undefined) findings.push(held.finding)
  if (held !== undefined && options.mine !== undefined && options.audit !== undefined)
    findings.push(await findMine(options.mine, options.audit, held.decided))
  await writeState(options.state, grown, before?.size ?? 0)
  return resultOf(findings, head)
}

function resultOf(findings: readonly Finding[], head?: OpenedCheckpoint): CommandResult {
  const bad = findings.filter(({ ok }) => !ok)
  const lines = findings.map(
    ({ check, ok, message }) => `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(11)}  ${message}`,
  )
  return {
    value: { ok: bad.length === 0, origin: head?.origin, size: head?.size, checks: findings },
    text: lines.join('\n'),
    ...(bad[0] && {
      failure: { error: `log_${bad[0].check}`, message: bad.map(({ message }) => message).join(' ') },
    }),
  }
}

/** Verifies the checkpoint by the keys of the policy. @returns what is wrong, in words */
async function verified(note: string, { logs, witnesses }: TrustPolicy): Promise<OpenedCheckpoint | string> {
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

/** Reads the new leaves, and recomputes the root over all. @returns what is wrong, in words */
async function follow(
  url: string,
  { note, head }: Omit<Watched, 'leaves'>,
  before: State | undefined,
): Promise<Watched | string> {
  const known = before?.leaves ?? []
  if (before !== undefined && before.origin !== head.origin)
    return `the log was ${before.origin} and is now ${head.origin}; ask its operator why, then begin another --state file`
  if (head.size < known.length) {
    const same = sameBytes(rootOf(known.slice(0, head.size)), head.root)
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

const FORKED = 'the log has forked, or was changed'

async function newLeaves(url: string, from: number, to: number): Promise<Uint8Array[]> {
  const leaves: Uint8Array[] = []
  for (let index = Math.floor(from / TILE_WIDTH); index * TILE_WIDTH < to; index += 1) {
    const start = index * TILE_WIDTH
    const width = Math.min(TILE_WIDTH, to - start)
    const bytes = await fetchBytes(`${url}/tile/${tilePath({ level: 0, index, width })}`)
    if (bytes.length !== width * 32) throw unreachable(`${url} answered with a tile of another width`)
    for (let at = Math.max(from, start); at < start + width; at += 1)
      leaves.push(bytes.subarray((at - start) * 32, (at - start + 1) * 32))
  }
  return leaves
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const nodes = nodesOf({ start: 0, end: leaves.length }).map(({ level, index }) =>
    hashOnNode(sliceHash(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))),
  )
  return hashOnNode(rangeHash(nodes))
}

function witnessed({ cosignatures }: OpenedCheckpoint, policy: TrustPolicy): Finding {
  const keys = cosignatures.map(({ key }) => key)
  const names = [...new Set(keys.map(({ name }) => name))].join(', ')
  const ok = quorumMet(policy, keys)
  const by = names === '' ? 'no witness of the policy cosigned' : `cosigned by ${names}`
  return { check: 'witnesses', ok, message: ok ? by : `${by}, which is less than the policy asks for` }
}

/** Only cosignatures carry a time. */
function aged({ cosignatures }: OpenedCheckpoint, hours: number): Finding {
  const times = cosignatures.flatMap(({ time }) => time ?? [])
  if (times.length === 0)
    return { check: 'age', ok: true, message: 'not known: no cosignature says when it was made' }
  const minutes = Math.max(0, Math.round((Date.now() / 1000 - Math.max(...times)) / 60))
  const ok = minutes <= hours * 60
  return {
    check: 'age',
    ok,
    message: `last cosigned ${minutes} min ago${ok ? '' : `, more than ${hours} h`}`,
  }
}

/** What the receipts in a folder prove. */
interface Held {
  finding: Finding
  /** The ids of the requests that they are about. */
  decided: ReadonlySet<string>
}

/** Looks for the leaf of each bundle at its place in the log. */
async function readReceipts(folder: string, { head, leaves }: Watched): Promise<Held> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`--receipts: ${folder} cannot be read: ${error.code}.`)
  })
  const paths = names
    .filter((name) => !name.startsWith('.'))
    .sort()
    .map((name) => join(folder, name))
  const decided = new Set<string>()
  const wrong: string[] = []
  let held = 0
  for await (const { name, text } of readTexts(paths, (line) => typeof readBundle(line) !== 'string')) {
    held += 1
    const bundle = readBundle(text)
    const problem = typeof bundle === 'string' ? bundle : await missing(bundle, head, leaves)
    if (problem !== undefined) wrong.push(`${oneLine(name)}: ${problem}`)
    if (typeof bundle === 'string') continue
    const { rid } = Object(parseJson(bundle.intent))
    decided.add(String(rid))
  }
  const message = wrong.length > 0 ? wrong.join('; ') : `all ${held} receipts are in the log`
  return { finding: { check: 'receipts', ok: wrong.length === 0, message }, decided }
}

type Bundle = Exclude<ReturnType<typeof readBundle>, string>

async function missing(
  bundle: Bundle,
  { origin }: OpenedCheckpoint,
  leaves: readonly Uint8Array[],
): Promise<string | undefined> {
  if (bundle.log === undefined) return 'it has no place in a log; get it again with ?log=logged'
  try {
    const place = await placeOf(bundle, bundle.log)
    if (place.origin !== origin) return `it is in the log ${oneLine(place.origin)}`
    const leaf = leaves[place.index]
    if (leaf === undefined)
      return `its place ${place.index} is behind the checkpoint; run this again in a minute`
    return sameBytes(leaf, place.leaf) ? undefined : `place ${place.index} of the log holds something else`
  } catch (error) {
    if (error instanceof NoteError) return error.message
    throw error
  }
}

const entrySchema = z.object({
  type: z.string(),
  actor: z.object({ id: z.string().optional() }),
  subject: z.string(),
})

type Entry = z.infer<typeof entrySchema>

/** Looks for decisions in somebody's name, by the audit log that the service shows, that no receipt proves. */
async function findMine(mine: string, path: string, decided: ReadonlySet<string>): Promise<Finding> {
  const entries: Entry[] = []
  for await (const { name, text } of readTexts([path], () => true)) {
    const entry = entrySchema.safeParse(parseJson(text))
    if (!entry.success)
      throw usageError(`${oneLine(name)} is no entry of an audit log; download that as NDJSON.`)
    entries.push(entry.data)
  }
  const closed = (type: string) =>
    new Set(entries.filter((entry) => entry.type === type).map(({ subject }) => subject))
  const approved = closed('approval.approved')
  // A vote is signed only when it has helped to approve; a rejection has one signature, of who rejected.
  const counts = ({ type, subject }: Entry): boolean =>
    type === 'approval.approved' ||
    type === 'approval.rejected' ||
    (type === 'approval.voted' && approved.has(subject))
  const ours = entries
    .filter((entry) => counts(entry) && entry.actor.id === mine)
    .map(({ subject }) => subject)
  const unproven = [...new Set(ours)].filter((request) => !decided.has(request))
  return {
    check: 'mine',
    ok: unproven.length === 0,
    message:
      unproven.length === 0
        ? `each of ${new Set(ours).size} decisions of ${oneLine(mine)} in ${path} has its receipt`
        : `no receipt is held for ${unproven.length} decisions of ${oneLine(mine)}: ${unproven.map(oneLine).join(', ')}; if that was not you, run: countersign user reset <email>`,
  }
}

/** What an earlier run saw. */
interface State {
  origin: string
  size: number
  leaves: Uint8Array[]
}

const stateSchema = z.strictObject({ format: z.literal('countersign.monitor/v1'), checkpoint: z.string() })

/** @returns undefined before the first run */
async function readState(path: string): Promise<State | undefined> {
  const text = await unlessMissing(readFile(path, 'utf8'))
  if (text === undefined) return undefined
  try {
    const { checkpoint } = stateSchema.parse(parseJson(text))
    const { origin, size } = parseCheckpointText(parseNote(checkpoint).text)
    const bytes = await readFile(leavesOf(path))
    // More were written by a run that ended before it could say so.
    if (bytes.length < size * 32) throw new Error('leaves are missing')
    const leaves = Array.from({ length: size }, (_, at) => bytes.subarray(at * 32, at * 32 + 32))
    return { origin, size, leaves }
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message) : ''
    throw usageError(
      `${path} and ${leavesOf(path)} are no whole state of a monitor (${why}); put them back, or name a new --state file.`,
    )
  }
}

function leavesOf(path: string): string {
  return `${path}.leaves`
}

/** First the leaves, then the checkpoint that counts them, by a rename: a run that dies between leaves the old state. */
async function writeState(path: string, { note, leaves }: Watched, known: number): Promise<void> {
  const file = await open(leavesOf(path), known === 0 ? 'w' : 'r+')
  try {
    const added = Buffer.concat(leaves.slice(known))
    await file.write(added, 0, added.length, known * 32)
    await file.sync()
  } finally {
    await file.close()
  }
  const aside = await open(`${path}.new`, 'w')
  try {
    await aside.writeFile(`${JSON.stringify({ format: 'countersign.monitor/v1', checkpoint: note })}\n`)
    await aside.sync()
  } finally {
    await aside.close()
  }
  await rename(`${path}.new`, path)
  await syncFolder(dirname(path))
}

/** Keeps a checkpoint that contradicts the state: with the one in there it is proof, since the log signed both. */
async function keepEvidence(path: string, note: string): Promise<void> {
  await writeFile(`${path}.fork`, note)
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** The prefix of a log's addresses; of a service without a path, that of its log. */
function logUrl(address: string): string {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw usageError(`${oneLine(address)} is no address; name a service, or the prefix of a log: https://…`)
  const { origin, pathname } = new URL(address)
  const path = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
  return `${origin}${path || '/log'}`
}

const TIMEOUT_MS = 10_000
const TRIES = 10

/** Fetches what a log serves; everything is verified later, so it may come over http. @throws CliError, exit code 2 */
async function fetchBytes(url: string): Promise<Buffer> {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
      (error: Error) => {
        throw unreachable(
          `${url} cannot be fetched: ${error.cause instanceof Error ? error.cause.message : error.message}`,
        )
      },
    )
    if (response.status === 200) return bytesOf(response, url)
    if (response.status !== 429 || tries === TRIES) throw unreachable(`${url} answered ${response.status}`)
    await delay(1000 * Math.min(60, Number(response.headers.get('retry-after')) || 1))
  }
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
