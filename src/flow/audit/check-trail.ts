import type { AuditRecord } from '../../domain/audit.ts'
import { type ChainFlaw, type ChainHead, flawOf, GENESIS, isHash } from '../../signing/audit-chain.ts'
import { sameBytes } from '../../signing/base64.ts'
import { hashOnNode } from '../../signing/digest.ts'
import { EMPTY_EDGE, growTree, rootOf } from '../../signing/log/grow-tree.ts'
import { leafHash } from '../../signing/log/merkle.ts'
import { TILE_WIDTH } from '../../signing/log/tiles.ts'
import { readHead } from '../../signing/log/witnessing.ts'
import type { LogHead } from '../../store/audit/log.ts'
import {
  checkStates,
  createTellings,
  type StateFinding,
  type Tellings,
  type TrailDeps,
} from './check-states.ts'
import { createErasures, readErased } from './erasures.ts'
import { entryOf } from './log.ts'
import { readAhead } from './read-ahead.ts'

/** A flaw in the records themselves. `seq`: the first number that is affected. */
interface ChainFinding {
  code:
    | ChainFlaw
    /** The trail once reached further than it does now. */
    | 'truncated'
    /** The record's hash is not the one noted down: this record, or one before it, was rewritten. */
    | 'rewritten'
    /** A document in the trail's collection that is not a record. */
    | 'stray'
    /** The record's contents are erased, and no later record says so. */
    | 'erased_untold'
    /** The log has another entry at the record's place: the record, or the log, was rewritten. */
    | 'unlike_log'
    /** All records agree with the log's tiles, but its checkpoint, which was signed, is of other ones. */
    | 'unlike_checkpoint'
  seq?: number
  /** The number that a misnumbered record has in place of `seq`; the id of a stray document. */
  id?: string
}

export type Finding = ChainFinding | StateFinding

export interface TrailReport {
  records: number
  erased: number
  /** To be noted down: nothing else reveals later that the trail was cut short. */
  head: ChainHead
  /** The head is none of the trail's: it is the one that was given, and the trail has no later record. */
  foreign?: true
  documents: number
  /** Entries that no process has brought to the trail yet. */
  waiting: number
  /** The first findings, at most `FINDINGS`; `found` counts all. */
  findings: Finding[]
  found: number
  /** The smallest number of a record at which the chain does not hold. */
  firstBad?: number
}

export interface CheckOptions {
  /** A head noted down earlier. */
  expect?: ChainHead
  /**
   * A head up to which an earlier check found the trail intact: only later records are checked, and the documents they are about.
   */
  since?: ChainHead
  /** Called after each page; `head`: everything up to it was read. */
  onProgress?: (progress: { records: number; head: ChainHead } | { documents: number }) => void
}

/** Findings listed one by one; the rest are only counted. */
const FINDINGS = 50
const PAGE = 250

/**
 * Recomputes the trail and compares it with the states of the documents (T85, T86), all of it unless `since` says otherwise. It
 * only reads, and may run beside a service: the trail is read before the documents, so a change in the meantime is no
 * contradiction.
 */
export async function checkTrail(deps: TrailDeps, options: CheckOptions = {}): Promise<TrailReport> {
  const findings: Finding[] = []
  let found = 0
  const report = (finding: Finding): void => {
    found += 1
    if (findings.length < FINDINGS) findings.push(finding)
  }
  const tellings = createTellings()
  const chain = await checkChain(deps, options, tellings, report)
  const erasedUntil = chain.erasures.before()
  for (const seq of chain.erasures.untold()) report({ code: 'erased_untold', seq })
  const bad = findings.flatMap(({ seq }) => seq ?? [])
  for (const id of await deps.survey.strays(FINDINGS)) report({ code: 'stray', id })
  const onProgress = (documents: number) => options.onProgress?.({ documents })
  const partial = options.since !== undefined
  const states = await checkStates(deps, { tellings, report, onProgress, partial, erasedUntil })
  const { erasures: _, ...read } = chain
  return {
    ...read,
    ...states,
    findings,
    found,
    ...(bad.length === 0 ? {} : { firstBad: Math.min(...bad) }),
  }
}

async function checkChain(
  { trail, logs }: TrailDeps,
  { expect, since, onProgress }: CheckOptions,
  tellings: Tellings,
  report: (finding: ChainFinding) => void,
): Promise<{
  records: number
  erased: number
  head: ChainHead
  foreign?: true
  erasures: ReturnType<typeof createErasures>
}> {
  const erasures = createErasures()
  let head = since ?? GENESIS
  let records = 0
  let erased = 0
  const look = (record: AuditRecord): void => {
    const flaw = flawOf(head, record)
    // `seq` is counted from the record before: a misnumbered record may have no number, or a later one.
    if (flaw === 'misnumbered') report({ code: flaw, seq: head.seq + 1, id: String(record.seq) })
    else if (flaw !== undefined) report({ code: flaw, seq: head.seq + 1 })
    if (flaw !== 'misnumbered') head = { seq: record.seq, hash: record.hash }
    if (record.seq === expect?.seq && record.hash !== expect.hash)
      report({ code: 'rewritten', seq: record.seq })
    records += 1
    if (record.entry === undefined) {
      erased += 1
      // A number that is none, such as infinity, would be counted up to for ever; it is reported as it is.
      if (flaw !== 'misnumbered') erasures.add(record.seq)
    } else {
      tellings.add(record.entry)
      const said = readErased(record.entry)
      if (said !== undefined) erasures.tell(said)
    }
  }
  // Before the records, which go on.
  const log = await createLogCheck(logs, since === undefined, report)
  const hasStart = since === undefined || (await checkStart(trail, since, report))
  if (expect?.seq === 0 && expect.hash !== GENESIS.hash) report({ code: 'rewritten', seq: 0 })
  for await (const page of pages(trail, head.seq + 1)) {
    page.forEach(look)
    await log.look(page)
    onProgress?.({ records, head })
  }
  log.end()
  const known = Math.max(expect?.seq ?? 0, since === undefined ? log.last : 0)
  if (known > head.seq) report({ code: 'truncated', seq: head.seq + 1 })
  const isForeign = !hasStart && records === 0
  return { records, erased, head, ...(isForeign ? { foreign: true } : {}), erasures }
}

/**
 * Compares records with the logs, whose hashes the service signed and others may hold: with those that ended as well, or whoever
 * writes to the store could begin another one and rewrite what came before.
 * @param whole every record is looked at, in order, so that the root can be computed, too
 */
async function createLogCheck(
  logs: TrailDeps['logs'],
  whole: boolean,
  report: (finding: ChainFinding) => void,
) {
  const told = new Set<unknown>()
  const once = (finding: ChainFinding): void => {
    if (!told.has(finding.seq)) report(finding)
    told.add(finding.seq)
  }
  const checks = (await logs.all()).map((head) => checkOfLog(logs, head, whole, once))
  return {
    /** The number of the last record in a log. */
    last: Math.max(0, ...checks.map(({ last }) => last)),
    async look(page: readonly AuditRecord[]): Promise<void> {
      for (const check of checks) await check.look(page)
    },
    end(): void {
      for (const check of checks) check.end()
    },
  }
}

function checkOfLog(
  logs: TrailDeps['logs'],
  { number, size, note, follows }: LogHead,
  whole: boolean,
  report: (finding: ChainFinding) => void,
) {
  const place = (seq: number): number => (follows === undefined ? seq - 1 : seq)
  const isLogged = ({ seq }: AuditRecord) => Number.isSafeInteger(seq) && seq > 0 && place(seq) < size
  let tree = growTree(EMPTY_EDGE, follows === undefined ? [] : [new TextEncoder().encode(follows)]).edge
  let like = true
  return {
    /** The number of its last record. */
    last: size === 0 ? 0 : size - 1 + (follows === undefined ? 1 : 0),
    async look(page: readonly AuditRecord[]): Promise<void> {
      const records = page.filter(isLogged)
      const indexes = new Set(records.map(({ seq }) => Math.floor(place(seq) / TILE_WIDTH)))
      const tiles = await logs.tiles(
        number,
        [...indexes].map((index) => ({ level: 0, index })),
      )
      const entries = records.map((record) =>
        isHash(record.content_sha256) ? entryOf(record, record.seq) : new Uint8Array(),
      )
      const [first] = records
      const isNext = first !== undefined && place(first.seq) === tree.size
      // With a gap, the tree stays too small to be compared.
      if (whole && isNext && records.at(-1)?.seq === first.seq + records.length - 1)
        tree = growTree(tree, entries).edge
      for (const [at, record] of records.entries()) {
        const index = place(record.seq)
        const leaf = tiles.get(`0/${Math.floor(index / TILE_WIDTH)}`)?.[index % TILE_WIDTH]
        if (leaf !== undefined && sameBytes(leaf, hashOnNode(leafHash(entries[at] ?? new Uint8Array()))))
          continue
        like = false
        report({ code: 'unlike_log', seq: record.seq })
      }
    },
    end(): void {
      if (!whole || !like || note === undefined || tree.size !== size) return
      const { root = new Uint8Array() } = readHead(note) ?? {}
      if (!sameBytes(rootOf(tree), root)) report({ code: 'unlike_checkpoint' })
    },
  }
}

/** Checks whether the trail still has the record with which it was found intact. */
async function checkStart(
  trail: TrailDeps['trail'],
  { seq, hash }: ChainHead,
  report: (finding: ChainFinding) => void,
): Promise<boolean> {
  const [found] = seq === 0 ? [GENESIS] : await trail.scan(seq, 1)
  if (found?.seq === seq && found.hash === hash) return true
  if (found?.seq === seq) report({ code: 'rewritten', seq })
  else report({ code: found === undefined ? 'truncated' : 'gap', seq })
  return false
}

function pages(trail: TrailDeps['trail'], first: number): AsyncGenerator<AuditRecord[]> {
  return readAhead(
    (from: number | undefined) => trail.scan(from ?? first, PAGE),
    (page) => {
      const last = page.at(-1)?.seq ?? Number.NaN
      const next = Math.floor(last) + 1
      // The service never wrote a record whose number has no successor; the scan ends there.
      return page.length < PAGE || !(next > last) ? undefined : next
    },
  )
}
