import type { AuditEntry, AuditRecord, AuditType } from '../../domain/audit.ts'
import type { AuditTrail } from '../../ports/ports.ts'
import { fromBase64Url } from '../../signing/base64.ts'
import type { VerificationKey } from '../../signing/key-record.ts'
import type { StateDocument, StateSurvey } from '../../store/audit/state-survey.ts'
import { DIGESTED_FIELDS, requestSha256 } from '../requests/request-digest.ts'
import { alteredPart, type SignedPart } from '../requests/verify-receipt.ts'
import { WITNESSES, type Witness } from './witnesses.ts'

/** The trail and the documents it is checked against. */
export interface TrailDeps {
  trail: AuditTrail
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
    /** The disk has spoilt the document. */
    | 'unreadable'
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
  return {
    add({ entry }: AuditRecord): void {
      const bit = entry && BITS.get(entry.type)
      if (entry === undefined || bit === undefined) return
      const bits = told.get(entry.subject) ?? 0
      if (!holds(bits, entry.type)) told.set(entry.subject, bits + bit)
    },
    has: (subject: string, type: AuditType) => holds(told.get(subject) ?? 0, type),
    /** Drops a subject whose document was seen: the subjects left at the end have no document. */
    drop: (subject: string) => void told.delete(subject),
    *left(): Iterable<[string, AuditType[]]> {
      for (const [subject, bits] of told) yield [subject, WATCHED.filter((type) => holds(bits, type))]
    },
  }
}

const PAGE = 500

/**
 * Compares every document with its entries in the trail. The trail must have been read before: a document can then only be
 * ahead of it, and the entries it is ahead by have reached the trail by now, or wait in the document.
 */
export async function checkStates(
  deps: TrailDeps,
  tellings: Tellings,
  report: (finding: StateFinding) => void,
  onProgress: (documents: number) => void,
): Promise<{ documents: number; waiting: number }> {
  let documents = 0
  let waiting = 0
  for (const witness of WITNESSES) {
    for await (const page of pagesOf(deps, witness.collection, witness.fields)) {
      for (const document of page) await checkDocument(deps, tellings, report, witness, document)
      documents += page.length
      waiting += await countWaiting(deps, page)
      onProgress(documents)
    }
  }
  for await (const page of pagesOf(deps, 'audit_inbox', [])) waiting += await countWaiting(deps, page)
  await reportVanished(deps, tellings, report)
  await checkAsked(deps, await checkSigned(deps, report), report)
  return { documents, waiting }
}

/**
 * Compares each request that people voted on with what they signed: the trail says only that they decided.
 * @returns the ids of the requests that differ from what was signed
 */
async function checkSigned(
  deps: TrailDeps,
  report: (finding: StateFinding) => void,
): Promise<ReadonlySet<string>> {
  const keys = (await deps.survey.publicKeys()).map(verificationKey)
  const altered = new Set<string>()
  for (let after = ''; ; ) {
    const page = await deps.survey.votedOn(after, PAGE)
    for (const request of page) {
      const part = partOf(request, keys)
      if (part === undefined || (part === 'receipt' && (await isKeySpoilt(deps, request, keys)))) continue
      const { id, status } = request
      altered.add(id)
      const type =
        status === 'approved' || status === 'rejected' ? (`approval.${status}` as const) : 'approval.voted'
      report({ code: 'altered', collection: 'requests', id, type, part, ...(await findTold(deps, id, type)) })
    }
    after = page.at(-1)?.id ?? after
    if (page.length < PAGE) return altered
  }
}

/** Compares each request with its `approval.created` entry, which says what was asked for even before anyone has signed. */
async function checkAsked(
  { survey }: TrailDeps,
  found: ReadonlySet<string>,
  report: (finding: StateFinding) => void,
): Promise<void> {
  const type = 'approval.created'
  for await (const page of pagesOf({ survey }, 'requests', DIGESTED_FIELDS)) {
    const told = await survey.told(
      type,
      page.map(({ id }) => id),
    )
    for (const { id, facts, waiting } of page) {
      const { seq, detail } = told.get(id) ?? { detail: waiting.find((entry) => entry.type === type)?.detail }
      // The entries of the first requests hold no hash.
      const asked = detail?.asked_sha256
      if (asked === undefined || found.has(id) || asked === askedNow(facts)) continue
      report({
        code: 'altered',
        collection: 'requests',
        id,
        type,
        part: 'asked',
        ...(seq !== undefined && { seq }),
      })
    }
  }
}

function askedNow(facts: StateDocument['facts']): string | undefined {
  try {
    return requestSha256(facts)
  } catch {
    // Everything that the service writes has a canonical form.
    return undefined
  }
}

function partOf(...request: Parameters<typeof alteredPart>): SignedPart | undefined {
  try {
    return alteredPart(...request)
  } catch {
    // Everything that the service writes has the form that the checks require.
    return 'receipt'
  }
}

/** Checks whether a vote's key is stored but damaged: then the key is reported, and the receipt is not called altered. */
async function isKeySpoilt(
  { survey }: TrailDeps,
  { votes }: Parameters<typeof alteredPart>[0],
  keys: readonly VerificationKey[],
): Promise<boolean> {
  for (const { receipt } of Array.isArray(votes) ? votes : []) {
    const kid = receipt?.public_key_id
    if (typeof kid !== 'string' || keys.some((key) => key.kid === kid)) continue
    if (await survey.isDamaged('signing_keys', kid)) return true
  }
  return false
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
  tellings: Tellings,
  report: (finding: StateFinding) => void,
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
    if ((await findTold(deps, id, type)) === undefined) report({ code: 'not_told', collection, id, type })
  }
  tellings.drop(id)
}

/** Reports subjects without a document, in those collections from which nothing is ever deleted. */
async function reportVanished(
  deps: TrailDeps,
  tellings: Tellings,
  report: (finding: StateFinding) => void,
): Promise<void> {
  const kept = WITNESSES.filter((witness) => witness.kept)
  for (const [id, types] of tellings.left()) {
    const witness = kept.find(({ rules: [[made]] }) => types.includes(made))
    if (witness === undefined) continue
    const { collection, rules } = witness
    const [type] = rules[0]
    const code = (await deps.survey.isDamaged(collection, id)) ? 'unreadable' : 'vanished'
    report({ code, collection, id, type, ...(await findTold(deps, id, type)) })
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

async function* pagesOf(
  { survey }: Pick<TrailDeps, 'survey'>,
  collection: string,
  fields: readonly string[],
): AsyncGenerator<StateDocument[]> {
  let after: string | undefined
  for (;;) {
    const page = await survey.page(collection, fields, after, PAGE)
    yield page
    after = page.at(-1)?.id
    if (page.length < PAGE) return
  }
}
