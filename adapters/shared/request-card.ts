import type { CardStatus, CardView, RequestReplyView } from '../../src/domain/card-view.ts'
import { more, quoted, shortLine, unquoted } from '../../src/domain/cut-text.ts'
import { methodWord } from '../../src/domain/request.ts'
import { type TextWarnings, warningPrefix } from '../../src/domain/text-warnings.ts'
import { framed } from './caller-parts.ts'
import {
  bold,
  type CardDocument,
  type CardLink,
  type CardPart,
  code,
  italic,
  moment,
  ours,
  type Piece,
  type Preview,
  quote,
  type Tone,
  words,
} from './card-parts.ts'

/** Signs that accompany the words and never replace them. */
export const STATUS_SIGNS: Record<CardStatus['kind'], string> = {
  pending: '⏳',
  approved: '✅',
  rejected: '❌',
  expired: '⌛',
  withdrawn: '↩️',
}

/** Returns the first line of a card: the question for an open request, the sign and the outcome for a closed one. */
export function cardHeading(view: CardView): string {
  const words = headingWords(view)
  return view.status.kind === 'pending' ? words : `${STATUS_SIGNS[view.status.kind]} ${words}`
}

const TONES: Partial<Record<CardStatus['kind'], Tone>> = { approved: 'good', rejected: 'attention' }

export function cardTone({ status }: CardView): Tone | undefined {
  return TONES[status.kind]
}

/** Returns the heading in the same words as the hosted page. */
function headingWords({ status, voted, voted_by, audience, sandbox }: CardView): string {
  if (status.kind !== 'pending') return OUTCOME_WORDS[status.kind]
  if (voted_by !== undefined) return 'This vote is cast. Waiting for others'
  if (voted !== undefined) return `You ${voted}. Waiting for others`
  return audience === 'approver' && !sandbox ? 'Approve or reject this action?' : 'Waiting for a decision'
}

export const OUTCOME_WORDS: Record<Exclude<CardStatus['kind'], 'pending'>, string> = {
  approved: 'Approved',
  rejected: 'Rejected',
  expired: 'Expired without a decision',
  withdrawn: 'Withdrawn',
}

/** Summarises the card in our own words; contains nothing that the caller wrote. */
export function cardSummary(view: CardView): string {
  if (view.status.kind !== 'pending' || view.voted !== undefined) return `${headingWords(view)}.`
  return 'A request waits for a decision on the approval page.'
}

/** Returns the notification text. A phone shows only two lines, so our part of it is short. */
export function cardPreview(view: CardView): Preview {
  const impact = view.high_impact && view.status.kind === 'pending' ? '⚠️ High impact. ' : ''
  const sandbox = view.sandbox ? '🧪 Sandbox. ' : ''
  const question = decisionLinks(view).length > 0 ? 'Approve or reject?' : `${headingWords(view)}.`
  return { summary: `${sandbox}${impact}${warningPrefix(view)}${question}`, asking: asking(view) }
}

const ASKED_LENGTH = 120

/** Says who asks for what. Only the caller's words stand between quotation marks. */
export function asking({ requested_by, action }: Pick<CardView, 'requested_by' | 'action'>): string {
  const [key, account] = [requested_by.key_name, requested_by.account_name].map(
    (name) => shortLine(unquoted(name), ASKED_LENGTH / 2) || 'no name',
  )
  return `${key} of ${account} asks: ${quoted(action, ASKED_LENGTH)}`
}

/**
 * Returns the links to the hosted page, where the decision is made: a click in a chat decides nothing (T46). A person who
 * has voted already, a channel and a dry run can only view the request and get no links.
 */
export function decisionLinks({ status, audience, voted, sandbox, links }: CardView): CardLink[] {
  if (status.kind !== 'pending' || audience !== 'approver' || voted !== undefined || sandbox) return []
  const shown = { opens: 'the approval page', shown: 'button' } as const
  return [
    { title: 'Approve…', url: links.approve, ...shown },
    { title: 'Reject…', url: links.reject, ...shown },
  ]
}

/** Says how many approvals there are. Returns undefined where one is enough: a line of names says who may give it. */
function quorumWords({ status, quorum: { approved, needed } }: CardView): string | undefined {
  if (needed === 1) return undefined
  if (status.kind !== 'pending') return `${approved} of ${needed} needed approvals were given.`
  return `${approved} of ${needed}. One rejection rejects.`
}

const COMMENT_LENGTH = 2000
const NAME_LENGTH = 200

/**
 * The service's own statements about the request, as lines: badges, who asks, the outcome, warnings about the text.
 * They never stand inside the caller's frame (T44).
 */
export interface HeadParts {
  badges: Piece[][]
  lines: Piece[][]
  warnings: Piece[][]
  /** What was decided before, while the request is pending. */
  precedents: CardPart[]
  /** The approver's comment, framed. */
  comment: CardPart[]
}

/** Draws the statements of a card that are in our own words. */
export function headParts(view: CardView): HeadParts {
  const open = view.status.kind === 'pending'
  return {
    badges: badges(view),
    lines: open
      ? [...askerLines(view), ...statusLines(view)]
      : [...statusLines(view), ...askerLines(view), ...toldLines(view)],
    warnings: warningLines(view),
    precedents: precedentParts(view),
    comment: commentParts(view.status),
  }
}

function askerLines({ requested_by, ...view }: CardView): Piece[][] {
  return [
    ...nameLines('On behalf of: ', view.on_behalf_of),
    ...nameLines('Vote by: ', view.voted_by),
    requestedBy({ requested_by }),
    ...(view.reversibility === undefined
      ? []
      : [[bold('Undoing it: '), words(view.reversibility), italic(' · says the caller')]]),
    ...(view.use_within === undefined ? [] : [[words(view.use_within)]]),
  ]
}

/** Says what was decided before and what differs: in our words, with the caller's names of fields in frames. */
function precedentParts({ precedents }: CardView): CardPart[] {
  if (precedents === undefined) return []
  const { heading, said, at, departures, more: others } = precedents
  return [
    ours([bold(`${heading}: `), words(said), ...(at === undefined ? [] : [moment(at)])]),
    ...departures.flatMap(({ words: how, fields }) => [
      ours([bold(how)]),
      quote(fields.flatMap((field, index) => [...(index > 0 ? [words(', ')] : []), code(field)])),
    ]),
    ...(others === 0 ? [] : [ours([italic(more(others, 'field differs', 'fields differ'))])]),
  ]
}

export function requestedBy({
  requested_by: { key_name, account_name },
}: Pick<CardView, 'requested_by'>): Piece[] {
  return [bold('Requested by: '), words(lineOf(key_name)), words(' of '), words(lineOf(account_name))]
}

function toldLines({ told }: CardView): Piece[][] {
  return told ? [[italic('The caller asked for the outcome to be told here.')]] : []
}

/** Returns the link of a closed card; none for a reader who may not open the page. */
export function closedLink({ links, no_page }: CardView): CardLink | undefined {
  return no_page ? undefined : { title: PAGE_TITLE, url: links.details, shown: 'line' }
}

const PAGE_TITLE = 'Open the approval page'

export function nameLines(label: string, name: string | undefined): Piece[][] {
  return name === undefined ? [] : [[bold(label), words(lineOf(name))]]
}

function lineOf(name: string): string {
  return shortLine(name, NAME_LENGTH) || 'no name'
}

function badges(view: CardView): Piece[][] {
  return [
    ...(view.high_impact ? [[bold('⚠️ High impact')]] : []),
    ...(view.sandbox ? [[bold('🧪 Sandbox: a dry run')]] : []),
  ]
}

function statusLines(view: CardView): Piece[][] {
  const progress = quorumWords(view)
  return [
    ...(view.replaces ? [[italic('This replaces a card that did not arrive or was deleted.')]] : []),
    ...timeLines(view),
    // Short enough for one line on a phone.
    ...(progress === undefined ? [] : [[bold('Votes: '), words(progress)]]),
    ...peopleLines(view),
  ]
}

/** The most names shown on one line. */
const MOST_NAMES = 5

/**
 * Lists the people who approved, one per line, so that one name cannot pass for two. Those whose votes are missing share a
 * line, where a deceptive name could only add to those who are waited for. A single person is not listed.
 */
function peopleLines({ status, quorum, approvals, waits_for }: CardView): Piece[][] {
  const approved = quorum.needed === 1 ? [] : approvals
  const voted = approved.flatMap(({ for_name, ...person }) => [
    ...nameLines('Approved by: ', personWord(person)),
    ...nameLines('On behalf of: ', for_name),
  ])
  if (status.kind !== 'pending' || approvals.length + waits_for.length < 2) return voted
  const left = waits_for.length - MOST_NAMES
  const reader = waits_for.filter(({ you }) => you)
  const others = waits_for.filter(({ you }) => !you)
  const named = [...reader.map(() => 'you'), ...others.map(({ name }) => shortLine(name, NAME_LENGTH))]
  const names = named.slice(0, MOST_NAMES)
  const more = left > 0 ? `${waits_for.length} people, among them ` : ''
  const said = names.join(quorum.needed === 1 ? ' or ' : ', ')
  return [...voted, [bold('Waits for: '), words(`${more}${said}`)]]
}

function personWord({ name, you }: { name: string; you?: true }): string {
  return you ? 'You' : name
}

function timeLines({ status, expires_at }: Pick<CardView, 'status' | 'expires_at'>): Piece[][] {
  switch (status.kind) {
    case 'pending':
      return [[bold('Expires at: '), moment(expires_at)]]
    case 'expired':
      return [[bold('Expired at: '), moment(expires_at)]]
    case 'approved':
    case 'rejected':
      return decisionLines(status)
    case 'withdrawn':
      return [[words('There is nothing to decide any more.')]]
  }
}

/** States who decided, how and when, and the receipt's id; also the body of the reply below a card. */
function decisionLines(status: CardStatus & { kind: 'approved' | 'rejected' }): Piece[][] {
  const who = status.by_you ? 'You' : status.by_name
  return [
    ...nameLines('Decided by: ', who),
    ...nameLines('On behalf of: ', status.for_name),
    [bold('Approver: '), code(status.by)],
    [bold('Method: '), words(methodWord(status.method))],
    [bold('Decided: '), moment(status.at)],
    [bold('Receipt: '), code(status.decision_id)],
  ]
}

function commentParts(status: CardStatus): CardPart[] {
  if ((status.kind !== 'approved' && status.kind !== 'rejected') || status.comment === null) return []
  return [ours([bold('Comment of the approver')]), ...framed(status.comment, COMMENT_LENGTH)]
}

/** Draws the warnings about the letters of a caller's text. */
export function warningLines({
  hidden_characters,
  two_directions,
  look_alike,
}: Partial<TextWarnings>): Piece[][] {
  const warning = (title: string, sentence: string): Piece[] => [bold(`⚠️ ${title}. `), words(sentence)]
  return [
    ...(hidden_characters ? [warning('Hidden characters', HIDDEN_MEANS)] : []),
    ...(two_directions ? [warning('Two directions', DIRECTIONS_MEAN)] : []),
    ...(look_alike === undefined ? [] : [warning('Look-alike letters', look_alike)]),
  ]
}

const HIDDEN_MEANS =
  'What the caller wrote holds characters that are normally invisible or pile up on others; they are shown in brackets.'
const DIRECTIONS_MEAN =
  'Parts of what the caller wrote are read from right to left, so words and numbers can stand here in another order than the one that is signed. The page shows that order.'

const ACTION_LENGTH = 300
const ACTION_TITLE = [bold('Requested action'), italic(' · written by the caller')]

/** The place where a reply is read. */
interface ReplyPlace {
  /** The name of the verify command on this platform. */
  verify: string
  /** The reply stands among the cards of other requests, not below its own card, so it must repeat the action. */
  apart: boolean
}

/** Draws a reply below a card: the outcome, of a decision with the receipt's id, or a reminder. */
export function replyDocument(view: RequestReplyView, place: ReplyPlace): CardDocument {
  return view.kind === 'reminder' ? reminder(view) : over(view, place)
}

function over(
  view: Exclude<RequestReplyView, { kind: 'reminder' }>,
  { verify, apart }: ReplyPlace,
): CardDocument {
  const { status, action, details } = view
  const word = OUTCOME_WORDS[status.kind]
  const title = [bold(`${STATUS_SIGNS[status.kind]} ${word}`)]
  const about = [ours(title, ACTION_TITLE), ...framed(action, ACTION_LENGTH)]
  const lines =
    view.kind === 'ended'
      ? timeLines(view)
      : [
          ...decisionLines(view.status),
          [words('Anyone can check it: '), code(`${verify} ${view.status.decision_id}`)],
        ]
  return {
    parts: apart ? [...about, ours(...lines)] : [ours(title, ...lines)],
    link: { title: PAGE_TITLE, url: details, shown: 'line' },
    notes: [],
    preview: { summary: `${warningPrefix(view)}${word}.`, asking: asking(view) },
  }
}

function reminder(view: RequestReplyView & { kind: 'reminder' }): CardDocument {
  const { action, audience, expires_at, automatic, details } = view
  const heading = `Reminder: a request waits for ${audience === 'approver' ? 'your' : 'a'} decision`
  const by = automatic ? 'sent by Countersign' : 'the caller asks again'
  const parts = [
    ours(
      [bold(`🔔 ${heading}`), italic(` · ${by}`)],
      [bold('Expires at: '), moment(expires_at)],
      ACTION_TITLE,
    ),
    ...framed(action, ACTION_LENGTH),
  ]
  const link = { title: PAGE_TITLE, url: details, shown: 'line' } as const
  const summary = `${warningPrefix(view)}${heading}, ${by}.`
  return { parts, link, notes: [], preview: { summary, asking: asking(view) } }
}
