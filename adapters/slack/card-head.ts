import type { types } from '@slack/bolt'
import type { CardStatus, CardView } from '../../src/domain/card-view.ts'
import { durationWords, methodWord, quorumWords } from '../../src/domain/card-words.ts'
import { framed } from './caller-box.ts'
import { shortLine } from './cut-text.ts'
import { bold, code, type Inline, moment, richText, section, words } from './rich-text.ts'

const COMMENT_LENGTH = 2000
const NAME_LENGTH = 200

/** Signs beside the words, never instead of them. */
export const STATUS_SIGNS: Record<CardStatus['kind'], string> = {
  pending: '⏳',
  approved: '✅',
  rejected: '❌',
  expired: '⌛',
  withdrawn: '↩️',
}

/** The service's own statements about the request: badges, what became of it, who asks. Never inside the caller's frame (T44). */
export function cardHead(view: CardView): types.RichTextBlock {
  const progress = quorumWords(view)
  return richText([
    section(
      ...badges(view),
      ...statusLines(view),
      ...(progress === undefined ? [] : [[bold('Approvals: '), words(progress)]]),
      [bold('API key: '), words(shortLine(view.requested_by.key_name, NAME_LENGTH) || 'no name')],
      [bold('Account: '), words(shortLine(view.requested_by.account_name, NAME_LENGTH) || 'no name')],
      ...textWarnings(view),
    ),
    ...commentParts(view.status),
  ])
}

function badges(view: CardView): Inline[][] {
  return [
    ...(view.high_impact ? [[bold('⚠️ High impact')]] : []),
    ...(view.sandbox ? [[bold('🧪 Sandbox: a dry run')]] : []),
  ]
}

function statusLines({ status, created_at, expires_at }: CardView): Inline[][] {
  switch (status.kind) {
    case 'pending': {
      const time = durationWords(expires_at.getTime() - created_at.getTime())
      return [[bold('Time to decide: '), words(`${time}, until `), moment(expires_at)]]
    }
    case 'approved':
    case 'rejected':
      return decisionLines(status)
    case 'expired':
      return [[bold('Open until: '), moment(expires_at)]]
    case 'withdrawn':
      return [[words('There is nothing to decide any more.')]]
  }
}

/** Who, how, when and the receipt's id; also the body of the line in the thread. */
export function decisionLines(status: CardStatus & { kind: 'approved' | 'rejected' }): Inline[][] {
  const who = status.by_you ? 'You' : status.by_name
  return [
    ...(who === undefined ? [] : [[bold('Decided by: '), words(shortLine(who, NAME_LENGTH) || 'no name')]]),
    [bold('Approver: '), code(status.by)],
    [bold('Method: '), words(methodWord(status.method))],
    [bold('Decided: '), moment(status.at)],
    [bold('Receipt: '), code(status.decision_id)],
  ]
}

function commentParts(status: CardStatus) {
  if ((status.kind !== 'approved' && status.kind !== 'rejected') || status.comment === null) return []
  return [section([bold('Comment of the approver')]), ...framed(status.comment, COMMENT_LENGTH)]
}

function textWarnings({ hidden_characters, look_alike }: CardView): Inline[][] {
  return [
    ...(hidden_characters
      ? [
          [
            bold('⚠️ Hidden characters. '),
            words('The text below holds characters that are normally invisible; they are shown in brackets.'),
          ],
        ]
      : []),
    ...(look_alike === undefined ? [] : [[bold('⚠️ Look-alike letters. '), words(look_alike)]]),
  ]
}
