import type { Key, KeyPolicy } from '../../dashboard/keys/key-shapes.ts'
import type { Policy } from '../../dashboard/settings/settings-shapes.ts'
import { SCOPES } from '../../src/domain/api-key.ts'
import { type RefusalCode, refusal } from '../../src/domain/errors.ts'
import type { PageArea } from './page-area.ts'

/** What the server says about API keys; tests set it. */
export interface KeysArea extends PageArea {
  keys: Key[]
  policy: Policy
  /** Refuses every change, whatever comes with it. */
  refuse: { code: RefusalCode; details?: { field?: string; detail?: string } } | undefined
  /** Bodies of `POST` and `PATCH`, in order. */
  sent: Record<string, unknown>[]
}

/** A key that was used. */
export function sampleKey(changes: Partial<Key> = {}): Key {
  return {
    id: 'key_1',
    name: 'ops-agent-prod',
    key_prefix: 'sa_live_4f9Kq2',
    sandbox: false,
    scopes: ['approval:create', 'approval:read', 'approval:verify'],
    source_control: false,
    policy: null,
    created_at: '2026-10-02T08:10:00.000Z',
    last_used_at: '2026-11-20T11:00:00.000Z',
    revoked_at: null,
    ...changes,
  }
}

/** Key, account policy and secrets of an owner with two colleagues. */
export function keysArea(): KeysArea {
  const area: KeysArea = {
    keys: [],
    policy: freshPolicy(),
    refuse: undefined,
    sent: [],
    reset() {
      area.keys = [
        sampleKey(),
        sampleKey({
          id: 'key_2',
          name: 'try-out',
          key_prefix: 'sa_test_81bZx0',
          sandbox: true,
          last_used_at: null,
          revoked_at: '2026-10-05T08:10:00.000Z',
        }),
      ]
      area.policy = freshPolicy()
      area.refuse = undefined
      area.sent = []
    },
    routes: ({ body, signedIn }) => {
      const change = (work: () => unknown) => () => {
        if (!signedIn) throw refusal('not_signed_in')
        // The page asks first without a proof.
        if (area.refuse === undefined && lacksProof(body)) throw refusal('proof_required')
        area.sent.push(body)
        if (area.refuse !== undefined) throw refusal(area.refuse.code, area.refuse.details)
        return work()
      }
      const find = (id: string | undefined): Key => {
        const found = area.keys.find((key) => key.id === id && key.revoked_at === null)
        if (found === undefined) throw refusal('not_found')
        return found
      }
      return {
        'GET /account/api-keys': () => {
          if (!signedIn) throw refusal('not_signed_in')
          return { data: area.keys, next_cursor: null }
        },
        'POST /account/api-keys': change(() => create(area, body)),
        'PATCH /account/api-keys/:id': ({ id }) => change(() => patch(find(id), body))(),
        'DELETE /account/api-keys/:id': ({ id }) =>
          change(() => Object.assign(find(id), { revoked_at: new Date().toISOString() }) && { ok: true })(),
        'GET /account/policy': () => area.policy,
        'GET /account/webhook-secret': () => ({
          keys: area.keys
            .filter((key) => key.revoked_at === null)
            .map(({ id, name, key_prefix }) => ({
              id,
              name,
              key_prefix,
              webhook_signing_secret: secretOf(id),
            })),
        }),
      }
    },
  }
  return area
}

/** The secret the server tells for a key. */
export function secretOf(id: string): string {
  return `${id}-`
    .repeat(16)
    .replaceAll(/[^0-9a-f]/g, '0')
    .slice(0, 64)
}

/** Names of the people in `policy.approvers`. */
const COLLEAGUES = [
  { user_id: 'usr_ana', name: 'Ana Pereira', email: 'ana@example.com' },
  { user_id: 'usr_ben', name: 'Ben Okafor', email: 'ben@example.com' },
  { user_id: 'usr_cleo', name: 'Cleo Marsh', email: 'cleo@example.com' },
]

function freshPolicy(): Policy {
  const able = {
    approver: '0123456789abcdef',
    eligible: true,
    confirmed: true,
    has_passkey: true,
    has_totp: false,
  }
  return {
    approvers: COLLEAGUES.map((one) => ({ ...one, ...able })),
    quorum: 1,
    passkey_only: false,
    high_impact: false,
    confirmed_only: false,
    reminders: [],
    reachable: true,
  }
}

function create(area: KeysArea, body: Record<string, unknown>): object {
  const sandbox = body.sandbox === true
  const kind = sandbox ? 'test' : 'live'
  const key = sampleKey({
    id: `key_${area.keys.length + 1}`,
    name: String(body.name),
    key_prefix: `sa_${kind}_n3wK3y`,
    sandbox,
    scopes: SCOPES.filter((scope) => Array.isArray(body.scopes) && body.scopes.includes(scope)),
    source_control: body.source_control === true,
    last_used_at: null,
  })
  area.keys.push(key)
  return { raw_key: `sa_${kind}_${'n3wK3y'.repeat(8)}`, key }
}

/** Of changes, those of rules. */
function lacksProof(body: Record<string, unknown>): boolean {
  const rules = !('sandbox' in body) && ('policy' in body || 'source_control' in body)
  return rules && typeof body.proof !== 'object'
}

function patch(key: Key, body: Record<string, unknown>): object {
  if (Object(body.proof).totp !== undefined && Object(body.proof).totp !== '123456')
    throw refusal('totp_refused')
  if (typeof body.name === 'string') key.name = body.name
  if (typeof body.source_control === 'boolean') key.source_control = body.source_control
  if ('policy' in body) key.policy = body.policy === null ? null : policyIn(Object(body.policy))
  return key
}

function policyIn({ approvers, quorum, passkey_only, high_impact }: Record<string, unknown>): KeyPolicy {
  return {
    approvers: Array.isArray(approvers) ? approvers.map(String) : undefined,
    quorum: typeof quorum === 'number' ? quorum : undefined,
    passkey_only: passkey_only === true ? true : undefined,
    high_impact: high_impact === true ? true : undefined,
  }
}
