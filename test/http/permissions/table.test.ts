import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, send } from '../../support/caller.ts'
import { ACTORS, type Actor, buildPlace, type Place } from '../../support/permission-place.ts'

/**
 * `yes`: it is done, or shown. `own`: it is done to, or shown of, the caller's own account or key, and nothing of this one.
 * Else the refusal.
 */
type Cell = 'yes' | 'own' | readonly [status: number, error: string]

interface Row {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  json?: object
  /** Of an answer that is a yes; 200 unless named. */
  status?: number
  /** What stands in an answer that is about this account, and in no other. */
  shows?: (place: Place) => string
  cells: Record<Actor, Cell>
}

const GONE = [404, 'not_found'] as const
const NO_SESSION = [401, 'not_signed_in'] as const
const NO_KEY = [401, 'invalid or missing API key'] as const
/** The member has made a key of their own above. */
const HAS_A_KEY = [409, 'recovery_refused'] as const
const PROVE = [403, 'proof_required'] as const

/** What keys, the internal token and nobody get where only people may. */
const PEOPLE_ONLY = {
  nobody: NO_SESSION,
  'internal token': NO_SESSION,
  'another API key': NO_SESSION,
  'API key': NO_SESSION,
} as const

const ANYBODY = {
  nobody: 'yes',
  'API key': 'yes',
  'another API key': 'yes',
  'internal token': 'yes',
} as const

/** A cell for each kind of person, in the order of the table. */
function people(owner: Cell, named: Cell, other: Cell, auditor: Cell, stranger: Cell): Row['cells'] {
  return {
    ...PEOPLE_ONLY,
    owner,
    'approver, named': named,
    'approver, not named': other,
    auditor,
    stranger,
  }
}

/** No one but the key that asked; `internal` and `another` for those. */
function keyOnly(internal: Cell = GONE, another: Cell = GONE): Row['cells'] {
  return {
    ...people(NO_KEY, NO_KEY, NO_KEY, NO_KEY, NO_KEY),
    nobody: NO_KEY,
    'API key': 'yes',
    'internal token': internal,
    'another API key': another,
  }
}

const ownerOnly = (owner: Cell = 'yes') => people(owner, GONE, GONE, GONE, GONE)
const eachTheirOwn = (owner: Cell = 'yes', other: Cell = 'own') => people(owner, other, other, other, other)

let place: Place
beforeAll(async () => {
  place = await buildPlace()
})
afterAll(() => place.service.close())

/** Asks as everybody, the owner last: what only they may is then still to be done. */
async function holds(row: Row): Promise<void> {
  // A list names the request after a `#`, which is not sent.
  const id = /:pending/.test(`${row.path}${JSON.stringify(row.json)}`) ? await place.ask() : ''
  const fill = (text: string) =>
    text
      .replaceAll(':pending', id)
      .replaceAll(/:(account|key|spareKey|webhook|delivery|invited|consent|approved)\b/g, (_, name) =>
        String(Reflect.get(place, `${name}Id`)),
      )
      .replaceAll(':named', place.people.named.userId)
  const json = row.json === undefined ? undefined : JSON.parse(fill(JSON.stringify(row.json)))
  const found: Record<string, unknown> = {}
  const shown = row.shows?.(place) ?? id
  for (const actor of ACTORS) {
    const { token, headers } = place.as(actor)
    const answer = await send(place.service, fill(row.path), {
      method: row.method,
      ...(token === undefined ? {} : { token }),
      ...(headers === undefined ? {} : { headers }),
      ...(json === undefined ? {} : { json }),
    })
    found[actor] = cellOf(answer, row.status ?? 200, shown)
  }
  expect(found).toEqual(row.cells)
}

function cellOf(answer: Answer, status: number, shown: string): Cell {
  if (answer.status !== status) return [answer.status, String(answer.body.error)]
  return shown === '' || answer.text.includes(shown) ? 'yes' : 'own'
}

const titled = (rows: readonly Row[]) => rows.map((row) => [`${row.method} ${row.path}`, row] as const)

describe('decide a request that names them: owner and approver, no one else', () => {
  const decided = '/api/v1/approvals/:pending/decision'
  const cells = people('yes', 'yes', GONE, GONE, GONE)
  it.each(
    titled([
      { method: 'POST', path: `${decided}/options`, json: { decision: 'approved' }, shows: () => '', cells },
      { method: 'POST', path: `${decided}/options`, json: { decision: 'rejected' }, shows: () => '', cells },
      {
        method: 'POST',
        path: decided,
        json: { decision: 'approved', totp: '123456' },
        cells: people([403, 'method_not_enrolled'], [403, 'method_not_enrolled'], GONE, GONE, GONE),
      },
      {
        method: 'POST',
        path: '/api/v1/approvals/decisions/options',
        json: { items: [{ id: ':pending', decision: 'approved' }] },
        cells,
      },
    ]),
  )('%s', (_title, row) => holds(row))
})

describe("create, read, remind, wait, cancel, consume: the key's own requests; the internal token reads the account's", () => {
  const request = '/api/v1/approvals/:pending'
  it.each(
    titled([
      {
        method: 'POST',
        path: '/api/v1/approvals/request',
        json: { action: 'Deploy' },
        status: 201,
        cells: keyOnly('yes', 'yes'),
      },
      { method: 'GET', path: request, cells: keyOnly('yes') },
      { method: 'GET', path: '/api/v1/approvals?limit=1#:pending', cells: keyOnly('own', 'own') },
      {
        method: 'POST',
        path: `${request}/remind`,
        cells: { ...keyOnly('yes'), 'API key': [429, 'remind_rate_limited'] },
      },
      { method: 'GET', path: `${request}/wait?timeout=1`, cells: keyOnly('yes') },
      { method: 'POST', path: `${request}/cancel`, cells: keyOnly() },
      { method: 'GET', path: '/api/v1/approvals/:approved/events', cells: keyOnly('yes') },
      { method: 'GET', path: '/api/v1/approvals/:approved/receipt', cells: keyOnly('yes') },
      {
        method: 'POST',
        path: '/api/v1/approvals/:approved/token',
        cells: { ...keyOnly(), 'API key': [409, 'token_needs_audience'] },
      },
      { method: 'POST', path: '/api/v1/approvals/:approved/consume', cells: keyOnly() },
      {
        method: 'GET',
        path: '/api/v1/approvals/:approved/verify',
        cells: { ...people('yes', 'yes', 'yes', 'yes', 'yes'), ...ANYBODY },
      },
    ]),
  )('%s', (_title, row) => holds(row))
})

describe('see all requests, audit log, export: owner and auditor; an approver what names them', () => {
  const account = '?account=:account'
  const approved = (at: Place) => at.approvedId
  const cells = people('yes', 'yes', 'own', 'yes', GONE)
  const wholeOnly = people('yes', 'own', 'own', 'yes', GONE)
  it('is asked once the trail has what happened', async () => {
    const { browser } = place.people.owner
    for (const about of [
      `subject=${place.approvedId}&type=approval.approved`,
      `subject=${place.keyId}&type=key.created`,
    ]) {
      const path = `/api/v1/account/audit?${about}`
      await expect.poll(async () => (await browser.get(path)).body.data.length).toBe(1)
    }
  })
  it.each(
    titled([
      {
        method: 'GET',
        path: `/api/v1/account${account}`,
        shows: (at) => at.accountId,
        cells: people('yes', 'yes', 'yes', 'yes', GONE),
      },
      {
        method: 'GET',
        path: `/api/v1/account/overview${account}`,
        shows: (at) => at.keyId,
        cells: people('yes', GONE, GONE, 'yes', GONE),
      },
      { method: 'GET', path: `/api/v1/account/requests${account}`, shows: approved, cells },
      {
        method: 'GET',
        path: `/api/v1/account/requests/export${account}&format=csv`,
        shows: approved,
        cells,
      },
      { method: 'GET', path: `/api/v1/account/audit${account}&subject=:approved`, shows: approved, cells },
      {
        method: 'GET',
        path: `/api/v1/account/audit${account}&type=key.created`,
        shows: (at) => at.keyId,
        cells: wholeOnly,
      },
      {
        method: 'GET',
        path: `/api/v1/account/audit/export${account}&format=ndjson&type=approval.approved`,
        shows: approved,
        cells,
      },
      {
        method: 'GET',
        path: `/api/v1/account/audit/export${account}&format=csv&type=key.created`,
        shows: (at) => at.keyId,
        cells: wholeOnly,
      },
      {
        method: 'GET',
        path: '/api/v1/approvals/:approved/review',
        shows: approved,
        cells: people('yes', 'yes', GONE, 'yes', GONE),
      },
      {
        method: 'GET',
        path: '/api/v1/approvals/:approved/proof',
        cells: people('yes', 'yes', GONE, 'yes', GONE),
      },
      {
        method: 'GET',
        path: '/api/v1/approvals/:approved/similar',
        cells: people('yes', 'yes', GONE, 'yes', GONE),
      },
      {
        method: 'GET',
        path: '/api/v1/me/pending?limit=100#:pending',
        cells: people('yes', 'yes', 'own', 'own', 'own'),
      },
    ]),
  )('%s', (_title, row) => holds(row))
})

describe('keys, webhooks, policy, members, channels: the owner', () => {
  const base = '/api/v1/account'
  const key = (at: Place) => at.keyId
  const none = () => ''
  const has = [409, 'own_account_exists'] as const
  const made = { status: 201, shows: none, cells: eachTheirOwn('yes', 'yes') }
  it.each(
    titled([
      { method: 'POST', path: base, json: { name: 'x' }, cells: people(has, has, has, has, has) },
      { method: 'GET', path: `${base}/api-keys`, shows: key, cells: eachTheirOwn() },
      { method: 'POST', path: `${base}/api-keys`, json: { name: 'made' }, ...made },
      {
        method: 'PATCH',
        path: `${base}/api-keys/:key`,
        json: { name: 'bot' },
        shows: key,
        cells: ownerOnly(),
      },
      { method: 'PATCH', path: `${base}/api-keys/:key`, json: { policy: null }, cells: ownerOnly(PROVE) },
      { method: 'DELETE', path: `${base}/api-keys/:spareKey`, cells: ownerOnly() },
      {
        method: 'POST',
        path: `${base}/requests/withdraw`,
        json: { ids: [':pending'] },
        cells: eachTheirOwn(),
      },
      { method: 'GET', path: `${base}/webhooks`, shows: (at) => at.webhookId, cells: eachTheirOwn() },
      { method: 'POST', path: `${base}/webhooks`, json: { url: 'http://127.0.0.1:1/in' }, ...made },
      { method: 'GET', path: `${base}/webhooks/:webhook`, cells: ownerOnly() },
      { method: 'GET', path: `${base}/webhooks/:webhook/deliveries`, cells: ownerOnly() },
      { method: 'POST', path: `${base}/webhooks/:webhook/rotate`, json: {}, cells: ownerOnly() },
      { method: 'POST', path: `${base}/webhooks/:webhook/enable`, json: {}, cells: ownerOnly() },
      { method: 'POST', path: `${base}/webhooks/:webhook/test`, json: {}, cells: ownerOnly() },
      { method: 'POST', path: '/api/v1/deliveries/:delivery/replay', json: {}, cells: ownerOnly() },
      { method: 'DELETE', path: `${base}/webhooks/:webhook`, cells: ownerOnly() },
      { method: 'GET', path: `${base}/policy`, shows: (at) => at.people.owner.userId, cells: eachTheirOwn() },
      {
        method: 'PUT',
        path: `${base}/policy`,
        json: { approvers: [], quorum: 1, passkey_only: false, high_impact: false },
        cells: eachTheirOwn(PROVE, PROVE),
      },
      { method: 'GET', path: `${base}/members`, shows: (at) => at.invitedId, cells: eachTheirOwn() },
      {
        method: 'POST',
        path: `${base}/members`,
        json: { email: 'x@example.com', role: 'approver' },
        cells: eachTheirOwn(PROVE, PROVE),
      },
      { method: 'PATCH', path: `${base}/members/:named`, json: { role: 'auditor' }, cells: ownerOnly(PROVE) },
      { method: 'POST', path: `${base}/members/:named/remove`, json: {}, cells: ownerOnly(PROVE) },
      { method: 'POST', path: `${base}/members/:invited/link`, json: {}, cells: ownerOnly(PROVE) },
      { method: 'POST', path: `${base}/members/:named/recovery`, json: {}, cells: ownerOnly(HAS_A_KEY) },
      { method: 'POST', path: `${base}/members/:named/recovery/cancel`, json: {}, cells: ownerOnly(GONE) },
      { method: 'GET', path: `${base}/channels`, shows: () => 'C0OFTHEOWNER', cells: eachTheirOwn() },
      {
        method: 'POST',
        path: `${base}/channels/remove`,
        json: { platform: 'slack', tenant: 'T1', channel: 'C0OFTHEOWNER' },
        cells: ownerOnly(),
      },
      {
        method: 'PATCH',
        path: base,
        json: { name: 'Renamed' },
        shows: (at) => at.accountId,
        cells: eachTheirOwn(),
      },
      { method: 'GET', path: `${base}/bootstrap`, shows: (at) => at.consentId, cells: eachTheirOwn() },
      { method: 'GET', path: `${base}/bootstrap/:consent`, cells: ownerOnly() },
      {
        method: 'POST',
        path: `${base}/bootstrap/:consent/decision/options`,
        json: { decision: 'rejected' },
        cells: ownerOnly(),
      },
      {
        method: 'GET',
        path: `${base}/webhook-secret`,
        shows: key,
        cells: {
          ...eachTheirOwn(),
          nobody: NO_KEY,
          'API key': 'own',
          'another API key': 'own',
          'internal token': 'own',
        },
      },
      {
        method: 'GET',
        path: '/api/v1/approvals/:approved/deliveries',
        cells: {
          ...ownerOnly(),
          nobody: NO_KEY,
          'API key': 'yes',
          'another API key': GONE,
          'internal token': 'yes',
        },
      },
    ]),
  )('%s', (_title, row) => holds(row))

  it('and nothing of it is another than the owner made it', async () => {
    const { accounts, apiKeys } = place.service.composition.deps
    const account = await accounts.find(place.accountId)
    const { owner, named } = place.people
    expect(account).toMatchObject({
      name: 'Renamed',
      channels: [],
      policy: { approvers: [owner.userId, named.userId], quorum: 1 },
    })
    const roles = account?.members.map(({ role, state }) => [role, state])
    expect(roles).toEqual([
      ['approver', 'active'],
      ['approver', 'active'],
      ['auditor', 'active'],
      ['approver', 'invited'],
    ])
    const keys = (await apiKeys.list(place.accountId)).filter((one) => one.internal !== true)
    expect(keys.filter(({ revoked_at }) => revoked_at === null).map(({ name }) => name)).toEqual([
      'bot',
      'test key',
      'made',
    ])
  })
})
