import { methodWord } from '../../src/domain/card-words.ts'
import type { ReceiptFactsView, VerdictView } from '../../src/flow/chat/view-verdict.ts'
import { shortLine } from './cut-text.ts'
import {
  bold,
  code,
  header,
  type Inline,
  link,
  moment,
  richText,
  type SlackMessage,
  section,
  words,
} from './rich-text.ts'

const ASKED_LENGTH = 100

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

/** Draws the answer to `/verify`; pure. `sharedBy`: the Slack user id of whoever shows it to a channel. */
export function renderVerdict(
  view: VerdictView,
  { sharedBy }: { sharedBy?: string | undefined } = {},
): SlackMessage {
  const lines: Inline[][] = [
    [bold(view.sentence)],
    ...(view.key_revoked_at === undefined ? [] : [revoked(view.key_revoked_at)]),
    ...(view.facts === undefined ? [] : factLines(view.facts)),
    [bold('Asked about: '), code(shortLine(view.asked, ASKED_LENGTH) || 'nothing')],
    ...(sharedBy === undefined ? [] : [[bold('Shown by: '), { type: 'user' as const, user_id: sharedBy }]]),
    ...(view.facts === undefined ? [] : [[link('Check this receipt publicly', view.facts.public_check)]]),
  ]
  return {
    blocks: [header(`${SIGNS[view.kind]} ${view.heading}`), richText([section(...lines)])],
    text: `${view.heading}. ${view.kind === 'invalid' ? 'The receipt does not hold.' : view.sentence}`,
  }
}

function factLines(facts: ReceiptFactsView): Inline[][] {
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

function revoked(at: Date): Inline[] {
  return [
    bold('⚠️ Caution. '),
    words('The key was revoked: '),
    moment(at),
    words('. A thief could have back-dated this receipt; look for other evidence.'),
  ]
}
