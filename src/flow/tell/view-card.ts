import type { Bootstrap } from '../../domain/bootstrap.ts'
import type {
  BatchView,
  CardFinding,
  CardRow,
  CardStatus,
  CardView,
  ConsentStatus,
  ConsentView,
} from '../../domain/card-view.ts'
import { shortLine } from '../../domain/cut-text.ts'
import { given } from '../../domain/given.ts'
import { precedentWords } from '../../domain/precedent-words.ts'
import type { Precedents } from '../../domain/precedents.ts'
import {
  type ApprovalRequest,
  CONTEXT_KEYS,
  contextOf,
  ERASED,
  REVERSIBILITY_WORDS,
  useWithinWords,
} from '../../domain/request.ts'
import { visibleLine, visibleString } from '../../domain/text.ts'
import { mixedScriptWarning } from '../../domain/text-scripts.ts'
import { textWarnings } from '../../domain/text-warnings.ts'
import type { CardBatch } from './card-batch.ts'

/** The reader for whom a card is drawn. */
export interface CardAudience {
  audience: CardView['audience']
  /** The person whose card it is; absent for a channel. */
  personId?: string | undefined
  /** The approver for whom the person stands in, if they do. */
  principalId?: string | undefined
  /** Names by user id: of the people asked, the voters, those they voted for, and the principal. */
  names: ReadonlyMap<string, string>
  /** The account shows names in its channels; approvers always see them. */
  namesInChannels?: boolean | undefined
  /** As far as the person may see them. */
  precedents?: Precedents | undefined
  /** The service's public origin, without a slash at the end. */
  baseUrl: string
}

/**
 * Draws what a card shows of a stored request. The result depends on the arguments alone, so that two renderings of one version
 * are equal. Approvers see by name who voted and who has not, and the comment; a channel sees only the decider's reference, which
 * the receipt shows as well, unless its account shows names there, and never the comment, since it may quote the context.
 */
export function viewCard(request: ApprovalRequest, to: CardAudience): CardView {
  const forApprover = to.audience === 'approver'
  // Warnings concern only text that is shown, and a decided card shows no context.
  const withContext = forApprover && request.status === 'pending'
  const context: Record<string, unknown> = withContext ? contextOf(request) : {}
  const attached = withContext ? (request.attachments ?? []).map(({ name }) => name) : []
  const page = `${to.baseUrl}/a/${request.id}`
  return {
    request_id: request.id,
    version: request.version,
    audience: to.audience,
    status: statusOf(request, to),
    action: visibleString(request.action),
    ...textWarnings([request.action, ...textsOf(context), ...attached]),
    requested_by: {
      key_name: visibleLine(request.requested_by.key_name),
      account_name: visibleLine(request.requested_by.account_name),
    },
    high_impact: request.high_impact,
    ...given({
      reversibility: request.reversibility && REVERSIBILITY_WORDS[request.reversibility],
      use_within: useWithinWords(request.use_within_seconds),
      precedents: withContext ? shownPrecedents(to.precedents) : undefined,
    }),
    ...(request.sandbox ? { sandbox: true as const } : {}),
    quorum: { approved: approvals(request), needed: request.requirement.quorum },
    ...peopleOf(request, to),
    ...contextRows(context, attached),
    created_at: request.created_at,
    expires_at: request.expires_at,
    ...(withContext ? placeOf(request, to) : {}),
    links: { approve: `${page}?d=approve`, reject: `${page}?d=reject`, details: page },
  }
}

/** Fields listed on a card, and UTF-16 units of each name. */
const MOST_FIELDS = 4
const NAME_LENGTH = 40

function shownPrecedents(precedents: Precedents | undefined): CardView['precedents'] {
  if (precedents === undefined) return undefined
  const said = precedentWords(precedents, MOST_FIELDS)
  const name = (text: string) => shortLine(visibleLine(text), NAME_LENGTH)
  return { ...said, departures: said.departures.map((one) => ({ ...one, fields: one.fields.map(name) })) }
}

/**
 * Draws what the card of a batch shows of its stored requests.
 * @param views what a card of its own would show the same reader, for each of them
 */
export function viewBatch(
  { id, version, status, members }: CardBatch,
  views: readonly CardView[],
  baseUrl: string,
): BatchView {
  const open = views.filter((view) => view.status.kind === 'pending')
  const ends = (open.length > 0 ? open : views).map(({ expires_at }) => expires_at.getTime())
  const asker = (views.find(({ requested_by }) => requested_by.key_name !== ERASED) ?? views[0])?.requested_by
  // Whoever stands in for two people is asked for the second once the first has voted.
  const principals = [...new Set(views.flatMap(({ on_behalf_of }) => on_behalf_of ?? []))]
  const page = `${baseUrl}/?batch=${id}`
  return {
    kind: 'batch',
    request_id: id,
    version,
    audience: views.some(({ audience }) => audience === 'approver') ? 'approver' : 'channel',
    status: { kind: status },
    items: views.map(({ request_id, status, action, quorum, voted, voted_by }) => {
      return { request_id, status, action, quorum, ...given({ voted, voted_by }) }
    }),
    ...textWarnings(members.map(({ action }) => action)),
    requested_by: asker ?? { key_name: '', account_name: '' },
    expires: { first: new Date(Math.min(...ends)), last: new Date(Math.max(...ends)) },
    ...(principals.length === 0 ? {} : { on_behalf_of: principals.join(', ') }),
    links: { approve: `${page}&d=approve`, reject: `${page}&d=reject`, details: page },
  }
}

/** Checks whether this reader sees names. */
function readsNames({ audience, namesInChannels }: CardAudience): boolean {
  return audience === 'approver' || namesInChannels === true
}

/** Lists who approved and who has not voted. The sandbox votes in the owner's place, so no name may stand there. */
function peopleOf(
  { status, votes, requirement }: ApprovalRequest,
  to: CardAudience,
): Pick<CardView, 'approvals' | 'waits_for'> {
  if (!readsNames(to)) return { approvals: [], waits_for: [] }
  const { names, personId } = to
  const called = (id: string, reference: string) => ({
    name: visibleLine(names.get(id) ?? reference),
    ...(id === personId ? { you: true as const } : {}),
  })
  const approvals = votes
    .filter(({ decision, method }) => decision === 'approved' && method !== 'sandbox')
    .map(({ user_id, on_behalf_of, approver, delegate }) => ({
      ...called(user_id, delegate ?? approver),
      ...(on_behalf_of === user_id ? {} : { for_name: called(on_behalf_of, approver).name }),
    }))
  const missing = requirement.approvers.filter(
    ({ user_id }) => !votes.some(({ on_behalf_of }) => on_behalf_of === user_id),
  )
  const waits_for = status === 'pending' ? missing.map((one) => called(one.user_id, one.approver)) : []
  return { approvals, waits_for }
}

function statusOf(request: ApprovalRequest, to: CardAudience): CardStatus {
  const { audience, personId, names } = to
  const { decision } = request
  if (decision === undefined) {
    if (request.status !== 'expired') return { kind: 'pending' }
    return { kind: request.cancelled ? 'withdrawn' : 'expired' }
  }
  const head = { kind: decision.decision, by: decision.approver, method: decision.method }
  const tail = { at: decision.decided_at, decision_id: decision.id }
  if (!readsNames(to)) return { ...head, comment: null, ...tail }
  const hidden = decision.comment === null || audience === 'channel'
  const comment = hidden ? null : visibleString(decision.comment ?? '')
  const closing = request.votes.find((vote) => vote.decision_id === decision.id)
  const decider = closing?.user_id
  // The sandbox votes in the owner's place: no name may stand under a decision that no person made.
  if (decider === undefined || decision.method === 'sandbox') return { ...head, comment, ...tail }
  const name = names.get(decider)
  const principal = closing?.on_behalf_of === decider ? undefined : names.get(closing?.on_behalf_of ?? '')
  return {
    ...head,
    ...given({ by_name: name && visibleLine(name), for_name: principal && visibleLine(principal) }),
    ...(decider === personId ? { by_you: true as const } : {}),
    comment,
    ...tail,
  }
}

/** Returns for whom the person is asked, and whether that is settled: they voted, or another person cast this vote. */
function placeOf(
  { votes }: ApprovalRequest,
  { personId, principalId, names }: CardAudience,
): Pick<CardView, 'on_behalf_of' | 'voted' | 'voted_by'> {
  const principal =
    principalId === undefined ? {} : { on_behalf_of: visibleLine(names.get(principalId) ?? '') }
  const own = votes.find((vote) => vote.user_id === personId)
  const cast = own ?? votes.find((vote) => vote.on_behalf_of === (principalId ?? personId))
  if (cast === undefined) return principal
  const other = own === undefined ? { voted_by: visibleLine(names.get(cast.user_id) ?? '') } : {}
  return { ...principal, voted: cast.decision, ...other }
}

function approvals(request: ApprovalRequest): number {
  const approved = request.votes.filter((vote) => vote.decision === 'approved')
  return new Set(approved.map((vote) => vote.on_behalf_of)).size
}

/** Collects every text in the caller's JSON value, including names of fields. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsOf)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsOf(inner)])
}

/**
 * Draws a context as rows in visible form (T43): known keys first, then the caller's own in the order of the signed text.
 * Findings with more than detector, severity and snippet also get a row: nothing is left out.
 */
function contextRows(
  context: Record<string, unknown>,
  attached: readonly string[],
): { rows: CardRow[]; findings: CardFinding[] } {
  const findings = findingsOf(context.risk_arg_findings)
  const known = CONTEXT_KEYS.filter(([key]) => Object.hasOwn(context, key))
    .filter(([key]) => key !== 'risk_arg_findings' || !findings.complete)
    .map(([key, label]): CardRow => {
      const shown = shownValue(context[key])
      return { label, known: true, ...shown, code: shown.code || key === 'tool_arguments_fingerprint' }
    })
  const others = Object.entries(context)
    .filter(([key]) => !CONTEXT_KEYS.some(([name]) => name === key))
    .map(([key, value]): CardRow => ({ label: oneLine(key), known: false, ...shownValue(value) }))
  const names = `${attached.length}, to be read on the page: ${attached.map(oneLine).join(' · ')}`
  const files = attached.length === 0 ? [] : [{ label: 'Attachments', known: true, text: names, code: false }]
  return { rows: [...files, ...known, ...others], findings: findings.list }
}

/** Returns a text as one line, such as a name: line breaks are named like other invisible characters. */
function oneLine(text: string): string {
  return visibleString(text).replaceAll('\n', '[U+000A]').replaceAll('\t', '[U+0009]')
}

/** Shows texts as they are and everything else as JSON, so that the number 5 differs from the text "5". */
function shownValue(value: unknown): { text: string; code: boolean } {
  if (typeof value === 'string') return { text: visibleString(value), code: false }
  return { text: visibleJson(value), code: true }
}

/** Formats JSON with our own indentation; the caller's text within a line is made visible. */
function visibleJson(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split('\n')
  return lines
    .map((line) => {
      const content = line.trimStart()
      return line.slice(0, line.length - content.length) + visibleString(content)
    })
    .join('\n')
}

const PARTS = ['detector', 'severity', 'snippet']

function findingsOf(value: unknown): { list: CardFinding[]; complete: boolean } {
  const items: unknown[] = Array.isArray(value) ? value : []
  if (items.length === 0 || !items.every(isFinding)) return { list: [], complete: false }
  const list = items.map((item) => ({
    detector: oneLine(part(item, 'detector')),
    severity: oneLine(part(item, 'severity')),
    snippet: visibleString(part(item, 'snippet')),
  }))
  const complete = items.every((item) => Object.keys(item).every((key) => PARTS.includes(key)))
  return { list, complete }
}

function isFinding(item: unknown): item is Record<string, unknown> {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return false
  const given = Object.entries(item).filter(([key]) => PARTS.includes(key))
  return given.length > 0 && given.every(([, text]) => typeof text === 'string')
}

function part(item: Record<string, unknown>, key: string): string {
  const text = Object.hasOwn(item, key) ? item[key] : undefined
  return typeof text === 'string' ? text : ''
}

/** Draws what a card shows of a stored bootstrap; two renderings of one version are equal on every platform. */
export function viewConsent(bootstrap: Bootstrap, baseUrl: string): ConsentView {
  const look_alike = mixedScriptWarning(bootstrap.client_name)
  return {
    kind: 'consent',
    request_id: bootstrap.id,
    version: bootstrap.version,
    audience: 'approver',
    status: consentStatus(bootstrap),
    client_name: visibleLine(bootstrap.client_name),
    ...given({ look_alike }),
    scopes: bootstrap.scopes,
    requested_from: bootstrap.requester.address,
    created_at: bootstrap.created_at,
    expires_at: bootstrap.expires_at,
    links: { details: `${baseUrl}/b/${bootstrap.id}` },
  }
}

function consentStatus({ status, consent, collected }: Bootstrap): ConsentStatus {
  if (collected !== undefined) {
    const { at, address } = collected
    return { kind: 'collected', at, ...given({ address }) }
  }
  if (status === 'pending' || status === 'expired') return { kind: status }
  if (consent === undefined) return { kind: 'rejected' }
  const { at, method } = consent
  return status === 'approved' ? { kind: status, at, method } : { kind: status, by_owner: { at, method } }
}
