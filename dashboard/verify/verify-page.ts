import { isId } from '../../src/domain/identifier.ts'
import { visibleString } from '../../src/domain/text.ts'
import { JwksError } from '../../src/signing/jwks.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { TrustPolicy } from '../../src/signing/log/policy.ts'
import type { ExpectedPayload } from '../../src/signing/receipt-checks.ts'
import { examineJwks } from '../../src/signing/verify-web.ts'
import { splitVotes } from '../../src/signing/votes.ts'
import { proofShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, RequestFailure, silence } from '../../webauthn-page/kit/api/request.ts'
import { isRecord, list, nullable, object, text } from '../../webauthn-page/kit/api/shape.ts'
import { submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Draft, keptDraft } from '../../webauthn-page/kit/dom/draft.ts'
import { announce, div, el, folded, lede } from '../../webauthn-page/kit/dom/element.ts'
import { type Field, field, form } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { isOwned } from '../shell/account-view.ts'
import type { PageContext, PageView, PublicVisit } from '../shell/page-entry.ts'
import { checkBundle, isBundle } from './check-bundle.ts'
import { checkReceipts, type Report } from './check-receipts.ts'
import { readSubject, type Subject } from './read-subject.ts'
import { noneView, resultView } from './result-view.ts'
import { type NameOf, nameless } from './verdict.ts'
import { type DroppedContent, dropZone, keyPin, policyPin } from './verify-forms.ts'

/**
 * `/verify`: anyone may check a receipt here, in their own browser. `/verify#req_…` checks that request at once; a browser
 * does not send the part behind the `#` with the address.
 */
export async function verifyPage({ signal, member }: PublicVisit): Promise<PageView> {
  const draft = keptDraft('verify', signal)
  const reader = member?.user.approver ?? ''
  // A draft from before signing in belongs to the person who signs in; a signed-in person's draft is not for the next one.
  if (draft.author !== '' && draft.author !== reader) draft.text = ''
  draft.author = reader
  const bench = new Bench(signal, draft, member && (await loadNames(member)))
  bench.followAddress()
  return { title: 'Verify a receipt', scene: bench.scene, wide: true }
}

type People = readonly { approver: string | null; name: string }[]

const membersShape = object({ data: list(object({ approver: nullable(text), name: text })) })
const accountShape = object({ owner: object({ approver: text, name: text }) })

/**
 * Loads the names of the people of the shown account, by the reference that receipts hold. Only the owner may list the
 * members; others know the owner and themselves.
 */
async function loadNames(context: PageContext): Promise<NameOf> {
  const others = await peopleOf(context).catch((): People => [])
  const names = new Map([...others, context.user].map(({ approver, name }) => [approver, name]))
  return (reference) => names.get(reference)
}

/** @throws RequestFailure, ShapeError */
async function peopleOf({ account, ofAccount }: PageContext): Promise<People> {
  if (isOwned(account)) return (await get('/account/members', membersShape)).data
  return [(await get(ofAccount('/account'), accountShape)).owner]
}

/** The page: the form for a receipt and, above it as soon as there is one, the result. */
class Bench {
  readonly scene: HTMLElement
  readonly #text: Field = field({
    label: 'Receipt, link or id',
    name: 'subject',
    multiline: true,
    hint: 'A receipt or an answer with one, as JSON; or a request’s link or id (req_… or dec_…).',
    attributes: { rows: 5, autocomplete: 'off', autocapitalize: 'off' },
  })
  readonly #entry: HTMLDetailsElement
  readonly #result = div('verify-place')
  /** Shown in place of the form while the receipt that the address names is being checked. */
  readonly #checking = el('p', { class: 'loading' }, 'Checking…')
  readonly #card = div('card verify-entry')
  readonly #slot = noticeSlot()
  readonly #signal: AbortSignal
  readonly #draft: Draft
  /** The names that a signed-in reader knows; undefined when signed out. */
  readonly #nameOf: NameOf | undefined
  #trust: PinnedTrust = {}
  #last: DroppedContent | undefined
  #turn = 0

  constructor(signal: AbortSignal, draft: Draft, nameOf: NameOf | undefined) {
    this.#signal = signal
    this.#draft = draft
    this.#text.input.value = draft.text
    this.#text.input.addEventListener('input', () => (draft.text = this.#text.input.value))
    this.#entry = this.#receiptEntry()
    this.#nameOf = nameOf
    this.scene = div(
      'verify',
      el('h1', {}, 'Verify a receipt'),
      lede(
        'Was it really approved? The check runs in this browser. Receipts that you drop or paste stay in it; only an id is sent to the service, to fetch its receipt.',
      ),
      this.#result,
      this.#card,
    )
    this.#card.append(this.#entry, this.#slot.element, ...this.#trustForms())
  }

  /**
   * Checks the receipt that the address names, now and when it changes; without one, checks the kept draft on the way back
   * to this page. Only an entry of the history that was left before has a state.
   */
  followAddress(): void {
    const look = (): boolean => {
      const id = location.hash.slice(1)
      if (!isId('req', id) && !isId('dec', id)) return false
      this.#text.input.value = id
      this.#result.replaceChildren(this.#checking)
      this.#card.hidden = true
      void this.#check({ text: id })
      return true
    }
    addEventListener('hashchange', look, { signal: this.#signal })
    if (look() || history.state === null) return
    if (readSubject(this.#draft.text, location.origin).kind === 'problem') return
    void this.#check({ text: this.#draft.text }, { focus: false })
  }

  /** The form for a receipt, folded after a check: then the verdict matters. */
  #receiptEntry(): HTMLDetailsElement {
    const check = (): Promise<void> => this.#check({ text: this.#text.input.value })
    const zone = dropZone(
      this.#signal,
      (dropped) => this.#check(dropped),
      (sentence) => this.#refuse(sentence),
    )
    const entry = folded(
      'Add a receipt',
      div('exact-body', zone, form({}, check, this.#text.row, submitButton('Check'))),
    )
    entry.open = true
    return entry
  }

  #trustForms(): HTMLElement[] {
    const trust = async (changed: Partial<PinnedTrust>): Promise<void> => {
      this.#trust = { ...this.#trust, ...changed }
      if (this.#last !== undefined) await this.#check(this.#last, { focus: false })
    }
    return [keyPin((keys) => trust({ keys })), policyPin((policy) => trust({ policy }))]
  }

  async #check(dropped: DroppedContent, { focus = true } = {}): Promise<void> {
    this.#turn += 1
    const turn = this.#turn
    this.#slot.clear()
    this.#text.setError()
    announce('Checking')
    const trust = this.#trust
    const whole = this.#nameOf === undefined ? undefined : bundleOf
    const subject = readSubject(dropped.text, location.origin)
    const outcome = await verifySubject(subject, trust, whole).finally(() => {
      this.#checking.remove()
      this.#card.hidden = false
    })
    // Another check may have begun meanwhile.
    if (turn !== this.#turn || this.#signal.aborted) return
    if (outcome.kind === 'problem') {
      this.#refuse(outcome.sentence)
      // Mark the field only if the typed text is wrong: it is not the cause of any other problem.
      if (subject.kind === 'problem' && dropped.name === undefined && focus) {
        this.#text.input.setAttribute('aria-invalid', 'true')
        this.#text.input.focus({ preventScroll: true })
      }
      return
    }
    if (dropped !== this.#last) this.#entry.open = false
    this.#last = dropped
    this.#draft.text = dropped.text
    this.#show(outcome, dropped.name, trust.keys !== undefined, focus)
  }

  #another(): void {
    this.#entry.open = true
    this.#entry.scrollIntoView({ block: 'start' })
    this.#text.input.focus({ preventScroll: true })
    this.#text.input.select()
  }

  /** Shows why nothing was checked, and removes the result of any earlier check. */
  #refuse(sentence: string): void {
    this.#last = undefined
    this.#entry.open = true
    this.#result.replaceChildren()
    announce('')
    this.#slot.show('error', sentence)
  }

  #show(
    outcome: Exclude<Outcome, { kind: 'problem' }>,
    name: string | undefined,
    pinned: boolean,
    focus: boolean,
  ): void {
    const another = (): void => this.#another()
    const view =
      outcome.kind === 'none'
        ? noneView(outcome.heading, outcome.sentence, another)
        : resultView(outcome.report, {
            keys: outcome.keys,
            pinned,
            name,
            nameOf: this.#nameOf ?? nameless,
            another,
          })
    this.#result.replaceChildren(view)
    const heading = view.querySelector('h2')
    announce(heading?.textContent ?? '')
    if (focus) heading?.focus()
  }
}

/** What the visitor trusts, instead of what the service says. */
interface PinnedTrust {
  keys?: readonly VerificationKey[] | undefined
  policy?: TrustPolicy | undefined
}

const NO_BUNDLE =
  'The receipt is genuine, but nothing here says that the log has it. Ask for the file countersign.receipt.json, which also has its place in the log.'

/** The outcome of a check. */
export type Outcome =
  | { kind: 'report'; report: Report; keys: readonly VerificationKey[] }
  /** The service has no receipt for the id. */
  | { kind: 'none'; heading: string; sentence: string }
  /** Nothing could be checked. */
  | { kind: 'problem'; sentence: string }

/**
 * Checks the visitor's input. Only an id is ever sent to the service; a receipt is checked with the published keys, or
 * without any call if `trust` has keys. `whole` returns the bundle of a request, if the reader may see it.
 */
export async function verifySubject(
  subject: Subject,
  trust: PinnedTrust,
  whole: typeof bundleOf = async () => undefined,
): Promise<Outcome> {
  if (subject.kind === 'problem') return subject
  // Browsers offer their cryptography only to pages of a secure context.
  if (!isSecureContext) return { kind: 'problem', sentence: 'This only works over https (or on localhost).' }
  try {
    if (subject.kind === 'receipt') return await checked(subject.json, trust, undefined, subject.text)
    const answer = await askService(subject.id)
    if (answer.kind === 'none') return answer
    const { caution, erased_at, ...receipt } = answer.json
    const text = await whole(receipt)
    const expected = { [subject.of === 'request' ? 'rid' : 'did']: subject.id }
    const outcome = await checked(text ? Object(JSON.parse(text)) : receipt, trust, expected, text)
    return withAnswered(outcome, caution, erased_at)
  } catch (error) {
    if (error instanceof RequestFailure) return { kind: 'problem', sentence: error.message }
    if (error instanceof JwksError)
      return {
        kind: 'problem',
        sentence: `The service publishes a key set that cannot be trusted: ${error.message}.`,
      }
    throw error
  }
}

/** The service was asked: its word replaces what the receipt alone leaves open after a restore, or once its text was erased. */
function withAnswered(outcome: Outcome, caution: unknown, erasedAt: unknown): Outcome {
  if (outcome.kind !== 'report' || !outcome.report.main.result.valid) return outcome
  const { restoreCaution: _alone, ...result } = outcome.report.main.result
  const said = typeof caution === 'string' ? { restoreCaution: visibleString(caution) } : {}
  const main = { ...outcome.report.main, result: { ...result, ...said } }
  const erased = typeof erasedAt === 'string' ? { erasedAt: visibleString(erasedAt) } : {}
  return { ...outcome, report: { ...outcome.report, main, ...erased } }
}

async function checked(
  json: object,
  { keys: pinned, policy }: PinnedTrust,
  expected?: ExpectedPayload,
  text = '',
): Promise<Outcome> {
  const keys = pinned ?? (await fetchKeys())
  const now = new Date()
  const report = isBundle(json)
    ? await checkBundle(text, keys, { now, expected, policy })
    : await checkReceipts(splitVotes(json), keys, { now, expected })
  const unmet = policy === undefined || report.bundle !== undefined ? {} : { unmet: NO_BUNDLE }
  return { kind: 'report', report: { ...report, ...unmet }, keys }
}

const TIMEOUT_MS = 20_000

/** Fetches public data without credentials; undefined if no answer comes. */
function fetchOpen(path: string, cache: RequestCache): Promise<Response | undefined> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return fetch(path, { credentials: 'omit', cache, redirect: 'error', signal }).catch(() => undefined)
}

/** The service's answer to an id: a receipt to check, or its unproven word that there is none. */
type ServiceAnswer = { kind: 'receipt'; json: Record<string, unknown> } | Extract<Outcome, { kind: 'none' }>

/** Fetches the receipt of a request or decision by its id. Nothing in the answer is trusted. @throws RequestFailure */
async function askService(id: string): Promise<ServiceAnswer> {
  const response = await fetchOpen(`/api/v1/approvals/${encodeURIComponent(id)}/verify`, 'no-store')
  if (response === undefined) throw silence()
  const answer: unknown = await response.json().catch(() => undefined)
  if (isRecord(answer) && answer.valid === true && response.ok) return { kind: 'receipt', json: answer }
  if (isRecord(answer) && answer.valid === false) return without(answer)
  throw new RequestFailure(response.status, 'refused', refusalOf(response.status))
}

/** Loads the bundle, if the signed-in person may read the request: it also proves the text. */
async function bundleOf(receipt: { payload?: unknown }): Promise<string | undefined> {
  const { rid } = Object(receipt.payload)
  const path = `/approvals/${encodeURIComponent(String(rid))}/proof`
  return (await get(path, proofShape).catch(() => undefined))?.bundle
}

function refusalOf(status: number): string {
  return status === 429
    ? 'Too many verifications from your address. Wait a minute and try again.'
    : `The service answered with status ${status}. Try again in a moment.`
}

/** The view's words for an id without a receipt. The status is only the service's word: nothing signed backs it. */
function without({ status, message }: Record<string, unknown>): ServiceAnswer {
  const known = typeof status === 'string' ? status : 'unknown'
  const heading = HEADINGS[known] ?? 'Not valid: the service does not confirm this receipt'
  const said = typeof message === 'string' ? message : ''
  return { kind: 'none', heading, sentence: said }
}

const HEADINGS: Readonly<Record<string, string>> = {
  unknown: 'Request not found',
  pending: 'Not decided yet',
  expired: 'Never decided',
}

/**
 * Fetches the currently published keys of this service: an earlier copy could miss a revocation. Nothing of a receipt is
 * sent along.
 * @throws RequestFailure; JwksError for a set that cannot be trusted
 */
async function fetchKeys(): Promise<VerificationKey[]> {
  const response = await fetchOpen('/.well-known/jwks.json', 'no-cache')
  if (response?.ok !== true)
    throw new RequestFailure(
      response?.status ?? 0,
      'no_keys',
      'The keys of this service could not be fetched, so nothing was checked. Try again, or use a saved key set.',
    )
  return examineJwks(await response.json().catch(() => undefined))
}
