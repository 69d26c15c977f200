import { SCOPE_WORDS } from '../../src/domain/bootstrap.ts'
import type { ConsentStatus, ConsentView, GreetingView, NoticeView } from '../../src/domain/card-view.ts'
import {
  noticeAdvice,
  noticeHeading,
  noticeMore,
  noticeName,
  noticePath,
  timeWords,
} from '../../src/domain/factor-notice.ts'
import { methodWord } from '../../src/domain/request.ts'
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
  type Tone,
  words,
} from './card-parts.ts'

/** Signs that accompany the words and never replace them. */
const SIGNS: Record<ConsentStatus['kind'], string> = {
  pending: '🔑',
  approved: '✅',
  rejected: '❌',
  expired: '⌛',
  collected: '🔑',
}

const TONES: Partial<Record<ConsentStatus['kind'], Tone>> = {
  approved: 'good',
  rejected: 'attention',
  collected: 'warning',
}

/**
 * Draws the card for an agent that asks for a key. While the request is pending, its only button opens the consent page.
 * @param chat name of the platform, and the sentence that invites people to link their identity
 */
export function consentDocument(view: ConsentView, chat: { name: string; invitation: string }): CardDocument {
  const open = view.status.kind === 'pending'
  const heading = consentHeading(view)
  const tone = TONES[view.status.kind]
  return {
    heading: `${SIGNS[view.status.kind]} ${heading}`,
    ...(tone === undefined ? {} : { tone }),
    parts: consentParts(view),
    link: {
      title: consentLink(view),
      url: view.links.details,
      opens: 'the consent page',
      shown: open ? 'button' : 'below',
    },
    notes: [consentAdvice(view, chat.name), ...(open && view.invite_to_link ? [chat.invitation] : [])],
    preview: { summary: open ? 'An agent asks for an API key of your account.' : `${heading}.` },
  }
}

/** Returns the heading in the same words as the hosted page. */
function consentHeading({ status }: ConsentView): string {
  switch (status.kind) {
    case 'pending':
      return 'Give this caller an API key?'
    case 'approved':
      return 'Approved: the agent can collect its key'
    case 'rejected':
      return status.by_owner === undefined ? 'Rejected after three wrong codes' : 'Rejected'
    case 'expired':
      return 'Expired: no key was given out'
    case 'collected':
      return 'The API key was collected'
  }
}

/** Returns the title of the link, which says what it opens: a click decides nothing. */
function consentLink({ status }: ConsentView): string {
  if (status.kind === 'pending') return 'Review…'
  return status.kind === 'collected' ? 'See who collected it' : 'Details on the consent page'
}

const NAME_LENGTH = 200

/** Draws our lines and, below them, the caller's name in its frame; nothing else that the caller wrote is shown (T44). */
function consentParts(view: ConsentView): CardPart[] {
  const warning =
    view.look_alike === undefined ? [] : [[bold('⚠️ Look-alike letters. '), words(view.look_alike)]]
  return [
    ours(...statusLines(view), ...warning),
    ours([bold('Unverified name'), italic(' · written by the caller, not checked by Countersign')]),
    ...framed(view.client_name, NAME_LENGTH),
  ]
}

/** Advises the owner while there is something to decide, and always gives the request's id. */
function consentAdvice({ status, request_id }: ConsentView, platform: string): string {
  if (status.kind !== 'pending') return request_id
  return `Approve only if you started this agent and it shows you a code; the consent page asks for it. Nothing is decided in ${platform}. ${request_id}`
}

function statusLines({ status, ...view }: ConsentView): Piece[][] {
  const asked = [bold('Requested from: '), code(view.requested_from)]
  switch (status.kind) {
    case 'pending':
      return [
        asked,
        [bold('The key may: '), words(view.scopes.map((scope) => SCOPE_WORDS[scope]).join('; '))],
        [bold('Expires at: '), moment(view.expires_at)],
      ]
    case 'approved':
      return [...answered('Approved: ', status), asked]
    case 'rejected':
      return [...(status.by_owner === undefined ? [] : answered('Rejected: ', status.by_owner)), asked]
    case 'expired':
      return [[bold('Expired at: '), moment(view.expires_at)], asked]
    case 'collected':
      return [
        [bold('Collected: '), moment(status.at)],
        ...(status.address === undefined ? [] : [[bold('Collected from: '), code(status.address)]]),
        asked,
        [words('If your agent does not run there, revoke the key on the page API keys at once.')],
      ]
  }
}

function answered(word: string, { at, method }: { at: Date; method: string }): Piece[][] {
  return [
    [bold(word), moment(at)],
    [bold('Method: '), words(methodWord(method))],
  ]
}

/** Draws the notice that a person's factors have changed. */
export function noticeDocument({ notice, links }: NoticeView): CardDocument & { link: CardLink } {
  const heading = noticeHeading(notice)
  const place = noticePath(notice).slice(1)
  return {
    heading: `🔐 ${heading}`,
    tone: 'warning',
    parts: [ours(...noticeLines(notice))],
    link: { title: `Open my ${place}`, url: links.details, opens: `your ${place} page`, shown: 'line' },
    notes: [],
    preview: { summary: `${heading}. ${noticeAdvice(notice)}` },
  }
}

/** Draws the notice's lines. A name that others chose stands at the end of its line (T43). */
function noticeLines(notice: NoticeView['notice']): Piece[][] {
  const { at, address, by_other, name } = notice
  const more = noticeMore(notice)
  return [
    ...(name === undefined ? [] : [[bold('Name: '), code(noticeName(name))]]),
    [bold('When: '), words(timeWords(at))],
    ...(address === undefined ? [] : [[bold('From: '), code(address)]]),
    ...(by_other ? [[words('Another person did it.')]] : []),
    ...(more === undefined ? [] : [[words(more)]]),
    [words(noticeAdvice(notice))],
  ]
}

/** Draws the first message in a channel. */
export function greetingDocument({ account, links }: GreetingView): CardDocument {
  const heading = 'This channel is connected to Countersign'
  return {
    heading,
    parts: [
      ours(
        [
          words(
            'Every request of the account below is shown here: action, caller and status, never the details.',
          ),
        ],
        [bold('Account: '), code(account)],
      ),
    ],
    link: { title: 'Integrations', url: links.details, opens: 'the page that ends it', shown: 'line' },
    notes: [],
    preview: { summary: `${heading}.` },
  }
}

/** Returns the words that replace a card now shown elsewhere, or to nobody in this chat. */
export function movedWords({ twice }: { twice?: true }): { heading: string; sentence: string } {
  return twice
    ? {
        heading: 'Shown once more below',
        sentence: 'This card was sent twice; the other one follows the request.',
      }
    : { heading: MOVED_HEADING, sentence: MOVED_SENTENCE }
}

export const MOVED_HEADING = 'Not shown here any more'
export const MOVED_SENTENCE =
  'This chat account is not linked to the approver. If you are the approver, link it again.'
