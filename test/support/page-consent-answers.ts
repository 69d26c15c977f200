import { createHash, randomBytes } from 'node:crypto'
import { refusal } from '../../src/domain/errors.ts'
import { buildConsentIntent } from '../../src/domain/intent.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import type { Consent, WaitingConsent } from '../../webauthn-page/kit/api/contract.ts'
import { SAMPLE_USER } from './page-samples.ts'

/** What the server says about bootstraps; tests set it. */
export interface PageConsents {
  waiting: WaitingConsent[]
  one: Consent
  /** As the agent shows it. */
  code: string
  lie(answer: { intent: object; options: object }): unknown
}

/** Nobody asks on the account page; one request waits under its own address. */
export function freshConsents(): PageConsents {
  return { waiting: [], one: sampleConsent(), code: 'BDWPHQPK', lie: (answer) => answer }
}

/** A request that waits. */
export function sampleConsent(more: Partial<Consent> = {}): Consent {
  const now = Date.now()
  return {
    id: 'bst_7h3k9m2p5q8r1s4t6v0w2x5y8z',
    client_name: 'Release agent',
    requester: { address: '203.0.113.7', user_agent: 'curl/8.5.0' },
    scopes: ['approval:create', 'approval:read'],
    created_at: new Date(now - 60_000).toISOString(),
    expires_at: new Date(now + 540_000).toISOString(),
    status: 'pending',
    server_time: new Date(now).toISOString(),
    tries_left: 3,
    methods: ['passkey', 'totp'],
    consent: undefined,
    collect_by: undefined,
    collected: undefined,
    ...more,
  }
}

/** What the API says to `METHOD path`. */
export function consentAnswers(
  state: PageConsents,
  { body, origin }: { body: Record<string, unknown>; origin: string },
): Record<string, () => unknown> {
  const path = `/account/bootstrap/${state.one.id}`
  return {
    'GET /account/bootstrap': () => ({ data: state.waiting, next_cursor: null }),
    [`GET ${path}`]: () => ({ ...state.one, server_time: new Date().toISOString() }),
    [`POST ${path}/decision/options`]: () => {
      checkCode(state, body)
      return state.lie(options(state.one, state.code, body, origin))
    },
    [`POST ${path}/decision`]: () => {
      checkCode(state, body)
      if (body.totp !== '123456') throw refusal('totp_refused')
      const decision = body.decision === 'approved' ? ('approved' as const) : ('rejected' as const)
      const consent = { decision, method: 'totp' as const, at: new Date().toISOString() }
      state.one = { ...state.one, status: decision, consent }
      return { id: state.one.id, status: decision }
    },
  }
}

function checkCode(state: PageConsents, { decision, code }: Record<string, unknown>): void {
  if (state.one.status !== 'pending') throw refusal('not_pending', { status: state.one.status })
  if (decision !== 'approved' || code === state.code) return
  const tries_left = state.one.tries_left - 1
  state.one = { ...state.one, tries_left, status: tries_left === 0 ? 'rejected' : 'pending' }
  const detail = tries_left === 0 ? 'That was the third wrong code.' : `You have ${tries_left} more tries.`
  throw refusal('wrong_matching_code', { field: 'code', detail, status: state.one.status })
}

function options(one: Consent, code: string, body: Record<string, unknown>, origin: string) {
  const times = { created_at: new Date(one.created_at), expires_at: new Date(one.expires_at) }
  const intent = buildConsentIntent({
    audience: origin,
    bootstrap: { ...one, ...times, code },
    decision: body.decision === 'approved' ? 'approved' : 'rejected',
    approverRef: SAMPLE_USER.approver,
    salt: randomBytes(32).toString('base64url'),
  })
  const challenge = createHash('sha256').update(canonicalize(intent)).digest('base64url')
  const request = { rpId: 'localhost', userVerification: 'required', allowCredentials: [], timeout: 60_000 }
  return { intent, options: { ...request, challenge } }
}
