import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inviteMemberByOperator } from '../../../src/flow/joining/invite-member.ts'
import { renewInvitation } from '../../../src/flow/joining/invite-user.ts'
import { vouchFor } from '../../../src/flow/people/person.ts'
import { canonicalize } from '../../../src/signing/canonical.ts'
import { sha256Hex } from '../../../src/signing/digest.ts'
import { send, stored } from '../../support/caller.ts'
import { expectStatus, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { enrolByLink, inviteMember, makeAccount, newMember, newOwner } from '../../support/invited.ts'
import { ask, keyOf } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const SECRET = 't'.repeat(40)
let service: TestService
let owner: Awaited<ReturnType<typeof newOwner>>

beforeAll(async () => {
  service = await startService({ env: { INTERNAL_SERVICE_TOKEN: SECRET } })
  owner = await newOwner(service, 'mallory@example.com')
})
afterAll(() => service.close())

/** The owner invites an address that is not theirs, and opens the link themself. */
async function squat(email: string) {
  const { link } = await inviteMember(service, owner, email)
  const person = await enrolByLink(service, link.url)
  await makeAccount(person)
  return person
}

const askFor = (email: string) =>
  send(service, '/api/v1/approvals/request', {
    method: 'POST',
    token: `internal-${SECRET}`,
    headers: { 'X-Approver-Email': email },
    json: { action: 'Wire a million' },
  })

describe('an address that only an owner’s invitation vouches for', () => {
  it('is no second pair of eyes under confirmed_only, neither as approver nor as delegate, until the operator confirms it', async () => {
    const { deps } = service.composition
    const puppet = await squat('puppet@example.com')
    const set = async (approvers: string[], quorum: number) => {
      const proof = await passkeyProof(owner, service, 'policy.change')
      const rules = { approvers, quorum, passkey_only: false, high_impact: false, confirmed_only: true }
      return owner.browser.put('/api/v1/account/policy', { ...rules, proof })
    }
    const both = [owner.userId, puppet.userId]
    const refused = await set(both, 2)
    expect([refused.status, refused.body.error]).toEqual([422, 'no_eligible_approver'])
    const { approvers, confirmed_only } = expectStatus(await set(both, 1), 200)
    expect(confirmed_only).toBe(true)
    expect(Array.from(approvers, ({ confirmed }) => confirmed)).toEqual([true, false])
    const key = await keyOf(service, owner.userId)
    const id = await ask({ service, key })
    expect((await deps.requests.find(id))?.requirement).toMatchObject({
      approvers: [{ user_id: owner.userId }],
      confirmed_only: true,
    })
    const times = { starts_at: new Date(Date.now() - 60_000), ends_at: new Date(Date.now() + 60_000) }
    const { version } = (await deps.users.find(owner.userId)) ?? expect.unreachable()
    await deps.users.change(owner.userId, version, { delegate: { user_id: puppet.userId, ...times } }, [])
    const options = () =>
      puppet.browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'approved' })
    const { status, body } = await options()
    expect([status, body.error]).toEqual([403, 'not_confirmed'])
    const items = [{ id, decision: 'approved' }]
    const batch = await puppet.browser.post('/api/v1/approvals/decisions/options', { items })
    expect([batch.status, batch.body.error, batch.body.ids]).toEqual([403, 'not_confirmed', [id]])
    const review = expectStatus(await puppet.browser.get(`/api/v1/approvals/${id}/review`), 200)
    expect(review).toMatchObject({
      may_decide: false,
      why_not: 'not_confirmed',
      policy: { confirmed_only: true },
    })
    const { data } = expectStatus(await puppet.browser.get('/api/v1/me/pending'), 200)
    expect(data).toMatchObject([{ id, methods: [] }])
    await vouchFor(deps, 'puppet@example.com', { kind: 'cli' })
    const { intent } = expectStatus(await options(), 200)
    const signed = sha256Hex(canonicalize({ ...review.policy, quorum: 1 }))
    expect(intent.policy_sha256).toBe(signed)
    expectStatus(await set(both, 2), 200)
  })

  it('T34: enrols once, when two links for it are used at the same moment', async () => {
    const { deps } = service.composition
    const other = await newOwner(service, 'other-owner@example.com')
    const { account_id } = (await deps.users.find(other.userId)) ?? expect.unreachable()
    const email = 'twice@example.com'
    const first = await inviteMember(service, owner, email)
    const second = await inviteMemberByOperator(deps, account_id, { email, role: 'approver' })
    const { users } = deps
    const { change } = users
    let rightful: Awaited<ReturnType<typeof enrolByLink>> | undefined
    users.change = async (...enrolling) => {
      users.change = change
      rightful = await enrolByLink(service, second.link.url)
      return change(...enrolling)
    }
    await expect(enrolByLink(service, first.link.url)).rejects.toThrow('enrollment_invalid')
    const user = await deps.users.findByEmail(email)
    expect(user?.passkeys).toHaveLength(1)
    expect((await rightful?.browser.get('/api/v1/session'))?.status).toBe(200)
  })

  it('is nobody to the internal token, until the operator confirms it', async () => {
    await squat('ceo@example.com')
    expect(await askFor('ceo@example.com')).toMatchObject({
      status: 404,
      body: { error: 'approver_not_found' },
    })
    await vouchFor(service.composition.deps, 'ceo@example.com', { kind: 'cli' })
    expect((await askFor('ceo@example.com')).status).toBe(201)
  })

  it('is asked for no key: an agent gets the answer that unknown addresses get', async () => {
    const person = await squat('cto@example.com')
    const agent = createHttpClient(service.url)
    const body = { email: 'cto@example.com', client_name: 'build agent' }
    expect((await agent.post('/api/v1/bootstrap', body)).status).toBe(202)
    const { data } = expectStatus(await person.browser.get('/api/v1/account/bootstrap'), 200)
    expect(data).toEqual([])
  })

  it('goes to whom the operator hands a link: what was enrolled before is gone', async () => {
    const person = await squat('coo@example.com')
    const { deps } = service.composition
    const { link } = await renewInvitation(deps, { email: 'coo@example.com' }, { kind: 'cli' })
    const rightful = await enrolByLink(service, link.url)
    const user = await deps.users.find(rightful.userId)
    expect(user?.passkeys).toHaveLength(1)
    expect(user).not.toHaveProperty('invited_by_account')
    const enrolled = user?.audit.filter(({ type }) => type === 'user.enrolled').map(({ detail }) => detail)
    expect(enrolled?.at(-1)).toEqual({ method: 'passkey', again: true })
    expect((await person.browser.get('/api/v1/session')).status).toBe(401)
    const { options } = expectStatus(await person.browser.post('/api/v1/session/passkey/options', {}), 200)
    const credential = person.authenticator.authenticate(options, { origin: service.url })
    const back = await person.browser.post('/api/v1/session/passkey', { credential })
    expect([back.status, back.body.error]).toEqual([401, 'sign_in_failed'])
    expect((await askFor('coo@example.com')).status).toBe(201)
  })

  it('T34: comes without the webhook, key, channel, colleague and policy that somebody left in its account', async () => {
    const squatter = await squat('cfo@example.com')
    const made = await squatter.browser.post('/api/v1/account/api-keys', { name: 'spy', sandbox: false })
    const { raw_key } = expectStatus(made, 201)
    const asked = { method: 'POST', token: raw_key, json: { action: 'Wire a million' } } as const
    const { body: waiting } = await send(service, '/api/v1/approvals/request', asked)
    const hook = { url: 'https://receiver.example.org/spy' }
    expectStatus(await squatter.browser.post('/api/v1/account/webhooks', hook), 201)
    const auditor = await newMember(service, squatter, 'spy@example.com', 'auditor')
    const { deps } = service.composition
    const account_id = String((await deps.users.find(squatter.userId))?.account_id)
    // Nobody could enrol under it.
    const unmeetable = { 'policy.authenticators': 'attested' }
    const channels = [{ platform: 'slack', tenant: 'T1', channel: 'C1', name: 'spies' }]
    const workspace = { platform: 'slack', tenant: 'T1', workspace_name: 'Spies', sealed: 'none' } as const
    await deps.installations.put({
      ...workspace,
      account_ids: [account_id],
      installed_at: new Date(),
    })
    const left = { channels, 'policy.approvers': [auditor.userId], 'policy.quorum': 2, ...unmeetable }
    await stored(service, 'accounts').updateOne({ _id: account_id }, { $set: left })

    const { link } = await renewInvitation(deps, { email: 'cfo@example.com' }, { kind: 'cli' })
    await enrolByLink(service, link.url)
    expect((await askFor('cfo@example.com')).status).toBe(201)
    const seen = await auditor.browser.get(`/api/v1/account/requests?account=${account_id}`)
    expect([seen.status, seen.body.error]).toEqual([404, 'not_found'])
    expect(await deps.requests.find(String(waiting.id))).toMatchObject({ status: 'expired', cancelled: true })
    expect((await send(service, '/api/v1/approvals/request', asked)).status).toBe(401)
    expect(await deps.webhooks.list(account_id)).toEqual([])
    expect(await deps.installations.ofAccount('slack', account_id)).toEqual([])
    const policy = { approvers: [], quorum: 1 }
    const emptied = await deps.accounts.find(account_id)
    expect(emptied).toMatchObject({ members: [], channels: [], policy })
    expect(emptied?.policy).not.toHaveProperty('authenticators')
  })

  it('counts for nobody while what was left there is not gone: another link begins anew', async () => {
    const squatter = await squat('cso@example.com')
    const made = await squatter.browser.post('/api/v1/account/api-keys', { name: 'spy', sandbox: false })
    expectStatus(made, 201)
    const { deps } = service.composition
    const first = await renewInvitation(deps, { email: 'cso@example.com' }, { kind: 'cli' })
    const list = deps.webhooks.list
    deps.webhooks.list = () => Promise.reject(new Error('the service stops here'))
    await expect(enrolByLink(service, first.link.url)).rejects.toThrow('500')
    deps.webhooks.list = list
    expect((await askFor('cso@example.com')).status).toBe(404)
    const second = await renewInvitation(deps, { email: 'cso@example.com' }, { kind: 'cli' })
    const rightful = await enrolByLink(service, second.link.url)
    const { data } = expectStatus(await rightful.browser.get('/api/v1/account/api-keys'), 200)
    expect(data).toMatchObject([{ name: 'spy', revoked_at: expect.any(String) }])
    expect((await askFor('cso@example.com')).status).toBe(201)
  })
})
