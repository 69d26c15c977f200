import { framed } from './caller-parts.ts'
import { bold, type CardPart, code, moment, ours, type Piece, words } from './card-parts.ts'
import type { CardStatus, CardView } from './card-view.ts'
import { durationWords, methodWord, quorumWords } from './card-words.ts'
import { shortLine } from './cut-text.ts'

const COMMENT_LENGTH = 2000
const NAME_LENGTH = 200

/**
 * The service's own statements about the request, as lines: badges, who asks, what became of it, what to mind when reading.
 * Never inside the caller's frame (T44).
 */
export interface HeadParts {
  badges: Piece[][]
  lines: Piece[][]
  warnings: Piece[][]
  /** What the approver wrote, framed. */
  comment: CardPart[]
}

/** What a card says in our own words. */
export function headParts(view: CardView): HeadParts {
  const open = view.status.kind === 'pending'
  return {
    badges: badges(view),
    lines: open ? [...askerLines(view), ...statusLines(view)] : [...statusLines(view), ...askerLines(view)],
    warnings: textWarnings(view),
    comment: commentParts(view.status),
  }
}

function askerLines({ requested_by: { key_name, account_name }, ...view }: CardView): Piece[][] {
  return [
    ...nameLines('On behalf of: ', view.on_behalf_of),
    ...nameLines('Vote by: ', view.voted_by),
    [bold('API key: '), words(shortLine(key_name, NAME_LENGTH) || 'no name')],
    [bold('Account: '), words(shortLine(account_name, NAME_LENGTH) || 'no name')],
  ]
}

function nameLines(label: string, name: string | undefined): Piece[][] {
  return name === undefined ? [] : [[bold(label), words(shortLine(name, NAME_LENGTH) || 'no name')]]
}

function badges(view: CardView): Piece[][] {
  return [
    ...(view.high_impact ? [[bold('⚠️ High impact')]] : []),
    ...(view.sandbox ? [[bold('🧪 Sandbox: a dry run')]] : []),
  ]
}

function statusLines(view: CardView): Piece[][] {
  const progress = quorumWords(view)
  return [...timeLines(view), ...(progress === undefined ? [] : [[bold('Approvals: '), words(progress)]])]
}

function timeLines({ status, created_at, expires_at }: CardView): Piece[][] {
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

/** Who, how, when and the receipt's id; also the body of the line below a card. */
export function decisionLines(status: CardStatus & { kind: 'approved' | 'rejected' }): Piece[][] {
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

function textWarnings({ hidden_characters, look_alike }: CardView): Piece[][] {
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
