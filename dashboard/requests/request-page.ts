import { cutText } from '../../src/domain/cut-text.ts'
import { visibleString } from '../../src/domain/text.ts'
import type { Decision, Review } from '../../webauthn-page/kit/api/contract.ts'
import { get, orNone, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow, downloadButton } from '../../webauthn-page/kit/dom/button.ts'
import {
  announce,
  type Child,
  div,
  el,
  hint,
  lede,
  link,
  mono,
  p,
} from '../../webauthn-page/kit/dom/element.ts'
import { ago, moment, timeLeft } from '../../webauthn-page/kit/dom/moment.ts'
import { notice, noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { plainScene } from '../../webauthn-page/kit/dom/stage.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { type CheckedReview, loadReview, stateOf } from '../../webauthn-page/kit/request/checked-review.ts'
import { loadSimilar, precedentsView } from '../../webauthn-page/kit/request/precedents.ts'
import { receiptFile } from '../../webauthn-page/kit/request/receipt-file.ts'
import { quorumView, requestPanel } from '../../webauthn-page/kit/request/request-panel.ts'
import { requestScene } from '../../webauthn-page/kit/request/request-scene.ts'
import { byName, headingOf, type WritePerson } from '../../webauthn-page/kit/request/request-words.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import {
  type Attempt,
  attemptList,
  CARD_STATES,
  PLATFORMS,
  RECIPIENTS,
  stateTag,
} from '../parts/delivery-words.ts'
import { readPages } from '../parts/read-pages.ts'
import { entry, tag } from '../parts/rows.ts'
import { section } from '../parts/section.ts'
import { moreRows } from '../parts/show-more.ts'
import { isOwned } from '../shell/account-view.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { type Card, type Delivery, type RequestLog, requestLogShape } from './request-shapes.ts'
import { similarSection } from './similar-requests.ts'
import { timelineSection } from './timeline.ts'
import { withdrawButton } from './withdraw.ts'

const POLL_MS = 5000

/** The most UTF-16 units of the action in the window's title. */
const IN_TITLE = 60

/** `/requests/:id`: one request in full. It is decided on the hosted page, which loads nothing but the decision. */
export async function requestPage(context: PageContext): Promise<PageView> {
  const id = context.params.id ?? ''
  if (!/^req_\w{26}$/.test(id)) return unknownRequest(context)
  try {
    const [checked, log] = await Promise.all([loadReview(id), ownLog(id, context)])
    const person = byName({ ...checked.review.names, [context.user.approver]: context.user.name })
    const scene = sceneOf(checked, context, person)
    if (log !== undefined && isOwned(context.account)) addWithdrawal(scene, checked.review, context)
    const { decision } = checked.review
    const below = scene.querySelector('.request-text')
    // The history is for everyone, so it comes before the hashes, which are for those who doubt.
    below?.querySelector('.evidence')?.before(...(await aboutThePast(checked.review, log, context, person)))
    if (decision !== undefined) below?.append(recordSection(checked.review, decision))
    if (log !== undefined) below?.append(deliverySection(id, log, context, person))
    const title = `${cutText(visibleString(checked.review.action), IN_TITLE).text} · ${headingOf(checked.review)}`
    return { title, scene, wide: true }
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 404) return unknownRequest(context)
    throw error
  }
}

/** The earlier requests and the timeline; a part that cannot be read is left out. */
async function aboutThePast(
  review: Review,
  log: RequestLog | undefined,
  context: PageContext,
  person: WritePerson,
): Promise<HTMLElement[]> {
  const [similar, timeline] = await Promise.all([
    loadSimilar(review.id),
    allSent(review.id, log)
      .then((sent) => timelineSection(review, sent, context, person))
      .catch(() => undefined),
  ])
  const known = review.status === 'pending' && similar !== undefined ? precedentsView(similar) : undefined
  return [known, similarSection(similar), timeline].filter((part) => part !== undefined)
}

/** Reads all deliveries for the timeline; the list begins with the first page. @throws RequestFailure, ShapeError */
async function allSent(id: string, log: RequestLog | undefined): Promise<RequestLog | undefined> {
  return log && { ...log, ...(await readPages(log, (cursor) => loadLog(id, cursor))) }
}

/** Loads deliveries; undefined for another account's request that names this person. @throws RequestFailure, ShapeError */
async function ownLog(id: string, { account }: PageContext): Promise<RequestLog | undefined> {
  return account.own ? orNone(loadLog(id)) : undefined
}

function sceneOf(checked: CheckedReview, context: PageContext, person: WritePerson): HTMLElement {
  const { review } = checked
  let shown = quorumView(review, person)
  const live = [shown]
  if (review.status === 'pending') {
    const clock = timeLeft(checked, () => {})
    context.signal.addEventListener('abort', clock.stop)
    live.unshift(clock.element)
  }
  const panel = requestPanel(review, live, decideLink, person)
  const scene = requestScene(checked, panel)
  // The panel only links to the page of the decision, so on a phone it comes first, decided or not.
  scene.querySelector('.request-columns')?.prepend(panel)
  scene.prepend(el('p', { class: 'way-back' }, link(context.href('/requests'), 'All requests')))
  if (review.status === 'pending')
    follow(scene, review, context, (now) => {
      const votes = quorumView(now, person)
      shown.replaceWith(votes)
      shown = votes
    })
  return scene
}

/** Adds the button to withdraw. Only for the owner's own requests: others open here too, if they name the person. */
function addWithdrawal(scene: HTMLElement, { id, status }: Review, context: PageContext): void {
  if (status !== 'pending') return
  const slot = noticeSlot()
  const withdraw = withdrawButton('Withdraw the request', () => [id], slot, context)
  scene.querySelector('.panel')?.append(slot.element, buttonRow(withdraw))
}

/** Keeps the page of a pending request up to date: new votes replace the old ones, any other change reopens the page. */
function follow(
  scene: HTMLElement,
  first: Review,
  { signal, done }: PageContext,
  voted: (now: Review) => void,
): void {
  let before = first
  whileVisible(scene, POLL_MS, async () => {
    const now = await look(first.id)
    if (signal.aborted) return false
    if (now === 'later') return true
    if (now === 'failed' || stateOf(now) !== stateOf(before)) {
      await done()
      return false
    }
    if (now.votes.length !== before.votes.length) {
      voted(now)
      announce(`${now.quorum.approved} of ${now.quorum.needed} approvals`)
    }
    before = now
    return true
  })
}

/** Reads the newest state; `later` if the service did not answer, `failed` if the page must say what is wrong. */
async function look(id: string): Promise<Review | 'later' | 'failed'> {
  try {
    return (await loadReview(id)).review
  } catch (error) {
    return error instanceof RequestFailure && ![401, 404].includes(error.status) ? 'later' : 'failed'
  }
}

function decideLink({ id }: Review): HTMLElement {
  return div(
    'section-body',
    p('Your decision is pending. You confirm on the next page.'),
    link(`/a/${id}`, 'Approve or reject', { class: 'button primary' }),
  )
}

function unknownRequest(context: PageContext): PageView {
  const scene = plainScene(
    'Request not available',
    lede('It does not exist, or you do not have access to it. Check the address.'),
    p(link(context.href('/requests'), 'All requests')),
  )
  return { title: 'Not found', scene }
}

/**
 * The request and its decision in one file, in the form of `GET /approvals/:id`: the text, the signed intent and every vote,
 * so that `/verify` and `countersign verify` check not only that a decision was signed but also what was decided.
 */
function recordSection(review: Review, decision: Decision): HTMLElement {
  const part = section(
    'For your records',
    'The request, the decision and every vote in one file. The verify page and the command line check all of it. It contains the details of the request, so share it with care.',
  )
  part.body.append(
    buttonRow(
      downloadButton(
        'Download the whole record',
        `${review.id}.json`,
        'application/json',
        `${JSON.stringify(receiptFile(review, decision), null, 2)}\n`,
      ),
    ),
    hint(
      'To check it later: ',
      el(
        'code',
        {},
        `npx countersign verify ${review.id}.json --jwks ${location.origin}/.well-known/jwks.json`,
      ),
    ),
  )
  return part.element
}

/** Loads the deliveries of a request; only the account's owner may see them. @throws RequestFailure, ShapeError */
function loadLog(id: string, cursor?: string): Promise<RequestLog> {
  const page = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
  return get(`/approvals/${id}/deliveries${page}`, requestLogShape)
}

/** Who was notified of the request, and with what result. */
function deliverySection(
  id: string,
  log: RequestLog,
  { href }: PageContext,
  person: WritePerson,
): HTMLElement {
  const part = section(
    'Notifications',
    'The callback of the request, your webhooks, messages in chat, notifications and mails. Of a receiver’s answer only the kind is kept.',
  )
  part.body.append(...log.quiet.map((quiet) => quietNote(quiet, person)))
  if (log.data.length + log.cards.length + log.notifications.length === 0) {
    part.body.append(p('Nothing was sent: no callback, no webhook, no chat, no notification, no mail.'))
    return part.element
  }
  const list = el('ul', { class: 'entries', 'aria-label': 'Deliveries' })
  const more = moreRows(list, log, {
    row: (delivery) => deliveryRow(delivery, href),
    load: (cursor) => loadLog(id, cursor),
    called: ['delivery', 'deliveries'],
  })
  part.body.append(log.data.length > 0 ? list : '', more)
  if (log.cards.length > 0) {
    const cards = log.cards.map((card) => cardRow(card, person))
    part.body.append(el('ul', { class: 'entries', 'aria-label': 'Messages in chat' }, ...cards))
  }
  if (log.notifications.length > 0) {
    const told = log.notifications.map((one) => notificationRow(one, person))
    part.body.append(el('ul', { class: 'entries', 'aria-label': 'Notifications and mails' }, ...told))
  }
  return part.element
}

/** Explains why this approver got no message: the key is quiet towards them; the request is in their inbox. */
function quietNote(
  { approver, until }: { approver: string; until: string },
  person: WritePerson,
): HTMLElement {
  return notice(
    'info',
    'Approver ',
    person(approver),
    ' was sent no message and no notification: they had just rejected three requests of this key, so it is muted for them until ',
    moment(until),
    '. The request is in their inbox.',
  )
}

function deliveryRow(delivery: Delivery, href: (path: string) => string): HTMLElement {
  const { target, webhook_id, event_type, url, state, attempts, next_attempt_at } = delivery
  const title: Child[] =
    target === 'webhook' && webhook_id !== undefined
      ? [link(href(`/integrations/webhooks/${encodeURIComponent(webhook_id)}`), 'Webhook')]
      : ['Callback']
  return row(
    [...title, event_type !== 'callback' && el('code', { class: 'mono' }, event_type)],
    stateTag(state),
    [mono(callerText(url))],
    next_attempt_at,
    attempts,
  )
}

function cardRow(
  { platform, recipient, approver, state, next_attempt_at, attempts }: Card,
  person: WritePerson,
): HTMLElement {
  const whom: Child[] = approver === undefined ? [RECIPIENTS[recipient]] : ['Approver ', person(approver)]
  return row(
    [PLATFORMS[platform]],
    tag(CARD_STATES[state], state === 'unreachable' || state === 'not_sent' ? 'warn' : ''),
    whom,
    next_attempt_at,
    attempts,
  )
}

const TOLD = { request: '', reminder: ', a reminder', outcome: ', the outcome' }
const TOLD_STATES = {
  due: 'Waiting',
  sending: 'Being sent',
  sent: 'Sent',
  dead: 'Given up',
  dropped: 'Not needed any more',
}

function notificationRow(
  { channel, about, approver, state, next_attempt_at, attempts }: RequestLog['notifications'][number],
  person: WritePerson,
): HTMLElement {
  const what = channel === 'mail' ? 'E-mail' : 'Browser'
  const whom: Child[] = approver === undefined ? ['A person who is told'] : ['Approver ', person(approver)]
  return row(
    [`${what}${TOLD[about]}`],
    tag(TOLD_STATES[state], state === 'dead' ? 'warn' : ''),
    whom,
    next_attempt_at,
    attempts,
  )
}

function row(
  title: readonly Child[],
  state: HTMLElement,
  to: readonly Child[],
  next: string | null,
  attempts: readonly Attempt[],
): HTMLElement {
  return entry(
    [...title, state],
    [
      hint(...to),
      next !== null && hint('Next attempt ', ago(next)),
      attempts.length > 0 && attemptList(attempts),
    ],
  )
}
