import type { ReplyView } from '../../src/domain/card-view.ts'
import { framed } from './caller-box.ts'
import { decisionLines, STATUS_SIGNS } from './card-head.ts'
import { bold, code, italic, link, moment, richText, type SlackMessage, section, words } from './rich-text.ts'

const ACTION_LENGTH = 300

/** Draws a line for the thread under a card: the decision with the receipt's id, or a reminder. Pure. */
export function renderReply(view: ReplyView): SlackMessage {
  return view.kind === 'decided' ? decided(view) : reminder(view)
}

function decided({ status, details }: ReplyView & { kind: 'decided' }): SlackMessage {
  const word = status.kind === 'approved' ? 'Approved' : 'Rejected'
  const lines = section(
    [bold(`${STATUS_SIGNS[status.kind]} ${word}`)],
    ...decisionLines(status),
    [words('Anybody can check it: '), code(`/verify ${status.decision_id}`)],
    [link('Details on the approval page', details)],
  )
  return { blocks: [richText([lines])], text: `${word}. Receipt ${status.decision_id}` }
}

function reminder({
  action,
  expires_at,
  automatic,
  details,
}: ReplyView & { kind: 'reminder' }): SlackMessage {
  const heading = 'Reminder: a request waits for your decision'
  const by = automatic ? 'sent by Countersign' : 'the caller asks again'
  const parts = [
    section(
      [bold(`🔔 ${heading}`), italic(` · ${by}`)],
      [bold('Open until: '), moment(expires_at)],
      [bold('Requested action'), italic(' · written by the caller')],
    ),
    ...framed(action, ACTION_LENGTH),
    section([link('Open the approval page', details)]),
  ]
  return { blocks: [richText(parts)], text: `${heading}, ${by}.` }
}
