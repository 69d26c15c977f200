import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../domain/parse-json.ts'
import { readBundle } from '../signing/bundle.ts'
import { type OpenedCheckpoint, parseProof } from '../signing/log/checkpoint.ts'
import { NoteError } from '../signing/log/note.ts'
import { quorumMet, type TrustPolicy } from '../signing/log/policy.ts'
import { placeOf } from '../signing/verify-bundle.ts'
import { keepEvidence, readLeaves, readState, type State, writeState } from './monitor-state.ts'
import { readPolicy } from './policy-file.ts'
import { readTexts } from './read-input.ts'
import {
  beginsWith,
  FORKED,
  fetchBytes,
  findLogs,
  followLog,
  goesOn,
  isAt,
  type PlacedLog,
  succeeds,
  verifyCheckpoint,
  type WatchedLog,
} from './remote-log.ts'
import { type CommandResult, oneLine, readCount, usageError } from './terminal.ts'

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
  check: 'signature' | 'append_only' | 'renewed' | 'witnesses' | 'age' | 'receipts' | 'mine'
  ok: boolean
  /** Receipts of a log that ended, which a restore lost: nothing is wrong with them. */
  lost?: true
  message: string
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
  const { logs, all } = await findLogs(address, before)
  const watched = await watch(logs, policy, options.state, before)
  if (watched.log === undefined) return resultOf(watched.findings)
  const { findings, log } = watched
  const { head } = log
  findings.push(witnessed(head, policy), aged(head, hours))
  const held =
    options.receipts === undefined
      ? undefined
      : await readReceipts(options.receipts, { log, all, policy, state: options.state })
  if (held !== undefined) findings.push(...held.findings)
  if (held !== undefined && options.mine !== undefined && options.audit !== undefined)
    findings.push(await findMine(options.mine, options.audit, held.decided))
  const known = before?.origin === head.origin ? before.size : 0
  await writeState(options.state, { ...log, origin: head.origin }, known)
  return resultOf(findings, head)
}

/** What was found of a log, and the log unless a check failed. */
interface Step {
  findings: Finding[]
  log?: WatchedLog
}

/** Verifies a log and, where it ended, those that go on for it. @returns the last one */
async function watch(
  logs: readonly PlacedLog[],
  policy: TrustPolicy,
  state: string,
  before: State | undefined,
): Promise<Step> {
  const renewed: Finding[] = []
  let step: Step = { findings: [] }
  for (const [at, place] of logs.entries()) {
    const [old, { log }] = [logs[at - 1], step]
    step = await watchOne(place, policy, state, log === undefined ? before : undefined)
    if (old === undefined || log === undefined) {
      if (step.log === undefined) return step
      continue
    }
    const finding = await renewal(old, log, place, step, policy)
    renewed.push(finding)
    if (!finding.ok) return { findings: renewed }
  }
  return { ...step, findings: [...step.findings, ...renewed] }
}

async function watchOne(
  { url, last }: PlacedLog,
  policy: TrustPolicy,
  state: string,
  before: State | undefined,
): Promise<Step> {
  const note = (await fetchBytes(`${url}/checkpoint`)).toString()
  const head = await verifyCheckpoint(note, policy)
  if (typeof head === 'string') return { findings: [{ check: 'signature', ok: false, message: head }] }
  const signed = `${head.origin} signed a log of ${head.size} entries`
  const signature: Finding = { check: 'signature', ok: true, message: signed }
  const log = await followLog({ url, note, head }, before, last !== undefined)
  if (typeof log === 'string') {
    if (log.startsWith(FORKED)) await keepEvidence(state, note)
    return { findings: [signature, { check: 'append_only', ok: false, message: log }] }
  }
  const since = before === undefined ? 'read whole, for the first time' : grownFrom(before.size, head.size)
  return { findings: [signature, { check: 'append_only', ok: true, message: since }], log }
}

function grownFrom(known: number, size: number): string {
  return size > known ? `grown from ${known} entries` : `still ${known} entries`
}

/** Checks that the next log goes on for one that ended. */
async function renewal(
  place: PlacedLog,
  log: WatchedLog,
  next: PlacedLog,
  { findings, log: begun }: Step,
  policy: TrustPolicy,
): Promise<Finding> {
  const note = place.last ?? ''
  const last = await verifyCheckpoint(note, policy)
  const bad = (message: string): Finding => ({ check: 'renewed', ok: false, message })
  if (typeof last === 'string') return bad(`${log.head.origin} ended, and of its last checkpoint: ${last}`)
  const wrong = findings.filter(({ ok }) => !ok).map(({ message }) => message)
  if (begun === undefined) return bad([goesOn(last, next.origin ?? ''), ...wrong].join('; '))
  return { check: 'renewed', ...succeeds(log, { ...last, note }, begun, place.follows === true) }
}

function resultOf(findings: readonly Finding[], head?: OpenedCheckpoint): CommandResult {
  const bad = findings.filter(({ ok }) => !ok)
  const lines = findings.map(
    ({ check, ok, lost, message }) =>
      `${lost ? 'LOST' : ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(11)}  ${message}`,
  )
  return {
    value: { ok: bad.length === 0, origin: head?.origin, size: head?.size, checks: findings },
    text: lines.join('\n'),
    ...(bad[0] && {
      failure: { error: `log_${bad[0].check}`, message: bad.map(({ message }) => message).join(' ') },
    }),
  }
}

function witnessed({ cosignatures }: OpenedCheckpoint, policy: TrustPolicy): Finding {
  const keys = cosignatures.map(({ key }) => key)
  const names = [...new Set(keys.map(({ name }) => name))].join(', ')
  const ok = quorumMet(policy, keys)
  const by = names === '' ? 'no witness of the policy cosigned' : `cosigned by ${names}`
  return { check: 'witnesses', ok, message: ok ? by : `${by}, which is less than the policy asks for` }
}

/** By how much the clock of a witness may run ahead. */
const AHEAD_MINUTES = 5

/** Only cosignatures carry a time. */
function aged({ cosignatures }: OpenedCheckpoint, hours: number): Finding {
  const times = cosignatures.flatMap(({ time }) => time ?? [])
  if (times.length === 0)
    return { check: 'age', ok: true, message: 'not known: no cosignature says when it was made' }
  const minutes = Math.round((Date.now() / 1000 - Math.max(...times)) / 60)
  // By the clock of such a witness no checkpoint ever gets old.
  if (minutes < -AHEAD_MINUTES)
    return { check: 'age', ok: false, message: `cosigned ${-minutes} min in the future; a clock is wrong` }
  const ok = minutes <= hours * 60
  return {
    check: 'age',
    ok,
    message: `last cosigned ${Math.max(0, minutes)} min ago${ok ? '' : `, more than ${hours} h`}`,
  }
}

/** What the receipts in a folder prove. */
interface Held {
  findings: Finding[]
  /** The ids of the requests that they are about. */
  decided: ReadonlySet<string>
}

/** Where the receipts are looked for. */
interface Looking {
  log: WatchedLog
  /** All logs of the service, those that ended first. */
  all: readonly PlacedLog[]
  policy: TrustPolicy
  state: string
}

/** Looks for the leaf of each bundle at its place in the log. @throws CliError (usage) where there is none */
async function readReceipts(folder: string, looking: Looking): Promise<Held> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`--receipts: ${folder} cannot be read: ${error.code}.`)
  })
  const paths = names
    .filter((name) => !name.startsWith('.'))
    .sort()
    .map((name) => join(folder, name))
  const decided = new Set<string>()
  const [wrong, lost]: [string[], string[]] = [[], []]
  let held = 0
  for await (const { name, text } of readTexts(paths, (line) => typeof readBundle(line) !== 'string')) {
    held += 1
    const bundle = readBundle(text)
    const found = typeof bundle === 'string' ? { problem: bundle } : await missing(bundle, looking)
    if (found.problem !== undefined) wrong.push(`${oneLine(name)}: ${found.problem}`)
    if (found.lost !== undefined) lost.push(`${oneLine(name)}: ${found.lost}`)
    if (typeof bundle === 'string') continue
    const { rid } = Object(parseJson(bundle.intent))
    decided.add(String(rid))
  }
  // A wrong folder would be well for ever.
  if (held === 0)
    throw usageError(`--receipts: ${oneLine(folder)} has no bundle; name the folder with yours.`)
  const all = lost.length > 0 ? `the other ${held - lost.length}` : `all ${held}`
  const message = wrong.length > 0 ? wrong.join('; ') : `${all} receipts are in the log`
  const findings: Finding[] = [{ check: 'receipts', ok: wrong.length === 0, message }]
  if (lost.length > 0) findings.push({ check: 'receipts', ok: true, lost: true, message: lost.join('; ') })
  return { findings, decided }
}

type Bundle = Exclude<ReturnType<typeof readBundle>, string>

/** What is wrong with a receipt, or how a restore lost its entry. */
interface Missing {
  problem?: string
  lost?: string
}

async function missing(bundle: Bundle, looking: Looking): Promise<Missing> {
  const { head, leaves } = looking.log
  const bad = (problem: string): Missing => ({ problem })
  if (bundle.log === undefined) return bad('it has no place in a log; get it again with ?log=logged')
  try {
    const { leaf: wanted, index, origin } = await placeOf(bundle, bundle.log)
    // Of a log that ended: the entries of the first one stand one place later in those that go on for it.
    const again = [index, index + 1].some((at) => isAt(leaves, at, wanted))
    if (origin !== head.origin)
      return again ? {} : await lostOf({ ...parseProof(bundle.log.proof), wanted, index, origin }, looking)
    if (index >= leaves.length)
      return bad(`its place ${index} is behind the checkpoint; run this again in a minute`)
    return isAt(leaves, index, wanted) ? {} : bad(`place ${index} of the log holds something else`)
  } catch (error) {
    if (error instanceof NoteError) return bad(error.message)
    throw error
  }
}

/**
 * Looks for a receipt in the log that ended: a restore loses the entries that the copy did not have. It is no failure if that log signed
 * it, ended behind it, and had it where this monitor saw it; and if the store that was put back had it no more.
 */
async function lostOf(
  place: { origin: string; index: number; wanted: Uint8Array; checkpoint: string },
  { all, policy, state, log }: Looking,
): Promise<Missing> {
  const { origin, index, wanted } = place
  const name = oneLine(origin)
  const bad = (why: string): Missing => ({ problem: `it is in the log ${name}, and not in this one${why}` })
  const at = all.findIndex((one) => one.origin === origin)
  const [ended, next] = [all[at], all[at + 1]]
  if (ended?.last === undefined) return bad('')
  const [signed, last] = [
    await verifyCheckpoint(place.checkpoint, policy),
    await verifyCheckpoint(ended.last, policy),
  ]
  const left = await verifyCheckpoint((await fetchBytes(`${ended.url}/checkpoint`)).toString(), policy)
  if (typeof signed === 'string') return bad(`; ${signed}`)
  if (typeof last === 'string') return bad(`; of its last checkpoint: ${last}`)
  if (typeof left === 'string') return bad(`; ${left}`)
  if (last.origin !== origin || left.origin !== origin) return bad('; its address shows another log')
  const isHead = next?.origin === log.head.origin
  const after = isHead ? log.leaves : await readLeaves(state, next?.origin ?? '')
  if (after.length > 0 && !beginsWith(after, ended.last))
    return bad('; what is said to be its last checkpoint is not the first entry of the next')
  if (signed.size > last.size)
    return bad(
      `; it signed ${signed.size} entries, but is said to have ended with ${last.size}; ask its operator`,
    )
  if (index < left.size) return bad(', though the copy that was put back had it')
  const kept = await readLeaves(state, origin)
  if (index < kept.length && !isAt(kept, index, wanted)) return bad(', and was not seen there')
  return {
    lost: `was entry ${index} of the log ${name}, which ended with ${last.size} entries; the restore lost it, and this receipt still proves it`,
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
