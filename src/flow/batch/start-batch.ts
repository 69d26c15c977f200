import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import type { DecisionIntent } from '../../domain/intent.ts'
import { type BatchIntent, buildBatchIntent } from '../../domain/intent.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { User } from '../../domain/user.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { intentDigest } from '../../signing/commitment.ts'
import { sha256Hex, toBase64Url } from '../../signing/encoding.ts'
import type { ShownItem } from '../../store/challenges.ts'
import type { FlowDeps } from '../deps.ts'
import { CHALLENGE_MS, challengeId } from '../people/ceremony.ts'
import { assertionOptions } from '../people/passkey-options.ts'
import type { SignedIn } from '../people/sessions.ts'
import { referencesOf, stateIntent } from '../state-intent.ts'
import { allReady, type ReadyItem, readItems } from './read-items.ts'

/** What a person wants to decide with one gesture; no id twice. */
export interface WantedItem {
  id: string
  decision: Outcome
}

/** What the person is asked to confirm. */
export interface StartedBatch {
  /** Names the batch when its proof is posted. */
  batch_id: string
  batch: BatchIntent
  /** In the order of the items. */
  intents: DecisionIntent[]
  /** The factors that do for every item. */
  methods: ('passkey' | 'totp')[]
  /** Where a passkey does. */
  options?: PublicKeyCredentialRequestOptionsJSON
}

/**
 * Starts the ceremony of a batch: states each request's intent and the one statement that lists their hashes, and keeps what
 * was shown for five minutes, for this person and this session. The challenge is unpredictable through the statement's
 * 32-byte salt (WebAuthn L3 §13.4.3).
 * @throws Refusal as `allReady` says
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
  const stated = allReady(read).map((ready, index) => state(deps, user, ready, wanted[index]))
  const batch = buildBatchIntent({
    audience: deps.settings.baseUrl,
    approverRef: user.approver,
    items: stated.map(({ shown }) => itemOf(shown)),
    salt: toBase64Url(deps.random.bytes(32)),
  })
  const challenge = intentDigest(batch)
  const batch_id = challengeId(challenge)
  await deps.challenges.put({
    id: batch_id,
    purpose: 'batch',
    user_id: user.id,
    session_id: session.id,
    intent_json: canonicalize(batch),
    shown: stated.map(({ shown }) => shown),
    expires_at: new Date(deps.clock.now().getTime() + CHALLENGE_MS),
  })
  const methods = commonMethods(stated.map(({ shown }) => shown))
  const started = { batch_id, batch, intents: stated.map(({ intent }) => intent), methods }
  if (!methods.includes('passkey')) return started
  return { ...started, options: await assertionOptions({ user, challenge, rpId: deps.party.rpId }) }
}

/** The factors that will do for all of them: one item that demands a passkey demands it of the whole batch. */
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
