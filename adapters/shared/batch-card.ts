import type { BatchItem, BatchReplyView, BatchView } from '../../src/domain/card-view.ts'
import { cutText, more, shortLine, unquoted } from '../../src/domain/cut-text.ts'
import { warningPrefix } from '../../src/domain/text-warnings.ts'
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
  quote,
  type Tone,
  words,
} from './card-parts.ts'
import { asking, nameLines, OUTCOME_WORDS, requestedBy, STATUS_SIGNS, warningLines } from './request-card.ts'

/** How much of the requests a card shows: lines, one for each, and characters of each action. */
export interface BatchSize {
  lines: number
  characters: number
}

/** The largest that fits is used; the last one always does. */
export const BATCH_SIZES: readonly [BatchSize, ...BatchSize[]] = [
  { lines: 50, characters: 200 },
  { lines: 50, characters: 120 },
  { lines: 50, characters: 80 },
  { lines: 50, characters: 50 },
  { lines: 40, characters: 50 },
  { lines: 25, characters: 50 },
  { lines: 10, characters: 50 },
]

/** Lines above the buttons, so that these are on a phone's first screen. */
const ABOVE = 5

/**
 * Draws the card of several requests of one call: a line for each, in the caller's frame, under a line of ours that states what has
 * become of it. Its buttons open the inbox, where all of them are shown in full and decided together.
 * @param chat name of the platform, and the sentence that invites people to link their identity
 */
export function batchDocument(
  view: BatchView,
  size: BatchSize,
  chat: { name: string; invitation: string },
): CardDocument {
  const open = view.status.kind === 'pending'
  const tone = toneOf(view)
  const rows = rowsOf(view.items)
  const shown = rows.slice(0, size.lines)
  const above = open ? ABOVE : shown.length
  const list = [
    ...listParts(shown, size.characters, 0, above),
    ...(shown.length > above ? [] : left(rows, size)),
  ]
  return {
    heading: headingOf(view),
    ...(tone === undefined ? {} : { tone }),
    parts: [ours(LIST_TITLE), ...list, ours(...warningLines(view), ...factLines(view))],
    choices: choicesOf(view),
    below:
      shown.length > above
        ? [...listParts(shown, size.characters, above, shown.length), ...left(rows, size)]
        : [],
    link: {
      title: open ? 'Details' : 'Open the inbox',
      url: view.links.details,
      opens: 'the inbox',
      shown: open ? 'button' : 'line',
    },
    notes: [
      open
        ? `Nothing is decided in ${chat.name}: buttons open the inbox. ${view.request_id}`
        : view.request_id,
      ...(open && view.invite_to_link ? [chat.invitation] : []),
    ],
    preview: { summary: `${warningPrefix(view)}${summaryOf(view)}`, asking: askingFor(view) },
  }
}

const LIST_TITLE = [bold('Requested actions'), italic(' · written by the caller, not checked by Countersign')]

/** A request with its number on the card, and our line about the state that it shares with others. */
interface Row {
  number: number
  action: string
  title: Piece[]
  /** Equal for those that stand under one title. */
  key: string
}

/** Those that wait for the reader come first; of one state they are in the order asked. */
function rowsOf(items: readonly BatchItem[]): Row[] {
  const groups = new Map<string, { item: BatchItem; number: number }[]>()
  for (const [index, item] of items.entries()) {
    const key = JSON.stringify(stateOf(item))
    groups.set(key, [...(groups.get(key) ?? []), { item, number: index + 1 }])
  }
  const rank = (group: { item: BatchItem }[]) => Math.min(...group.map(({ item }) => rankOf(item)))
  const sorted = [...groups].sort(([, a], [, b]) => rank(a) - rank(b))
  return sorted.flatMap(([key, group]) => {
    const [first] = group
    if (first === undefined) return []
    const title = titleOf(first.item, group.length)
    return group.map(({ item, number }) => ({ number, action: item.action, title, key }))
  })
}

const RANKS: Record<BatchItem['status']['kind'], number> = {
  pending: 1,
  approved: 3,
  rejected: 4,
  expired: 5,
  withdrawn: 6,
}

function rankOf({ status, voted }: BatchItem): number {
  return RANKS[status.kind] + (voted === undefined ? 0 : 1)
}

/** What a title says of a request. */
function stateOf({ status, voted, voted_by, quorum }: BatchItem) {
  if (status.kind === 'pending') return ['pending', voted, voted_by, quorum.needed > 1 ? quorum.approved : 0]
  return status.kind === 'approved' || status.kind === 'rejected'
    ? [status.kind, status.by_you ? 'you' : (status.by_name ?? status.by)]
    : [status.kind]
}

const NAME_LENGTH = 60

/** States what has become of some requests. A name that others chose stands at the end of the line (T43). */
function titleOf({ status, voted, voted_by, quorum }: BatchItem, count: number): Piece[] {
  if (status.kind === 'approved' || status.kind === 'rejected') {
    const name = status.by_you ? 'you' : status.by_name && shortLine(status.by_name, NAME_LENGTH)
    const by = name === undefined ? code(status.by) : words(name)
    return [bold(`${STATUS_SIGNS[status.kind]} ${OUTCOME_WORDS[status.kind]} (${count})`), words(' by '), by]
  }
  if (status.kind !== 'pending')
    return [bold(`${STATUS_SIGNS[status.kind]} ${OUTCOME_WORDS[status.kind]} (${count})`)]
  const cast = voted === undefined ? 'Pending' : voted_by === undefined ? `You ${voted}` : 'This vote is cast'
  const rest = [
    ...(voted === undefined ? [] : ['waiting for others']),
    ...(quorum.needed > 1 ? [`${quorum.approved} of ${quorum.needed} approvals`] : []),
  ]
  return [bold(`${STATUS_SIGNS.pending} ${cast} (${count})`), ...rest.map((one) => words(` · ${one}`))]
}

/** Draws some of the rows: our titles outside of the caller's frames, and in these a line for each request. */
function listParts(rows: readonly Row[], characters: number, from: number, to: number): CardPart[] {
  const single = rows.every(({ key }) => key === rows[0]?.key)
  const parts: CardPart[] = []
  for (let at = from; at < Math.min(to, rows.length); ) {
    const row = rows[at]
    const next = rows.findIndex((one, index) => index > at && one.key !== row?.key)
    const end = Math.min(to, next < 0 ? rows.length : next)
    // If all wait, the heading says so.
    if (row !== undefined && !(single && row.key.startsWith('["pending",null'))) parts.push(ours(row.title))
    parts.push(quote(...rows.slice(at, end).map((one) => lineOf(one, characters))))
    at = end
  }
  return parts
}

function lineOf({ number, action }: Row, characters: number): Piece[] {
  return [words(`${number}. ${cutText(lineText(action), characters).text}`)]
}

/** A line break in an action must not pass for the next request. */
function lineText(action: string): string {
  return action.replace(/\s+/g, ' ').trim()
}

/** Counts what is missing, in our words and outside of the frames. */
function left(rows: readonly Row[], { lines, characters }: BatchSize): CardPart[] {
  const cut = rows
    .slice(0, lines)
    .reduce((sum, { action }) => sum + cutText(lineText(action), characters).left, 0)
  const counts = [
    ...(rows.length > lines ? [more(rows.length - lines, 'request', 'requests')] : []),
    ...(cut > 0 ? [more(cut)] : []),
  ]
  if (counts.length === 0) return []
  return [{ kind: 'ours', lines: [[italic(`${counts.join(' and ')} in the inbox`)]], omits: true }]
}

function factLines(view: BatchView): Piece[][] {
  const { first, last } = view.expires
  const apart = last.getTime() - first.getTime() >= 60_000
  const expiry = apart
    ? [
        [bold('First expires at: '), moment(first)],
        [bold('Last expires at: '), moment(last)],
      ]
    : [[bold('Expires at: '), moment(first)]]
  return [
    ...(view.replaces ? [[italic('This replaces a card that did not arrive or was deleted.')]] : []),
    ...(view.status.kind === 'pending' ? expiry : []),
    ...nameLines('On behalf of: ', view.on_behalf_of),
    requestedBy(view),
  ]
}

function counted(count: number): string {
  return count === 1 ? '1 request' : `${count} requests`
}

function ofKind(view: BatchView, kind: BatchItem['status']['kind']): BatchItem[] {
  return view.items.filter(({ status }) => status.kind === kind)
}

function waiting(view: BatchView): BatchItem[] {
  return ofKind(view, 'pending').filter(({ voted }) => voted === undefined)
}

const OVER = ['approved', 'rejected', 'expired', 'withdrawn'] as const

/** The one outcome of all; undefined where they differ, or some are pending. */
function soleOutcome(view: BatchView): (typeof OVER)[number] | undefined {
  return OVER.find((kind) => ofKind(view, kind).length === view.items.length)
}

function headingOf(view: BatchView): string {
  const { items, status, audience } = view
  const open = waiting(view).length
  if (status.kind === 'pending') {
    if (open === 0) return `${STATUS_SIGNS.pending} ${counted(items.length)}: waiting for others`
    const which =
      open === items.length ? `these ${counted(open)}` : `${open} of these ${counted(items.length)}`
    return audience === 'approver'
      ? `Approve or reject ${which}?`
      : `Waiting for a decision: ${counted(open)}`
  }
  const sole = soleOutcome(view)
  if (sole !== undefined) return `${STATUS_SIGNS[sole]} ${OUTCOME_WORDS[sole]}: ${counted(items.length)}`
  return `☑️ ${counted(items.length)}: ${outcomes(view)}`
}

/** Counts the outcomes: `3 approved, 1 rejected`. */
function outcomes(view: BatchView): string {
  const counts = OVER.map((kind) => ({ kind, count: ofKind(view, kind).length }))
  return counts.flatMap(({ kind, count }) => (count === 0 ? [] : [`${count} ${kind}`])).join(', ')
}

function toneOf(view: BatchView): Tone | undefined {
  const sole = soleOutcome(view)
  return sole === 'approved' ? 'good' : sole === 'rejected' ? 'attention' : undefined
}

/** Summarises the card in our own words. */
export function summaryOf(view: BatchView): string {
  const open = waiting(view).length
  const asks = view.status.kind === 'pending' && view.audience === 'approver' && open > 0
  return asks ? `Approve or reject ${counted(open)}?` : `${headingOf(view)}.`
}

/** Only the caller's words stand between quotation marks. */
function askingFor(view: BatchView): string {
  const { requested_by, items } = view
  const action = unquoted((waiting(view)[0] ?? items[0])?.action ?? '')
  return asking({ requested_by, action })
}

/** The links to the decision, which is made in the inbox; none for a reader who can decide none. */
function choicesOf(view: BatchView): CardLink[] {
  const { status, audience, links } = view
  if (status.kind !== 'pending' || audience !== 'approver' || waiting(view).length === 0) return []
  const shown = { opens: 'the inbox', shown: 'button' } as const
  return [
    { title: 'Approve…', url: links.approve, ...shown },
    { title: 'Reject…', url: links.reject, ...shown },
  ]
}

const REPLY_SIZE: BatchSize = { lines: 5, characters: 80 }

/**
 * Draws a reply below the card: a reminder of those that still wait, or that all are over.
 * @param apart the reply stands among other cards, so it must repeat the actions
 */
export function batchReplyDocument({ batch, automatic }: BatchReplyView, apart: boolean): CardDocument {
  const open = batch.status.kind === 'pending'
  const rows = rowsOf(open ? waiting(batch) : batch.items)
  const list = [
    ours(LIST_TITLE),
    ...listParts(rows.slice(0, REPLY_SIZE.lines), REPLY_SIZE.characters, 0, REPLY_SIZE.lines),
    ...left(rows, REPLY_SIZE),
  ]
  const whose = batch.audience === 'approver' ? 'your' : 'a'
  const heading = open
    ? `Reminder: ${counted(rows.length)} ${rows.length === 1 ? 'waits' : 'wait'} for ${whose} decision`
    : headingOf(batch)
  const by = automatic ? 'sent by Countersign' : 'the caller asks again'
  const title = open ? [bold(`🔔 ${heading}`), italic(` · ${by}`)] : [bold(heading)]
  const receipts = open || ofKind(batch, 'approved').length + ofKind(batch, 'rejected').length === 0
  const parts = [
    ours(
      title,
      ...(receipts ? [] : [[words('Each decision has its own receipt, on the page of its request.')]]),
    ),
    ...(open || apart ? list : []),
  ]
  const link = { title: 'Open the inbox', url: batch.links.details, shown: 'line' } as const
  const summary = `${warningPrefix(batch)}${heading}${open ? `, ${by}` : ''}.`
  return { parts, link, notes: [], preview: { summary, asking: askingFor(batch) } }
}
