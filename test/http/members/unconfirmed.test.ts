import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renewInvitation } from '../../../src/flow/people/invite-user.ts'
import { vouchFor } from '../../../src/flow/people/vouch-for.ts'
import { send } from '../../support/caller.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { enrolByLink, inviteMember, newOwner } from '../../support/invited.ts'
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
  return enrolByLink(service, link.url)
}

const askFor = (email: string) =>
  send(service, '/api/v1/approvals/request', {
    method: 'POST',
    token: `internal-${SECRET}`,
    headers: { 'X-Approver-Email': email },
    json: { action: 'Wire a million' },
  })

describe('an address that only an owner’s invitation vouches for', () => {
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
    expect((await person.browser.get('/api/v1/session')).status).toBe(401)
    const { options } = expectStatus(await person.browser.post('/api/v1/session/passkey/options', {}), 200)
    const credential = person.authenticator.authenticate(options, { origin: service.url })
    const back = await person.browser.post('/api/v1/session/passkey', { credential })
    expect([back.status, back.body.error]).toEqual([401, 'sign_in_failed'])
    expect((await askFor('coo@example.com')).status).toBe(201)
  })
})
