import { bold, code, moment, type Piece, words } from '../../domain/card-parts.ts'
import { methodWord } from '../../domain/card-words.ts'
import { shortLine } from '../../domain/cut-text.ts'
import type { ReceiptFactsView, VerdictView } from './view-verdict.ts'

const ASKED_LENGTH = 100

/** What the link to `facts.public_check` says. */
export const PUBLIC_CHECK = 'Check this receipt publicly'

const SIGNS: Record<VerdictView['kind'], string> = {
  approved: '✅',
  rejected: '❌',
  sandbox: '🧪',
  invalid: '⛔',
  pending: '⏳',
  expired: '⌛',
  withdrawn: '↩️',
  unknown: '❔',
}

/** The first line of the answer to `verify`: our words. */
export function verdictHeading({ kind, heading }: VerdictView): string {
  return `${SIGNS[kind]} ${heading}`
}

/** For notifications: our words alone. */
export function verdictSummary({ kind, heading, sentence }: VerdictView): string {
  return `${heading}. ${kind === 'invalid' ? 'The receipt does not hold.' : sentence}`
}

/** The answer to `verify` below its heading, for every platform. */
export function verdictLines({ sentence, key_revoked_at, facts, asked }: VerdictView): Piece[][] {
  return [
    [bold(sentence)],
    ...(key_revoked_at === undefined ? [] : [revoked(key_revoked_at)]),
    ...(facts === undefined ? [] : factLines(facts)),
    [bold('Asked about: '), code(shortLine(asked, ASKED_LENGTH) || 'nothing')],
  ]
}

function factLines(facts: ReceiptFactsView): Piece[][] {
  return [
    [bold('Decision: '), words(facts.decision === 'approved' ? 'Approved' : 'Rejected')],
    [bold('Method: '), words(methodWord(facts.method))],
    [bold('Decided: '), moment(facts.decided_at)],
    [bold('Approver: '), code(facts.approver), words(' (a reference, not a name)')],
    [bold('Action and context: '), words(facts.checked)],
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
