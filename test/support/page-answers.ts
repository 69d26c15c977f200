import { createHash, randomBytes } from 'node:crypto'
import type { Key } from '../../dashboard/keys/key-shapes.ts'
import type { AccountInvitation, AccountView, Recovery } from '../../dashboard/shell/account-view.ts'
import { refusal } from '../../src/domain/errors.ts'
import { given } from '../../src/domain/given.ts'
import { buildIntent, type DecisionIntent } from '../../src/domain/intent.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import type { similarAnswer } from '../../src/http/api/similar.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import type {
  Factors,
  Invitation,
  PendingRequest,
  Proof,
  Review,
  User,
} from '../../webauthn-page/kit/api/contract.ts'
import { type PageArea, type PageCall, routeIn } from './page-area.ts'
import { chatAnswers, freshChat, type PageChat } from './page-chat-answers.ts'
import { consentAnswers, freshConsents, type PageConsents } from './page-consent-answers.ts'
import {
  SAMPLE_FACTORS,
  SAMPLE_KEYS,
  SAMPLE_SESSIONS,
  SAMPLE_USER,
  samplePending,
  sampleReview,
} from './page-samples.ts'

/** What the answers of options calls look like; tests may change one to let the server lie. */
export interface DecisionOptions {
  intent: DecisionIntent
  options: {
    challenge: string
    rpId: string
    userVerification: string
    allowCredentials: unknown[]
    timeout: number
  }
}

/** What the server says; tests set it. */
export interface PageState {
  signedIn: boolean
  /** Who that is, also after signing in. */
  user: User
  /** Where that person may look, the first one first. */
  accounts: AccountView[]
  invitations: AccountInvitation[]
  recovery: Recovery | undefined
  review: Review | undefined
  pending: PendingRequest[]
  precedents?: Answer<typeof similarAnswer>['precedents']
  proof: Proof
  /** Whether `GET /me/pending/events` is there. */
  events: boolean
  factors: Factors
  keys: Key[]
  invitation: Omit<Invitation, 'account_id' | 'enrolled'>
  stepUp: ('passkey' | 'totp')[]
  chat: PageChat
  consents: PageConsents
  lie(answer: DecisionOptions): unknown
}

const REASONS = ['Not enough information', 'Not now \u202e<b>']

/** A signed-in owner with every factor and one pending request. */
export function freshState(): PageState {
  return {
    signedIn: true,
    user: SAMPLE_USER,
    accounts: [{ id: SAMPLE_USER.account_id, name: SAMPLE_USER.name, role: 'owner', own: true }],
    invitations: [],
    recovery: undefined,
    review: sampleReview(),
    pending: [samplePending()],
    proof: { log: 'waiting', witnesses: [], awaited: [], bundle: '{}' },
    events: false,
    factors: structuredClone(SAMPLE_FACTORS),
    keys: structuredClone(SAMPLE_KEYS),
    invitation: { kind: 'setup', email: null, name: null, expires_at: '2100-01-01T00:00:00.000Z' },
    stepUp: ['passkey', 'totp'],
    chat: freshChat(),
    consents: freshConsents(),
    lie: (answer) => answer,
  }
}

const PUBLIC = /^POST \/(?:enrollment|session|chat-links)\//
const CODES = Array.from({ length: 10 }, (_, index) => `A${index}B2C-D3E${index}F`)
const QR =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h3v3H0zM5 0h3v3H5zM0 5h3v3H0zM4 4h2v1H4z"/></svg>'
const SECRET = { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', otpauth_url: 'otpauth://totp/x', qr_svg: QR }

function pageFrom<Row>(rows: readonly Row[], at: number): { data: Row[]; next_cursor: string | null } {
  return { data: rows.slice(at, at + 100), next_cursor: at + 100 < rows.length ? String(at + 100) : null }
}

/** What the API says to a call: what one of the areas says, or these answers. @throws Refusal */
export function answer(asked: PageCall, state: PageState, areas: readonly PageArea[]): unknown {
  const { call, body, origin } = asked
  const special = routeIn(areas, asked)
  if (special !== undefined) return special()
  if (call === 'GET /session' && !state.signedIn && asked.query.has('optional')) return null
  if (!PUBLIC.test(call) && !state.signedIn) throw refusal('not_signed_in')
  const id = state.review?.id
  const session = { token: 't', token_type: 'Bearer', expires_in: 900, user: state.user }
  const creation = {
    options: {
      challenge: requestOptions().challenge,
      rp: { id: 'localhost', name: 'Countersign' },
      user: { id: 'dXNy', name: 'x', displayName: 'x' },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      timeout: 60_000,
    },
  }
  const routes: Record<string, () => unknown> = {
    'GET /session': () => ({
      user: state.user,
      expires_at: '2100-01-01T00:00:00.000Z',
      accounts: state.accounts,
      invitations: state.invitations,
      ...(state.recovery && { recovery: state.recovery }),
    }),
    'DELETE /session': () => {
      state.signedIn = false
      return { ok: true }
    },
    'POST /session/passkey/options': () => ({ options: requestOptions() }),
    'POST /session/totp': () => signIn(body.code === '123456', state, session),
    'POST /session/backup-code': () => signIn(body.code === CODES[0], state, session),
    'POST /enrollment/lookup': () => {
      if (body.token !== 'good-token') throw refusal('enrollment_invalid')
      return state.invitation
    },
    'POST /enrollment/passkey/options': () => creation,
    'POST /enrollment/totp/options': () => SECRET,
    'POST /enrollment/totp': () => ({ ...session, ...codes(body) }),
    'GET /me/pending': () => pageFrom(state.pending, Number(asked.query.get('cursor'))),
    'GET /me/factors': () => state.factors,
    'GET /me/notifications': () => ({ volumes: null, quiet_hours: null, mail: null }),
    'GET /me/next-steps': () => ({ hidden: true, second_passkey: true, told: true }),
    'GET /me/push': () => ({ public_key: 'B'.padEnd(87, 'A'), devices: [] }),
    'GET /me/sessions': () => ({ data: SAMPLE_SESSIONS, next_cursor: null }),
    'GET /me/delegate/candidates': () => ({ data: [], next_cursor: null }),
    'POST /me/step-up/options': () => ({
      methods: state.stepUp,
      ...(state.stepUp.includes('passkey') ? { options: requestOptions() } : {}),
    }),
    'POST /me/passkeys/options': () => creation,
    'POST /me/totp/options': () => SECRET,
    'POST /me/totp': () => codes(body),
    'POST /me/backup-codes': () => ({ backup_codes: CODES }),
    'GET /account/api-keys': () => ({ data: state.keys, next_cursor: null }),
    'GET /account/members': () => ({ data: [], next_cursor: null }),
    'GET /account/requests': () => ({ data: [], next_cursor: null, names: {} }),
    'POST /account/api-keys': () => ({
      raw_key: `sa_live_${'k3Y'.repeat(16)}`,
      key: { ...SAMPLE_KEYS[0], name: String(body.name), sandbox: body.sandbox === true },
    }),
    // A newer service may say more than this page knows of; the page must not mind.
    [`GET /approvals/${id}/similar`]: () => ({
      precedents: state.precedents,
      data: [],
      reject_reasons: REASONS,
      names: {},
    }),
    [`GET /approvals/${id}/review`]: () => ({
      ...state.review,
      server_time: new Date().toISOString(),
      unheard_of: { intent: 'x' },
    }),
    [`GET /approvals/${id}/proof`]: () => state.proof,
    [`POST /approvals/${id}/decision/options`]: () => state.lie(decisionOptions(state, body, origin)),
    [`POST /approvals/${id}/decision`]: () => decide(state, body),
    ...consentAnswers(state.consents, { body, origin }),
    ...chatAnswers(state.chat, { body, signedIn: state.signedIn }),
  }
  const route = routes[call]
  if (route === undefined) throw refusal('not_found')
  return route()
}

function signIn(right: boolean, state: PageState, session: object): object {
  if (!right) throw refusal('sign_in_failed')
  state.signedIn = true
  return session
}

function codes(body: Record<string, unknown>): { backup_codes: string[] } {
  if (body.code !== '123456') throw refusal('totp_refused')
  return { backup_codes: CODES }
}

function requestOptions(): DecisionOptions['options'] {
  return {
    challenge: randomBytes(32).toString('base64url'),
    rpId: 'localhost',
    userVerification: 'required',
    allowCredentials: [],
    timeout: 60_000,
  }
}

function decisionOptions(
  { review }: PageState,
  body: Record<string, unknown>,
  origin: string,
): DecisionOptions {
  if (review === undefined) throw refusal('not_found')
  const intent = buildIntent({
    aud: origin,
    rid: review.id,
    decision: body.decision === 'approved' ? 'approved' : 'rejected',
    approver: review.approver ?? '',
    action: review.action,
    context_sha256: review.context_sha256,
    request_created_at: review.created_at,
    exp: Math.floor(Date.parse(review.expires_at) / 1000),
    high_impact: review.high_impact,
    ...statedBy(review),
    salt: randomBytes(32).toString('base64url'),
  })
  return { intent, options: { ...requestOptions(), challenge: challengeOf(intent) } }
}

/** Who asked, and who may decide, as the service states it of what it shows. */
export function statedBy(review: Review) {
  const {
    requester,
    requested_by,
    policy,
    quorum,
    audience,
    reversibility,
    use_within_seconds,
    attachments,
  } = review
  const rules = Object.entries({ ...policy, quorum: quorum.needed }).filter(([, rule]) => rule !== undefined)
  const shown = canonicalize(Object.fromEntries(rules))
  return {
    requester: { key: requester.key, name: requested_by.key_name, account: requester.account },
    policy_sha256: createHash('sha256').update(shown).digest('hex'),
    quorum: quorum.needed,
    ...given({ audience, reversibility, use_within_seconds }),
    ...(attachments && { attachments: JSON.parse(JSON.stringify(attachments)) }),
  }
}

/** Base64url SHA-256 of the intent, as the contract demands. */
export function challengeOf(intent: object): string {
  return createHash('sha256').update(canonicalize(intent)).digest('base64url')
}

function decide(state: PageState, body: Record<string, unknown>): unknown {
  const { review } = state
  if (review === undefined || review.status !== 'pending') throw refusal('not_pending')
  if (body.totp !== '123456') throw refusal('totp_refused')
  const decision = body.decision === 'approved' ? ('approved' as const) : ('rejected' as const)
  const comment = typeof body.comment === 'string' ? body.comment : null
  const at = new Date().toISOString()
  const vote = { approver: SAMPLE_USER.approver, decision, method: 'totp' as const, at }
  state.review = {
    ...review,
    status: decision,
    may_decide: false,
    votes: [{ ...vote, delegate: undefined, mine: true, comment }],
    decision: {
      id: 'dec_7K2M9Q4R8S1T6W5X0YZABCDEFG',
      decision,
      method: 'totp',
      decided_at: at,
      comment,
      approver: SAMPLE_USER.approver,
      delegate: undefined,
      intent: '{}',
      votes: undefined,
      signed_payload: Buffer.from(JSON.stringify({ decision, rid: review.id, v: 1 })).toString('base64url'),
      signature: randomBytes(64).toString('base64'),
      public_key_id: randomBytes(32).toString('base64url'),
    },
  }
  return { id: review.id, status: decision, vote }
}
