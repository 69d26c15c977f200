import type { VerificationKey } from '../../src/signing/key-record.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { approvedWords } from './approved-words.ts'
import { checkList } from './check-list.ts'
import type { Report } from './check-receipts.ts'
import { compareForm } from './compare-form.ts'
import { rawView } from './raw-view.ts'
import { receiptFacts } from './receipt-facts.ts'
import { type Verdict, verdictOf } from './verdict.ts'
import { votesView } from './votes-view.ts'

/** What a result is shown with. */
export interface ResultSource {
  keys: readonly VerificationKey[]
  /** The keys are the reader's own. */
  pinned: boolean
  /** Of the file it came in. */
  name: string | undefined
}

/** The verdict first, then what was decided, the checks, the votes, and the raw text. */
export function resultView(report: Report, source: ResultSource): HTMLElement {
  const { main, votes, unsigned } = report
  const { result, input } = main
  const key = result.valid ? source.keys.find(({ kid }) => kid === result.kid) : undefined
  return el(
    'div',
    { class: 'verify-result' },
    verdictView(verdictOf(report), source),
    result.valid ? approvedWords(main) : undefined,
    result.valid && card('What is signed', 'signed-title', receiptFacts(main, result.payload, key)),
    card('Checks', 'checks-title', checkList(main)),
    votesView(votes, unsigned),
    input &&
      el(
        'div',
        { class: 'card' },
        result.valid && compareForm(input, source.keys),
        rawView(input, main.outcomes.get('signature') === 'passed'),
        el('p', { class: 'note' }, 'A comment next to a receipt is not part of it.'),
      ),
  )
}

/** Ids this service has no receipt for: its word, which nothing proves. */
export function noneView(heading: string, sentence: string): HTMLElement {
  return el(
    'div',
    { class: 'verify-result' },
    el(
      'div',
      { class: 'verdict none' },
      el('h2', { tabindex: -1 }, heading),
      el('p', {}, sentence),
      el(
        'p',
        { class: 'note' },
        'This is what the service says; nothing is signed that could be checked here.',
      ),
    ),
  )
}

const LABELS: Record<Verdict['kind'], string> = {
  approved: 'Valid receipt',
  rejected: 'Valid receipt of a rejection',
  sandbox: 'Dry-run · Sandbox · No person decided',
  invalid: 'Not valid',
}

function verdictView({ kind, heading, at, sentence, cautions }: Verdict, source: ResultSource): HTMLElement {
  const when = at === undefined ? [] : [' on ', moment(new Date(at).toISOString())]
  const keys = source.pinned ? 'the key set that you pasted' : `the keys that ${location.origin} publishes`
  return el(
    'div',
    { class: `verdict ${kind}` },
    el('p', { class: 'verdict-label' }, LABELS[kind]),
    el('h2', { tabindex: -1 }, heading, ...when),
    el('p', { class: 'verdict-sentence' }, sentence),
    ...cautions.map((caution) => notice('warning', caution)),
    el(
      'p',
      { class: 'note' },
      source.name !== undefined && el('span', {}, 'From the file ', callerText(source.name), '. '),
      `Checked in this browser, against ${keys}.`,
    ),
  )
}

function card(title: string, id: string, body: HTMLElement): HTMLElement {
  return el('section', { class: 'card', 'aria-labelledby': id }, el('h3', { id }, title), body)
}
