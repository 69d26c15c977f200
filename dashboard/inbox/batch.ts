import type { Outcome } from '../../src/domain/receipt.ts'
import type { batchAnswer } from '../../src/http/api/batch-decisions.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { factor, type Review, requestOptions } from '../../webauthn-page/kit/api/contract.ts'
import { orNone, post, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { answer, anyObject, list, object, optional, text } from '../../webauthn-page/kit/api/shape.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { type Child, div, el, freshId, link } from '../../webauthn-page/kit/dom/element.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { usePasskey } from '../../webauthn-page/kit/passkey/ceremony.ts'
import { commentOf } from '../../webauthn-page/kit/request/ballot.ts'
import {
  type CheckedReview,
  checkChallenge,
  checkStatement,
  differs,
  loadReview,
  sha256Hex,
  shownIntent,
} from '../../webauthn-page/kit/request/checked-review.ts'
import { sendWord } from '../../webauthn-page/kit/request/lost-answer.ts'
import { WORD_OF } from '../../webauthn-page/kit/request/request-words.ts'
import { callerName, callerText, valuesIn, warningNames } from '../../webauthn-page/kit/show/caller-text.ts'
import { countdown } from './inbox-row.ts'
import { callersLegend, inOrder } from './pending.ts'
import { everythingSigned } from './reading.ts'

/**
 * Gets one fresh proof of presence for exactly the list that is shown, then posts it.
 * @param totp a code instead of the passkey
 * @throws MismatchError before the passkey is asked, CeremonyError, RequestFailure, UnknownOutcome
 */
export async function submitBatch(
  shown: ShownBatch,
  totp: string | undefined,
  slot: NoticeSlot,
): Promise<BatchItem[]> {
  const items = shown.reviews.map(({ id }) => ({ id, decision: shown.decision }))
  const said = await post('/approvals/decisions/options', { items }, batchOptionsShape)
  await checkBatch(said, shown)
  const proof = totp === undefined ? await passkeyProof(said.options, slot) : { totp }
  const body = { batch_id: said.batch_id, ...commentOf(shown), reason: shown.reason, ...proof }
  const named = `your ${WORD_OF[shown.decision]}s`
  return (await sendWord(named, slot, () => post('/approvals/decisions', body, batchAnswerShape))).data
}

/** Reads which of the requests hold a vote of this person, after the answer to the batch was lost. @throws RequestFailure */
export async function recordedOf(ids: readonly string[]): Promise<BatchItem[]> {
  const now = (await loadAll(ids)).map(({ review }) => review)
  return now.filter(({ votes }) => votes.some(({ mine }) => mine)).map(({ id, status }) => ({ id, status }))
}

async function passkeyProof(options: BatchOptions['options'], slot: NoticeSlot) {
  if (options === undefined)
    throw new RequestFailure(403, 'method_not_enrolled', 'None of your passkeys can confirm these requests.')
  return { passkey: await usePasskey(options, slot) }
}

/** Reviews that are loaded at the same time: more would only queue up in the browser. */
const TOGETHER = 6

/**
 * Loads the reviews of the requests and checks each against the hash that is signed; leaves out those that this person can
 * no longer decide.
 * @throws MismatchError, RequestFailure, ShapeError
 */
export async function loadBatch(ids: readonly string[]): Promise<CheckedReview[]> {
  const found = await loadAll(ids)
  const open = found.filter(({ review }) => review.status === 'pending' && review.may_decide)
  const order = inOrder(open.map(({ review }) => review))
  return order.flatMap((review) => open.filter((checked) => checked.review === review))
}

async function loadAll(ids: readonly string[]): Promise<CheckedReview[]> {
  const found: CheckedReview[] = []
  for (let from = 0; from < ids.length; from += TOGETHER) {
    const some = await Promise.all(ids.slice(from, from + TOGETHER).map((id) => orNone(loadReview(id))))
    found.push(...some.filter((checked) => checked !== undefined))
  }
  return found
}

/** The requests on the person's screen, and the decision whose button they pressed. */
interface ShownBatch {
  reviews: readonly Review[]
  decision: Outcome
  /** Reference of the person who acts. */
  actor: string
  audience: string
  /** The person's comment, which every caller reads. */
  comment: string
  /** Of a rejection. */
  reason: string | undefined
}

/**
 * Checks that the batch lists exactly the shown requests, in that order, each by the hash of an intent that states exactly
 * what is shown, and that the challenge is the hash of that batch (T16, T18). An item exchanged, left out or added between
 * showing and signing is caught here, before the passkey is asked.
 * @throws MismatchError naming the field
 */
async function checkBatch(said: BatchOptions, shown: ShownBatch): Promise<void> {
  const { reviews, decision, actor, audience } = shown
  if (said.intents.length !== reviews.length) throw differs('number of requests')
  const items = await Promise.all(
    reviews.map(async (review, at) => {
      const intent = said.intents[at] ?? {}
      checkStatement(intent, await shownIntent(review, decision, audience))
      return { rid: review.id, decision, intent_sha256: await sha256Hex(canonicalize(intent)) }
    }),
  )
  const { salt, items: listed, ...rest } = said.batch
  checkStatement({ salt, ...rest }, { typ: 'human-approval/batch/v1', aud: audience, approver: actor })
  if (canonicalize(listed ?? null) !== canonicalize(items)) throw differs('list of requests')
  if (said.options !== undefined) await checkChallenge(said.batch, said.options)
}

/** Batch and intents stay untyped here: `checkBatch` compares them field by field, unknown fields included. */
const batchOptionsShape = object({
  batch_id: text,
  batch: anyObject,
  intents: list(anyObject),
  methods: list(factor),
  options: optional(requestOptions),
})

type BatchOptions = ReturnType<typeof batchOptionsShape>

const batchAnswerShape = answer<Answer<typeof batchAnswer>>()

/** The outcome of one request: the vote is recorded, or a faster decision came first. */
export type BatchItem =
  | Pick<Review, 'id' | 'status'>
  | Extract<Answer<typeof batchAnswer>['data'][number], { error: unknown }>

/** Characters of the longest action that a folded line shows; a longer one, or one with a warning, opens the details. */
const READ_AT_ONCE = 160

/**
 * One request of the batch, in a line: folded it shows the whole action, opened everything that is signed. A request that
 * matters most, or that a line cannot show in full, is open from the start.
 */
function itemRow(checked: CheckedReview): { row: HTMLDetailsElement; tick(): void } {
  const { review, context, clock } = checked
  const time = countdown(review.expires_at, 'batch-left')
  time.tick(clock)
  // Counts as the count of unseen fields does: at any depth, and including the action.
  const details = Object.keys(context).length === 0 ? 'no details' : `${valuesIn(context) + 1} fields`
  const summary = el(
    'summary',
    {},
    review.high_impact && el('span', { class: 'badge high-impact' }, 'High impact'),
    el('span', { class: 'inbox-action' }, callerText(review.action)),
    el(
      'span',
      { class: 'batch-about' },
      callerName(review.requested_by.key_name),
      ' · ',
      callerText(review.requested_by.account_name),
      ` · ${details} · `,
      time.element,
    ),
  )
  const element = el('details', { class: `exact batch-item${review.high_impact ? ' to-read' : ''}` }, summary)
  // Fifty requests may hold megabytes: folded details are built when they are opened.
  element.addEventListener(
    'toggle',
    () => element.childElementCount === 1 && element.append(...everything(checked)),
  )
  const { action, high_impact, requested_by, on_behalf_of, attachments } = review
  const short = action.length <= READ_AT_ONCE && !action.includes('\n') && warningNames(action).length === 0
  const plain = short && attachments === undefined && (on_behalf_of ?? null) === null
  element.open = high_impact || !plain || requested_by.key_revoked === true
  if (element.open) element.append(...everything(checked))
  return { row: element, tick: () => time.tick(clock) }
}

function everything(checked: CheckedReview): HTMLElement[] {
  const parts = everythingSigned(checked, freshId('action'))
  // Landmarks need distinct names, and every request would add some: make them groups.
  for (const part of parts) if (part.matches('section')) part.setAttribute('role', 'group')
  return parts
}

/** The outcome of each request, in a line that links to it: requests without a recorded vote come first. */
export function resultRows(
  items: readonly CheckedReview[],
  decision: Outcome,
  results: readonly BatchItem[],
): HTMLElement[] {
  const rows: Record<'failed' | 'recorded', HTMLElement[]> = { failed: [], recorded: [] }
  for (const { review } of items) {
    const item = results.find(({ id }) => id === review.id)
    const state = item === undefined || 'error' in item ? 'failed' : 'recorded'
    const open = link(`/a/${encodeURIComponent(review.id)}`, '')
    open.append(el('span', { class: 'inbox-action' }, callerText(review.action)))
    const outcome = el('p', { class: `batch-outcome ${state}` }, ...outcomeOf(decision, item))
    rows[state].push(el('li', {}, outcome, open))
  }
  return [...rows.failed, ...rows.recorded]
}

function outcomeOf(decision: Outcome, item: BatchItem | undefined): Child[] {
  if (item === undefined) return [el('strong', {}, 'Unknown'), ': the service did not return the outcome.']
  if ('error' in item) return [el('strong', {}, 'Not recorded'), `: ${item.error.message}`]
  if (item.status === 'pending')
    return [
      el('strong', {}, `Your ${WORD_OF[decision]} is recorded`),
      '. Other approvers still have to decide.',
    ]
  return [el('strong', {}, item.status === 'approved' ? 'Approved' : 'Rejected'), '.']
}

/**
 * The requests that would be signed, with one button that opens or closes the details of all of them. `tick` updates the
 * times left.
 */
export function itemList(items: readonly CheckedReview[]): { element: HTMLElement; tick(): void } {
  const made = items.map((item) => itemRow(item))
  const rows = made.map(({ row }) => row)
  const allOpen = (): boolean => rows.every(({ open }) => open)
  const all = button('', 'quiet', () => {
    const open = !allOpen()
    for (const row of rows) row.open = open
    update()
  })
  const update = (): void => {
    all.textContent = allOpen() ? 'Close all details' : 'Open all details'
  }
  const list = el(
    'ol',
    { class: 'batch-list', 'aria-label': 'Signed content' },
    ...rows.map((row) => el('li', {}, row)),
  )
  // The `toggle` event of a `details` element does not bubble.
  list.addEventListener('toggle', update, { capture: true })
  update()
  return {
    element: div('item-list', rows.length > 1 && buttonRow(all), callersLegend(), list),
    tick: () => {
      for (const { tick } of made) tick()
    },
  }
}
