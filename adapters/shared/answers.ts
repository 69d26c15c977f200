import { more, shortLine } from '../../src/domain/cut-text.ts'
import { methodWord } from '../../src/domain/request.ts'
import type { ChatAnswer, PendingRow } from '../../src/flow/chat/chat-answer.ts'
import type { ReceiptFactsView, VerdictView } from '../../src/flow/chat/verdict.ts'
import { framed } from './caller-parts.ts'
import {
  bold,
  type CardDocument,
  type CardPart,
  code,
  italic,
  moment,
  ours,
  type Piece,
  type Tone,
  words,
} from './card-parts.ts'
import { warningLines } from './request-card.ts'

const ASKED_LENGTH = 100
const NAME_LENGTH = 100
const PERSON_LENGTH = 200

const SIGNS: Record<VerdictView['kind'], string> = {
  approved: '✅',
  rejected: '❌',
  sandbox: '🧪',
  unproven: '❓',
  invalid: '⛔',
  pending: '⏳',
  expired: '⌛',
  withdrawn: '↩️',
  unknown: '❔',
}

const TONES: Partial<Record<VerdictView['kind'], Tone>> = {
  approved: 'good',
  rejected: 'attention',
  invalid: 'attention',
  sandbox: 'warning',
  unproven: 'warning',
}

/** Draws the answer to `verify`. Without an `action` it holds nothing that a caller wrote, so a whole channel may see it. */
export function verdictDocument(view: VerdictView): CardDocument {
  const { kind, heading, sentence, facts } = view
  const tone = TONES[kind]
  return {
    heading: `${SIGNS[kind]} ${heading}`,
    ...(tone === undefined ? {} : { tone }),
    parts: verdictParts(view),
    ...(facts === undefined
      ? {}
      : { link: { title: 'Check this receipt publicly', url: facts.public_check, shown: 'line' } }),
    notes: [],
    preview: { summary: `${heading}. ${kind === 'invalid' ? 'The receipt does not hold.' : sentence}` },
  }
}

const VERDICT_ACTION_LENGTH = 600

function verdictParts(view: VerdictView): CardPart[] {
  const { sentence, key_revoked_at, action } = view
  const said = [[bold(sentence)], ...(key_revoked_at === undefined ? [] : [revoked(key_revoked_at)])]
  if (action === undefined) return [ours(...said, ...verdictLines(view))]
  return [
    ours(...said, [bold('Requested action'), italic(' · written by the caller')]),
    ...framed(action, VERDICT_ACTION_LENGTH),
    ours(...verdictLines(view)),
  ]
}

function verdictLines({ facts, asked }: VerdictView): Piece[][] {
  return [
    ...(facts === undefined ? [] : factLines(facts)),
    [bold('Asked about: '), code(shortLine(asked, ASKED_LENGTH) || 'nothing')],
  ]
}

function factLines(facts: ReceiptFactsView): Piece[][] {
  return [
    [bold('Decision: '), words(facts.decision === 'approved' ? 'Approved' : 'Rejected')],
    [bold('Method: '), words(methodWord(facts.method))],
    [bold('Decided: '), moment(facts.decided_at)],
    [
      bold(facts.method === 'sandbox' ? 'In the receipt: ' : 'Approver: '),
      code(facts.approver),
      words(' (a reference, not a name)'),
    ],
    ...(facts.checked === undefined ? [] : [[bold('Action and context: '), words(facts.checked)]]),
    ...(facts.unsigned === undefined ? [] : [[bold('Not signed: '), code(facts.unsigned)]]),
    [bold('Request: '), code(facts.request_id)],
    [bold('Receipt: '), code(facts.decision_id)],
    [bold('Signed by key: '), code(facts.key_id)],
  ]
}

function revoked(at: Date): Piece[] {
  return [
    bold('⚠️ Caution. '),
    words('The key was revoked: '),
    moment(at),
    words('. A thief could have back-dated this receipt; look for other evidence.'),
  ]
}

type Answer<Kind extends ChatAnswer['kind']> = ChatAnswer & { kind: Kind }

/** The words that explain a one-time link. */
interface LinkWords {
  heading: string
  does: string
  /** The person or thing the link concerns, regardless of what was typed after the command. */
  means: string
  button: string
  advice: string
}

/** Returns the words around a one-time link, and how long the link works. @param platform its name for people */
export function linkWords(
  { purpose, expires_at, words_ignored }: Answer<'link'>,
  platform: string,
  now: Date,
): LinkWords & { lines: Piece[][]; summary: string } {
  const known = LINKS[purpose]
  const heading = purpose === 'link' ? `Link your ${platform} identity` : known.heading
  const left = timeLeft(expires_at, now)
  const lines = [
    [words(known.does)],
    ...(words_ignored ? [[words(`The words after the command were ignored: ${known.means}`)]] : []),
    [bold('Works once, for '), bold(left), words(' · until '), moment(expires_at)],
  ]
  return { ...known, heading, lines, summary: `${heading}: a link for you alone, for ${left}.` }
}

const LINKS: Record<Answer<'link'>['purpose'], LinkWords> = {
  link: {
    heading: 'Link your identity',
    does: 'Open this link in a browser, sign in and confirm. Your requests then reach you here.',
    means: 'the person who signs in there and confirms is linked to this chat account.',
    button: 'Link my identity…',
    advice: 'For you alone. Never share this link: the person who confirms it would pass for you here.',
  },
  browser: {
    heading: 'Trust a browser',
    does: 'Open this link in the browser you want to trust. Signing in there still needs your e-mail address and a code.',
    means: 'the browser that opens the link is trusted, for your own account.',
    button: 'Trust this browser…',
    advice: 'For you alone. Never share this link: it would make a stranger’s browser pass for yours.',
  },
  channel: {
    heading: 'Notify this channel of requests',
    does: 'Open this link in a browser and sign in as the owner of the account. The channel then sees action, caller and outcome of every request, never the context.',
    means: 'the link is about the channel in which you typed the command.',
    button: 'Connect this channel…',
    advice: 'For you alone. Never share this link.',
  },
}

const MINUTE_MS = 60_000

/** Says the time left in whole minutes; at least one, because clocks differ. */
function timeLeft(end: Date, now: Date): string {
  const minutes = Math.max(1, Math.round((end.getTime() - now.getTime()) / MINUTE_MS))
  return minutes === 1 ? 'one minute' : `${minutes} minutes`
}

/** Returns the first line of the answer to `pending`. */
export function pendingHeading(answer: Answer<'pending'>): string {
  const total = answer.rows.length + answer.more
  if (total === 0) return waitingAgents(answer) ?? 'You have no pending requests'
  return total === 1 ? 'You have one pending request' : `You have ${total} pending requests`
}

/** Says how many agents wait for a key, without a full stop. @returns undefined when none does */
export function waitingAgents({ agents = 0 }: Answer<'pending'>): string | undefined {
  if (agents === 0) return undefined
  return agents === 1
    ? 'One agent waits for a key of your account'
    : `${agents} agents wait for a key of your account`
}

/** Draws a pending request below its first line: our words and the key's name, then the action in the caller's frame. */
export function pendingRow(row: PendingRow, length: number): { lines: Piece[][]; action: CardPart[] } {
  const lines = [
    ...(row.high_impact ? [[bold('⚠️ High impact')]] : []),
    [bold('Requested by: '), words(shortLine(row.requested_by, NAME_LENGTH) || 'no name')],
    ...warningLines(row),
    [bold('Requested action'), italic(' · written by the caller')],
  ]
  return { lines, action: framed(row.action, length) }
}

/** Says how many pending requests are not shown. */
export function leftOutWords(count: number): string {
  return `${more(count, 'request', 'requests')}, not shown here.`
}

/** Characters shown of each action. The largest that fits is used; rows are omitted only if the smallest does not fit. */
const ACTION_LENGTHS = [300, 150, 80] as const
const LEAST = 80

/** Draws as many rows as fit, at most `most` and at least one. */
export function fitPending<Drawn>(
  most: number,
  draw: (count: number, length: number) => Drawn,
  fits: (drawn: Drawn) => boolean,
): Drawn {
  const length = ACTION_LENGTHS.find((one) => fits(draw(most, one))) ?? LEAST
  let count = most
  while (count > 1 && !fits(draw(count, length))) count -= 1
  return draw(count, length)
}

/** Signs that accompany the words of a notice and never replace them. */
const NOTICE_SIGNS: Record<Answer<'notice'>['tone'], string> = {
  done: '✅',
  refused: '⛔',
  problem: '⚠️',
}

/** Draws a notice, which consists of our own words alone. */
export function noticeAnswer({ tone, heading, sentence }: Answer<'notice'>): CardDocument {
  return {
    heading: `${NOTICE_SIGNS[tone]} ${heading}`,
    parts: [ours([words(sentence)])],
    notes: [],
    preview: { summary: `${heading}. ${sentence}` },
  }
}

/** Returns the first line of the list of commands. */
export function helpHeading({ unknown }: Answer<'help'>, platform: string): string {
  return unknown ? 'Countersign does not know this command' : `Countersign in ${platform}`
}

/** Says who the speaker is, if their identity is linked. */
export function helpSpeaker({ linked_as }: Answer<'help'>): Piece[] | undefined {
  return linked_as === undefined ? undefined : [bold('You are '), words(shortLine(linked_as, PERSON_LENGTH))]
}
