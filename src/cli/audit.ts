import { withTrail } from '../compose/inspect-store.ts'
import { AUDIT_TYPES, type AuditActor, type AuditEntry, type AuditRecord } from '../domain/audit.ts'
import { given } from '../domain/given.ts'
import type { TrailDeps } from '../flow/audit/check-states.ts'
import { type CheckOptions, checkTrail, type Finding, type TrailReport } from '../flow/audit/check-trail.ts'
import type { ChainHead } from '../signing/audit-chain.ts'
import type { RequestHistory } from '../store/requests/request-history.ts'
import {
  type CommandResult,
  inJson,
  oneLine,
  oneOf,
  readCount,
  table,
  terminal,
  usageError,
} from './terminal.ts'
import { loadForStore } from './with-service.ts'

/** The number of records or documents between two lines of progress. */
const STEP = 20_000

export interface AuditCheckOptions {
  expect?: string
  since?: string
}

/**
 * `countersign audit check`: recomputes every link of the trail and compares it with the states in the store, with `--since` from
 * an earlier head on. Exit code 1 if anything does not match.
 */
export function runAuditCheck(options: AuditCheckOptions): Promise<CommandResult> {
  if (options.expect !== undefined && options.since !== undefined)
    throw usageError(
      'Give --expect or --since, not both: --since also checks that the trail still has that head.',
    )
  const expect = given({ expect: readHead('expect', options), since: readHead('since', options) })
  const progress = inJson() ? {} : { onProgress: tellProgress() }
  const check = async (deps: TrailDeps): Promise<CommandResult> => {
    const report = await checkTrail(deps, { ...expect, ...progress })
    const restored = await restoreBehind(deps, report)
    const value = presentReport(report, restored)
    const whole = options.since === undefined
    if (report.found === 0) return { value, text: describeReport(report, whole) }
    const message = advise(report)
    return {
      value,
      text: [
        describeReport(report, whole),
        '',
        ...report.findings.map((finding) => `  ${oneLine(sentence(finding, restored))}`),
        ...more(report),
        '',
        message,
      ].join('\n'),
      failure: { error: 'audit_trail_broken', message },
    }
  }
  return withTrail(loadForStore(), check, Object.keys(expect).length > 0)
}

/** Finds the last restore of a store whose trail has lost a head: a restore does that, too. Returns a sentence about it. */
async function restoreBehind({ trail }: TrailDeps, { findings }: TrailReport): Promise<string | undefined> {
  if (!findings.some(({ code }) => HEAD_LOST.has(code))) return undefined
  const [record] = await trail.list({ type: 'store.restored', limit: 1 })
  if (record?.entry === undefined) return undefined
  const { at, detail = {} } = record.entry
  return `On ${at.toISOString()} the store was restored from a copy of ${detail.copied_at} (record ${record.seq}), which explains this if the head was noted after that copy.`
}

const HEAD_LOST: ReadonlySet<Finding['code']> = new Set(['truncated', 'rewritten'])

function presentReport(
  { head, foreign, firstBad, findings, found, ...counts }: TrailReport,
  restored?: string,
) {
  return {
    ok: found === 0,
    head: foreign ? null : headText(head),
    ...counts,
    first_bad: firstBad ?? null,
    findings: findings.map((finding) => ({ ...finding, message: sentence(finding, restored) })),
    found,
  }
}

function describeReport(
  { records, erased, documents, waiting, head, foreign, found, firstBad }: TrailReport,
  whole: boolean,
): string {
  const verdict =
    found === 0
      ? whole
        ? 'The audit trail is intact: every record follows from the one before, and every state has its entry.'
        : 'The audit trail is intact since that head: each later record follows from the one before, and the documents they are about agree with them.'
      : `THE AUDIT TRAIL IS BROKEN${firstBad === undefined ? '' : ` from record ${firstBad} on`}.`
  const rest = waiting === 0 ? '' : `; ${waiting} entries wait for a running service to append them`
  return [
    verdict,
    `  Records    ${records}${erased === 0 ? '' : ` (${erased} erased)`}`,
    `  Documents  ${documents}${rest}`,
    `  Head       ${foreign ? 'none: the trail does not have the head that was given' : headText(head)}`,
    ...(found === 0
      ? [
          'Keep the head where it cannot be overwritten: --expect <head> then finds a trail that was cut short or rewritten.',
        ]
      : []),
  ].join('\n')
}

/** Describes a finding in one sentence, and one about a restore that explains it. Its ids may be any text that was written into the store. */
function sentence(finding: Finding, restored: string | undefined): string {
  const said = sentenceOf(finding)
  return HEAD_LOST.has(finding.code) && restored !== undefined ? `${said} ${restored}` : said
}

function sentenceOf(finding: Finding): string {
  switch (finding.code) {
    case 'gap':
      return `Record ${finding.seq} is missing.`
    case 'misnumbered':
      return `Record ${finding.seq} was replaced by one with the impossible number ${finding.id}.`
    case 'changed':
      return `Record ${finding.seq} was changed after it was written.`
    case 'unlinked':
      return `Record ${finding.seq} does not follow from the one before: it was replaced, moved or inserted.`
    case 'truncated':
      return `Record ${finding.seq} and all later ones are missing: the trail was longer, or the head that was given is of another trail.`
    case 'rewritten':
      return `Record ${finding.seq} has changed: it, or one before it, was rewritten.`
    case 'erased_untold':
      return `The contents of record ${finding.seq} are erased, and no later record says so.`
    case 'unlike_log':
      return `The log does not have record ${finding.seq} at its place: the record was rewritten, or the log was changed.`
    case 'unlike_checkpoint':
      return 'The records are not those of the checkpoint that the log signed: they were rewritten, and its tiles with them.'
    case 'stray':
      return `The trail's collection contains a document that is not a record: ${finding.id}.`
    case 'not_told':
      return `There is no entry ${finding.type} for ${finding.id} (${finding.collection}), although its state implies one.`
    case 'contradicted':
      return `Record ${finding.seq} reports ${finding.type} of ${finding.id} (${finding.collection}), but its state does not.`
    case 'altered':
      if (finding.part === 'asked')
        return `${finding.id} (${finding.collection}) differs from the original request; record ${finding.seq ?? '(not written yet)'} reports ${finding.type}.`
      return `The ${finding.part} of ${finding.id} (${finding.collection}) differs from what was signed; record ${finding.seq} reports ${finding.type}.`
    case 'vanished':
      return `Record ${finding.seq} reports ${finding.type} of ${finding.id}, which is not in ${finding.collection}.`
  }
}

function more({ found, findings }: TrailReport): string[] {
  return found > findings.length ? [`  … and ${found - findings.length} more.`] : []
}

/** Tells the operator what to do about the findings. */
function advise({ firstBad }: TrailReport): string {
  const trusted =
    firstBad === undefined
      ? 'The records themselves are intact, but the documents contradict them'
      : firstBad <= 1
        ? 'Trust no record'
        : `Trust only records 1 to ${firstBad - 1}`
  return `${trusted}. Copy the store before anything else writes to it, find out who could, and compare with a backup.`
}

/** Writes a head as `<number>:<64 hex>`. */
export function headText({ seq, hash }: ChainHead): string {
  return `${seq}:${hash}`
}

/** Reads `<number>:<64 hex>`. @throws CliError */
function readHead(
  option: keyof AuditCheckOptions,
  { [option]: text }: AuditCheckOptions,
): ChainHead | undefined {
  if (text === undefined) return undefined
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text.trim())
  if (match?.[1] === undefined || match[2] === undefined)
    throw usageError(`--${option} must be a head as printed by an earlier check: <number>:<64 hex digits>.`)
  return { seq: Number(match[1]), hash: match[2] }
}

/** Writes progress to stderr, so that stdout holds only the report. A check that was interrupted can go on from the head in it. */
function tellProgress(): NonNullable<CheckOptions['onProgress']> {
  let told = 0
  return (progress) => {
    const [count, what] =
      'records' in progress
        ? [progress.records, `records checked, up to ${headText(progress.head)}`]
        : [progress.documents, 'documents checked']
    if (count < told) told = 0
    if (count - told < STEP) return
    told = count
    terminal().stderr.write(`${count} ${what} …\n`)
  }
}

export interface AuditListOptions {
  account?: string
  type?: string
  subject?: string
  key?: string
  limit?: string
}

const DEFAULT_LIMIT = '50'
const LONGEST = 10_000

/** The most requests of a key whose ids one command to the store can hold. */
const MOST_OF_KEY = 100_000

/** A record, or an entry that still waits to become one. */
type Line = Partial<AuditRecord>

/** `countersign audit list`: lists what happened, newest first. */
export function runAuditList(options: AuditListOptions): Promise<CommandResult> {
  const limit = readCount('--limit', options.limit ?? DEFAULT_LIMIT, LONGEST)
  const type = options.type === undefined ? undefined : oneOf(AUDIT_TYPES, options.type, 'type')
  if (options.subject !== undefined && options.key !== undefined)
    throw usageError('Give --subject or --key, not both.')
  return withTrail(loadForStore(), async (deps) => {
    const subject = options.key === undefined ? options.subject : await aboutKey(deps.madeWith, options.key)
    const filter = given({ account_id: options.account, type, subject })
    const waiting = await findWaiting(deps, filter)
    const records = await deps.trail.list({ ...filter, limit: limit + 1 })
    const told = new Set(records.map(({ entry }) => entry?.eid))
    const found = [...waiting.filter(({ entry }) => !told.has(entry?.eid)), ...records]
    const lines = found.slice(0, limit)
    const older = found.length > limit ? `\nOnly the newest ${limit} are shown; more: ${moreBy(limit)}` : ''
    return { value: lines.map(presentLine), rows: true, text: describeLines(lines, filter) + older }
  })
}

/** Returns the ids of the key and of the requests that it made. */
async function aboutKey(madeWith: RequestHistory['madeWith'], key: string): Promise<string[]> {
  const made = await madeWith([key], { limit: MOST_OF_KEY + 1 })
  if (made.length > MOST_OF_KEY)
    throw usageError(
      'The key made more than 100,000 requests; download the audit log of its account instead.',
    )
  return [key, ...made]
}

const moreBy = (limit: number): string =>
  limit < LONGEST ? '--limit <n>' : '--account, --type, --subject, --key'

/** Finds entries that no process has appended to the trail yet, such as those of a command while no service runs. */
async function findWaiting(
  { trail, survey }: TrailDeps,
  filter: Partial<Pick<AuditEntry, 'account_id' | 'type'>> & { subject?: string | readonly string[] },
): Promise<Line[]> {
  const found = await survey.waiting(LONGEST)
  const subjects = filter.subject === undefined ? undefined : [filter.subject].flat()
  const known = await trail.known(found.map(({ eid }) => eid))
  return found
    .filter((entry) => !known.has(entry.eid))
    .filter((entry) => filter.account_id === undefined || entry.account_id === filter.account_id)
    .filter((entry) => filter.type === undefined || entry.type === filter.type)
    .filter((entry) => subjects === undefined || subjects.includes(entry.subject))
    .map((entry) => ({ entry }))
}

/** A record for `--json`, without its salt, which would let an erased entry be guessed. `seq` is null while an entry waits. */
function presentLine({ seq, entry, content_sha256, hash }: Line) {
  if (entry === undefined) return { seq, erased: true, content_sha256, hash }
  return {
    seq: seq ?? null,
    id: entry.eid,
    type: entry.type,
    at: entry.at.toISOString(),
    actor: entry.actor,
    account_id: entry.account_id ?? null,
    subject: entry.subject,
    detail: entry.detail ?? {},
    content_sha256,
    hash,
  }
}

function describeLines(lines: readonly Line[], filter: object): string {
  if (lines.length > 0) return table(['NO.', 'TIME', 'WHAT', 'BY', 'ABOUT', 'DETAIL'], lines.map(row))
  return Object.keys(filter).length === 0
    ? 'The audit trail has no entries yet.'
    : 'No entry matches; leave out --account, --type, --subject or --key to see more.'
}

function row({ seq, entry }: Line): string[] {
  const place = seq === undefined ? 'waits' : String(seq)
  if (entry === undefined) return [place, '', 'erased', '', '', '']
  const detail = Object.entries(entry.detail ?? {}).map(([key, value]) => `${key}=${value}`)
  return [place, entry.at.toISOString(), entry.type, actor(entry.actor), entry.subject, detail.join(' ')]
}

const UNNAMED: Partial<Record<AuditActor['kind'], string>> = { cli: 'command line', public: 'public' }

function actor(by: AuditActor): string {
  const name = 'id' in by ? by.id : (UNNAMED[by.kind] ?? by.kind)
  return 'address' in by && by.address !== undefined ? `${name} from ${by.address}` : name
}
