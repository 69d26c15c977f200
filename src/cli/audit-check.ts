import { withTrail } from '../compose/inspect-store.ts'
import { type CheckOptions, checkTrail, type Finding, type TrailReport } from '../flow/audit/check-trail.ts'
import type { ChainHead } from '../signing/audit-chain.ts'
import { usageError } from './cli-error.ts'
import { loadForStore } from './load-for-store.ts'
import { oneLine } from './table.ts'
import type { CommandResult } from './tell.ts'
import { terminal } from './terminal.ts'

export interface AuditCheckOptions {
  expect?: string
  json?: boolean
}

/** A line of progress for every so many records or documents. */
const STEP = 20_000

/**
 * `countersign audit check`: recomputes every link of the trail and holds it against the states in the store. The answer
 * is no (exit code 1) as soon as anything does not fit.
 */
export function runAuditCheck(options: AuditCheckOptions): Promise<CommandResult> {
  const expect = options.expect === undefined ? {} : { expect: readHead(options.expect) }
  const progress = options.json ? {} : { onProgress: tellProgress() }
  return withTrail(loadForStore(), async (deps) => {
    const report = await checkTrail(deps, { ...expect, ...progress })
    const value = present(report)
    if (report.found === 0) return { value, text: describe(report) }
    const message = advise(report)
    return {
      value,
      text: [describe(report), '', ...report.findings.map(tellFinding), ...more(report), '', message].join(
        '\n',
      ),
      failure: { error: 'audit_trail_broken', message },
    }
  })
}

function present({ head, firstBad, findings, found, ...counts }: TrailReport) {
  return {
    ok: found === 0,
    head: headText(head),
    ...counts,
    first_bad: firstBad ?? null,
    findings: findings.map((finding) => ({ ...finding, message: sentence(finding) })),
    found,
  }
}

function describe({ records, erased, documents, waiting, head, found, firstBad }: TrailReport): string {
  const verdict =
    found === 0
      ? 'The audit trail holds: every record follows from the one before, and every state has its entry.'
      : `THE AUDIT TRAIL DOES NOT HOLD${firstBad === undefined ? '' : ` from record ${firstBad} on`}.`
  const rest = waiting === 0 ? '' : `; ${waiting} entries wait for a running service to append them`
  return [
    verdict,
    `  Records    ${records}${erased === 0 ? '' : ` (${erased} erased)`}`,
    `  Documents  ${documents}${rest}`,
    `  Head       ${headText(head)}`,
    ...(found === 0
      ? ['Keep the head where nobody can write: --expect <head> finds a trail cut short or rewritten.']
      : []),
  ].join('\n')
}

function tellFinding(finding: Finding): string {
  return `  ${oneLine(sentence(finding))}`
}

/** One sentence a finding; ids are what somebody wrote into the store. */
function sentence(finding: Finding): string {
  switch (finding.code) {
    case 'gap':
      return `Record ${finding.seq} is missing.`
    case 'misnumbered':
      return `Where record ${finding.seq} belongs lies one with the impossible number ${finding.id}.`
    case 'changed':
      return `Record ${finding.seq} was changed after it was written.`
    case 'unlinked':
      return `Record ${finding.seq} does not follow from the one before: it was exchanged, moved or inserted.`
    case 'truncated':
      return `Record ${finding.seq} and those behind it are missing: the trail was longer.`
    case 'rewritten':
      return `Record ${finding.seq} is not the one it was: it, or one before it, was written anew.`
    case 'stray':
      return `A document that is no record lies in the trail's collection: ${finding.id}.`
    case 'not_told':
      return `No entry ${finding.type} for ${finding.id} (${finding.collection}), though its state says so.`
    case 'contradicted':
      return `Record ${finding.seq} tells ${finding.type} of ${finding.id} (${finding.collection}), and its state does not.`
    case 'vanished':
      return `Record ${finding.seq} tells ${finding.type} of ${finding.id}, which is not in ${finding.collection}.`
  }
}

function more({ found, findings }: TrailReport): string[] {
  return found > findings.length ? [`  … and ${found - findings.length} more.`] : []
}

/** What to do about it. */
function advise({ firstBad }: TrailReport): string {
  const trusted =
    firstBad === undefined
      ? 'The records themselves are whole, but the documents tell another story'
      : firstBad <= 1
        ? 'Trust no record'
        : `Trust only records 1 to ${firstBad - 1}`
  return `${trusted}. Copy the store before anything else writes to it, find out who could, and compare with a backup.`
}

function headText({ seq, hash }: ChainHead): string {
  return `${seq}:${hash}`
}

/** Reads `<number>:<64 hex>`. @throws CliError */
function readHead(text: string): ChainHead {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text.trim())
  if (match?.[1] === undefined || match[2] === undefined)
    throw usageError('--expect takes a head as an earlier check printed it: <number>:<64 hex digits>.')
  return { seq: Number(match[1]), hash: match[2] }
}

/** On stderr, so that the report stays alone on stdout. */
function tellProgress(): NonNullable<CheckOptions['onProgress']> {
  let told = 0
  return (progress) => {
    const [count, what] =
      'records' in progress ? [progress.records, 'records'] : [progress.documents, 'documents']
    if (count < told) told = 0
    if (count - told < STEP) return
    told = count
    terminal().stderr.write(`${count} ${what} checked …\n`)
  }
}
