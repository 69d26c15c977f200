import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { toBase64 } from '../../src/signing/base64.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { ReceiptInput } from '../../src/signing/receipt-input.ts'
import { unsignedWords } from '../../src/signing/unsigned-fields.ts'
import type { Examination } from '../../src/signing/verify-web.ts'
import type { UnsignedVote } from '../../src/signing/votes.ts'
import { button, buttonRow, copyable, copyButton, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import {
  type Child,
  div,
  el,
  exactText,
  facts,
  folded,
  freshId,
  hint,
  kind,
  mono,
  note,
  p,
} from '../../webauthn-page/kit/dom/element.ts'
import { field, form } from '../../webauthn-page/kit/dom/form.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import {
  callerQuote,
  callerText,
  type JsonValue,
  valueTree,
} from '../../webauthn-page/kit/show/caller-text.ts'
import { bundleLines } from './check-bundle.ts'
import {
  compareAction,
  compareContext,
  openedIntent,
  type Report,
  type Said,
  whoActed,
} from './check-receipts.ts'
import { CHECK_STATES, type CheckLine, checkLines, type NameOf, type Verdict, verdictOf } from './verdict.ts'

/** The context in which a result is shown. */
export interface ResultSource {
  keys: readonly VerificationKey[]
  /** Whether the keys are from the reader's own key set. */
  pinned: boolean
  nameOf: NameOf
  /** Name of the file that held the receipt, if any. */
  name: string | undefined
  /** Moves to the field for the next receipt. */
  another(): void
}

/** Shows the verdict first, then the decided text, the checks, the votes, and the raw text. */
export function resultView(report: Report, source: ResultSource): HTMLElement {
  const { main } = report
  const { result, input } = main
  const key = result.valid ? source.keys.find(({ kid }) => kid === result.kid) : undefined
  return div(
    'verify-result',
    verdictView(verdictOf(report, source.nameOf), source),
    result.valid ? approvedWords(main) : undefined,
    result.valid &&
      card(
        'Signed content',
        receiptFacts(main, result.payload, { key, ...source }),
        besideView([main, ...report.votes]),
      ),
    report.bundle && card('Checks of the bundle', linesView(bundleLines(report.bundle))),
    card('Checks', ...checkList(main)),
    votesView(report, source.nameOf),
    input &&
      div(
        'card raw',
        result.valid && compareForm(input, source.keys),
        rawView(input, main.outcomes.get('signature') === 'passed'),
      ),
  )
}

/** The view for an id without a receipt: only the service's word, which nothing proves. */
export function noneView(heading: string, sentence: string, another: () => void): HTMLElement {
  return div(
    'verify-result',
    div(
      'verdict none',
      el('h2', { tabindex: -1 }, heading),
      p(sentence),
      note('The service says this; there is no signature to check here.'),
      buttonRow(button('Check another', 'quiet', another)),
    ),
  )
}

/** The labels above the headings; the heading of an invalid receipt needs none. */
const LABELS: Record<Exclude<Verdict['kind'], 'invalid'>, string> = {
  approved: 'Valid receipt',
  rejected: 'Valid receipt of a rejection',
  sandbox: 'Dry-run · Sandbox · No person decided',
  unproven: 'Content not proven',
  unmet: 'Policy not met',
}

function verdictView(
  { kind: look, heading, by, at, sentence, cautions, unchecked }: Verdict,
  source: ResultSource,
): HTMLElement {
  const when = at === undefined ? [] : [' on ', moment(new Date(at).toISOString())]
  const keys = source.pinned ? 'the key set that you pasted' : `the keys that ${location.origin} publishes`
  return div(
    `verdict ${look}`,
    look !== 'invalid' && el('p', { class: 'verdict-label' }, LABELS[look]),
    el('h2', { tabindex: -1 }, heading),
    by !== undefined && el('p', { class: 'verdict-by' }, by, ...when),
    el('p', { class: 'verdict-sentence' }, sentence),
    ...cautions.map((caution) => notice('warning', caution)),
    note(
      source.name !== undefined && el('span', {}, 'From the file ', callerText(source.name), '. '),
      `Checked in this browser, against ${keys}. ${unchecked ?? ''}`,
    ),
    buttonRow(
      button('Check another', 'quiet', source.another),
      button('Print', 'quiet', () => print()),
    ),
  )
}

/** The action and details that were decided on: from the opened statement, or with a note of doubt. */
function approvedWords(examination: Examination): HTMLElement | undefined {
  const intent = openedIntent(examination)
  const claimed = examination.input?.claims.find(({ field }) => field === 'action')?.value
  const action = intent?.action ?? (typeof claimed === 'string' ? claimed : undefined)
  if (action === undefined) return undefined
  return card(
    'Decided action',
    hint(
      intent === undefined
        ? 'As shown next to the receipt. It matches the short hash of 64 bits, which is a hint, not a proof.'
        : 'The signature covers exactly this text. It does not prove that the text is true.',
    ),
    callerQuote(action).element,
    detailsOf(examination),
  )
}

/** The details, shown only if they are proven. */
function detailsOf({ input, outcomes }: Examination): HTMLElement | undefined {
  if (input?.context === undefined || outcomes.get('context') !== 'passed') return undefined
  const context: JsonValue = JSON.parse(input.context)
  return folded('Details (context), exactly as decided on', div('caller-box details-box', valueTree(context)))
}

const METHODS: Record<ReceiptPayload['method'], string> = {
  passkey: 'Passkey',
  totp: 'Authenticator code',
  sandbox: 'Sandbox, no person',
}

/** The facts of a valid receipt, and its key. Of the receipt, only signed content is shown here. */
function receiptFacts(
  examination: Examination,
  payload: ReceiptPayload,
  { key, nameOf }: { key: VerificationKey | undefined; nameOf: NameOf },
): HTMLElement {
  const intent = openedIntent(examination)
  const name = nameOf(payload.approver)
  return facts(
    ['Decision', el('strong', {}, payload.decision === 'approved' ? 'Approved' : 'Rejected')],
    ['Decided', time(payload.ts)],
    ['Method', METHODS[payload.method]],
    [
      payload.sandbox ? 'In the receipt' : 'Approver',
      mono(payload.approver),
      ' ',
      ...(name === undefined || payload.sandbox
        ? [kind('a reference, not a name')]
        : [kind('this service knows it as '), callerText(name)]),
    ],
    fact('Acted for them', intent?.delegate, ' ', kind('a delegate')),
    ['Request', mono(payload.rid)],
    ['Receipt id', mono(payload.did)],
    ['Expires at', time(payload.exp)],
    fact('Service', intent?.audience),
    intent === undefined ? undefined : ['High impact', intent.highImpact ? 'Yes' : 'No'],
    ...statedFacts(examination),
    ['Hash of the action', mono(payload.action), ' ', kind('first 16 characters')],
    ['Nonce', mono(payload.nonce)],
    key && ['Signing key', mono(key.kid)],
    key && ['Key in use', ...keyPeriod(key)],
  )
}

type Fact = readonly [name: string, ...value: Child[]] | undefined

/** A field of the statement in its own words; undefined if it is missing. */
function fact(name: string, said: string | undefined, ...more: Child[]): Fact {
  return said === undefined ? undefined : [name, el('bdi', { class: 'mono' }, callerText(said)), ...more]
}

/** The fields of the statement since its version 2; the caller's own words are shown as such. */
function statedFacts({ result }: Examination): Fact[] {
  if (!result.valid || result.stated === undefined) return []
  const { requester, quorum, audience, reversibility, use_within_seconds, attachments = [] } = result.stated
  return [
    fact('Caller', `${requester.name} (${requester.key} of ${requester.account})`),
    ['Approvals needed', String(quorum)],
    fact('Meant for', audience),
    fact('Undoing it, says the caller', reversibility),
    fact(
      'Can be used',
      use_within_seconds === undefined ? undefined : `until ${use_within_seconds} s after approval`,
    ),
    ...attachments.map(({ name, sha256, opened }) =>
      fact(opened ? 'Attached' : 'Attached, not opened by the approver', `${name} (SHA-256 ${sha256})`),
    ),
  ]
}

function keyPeriod({ notBefore, notAfter, revokedAt }: VerificationKey): (HTMLElement | string)[] {
  return [
    'from ',
    moment(notBefore.toISOString()),
    ...(notAfter === undefined ? [', still in use'] : [' until ', moment(notAfter.toISOString())]),
    ...(revokedAt === undefined ? [] : ['; revoked ', moment(revokedAt.toISOString())]),
  ]
}

function time(seconds: number): HTMLElement {
  return moment(new Date(seconds * 1000).toISOString())
}

/** Names what is next to the receipt and not signed. The page shows none of it as the receipt's. */
function besideView(examinations: readonly Examination[]): HTMLElement | undefined {
  const names = unsignedWords(examinations.map(({ result }) => result))
  return names === undefined ? undefined : note('Not signed, and not checked: ', callerText(names), '.')
}

/** The checked bytes, as text; `believed` is false if the signature does not cover them. */
function rawView({ payload, signature, kid }: ReceiptInput, believed: boolean): HTMLElement {
  const text = new TextDecoder().decode(payload)
  const signed = toBase64(signature)
  const label = believed ? 'Signed text' : 'Text as received, not verified'
  return folded(
    'Raw payload and signature',
    div(
      'exact-body',
      exactText(label, callerText(text)),
      note(believed ? 'These are the signed bytes.' : `${label}.`),
      el('div', {}, copyButton(text, 'the payload')),
      facts(
        ['Signature', copyable(el('code', { class: 'mono' }, signed), signed, 'the signature')],
        kid === undefined ? undefined : ['Key id', mono(callerText(kid))],
      ),
    ),
  )
}

function card(title: string, ...body: Child[]): HTMLElement {
  const id = freshId('card')
  return el('section', { class: 'card', 'aria-labelledby': id }, el('h3', { id }, title), ...body)
}

/** A line and the checks for every signed vote; a line for every approval that a rejection left unsigned. */
function votesView({ votes, unsigned }: Report, nameOf: NameOf): HTMLElement | undefined {
  const count = votes.length + unsigned.length
  if (count === 0) return undefined
  return card(
    count === 1 ? 'One vote' : `${count} votes`,
    hint(unsigned.length > 0 ? ONE_OUTCOME : 'Each person’s vote is signed and was checked separately.'),
    el(
      'ol',
      { class: 'votes' },
      ...unsigned.map(unsignedView),
      ...votes.map((vote, index) => voteView(vote, unsigned.length + index + 1, nameOf)),
    ),
  )
}

const ONE_OUTCOME =
  'The rejection is signed and was checked. Approvals of a rejected request are never signed, so that none can be used as a permission; nothing proves them.'

/** An unsigned approval, not in the colour of an approval: it is not one. */
function unsignedView({ approver }: UnsignedVote): HTMLElement {
  return el(
    'li',
    { class: 'vote unsigned' },
    'An approval',
    ...(approver === undefined ? [] : [' by ', mono(approver)]),
    ', not signed: the request was rejected',
  )
}

function voteView(vote: Examination, place: number, nameOf: NameOf): HTMLElement {
  const { result } = vote
  return el(
    'li',
    { class: `vote ${result.valid && !result.unproven ? result.payload.decision : 'rejected'}` },
    ...headline(vote, nameOf),
    el('details', {}, el('summary', {}, `Checks of vote ${place}`), ...checkList(vote)),
  )
}

function headline(vote: Examination, nameOf: NameOf): (HTMLElement | string)[] {
  const { result } = vote
  if (!result.valid) return [el('strong', {}, 'Not valid'), ': ', result.message]
  const { payload } = result
  return [
    el('strong', {}, `${result.unproven ? 'Valid, content not proven' : 'Valid'}: ${payload.decision}`),
    ' by ',
    mono(whoActed(vote, payload, nameOf)),
    `, ${METHODS[payload.method].toLowerCase()}, `,
    time(payload.ts),
  ]
}

/** The order of the states: those that speak against the receipt come first. */
const FIRST: readonly CheckLine['state'][] = ['failed', 'dry-run', 'passed']

/** Every check that was made, with its result in words and in colour; the others folded into one line each kind. */
function checkList(examination: Examination): HTMLElement[] {
  const lines = checkLines(examination)
  const [unmade, absent] = [inState(lines, 'unmade'), inState(lines, 'absent')]
  const names = unmade.map(({ name }) => name).join(', ')
  return [
    linesView(FIRST.flatMap((state) => inState(lines, state))),
    ...left(unmade, 'not made: an earlier check failed', hint(`${names}.`)),
    ...left(
      absent,
      examination.input?.intent === undefined
        ? 'had nothing to check: the full answer, with its statement (intent), would prove the exact action and details'
        : 'had nothing to check: the full answer around the receipt would be compared, too',
      linesView(absent),
    ),
  ]
}

function linesView(lines: readonly Omit<CheckLine, 'check'>[]): HTMLElement {
  return el('ol', { class: 'checks' }, ...lines.map(checkView))
}

function inState(lines: readonly CheckLine[], wanted: CheckLine['state']): CheckLine[] {
  return lines.filter(({ state }) => state === wanted)
}

function left({ length }: readonly CheckLine[], words: string, body: HTMLElement): HTMLElement[] {
  const summary = el('summary', {}, `${length === 1 ? 'One check' : `${length} checks`} ${words}`)
  return length === 0 ? [] : [el('details', { class: 'checks-left' }, summary, body)]
}

function checkView({ state, name, sentence }: Omit<CheckLine, 'check'>): HTMLElement {
  return el(
    'li',
    { class: `check-line ${state}` },
    el('span', { class: 'check-state' }, CHECK_STATES[state]),
    ' ',
    el('div', {}, el('strong', {}, name), ' ', el('span', { class: 'check-words' }, sentence)),
  )
}

/** The form that compares an entered action and details with those of this receipt. */
function compareForm(receipt: ReceiptInput, keys: readonly VerificationKey[]): HTMLElement {
  const action = field({
    label: 'Action',
    name: 'compared-action',
    multiline: true,
    hint: 'The text that should have been decided on, letter by letter.',
    attributes: { rows: 2, autocomplete: 'off' },
  })
  const context = field({
    label: 'Details (context), as JSON',
    name: 'compared-context',
    multiline: true,
    hint: 'Optional. Spaces between the fields and the order of the fields do not matter.',
    attributes: { rows: 3, autocomplete: 'off' },
  })
  const answers = el('div', { class: 'compared', role: 'status' })
  const compare = async (): Promise<void> => {
    const said: Said[] = []
    if (action.input.value !== '') said.push(await compareAction(receipt, keys, action.input.value))
    if (context.input.value.trim() !== '') said.push(await compareContext(receipt, keys, context.input.value))
    if (said.length === 0) said.push(['info', 'Enter an action, or details, first.'])
    answers.replaceChildren(...said.map(([kind, sentence]) => notice(kind, sentence)))
  }
  return folded(
    'Compare with an action that you know',
    div(
      'exact-body',
      hint('Your input stays in this browser.'),
      form({}, compare, action.row, context.row, submitButton('Compare', 'plain'), answers),
    ),
  )
}
