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
  const body = { batch_id: said.batch_id, ...commentOf(shown), ...proof }
  const named = `your ${WORD_OF[shown.decision]}s`
  return (await sendWord(named, slot, () => post('/approvals/decisions', body, batchAnswerShape))).data
}

/** What the service has recorded of this person, where its answer to the batch was lost. @throws RequestFailure */
export async function recordedOf(ids: readonly string[]): Promise<BatchItem[]> {
  const now = (await loadAll(ids)).map(({ review }) => review)
  return now.filter(({ votes }) => votes.some(({ mine }) => mine)).map(({ id, status }) => ({ id, status }))
}

async function passkeyProof(options: BatchOptions['options'], slot: NoticeSlot) {
  if (options === undefined)
    throw new RequestFailure(403, 'method_not_enrolled', 'No passkey of yours can confirm these requests.')
  return { passkey: await usePasskey(options, slot) }
}

/** At once: more would only queue up in the browser. */
const TOGETHER = 6

/**
 * Reads what the requests are about and checks each against the hash that is signed; those that this person cannot decide
 * any more are left out.
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

/** What the person has on the screen and the button they pressed. */
interface ShownBatch {
  reviews: readonly Review[]
  decision: Outcome
  /** Reference of the person who acts. */
  actor: string
  audience: string
  /** What they say to every caller. */
  comment: string
}

/**
 * Refuses to go on unless the batch lists exactly what is shown, in that order, by the hash of an intent that says exactly
 * what is shown, and the challenge is the hash of that batch (T16, T18): one item exchanged, left out or added between
 * showing and signing is caught here, before the passkey.
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

/** What came of one request: decided, or lost to a decision that was faster. */
export type BatchItem =
  | Pick<Review, 'id' | 'status'>
  | Extract<Answer<typeof batchAnswer>['data'][number], { error: unknown }>

/** An action longer than this, or with a warning, is read in the details, which then stand open. */
const READ_AT_ONCE = 160

/**
 * One request that would be signed, in a line: its whole action while it is folded, and in its details all that is signed.
 * What matters most, and what a line cannot say whole, is open from the start.
 */
function itemRow(checked: CheckedReview): { row: HTMLDetailsElement; tick(): void } {
  const { review, context, clock } = checked
  const time = countdown(review.expires_at, 'batch-left')
  time.tick(clock)
  // As they are counted that were not on the screen: at any depth, and the action is one of them.
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
  // Fifty requests at once may hold megabytes: what is folded is made when it is opened.
  element.addEventListener(
    'toggle',
    () => element.childElementCount === 1 && element.append(...everything(checked)),
  )
  const { action, high_impact, requested_by, on_behalf_of } = review
  const short = action.length <= READ_AT_ONCE && !action.includes('\n') && warningNames(action).length === 0
  element.open = high_impact || !short || requested_by.key_revoked === true || (on_behalf_of ?? null) !== null
  if (element.open) element.append(...everything(checked))
  return { row: element, tick: () => time.tick(clock) }
}

function everything(checked: CheckedReview): HTMLElement[] {
  const parts = everythingSigned(checked, freshId('action'))
  // Landmarks must be told apart by their names; of these there are as many as requests.
  for (const part of parts) if (part.matches('section')) part.setAttribute('role', 'group')
  return parts
}

/** What came of each request, in a line that leads to it: first those that are left to do. */
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
  if (item === undefined) return [el('strong', {}, 'Unknown'), ': the service did not say what came of it.']
  if ('error' in item) return [el('strong', {}, 'Not recorded'), `: ${item.error.message}`]
  if (item.status === 'pending')
    return [el('strong', {}, `Your ${WORD_OF[decision]} is recorded`), '. It waits for others.']
  return [el('strong', {}, item.status === 'approved' ? 'Approved' : 'Rejected'), '.']
}

/**
 * What would be signed, with one button that opens the details of every request, or closes them. `tick` moves the times that
 * are left.
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
    { class: 'batch-list', 'aria-label': 'What is signed' },
    ...rows.map((row) => el('li', {}, row)),
  )
  // The event of a `details` does not bubble.
  list.addEventListener('toggle', update, { capture: true })
  update()
  return {
    element: div('item-list', rows.length > 1 && buttonRow(all), callersLegend(), list),
    tick: () => {
      for (const { tick } of made) tick()
    },
  }
}
