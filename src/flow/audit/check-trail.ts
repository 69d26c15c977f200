import type { AuditRecord } from '../../domain/audit.ts'
import { type ChainFlaw, type ChainHead, flawOf, GENESIS, isErased } from '../../signing/audit-chain.ts'
import {
  checkStates,
  createTellings,
  type StateFinding,
  type Tellings,
  type TrailDeps,
} from './check-states.ts'

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
    /** The disk has spoilt the record: it cannot be read. */
    | 'damaged'
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
  onProgress?: (progress: { records: number } | { documents: number }) => void
}

/** Findings listed one by one; the rest are only counted. */
const FINDINGS = 50
const PAGE = 1_000

/**
 * Recomputes the whole trail and compares it with the states of all documents (T85, T86). It only reads, and may run beside a
 * service: the trail is read before the documents, so a change in the meantime is no contradiction.
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
  const bad = findings.flatMap(({ seq }) => seq ?? [])
  for (const id of await deps.survey.strays(FINDINGS)) report({ code: 'stray', id })
  const states = await checkStates(deps, tellings, report, (documents) => options.onProgress?.({ documents }))
  return {
    ...chain,
    ...states,
    findings,
    found,
    ...(bad.length === 0 ? {} : { firstBad: Math.min(...bad) }),
  }
}

async function checkChain(
  { trail }: TrailDeps,
  { expect, onProgress }: CheckOptions,
  tellings: Tellings,
  report: (finding: ChainFinding) => void,
): Promise<{ records: number; erased: number; head: ChainHead }> {
  let head = GENESIS
  let records = 0
  let erased = 0
  /** Reports the damaged records from `from` on. @returns the number of the first that is not damaged */
  const pass = async (from: number, end: number): Promise<number> => {
    let seq = from
    for (; seq < end && (await trail.isDamaged(seq)); seq += 1) report({ code: 'damaged', seq })
    return seq
  }
  const look = async (record: AuditRecord): Promise<void> => {
    const next = head.seq + 1
    const behindDamage = record.seq > next && (await pass(next, record.seq)) === record.seq
    // The hash that it should link to cannot be known; the record itself can be intact.
    const found = flawOf(behindDamage ? { seq: record.seq - 1, hash: '' } : head, record)
    const flaw = behindDamage && found === 'unlinked' ? undefined : found
    // `seq` is counted from the record before: a misnumbered record may have no number, or a later one.
    if (flaw === 'misnumbered') report({ code: flaw, seq: head.seq + 1, id: String(record.seq) })
    else if (flaw !== undefined) report({ code: flaw, seq: head.seq + 1 })
    if (flaw !== 'misnumbered') head = { seq: record.seq, hash: record.hash }
    if (record.seq === expect?.seq && record.hash !== expect.hash)
      report({ code: 'rewritten', seq: record.seq })
    records += 1
    if (isErased(record)) erased += 1
    else tellings.add(record)
  }
  if (expect?.seq === 0 && expect.hash !== GENESIS.hash) report({ code: 'rewritten', seq: 0 })
  for await (const page of pages(trail)) {
    for (const record of page) await look(record)
    onProgress?.({ records })
  }
  await pass(head.seq + 1, Number.POSITIVE_INFINITY)
  if (expect !== undefined && expect.seq > head.seq) report({ code: 'truncated', seq: head.seq + 1 })
  return { records, erased, head }
}

async function* pages(trail: TrailDeps['trail']): AsyncGenerator<AuditRecord[]> {
  let from = 1
  for (;;) {
    const page = await trail.scan(from, PAGE)
    yield page
    const next = Math.floor(page.at(-1)?.seq ?? 0) + 1
    // The service never wrote a record whose number has no successor; the scan ends there.
    if (page.length < PAGE || !(next > from)) return
    from = next
  }
}
