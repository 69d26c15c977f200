import { framed } from './caller-parts.ts'
import { bold, type CardPart, code, italic, moment, ours, words } from './card-parts.ts'
import type { ReplyView } from './card-view.ts'
import { STATUS_SIGNS } from './card-words.ts'
import { decisionLines } from './head-parts.ts'

const ACTION_LENGTH = 300

/** A line below a card, for every platform. */
export interface ReplyParts {
  parts: CardPart[]
  /** What the link to `view.details` says. */
  link: string
  /** For notifications: our words and an id, nothing that the caller wrote. */
  text: string
}

/** The decision with the receipt's id, or a reminder. `verify`: how the command is called on the platform. */
export function replyParts(view: ReplyView, verify: string): ReplyParts {
  return view.kind === 'decided' ? decided(view, verify) : reminder(view)
}

function decided({ status }: ReplyView & { kind: 'decided' }, verify: string): ReplyParts {
  const word = status.kind === 'approved' ? 'Approved' : 'Rejected'
  const lines = ours([bold(`${STATUS_SIGNS[status.kind]} ${word}`)], ...decisionLines(status), [
    words('Anybody can check it: '),
    code(`${verify} ${status.decision_id}`),
  ])
  return {
    parts: [lines],
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
      [bold('Requested action'), italic(' · written by the caller')],
    ),
    ...framed(action, ACTION_LENGTH),
  ]
  return { parts, link: 'Open the approval page', text: `${heading}, ${by}.` }
}
