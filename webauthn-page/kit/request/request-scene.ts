import { REVERSIBILITY_WORDS, useWithinWords } from '../../../src/domain/request.ts'
import type { Review } from '../api/contract.ts'
import { copyable } from '../dom/button.ts'
import { type Child, div, el, facts, folded, hint, kind, mono, p, panel } from '../dom/element.ts'
import { moment } from '../dom/moment.ts'
import { notice } from '../dom/notice.ts'
import { callerBox } from '../show/caller-box.ts'
import { callerName, callerText } from '../show/caller-text.ts'
import { attachmentList } from './attachments.ts'
import type { CheckedReview } from './checked-review.ts'
import { audience, headingOf, revokedKeyNote } from './request-words.ts'

/** The id of the element that holds the action, which the buttons decide on. */
export const ACTION_ID = 'requested-action'

/**
 * The whole page of one request, with `panel` beside the caller's text. While the decision is open, the text comes before
 * the buttons, on a phone's screen and for keyboard and screen reader; once it is settled, the outcome comes first.
 */
export function requestScene(
  { review, context }: CheckedReview,
  panel: HTMLElement,
  message?: Child,
): HTMLElement {
  const open = review.status === 'pending' && review.may_decide
  const text = div(
    'request-text',
    callerBox({
      action: review.action,
      context,
      contextJson: review.context_json,
      keyName: review.requested_by.key_name,
      actionId: ACTION_ID,
      attachments: attachmentList(review),
    }),
    evidence(review),
  )
  return el(
    'div',
    { class: open ? 'request open' : 'request settled' },
    message,
    requestHead(review),
    div('request-columns', ...(open ? [text, panel] : [panel, text])),
  )
}

/** State, badges and author of a request: the service's own words, outside the caller's frame (T44). */
function requestHead(review: Review): HTMLElement {
  const state = review.cancelled === true ? 'withdrawn' : review.status
  return div(
    'request-head',
    el('p', { class: `state ${state}` }, 'Approval request'),
    div('request-title', briefOnPhones(headingOf(review)), badges(review)),
    el(
      'p',
      { class: 'asker' },
      'Requested by ',
      callerName(review.requested_by.key_name),
      ' of ',
      callerName(review.requested_by.account_name),
    ),
    review.reversibility !== undefined && p(REVERSIBILITY_WORDS[review.reversibility], ', says the caller.'),
    review.use_within_seconds !== undefined && p(useWithinWords(review.use_within_seconds), '.'),
    revokedKeyNote(review.requested_by),
    review.same_address === true && sameAddressNote(),
  )
}

/** Shortens the heading on phones, where the high-impact badge shares its line; `aria-label` keeps its accessible name whole. */
function briefOnPhones(heading: string): HTMLElement {
  const [question, rest] = heading.split(' this action?')
  if (rest === undefined) return el('h1', {}, heading)
  return el(
    'h1',
    { 'aria-label': heading },
    question,
    el('span', { class: 'not-on-phones' }, ' this action'),
    '?',
  )
}

/** Warns of a request from the person's own address: an agent that controls this very browser would look like this. */
function sameAddressNote(): HTMLElement {
  return notice(
    'warning',
    'this request came from your current network address. Decide only if you know why, and only yourself.',
  )
}

function badges(review: Review): HTMLElement | undefined {
  const items: Child[] = []
  if (review.high_impact) items.push(el('li', { class: 'badge high-impact' }, 'High impact'))
  if (review.sandbox === true) items.push(el('li', { class: 'badge sandbox' }, 'Sandbox: a dry run'))
  return items.length === 0
    ? undefined
    : el('ul', { class: 'badges', 'aria-label': 'Marked by Countersign' }, ...items)
}

/** Checks whether the window has room for two columns. Without, what is not needed for the decision starts folded. */
function isWide(): boolean {
  return matchMedia('(min-width: 64rem)').matches
}

/** Hashes and references, which a person compares only when in doubt. */
function evidence(review: Review): HTMLElement {
  const fold = folded('Evidence')
  fold.classList.add('evidence')
  fold.open = isWide()
  const fill = (): void => fold.append(signedFacts(review))
  // If folded, it can wait until the page is drawn: a phone needs 0.1 s to format the first date.
  if (fold.open) fill()
  else requestAnimationFrame(() => setTimeout(fill))
  return fold
}

/** The facts that the service itself adds to the signed statement. */
export function signedFacts(review: Review): HTMLElement {
  const lede =
    review.status === 'expired'
      ? 'It would have been signed together with the caller’s text. Nothing was signed.'
      : 'Signed together with the caller’s whole text.'
  return panel(
    'card',
    'Stated by Countersign',
    hint(lede),
    facts(
      ['Service', mono(audience())],
      ['Request', mono(review.id)],
      [
        'Details (SHA-256)',
        copyable(
          el(
            'div',
            {},
            el('code', { class: 'mono' }, review.context_sha256),
            el('p', { class: 'kind' }, 'computed in this browser from the exact text above'),
          ),
          review.context_sha256,
          'the SHA-256 of the details',
        ),
      ],
      ['Created', moment(review.created_at)],
      ['Expires', moment(review.expires_at)],
      ['High impact', review.high_impact ? 'Yes' : 'No'],
      ...callersWord(review),
      ...whoDecides(review),
      ...signerRows(review),
    ),
  )
}

/** The caller's claims about the request as a whole; the service cannot know whether they are true. */
function callersWord({ reversibility, audience: meant }: Review): ([string, ...Child[]] | undefined)[] {
  return [
    reversibility === undefined
      ? undefined
      : ['Reversibility', REVERSIBILITY_WORDS[reversibility], ' ', kind('says the caller')],
    meant === undefined
      ? undefined
      : ['Meant for', el('bdi', { class: 'mono' }, callerText(meant)), ' ', kind('says the caller')],
  ]
}

/** Who asked and who may decide, as the statement names them. */
function whoDecides({ requester, policy, quorum }: Review): [string, ...Child[]][] {
  const { approvers, passkey_only, confirmed_only, authenticators } = policy
  const rules = [
    `${quorum.needed} must approve`,
    ...(passkey_only ? ['each with a passkey'] : []),
    ...(confirmed_only === true ? ['only people whom the operator confirmed'] : []),
  ]
  return [
    ['Caller', mono(requester.key), ' of ', mono(requester.account)],
    ['Approvers', ...inLine(approvers), ' ', kind(rules.join(', '))],
    ...(authenticators === undefined ? [] : [authenticatorsFact(authenticators)]),
  ]
}

/** The row that says which passkeys count. */
function authenticatorsFact(rule: 'attested' | string[]): [string, ...Child[]] {
  const proven = kind('only authenticators of a verified model')
  return ['Passkeys', ...(rule === 'attested' ? [] : [...inLine(rule), ' ']), proven]
}

function inLine(texts: readonly string[]): Child[] {
  return texts.flatMap((one, index) => [index === 0 ? '' : ', ', mono(one)])
}

/** Rows that say in whose name the person signs, or has signed. */
function signerRows({ approver, on_behalf_of: other, votes }: Review): [string, ...Child[]][] {
  if (other !== undefined && other !== null)
    return [
      ['You decide for', callerText(other.name), ' ', mono(other.approver)],
      ['Your reference', mono(other.delegate), ' ', kind('is signed as the delegate')],
    ]
  const stoodIn = votes.find(({ mine, delegate }) => mine && delegate !== undefined)
  if (stoodIn !== undefined) return [['You decided for', mono(stoodIn.approver)]]
  if (approver === null)
    return [['Your part', 'You may read this request, but you are not one of its approvers.']]
  return [['Your reference', mono(approver), ' ', kind('stands for you in receipts')]]
}
