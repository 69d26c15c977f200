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

/** The service's own statements about the request: badges, who asks, what became of it. Never inside the caller's frame (T44). */
export function cardHead(view: CardView): types.RichTextBlock {
  const open = view.status.kind === 'pending'
  const lines = open
    ? [...askerLines(view), ...statusLines(view)]
    : [...statusLines(view), ...askerLines(view)]
  return richText([section(...badges(view), ...lines, ...textWarnings(view)), ...commentParts(view.status)])
}

function askerLines({ requested_by: { key_name, account_name } }: CardView): Inline[][] {
  return [
    [bold('API key: '), words(shortLine(key_name, NAME_LENGTH) || 'no name')],
    [bold('Account: '), words(shortLine(account_name, NAME_LENGTH) || 'no name')],
  ]
}

function badges(view: CardView): Inline[][] {
  return [
    ...(view.high_impact ? [[bold('⚠️ High impact')]] : []),
    ...(view.sandbox ? [[bold('🧪 Sandbox: a dry run')]] : []),
  ]
}

function statusLines(view: CardView): Inline[][] {
  const progress = quorumWords(view)
  return [...timeLines(view), ...(progress === undefined ? [] : [[bold('Approvals: '), words(progress)]])]
}

function timeLines({ status, created_at, expires_at }: CardView): Inline[][] {
  switch (status.kind) {
    case 'pending': {
      const time = durationWords(expires_at.getTime() - created_at.getTime())
      return [[bold('Open until: '), moment(expires_at), words(` · ${time} to decide`)]]
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
            words(
              'What the caller wrote holds characters that are normally invisible; they are shown in brackets.',
            ),
          ],
        ]
      : []),
    ...(look_alike === undefined ? [] : [[bold('⚠️ Look-alike letters. '), words(look_alike)]]),
  ]
}
