import type { AuditEntry, AuditType } from '../../domain/audit.ts'
import type { AuditTrail } from '../../ports/ports.ts'
import { fromBase64Url } from '../../signing/base64.ts'
import type { VerificationKey } from '../../signing/key-record.ts'
import type { LogStore } from '../../store/audit/log.ts'
import type { StateDocument, StateSurvey } from '../../store/audit/state-survey.ts'
import { DIGESTED_FIELDS, requestSha256 } from '../requests/request-digest.ts'
import { alteredPart, SIGNED_FIELDS, type Signed, type SignedPart } from '../requests/verify-receipt.ts'
import { readErased } from './erasures.ts'
import { readAhead } from './read-ahead.ts'
import { isFilled, WITNESSES, type Witness } from './witnesses.ts'

/** The trail and the documents it is checked against. */
export interface TrailDeps {
  trail: AuditTrail
  logs: Pick<LogStore, 'all' | 'tiles'>
  survey: StateSurvey
}

/** A disagreement between the trail and a document. */
export interface StateFinding {
  code: /** The document is in a state for which neither the trail nor the document itself has an entry. */
    | 'not_told'
    /** The trail has an entry about something that, according to the document, never happened. */
    | 'contradicted'
    /** The trail has entries about a document that does not exist. */
    | 'vanished'
    /** The document differs from what was signed, or from what was asked for. */
    | 'altered'
  collection: string
  id: string
  type: AuditType
  /** The number of its entry in the trail. */
  seq?: number
  /** What was altered; `asked`: a field that was fixed when the request was made. */
  part?: SignedPart | 'asked'
}

const WATCHED = WITNESSES.flatMap(({ rules }) => rules.map(([type]) => type))

/** A power of two for each watched type. A number holds 53 of them exactly, but bitwise operators see only 32. */
const BITS = new Map<AuditType, number>(WATCHED.map((type, index) => [type, 2 ** index]))

function holds(bits: number, type: AuditType): boolean {
  return Math.floor(bits / (BITS.get(type) ?? Number.POSITIVE_INFINITY)) % 2 === 1
}

export type Tellings = ReturnType<typeof createTellings>

/** Collects which watched entries the trail has about each subject: one number per subject, as there can be millions. */
export function createTellings() {
  const told = new Map<string, number>()
  const digests = new Map<string, string>()
  return {
    /** An entry that was erased counts as told, by the entry that says so. */
    add(entry: AuditEntry): void {
      const erased = readErased(entry)
      const { subject, detail } = entry
      const type = erased !== undefined && 'type' in erased ? erased.type : entry.type
      const bit = BITS.get(type)
      if (bit === undefined) return
      const bits = told.get(subject) ?? 0
      if (!holds(bits, type)) told.set(subject, bits + bit)
      // In 32 bytes instead of 64.
      if (type === 'approval.created' && typeof detail?.asked_sha256 === 'string')
        digests.set(subject, Buffer.from(detail.asked_sha256, 'hex').toString('latin1'))
    },
    has: (subject: string, type: AuditType) => holds(told.get(subject) ?? 0, type),
    /** Returns the hash of what was asked for, in hex. */
    asked(subject: string): string | undefined {
      const digest = digests.get(subject)
      return digest === undefined ? undefined : Buffer.from(digest, 'latin1').toString('hex')
    },
    subjects: (): string[] => [...told.keys()],
    /** Drops a subject whose document was seen: the subjects left at the end have no document. */
    drop(subject: string): void {
      told.delete(subject)
      digests.delete(subject)
    },
    *left(): Iterable<[string, AuditType[]]> {
      for (const [subject, bits] of told) yield [subject, WATCHED.filter((type) => holds(bits, type))]
    },
  }
}

const PAGE = 125

/** How the documents are compared with the trail. */
export interface StateCheck {
  tellings: Tellings
  report: (finding: StateFinding) => void
  onProgress: (documents: number) => void
  /** Compares only the documents that the tellings are about: the trail was read only in part. */
  partial: boolean
  /** Of documents made before that time, the trail no longer says all that it said. */
  erasedUntil: Date
}

/**
 * Compares every document with its entries in the trail. The trail must have been read before: a document can then only be
 * ahead of it, and the entries it is ahead by have reached the trail by now, or wait in the document.
 */
export async function checkStates(
  deps: TrailDeps,
  check: StateCheck,
): Promise<{ documents: number; waiting: number }> {
  const keys = (await deps.survey.publicKeys()).map(verificationKey)
  const subjects = check.partial ? check.tellings.subjects() : undefined
  let documents = 0
  let waiting = 0
  for (const witness of WITNESSES) {
    for await (const page of pagesOf(deps, witness.collection, fieldsOf(witness), subjects)) {
      const altered = witness.collection === 'requests' ? await alteredIn(deps, page, check, keys) : []
      for (const document of page) await checkDocument(deps, check, witness, document)
      altered.forEach(check.report)
      documents += page.length
      waiting += await countWaiting(deps, page)
      check.onProgress(documents)
    }
  }
  for await (const page of pagesOf(deps, 'audit_inbox', [])) waiting += await countWaiting(deps, page)
  await reportVanished(deps, check)
  return { documents, waiting }
}

/** Requests are read once, with all that any check looks at. */
function fieldsOf({ collection, fields }: Witness): readonly string[] {
  if (collection !== 'requests') return [...fields, 'created_at']
  const more = [...SIGNED_FIELDS, ...DIGESTED_FIELDS]
  return [...new Set([...fields.filter((field) => !field.startsWith('votes.')), ...more])]
}

/**
 * Compares each request with what its voters signed, and with the hash of what was asked for: the trail itself says only that it
 * was made and decided.
 */
async function alteredIn(
  deps: TrailDeps,
  page: readonly StateDocument[],
  { tellings }: StateCheck,
  keys: readonly VerificationKey[],
): Promise<StateFinding[]> {
  const found = await Promise.all(
    page.map(async (document): Promise<StateFinding[]> => {
      const signed = await findAlteredSigned(deps, document, keys)
      return signed ?? (await findAlteredAsked(deps, document, tellings.asked(document.id)))
    }),
  )
  return found.flat()
}

async function findAlteredSigned(
  deps: TrailDeps,
  { id, facts }: StateDocument,
  keys: readonly VerificationKey[],
): Promise<StateFinding[] | undefined> {
  if (!isVotedOn(facts)) return undefined
  const { status } = facts
  const part = await partOf({ id, ...facts }, keys)
  if (part === undefined) return undefined
  const isDecided = status === 'approved' || status === 'rejected'
  const type = isDecided ? (`approval.${status}` as const) : 'approval.voted'
  return [{ code: 'altered', collection: 'requests', id, type, part, ...(await findTold(deps, id, type)) }]
}

async function findAlteredAsked(
  deps: TrailDeps,
  { id, facts, waiting }: StateDocument,
  told: string | undefined,
): Promise<StateFinding[]> {
  const type = 'approval.created'
  // What was asked for is no longer there to be compared.
  if (facts.erased_at instanceof Date) return []
  // The entries of the first requests hold no hash.
  const asked = told ?? waiting.find((entry) => entry.type === type)?.detail?.asked_sha256
  if (asked === undefined || asked === askedNow(facts)) return []
  const seq = told === undefined ? {} : await findTold(deps, id, type)
  return [{ code: 'altered', collection: 'requests', id, type, part: 'asked', ...seq }]
}

function askedNow(facts: StateDocument['facts']): string | undefined {
  try {
    return requestSha256(facts)
  } catch {
    // Everything that the service writes has a canonical form.
    return undefined
  }
}

/** Checks that there are votes, and no more: `partOf` finds a request that was given another form. */
function isVotedOn(facts: StateDocument['facts']): facts is StateDocument['facts'] & Omit<Signed, 'id'> {
  return isFilled(facts.votes)
}

async function partOf(...request: Parameters<typeof alteredPart>): Promise<SignedPart | undefined> {
  try {
    return await alteredPart(...request)
  } catch {
    // Everything that the service writes has the form that the checks require.
    return 'receipt'
  }
}

/** Leaves out the revocation: what a stolen key signed for others does not change what this service recorded. */
function verificationKey({
  _id,
  purpose,
  public_key,
  not_before,
}: Awaited<ReturnType<StateSurvey['publicKeys']>>[number]): VerificationKey {
  return { kid: _id, purpose, publicKey: fromBase64Url(public_key), notBefore: not_before }
}

async function checkDocument(
  deps: TrailDeps,
  { tellings, report, erasedUntil }: StateCheck,
  witness: Witness,
  { id, facts, waiting }: StateDocument,
): Promise<void> {
  const { collection } = witness
  for (const [type, isWanted] of witness.rules) {
    const wanted = isWanted(facts)
    const told = tellings.has(id, type)
    if (wanted === false && told)
      report({ code: 'contradicted', collection, id, type, ...(await findTold(deps, id, type)) })
    if (wanted !== true || told || tells(waiting, id, type)) continue
    const { created_at } = facts
    if (created_at instanceof Date && created_at < erasedUntil) continue
    if ((await findTold(deps, id, type)) === undefined) report({ code: 'not_told', collection, id, type })
  }
  tellings.drop(id)
}

/** Reports subjects without a document, in those collections from which nothing is ever deleted. */
async function reportVanished(deps: TrailDeps, { tellings, report }: StateCheck): Promise<void> {
  const kept = WITNESSES.filter((witness) => witness.kept)
  for (const [id, types] of tellings.left()) {
    const witness = kept.find(({ rules: [[made]] }) => types.includes(made))
    if (witness === undefined || types.includes('approval.deleted')) continue
    const { collection, rules } = witness
    const [type] = rules[0]
    report({ code: 'vanished', collection, id, type, ...(await findTold(deps, id, type)) })
  }
}

async function findTold({ trail }: TrailDeps, subject: string, type: AuditType) {
  const [record] = await trail.list({ subject, type, limit: 1 })
  return record && { seq: record.seq }
}

function tells(entries: readonly AuditEntry[], subject: string, type: AuditType): boolean {
  return entries.some((entry) => entry.subject === subject && entry.type === type)
}

/** Counts the entries that still wait for the trail, not those that it has and that wait only to leave their document. */
async function countWaiting({ trail }: TrailDeps, page: readonly StateDocument[]): Promise<number> {
  const eids = page.flatMap(({ waiting }) => waiting.map(({ eid }) => eid))
  return eids.length === 0 ? 0 : eids.length - (await trail.known(eids)).size
}

/**
 * Yields the documents of a collection, or those with these ids, page by page. The next page is read while this one is compared.
 */
async function* pagesOf(
  { survey }: Pick<TrailDeps, 'survey'>,
  collection: string,
  fields: readonly string[],
  ids?: readonly string[],
): AsyncGenerator<StateDocument[]> {
  if (ids !== undefined) {
    for (let at = 0; at < ids.length; at += PAGE)
      yield await survey.some(collection, fields, ids.slice(at, at + PAGE))
    return
  }
  yield* readAhead(
    (after: string | undefined) => survey.page(collection, fields, after, PAGE),
    (page) => (page.length < PAGE ? undefined : page.at(-1)?.id),
  )
}
