import { framed } from './caller-parts.ts'
import { bold, type CardPart, code, italic, moment, ours, words } from './card-parts.ts'
import type { ReplyView } from './card-view.ts'
import { STATUS_SIGNS } from './card-words.ts'
import { decisionLines } from './head-parts.ts'

const ACTION_LENGTH = 300
const ACTION_TITLE = [bold('Requested action'), italic(' · written by the caller')]

/** A line below a card, for every platform. */
export interface ReplyParts {
  parts: CardPart[]
  /** What the link to `view.details` says. */
  link: string
  /** For notifications: our words and an id, nothing that the caller wrote. */
  text: string
}

/** Where a line is read. */
export interface ReplyPlace {
  /** How the command is called on the platform. */
  verify: string
  /** It stands among the cards of other requests, not below its own: then it says what was decided. */
  apart: boolean
}

/** The decision with the receipt's id, or a reminder. */
export function replyParts(view: ReplyView, place: ReplyPlace): ReplyParts {
  return view.kind === 'decided' ? decided(view, place) : reminder(view)
}

function decided(
  { status, action }: ReplyView & { kind: 'decided' },
  { verify, apart }: ReplyPlace,
): ReplyParts {
  const word = status.kind === 'approved' ? 'Approved' : 'Rejected'
  const title = [bold(`${STATUS_SIGNS[status.kind]} ${word}`)]
  const about = [ours(title, ACTION_TITLE), ...framed(action, ACTION_LENGTH)]
  const check = [words('Anybody can check it: '), code(`${verify} ${status.decision_id}`)]
  const lines = [...decisionLines(status), check]
  return {
    parts: apart ? [...about, ours(...lines)] : [ours(title, ...lines)],
    link: 'Details on the approval page',
    text: `${word}. Receipt ${status.decision_id}`,
  }
}

function reminder({ action, expires_at, automatic }: ReplyView & { kind: 'reminder' }): ReplyParts {
  const heading = 'Reminder: a request waits for your decision'
  const by = automatic ? 'sent by Countersign' : 'the caller asks again'
  const parts = [
    ours(
      [bold(`🔔 ${heading}`), italic(` · ${by}`)],
      [bold('Open until: '), moment(expires_at)],
      ACTION_TITLE,
    ),
    ...framed(action, ACTION_LENGTH),
  ]
  return { parts, link: 'Open the approval page', text: `${heading}, ${by}.` }
}
