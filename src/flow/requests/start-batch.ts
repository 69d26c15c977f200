import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import { type Authenticators, narrower } from '../../domain/authenticator.ts'
import { type Decider, methodsFor, whoseVote, whyNot } from '../../domain/eligibility.ts'
import { type Refusal, type RefusalCode, refusal } from '../../domain/errors.ts'
import { isId } from '../../domain/identifier.ts'
import { type BatchIntent, buildBatchIntent, type DecisionIntent } from '../../domain/intent.ts'
import type { Outcome } from '../../domain/receipt.ts'
import { type User, usablePasskeys } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { ShownItem } from '../../store/requests/challenges.ts'
import type { FlowDeps } from '../deps.ts'
import { challengeId, stateChallenge } from '../people/ceremony.ts'
import { decidersFor } from '../people/delegates.ts'
import { assertionOptions } from '../people/register-passkey.ts'
import type { SignedIn } from '../people/sessions.ts'
import type { ReadyToDecide } from './prove-presence.ts'
import { settleRequest } from './settle-request.ts'
import { referencesOf, stateIntent } from './state-intent.ts'

/** A request that a person wants to decide with the batch; no id occurs twice. */
export interface WantedItem {
  id: string
  decision: Outcome
}

/** The batch that the person is asked to confirm. */
export interface StartedBatch {
  /** Identifies the batch when its proof is posted. */
  batch_id: string
  batch: BatchIntent
  /** In the order of the items. */
  intents: DecisionIntent[]
  /** The factors that every item accepts. */
  methods: ('passkey' | 'totp')[]
  /** Present when a passkey is accepted. */
  options?: PublicKeyCredentialRequestOptionsJSON
}

/**
 * Starts the ceremony of a batch: states each request's intent and one statement that lists their hashes, and keeps what was
 * shown for five minutes, bound to this person and session. The challenge is unpredictable through the statement's
 * 32-byte salt (WebAuthn L3 §13.4.3).
 * @throws Refusal of `allReady` and `batchRule`
 */
export async function startBatch(
  deps: FlowDeps,
  { session, user }: SignedIn,
  wanted: readonly WantedItem[],
): Promise<StartedBatch> {
  const read = await readItems(
    deps,
    user,
    wanted.map(({ id }) => id),
  )
  const items = allReady(read)
  const authenticators = batchRule(user, items)
  const stated = items.map((ready, index) => state(deps, user, ready, wanted[index]))
  const batch = buildBatchIntent({
    aud: deps.settings.baseUrl,
    approver: user.approver,
    items: stated.map(({ shown }) => itemOf(shown)),
    salt: toBase64Url(deps.random.bytes(32)),
  })
  const challenge = await stateChallenge(deps, batch, {
    purpose: 'batch',
    user_id: user.id,
    session_id: session.id,
    shown: stated.map(({ shown }) => shown),
  })
  const methods = commonMethods(stated.map(({ shown }) => shown))
  const started = {
    batch_id: challengeId(challenge),
    batch,
    intents: stated.map(({ intent }) => intent),
    methods,
  }
  if (!methods.includes('passkey')) return started
  return { ...started, options: await assertionOptions(deps, { user, challenge, authenticators }) }
}

/**
 * Returns the rule for passkeys that count for every item.
 * @throws Refusal `authenticator_refused` with the `ids` that have such a rule, when no passkey of the person satisfies all
 */
export function batchRule(user: User, items: readonly ReadyToDecide[]): Authenticators | undefined {
  const ruled = items.filter(({ request }) => request.requirement.authenticators !== undefined)
  const rule = ruled.map(({ request }) => request.requirement.authenticators).reduce(narrower, undefined)
  if (rule !== undefined && usablePasskeys(user, rule).length === 0)
    throw refusal('authenticator_refused', { ids: ruled.map(({ request }) => request.id) })
  return rule
}

/** Returns the factors that every item accepts: an item that demands a passkey demands it of the whole batch. */
function commonMethods(items: readonly Pick<ShownItem, 'methods'>[]): ('passkey' | 'totp')[] {
  return (['passkey', 'totp'] as const).filter((method) =>
    items.every(({ methods }) => methods.includes(method)),
  )
}

function state(
  deps: FlowDeps,
  user: User,
  { request, whose, methods }: ReadyItem,
  wanted: WantedItem | undefined,
): { intent: DecisionIntent; shown: ShownItem } {
  if (wanted?.id !== request.id) throw new Error('items and requests are out of step')
  const intent = stateIntent(deps, request, wanted.decision, referencesOf(whose, user))
  const shown = {
    request_id: request.id,
    decision: wanted.decision,
    intent_json: canonicalize(intent),
    whose: whose.user_id,
    votes: request.votes.map(({ decision_id }) => decision_id),
    methods,
  }
  return { intent, shown }
}

function itemOf({ request_id, decision, intent_json }: ShownItem): BatchIntent['items'][number] {
  return { rid: request_id, decision, intent_sha256: sha256Hex(intent_json) }
}

/** A request of a batch in its current state, ready for this person's decision. */
export interface ReadyItem extends ReadyToDecide {
  methods: ('passkey' | 'totp')[]
}

/** A request of a batch, ready or refused. */
export type ReadItem = { id: string } & ({ ready: ReadyItem } | { refused: Refusal })

/** Reads the current state of the requests in the order of the ids, with the checks of a single decision (`readyToDecide`). */
export async function readItems(deps: FlowDeps, person: User, ids: readonly string[]): Promise<ReadItem[]> {
  const found = await deps.requests.findMany(ids.filter((id) => isId('req', id)))
  const deciderOf = await decidersFor(deps, person, found)
  const byId = new Map(found.map((request) => [request.id, request]))
  const readOne = async (id: string): Promise<ReadItem> => {
    const request = byId.get(id)
    if (request === undefined) return { id, refused: refusal('not_found') }
    const decider = deciderOf(request)
    // Checked before the request is settled: a person without access must not even make it expire.
    const foreign = whyNot(request, decider)
    if (foreign?.code === 'not_found') return { id, refused: foreign }
    return { id, ...judge(await settleRequest(deps, request), decider) }
  }
  return Promise.all(ids.map(readOne))
}

function judge(
  request: ReadyToDecide['request'],
  decider: Decider,
): { ready: ReadyItem } | { refused: Refusal } {
  const refused = whyNot(request, decider)
  const whose = whoseVote(request, decider)
  if (refused !== undefined || whose === undefined) return { refused: refused ?? refusal('already_voted') }
  return { ready: { request, whose, methods: methodsFor(request, decider) } }
}

/**
 * Returns all items if every one is ready; otherwise throws the gravest refusal with the ids it applies to.
 * @throws Refusal `not_found`, `not_pending`, `sandbox_request`, `held_after_restore`, `already_voted`, `not_confirmed`, `passkey_required`,
 * `authenticator_refused`, each with `ids`
 */
function allReady(items: readonly ReadItem[]): ReadyItem[] {
  const refused = items.flatMap((item) => ('refused' in item ? [{ id: item.id, refused: item.refused }] : []))
  const [first] = refused
  if (first === undefined) return items.flatMap((item) => ('ready' in item ? [item.ready] : []))
  const code = GRAVITY.find((code) => refused.some((one) => one.refused.code === code))
  if (code === undefined) throw first.refused
  throw refusal(code, { ids: refused.filter((one) => one.refused.code === code).map(({ id }) => id) })
}

/** The order in which a single decision is checked. */
const GRAVITY = [
  'not_found',
  'not_pending',
  'sandbox_request',
  'held_after_restore',
  'already_voted',
  'not_confirmed',
  'passkey_required',
  'authenticator_refused',
] as const satisfies RefusalCode[]
