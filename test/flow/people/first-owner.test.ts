import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { inviteFirstOwner, inviteUser } from '../../../src/flow/joining/invite-user.ts'
import { expectStatus, linkToken } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { type TestService, useService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

const INVALID = {
  error: 'enrollment_invalid',
  message:
    'This link has expired or was already used; sign in if you have signed up; otherwise ask for a new one.',
}

/** A set-up link as a second process makes it that starts at the same time: it has not seen the other's. */
async function setUpLinkBeside(service: TestService): Promise<string> {
  const { deps } = service.composition
  const enrollments = { ...deps.enrollments, revokeOpen: async () => 0 }
  const link = await inviteFirstOwner({ ...deps, enrollments })
  if (link === undefined) throw new Error('somebody exists already')
  return linkToken(link.url)
}

/** Takes a set-up to its last step. */
async function readyToFinish(service: TestService, token: string, email: string) {
  const browser = createHttpClient(service.url)
  const asked = await browser.post('/api/v1/enrollment/passkey/options', { token, email, name: 'Owner' })
  const { options } = expectStatus(asked, 200)
  const credential = createSoftAuthenticator().register(options, { origin: service.url })
  return () => browser.post('/api/v1/enrollment/passkey', { token, passkey_name: 'key', credential })
}

it('a set-up link is dead once somebody was invited', async () => {
  const service = await useService()
  const token = linkToken(service.setupUrl ?? '')
  const finish = await readyToFinish(service, token, 'late@example.com')
  await inviteUser(service.composition.deps, { email: 'ada@example.com' }, { kind: 'cli' })
  const looked = await createHttpClient(service.url).post('/api/v1/enrollment/lookup', { token })
  expect([looked.status, looked.body]).toEqual([410, INVALID])
  const finished = await finish()
  expect([finished.status, finished.body]).toEqual([410, INVALID])
  expect(await service.composition.deps.users.findByEmail('late@example.com')).toBeUndefined()
})

it('of two set-up links that two processes make, only the later counts', async () => {
  const service = await useService()
  const early = await readyToFinish(service, linkToken(service.setupUrl ?? ''), 'one@example.com')
  const late = await readyToFinish(service, await setUpLinkBeside(service), 'two@example.com')
  const refused = await early()
  expect([refused.status, refused.body]).toEqual([410, INVALID])
  expect((await late()).status).toBe(201)
  expect((await service.composition.deps.users.list()).map(({ email }) => email)).toEqual(['two@example.com'])
})

it('two set-ups by one link that finish in the same moment make one owner', async () => {
  const service = await useService()
  const { deps } = service.composition
  const finishes = [
    await readyToFinish(service, linkToken(service.setupUrl ?? ''), 'one@example.com'),
    await readyToFinish(service, linkToken(service.setupUrl ?? ''), 'one@example.com'),
  ]
  // Holds both until both have found that nobody exists: the worst two processes can do.
  const { insert } = deps.accounts
  const arrived: (() => void)[] = []
  deps.accounts.insert = async (account) => {
    await new Promise<void>((resolve) => {
      arrived.push(resolve)
      if (arrived.length === 2) for (const go of arrived) go()
    })
    return insert(account)
  }
  const answers = await Promise.all(finishes.map((finish) => finish()))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 410])
  const refused = answers.find(({ status }) => status === 410)
  expect(refused?.body).toEqual(INVALID)
  expect(refused?.headers.getSetCookie()).toEqual([])
  const people = await deps.users.list()
  expect(people).toHaveLength(1)
  expect(people[0]?.passkeys).toHaveLength(1)
})

it('a set-up link still counts after the store failed to write the person', async () => {
  const service = await useService()
  const { users } = service.composition.deps
  const token = linkToken(service.setupUrl ?? '')
  const failing = await readyToFinish(service, token, 'owner@example.com')
  const { insert } = users
  users.insert = () => Promise.reject(new Error('the store fails'))
  expect((await failing()).status).toBe(500)
  users.insert = insert
  const finish = await readyToFinish(service, token, 'owner@example.com')
  expect((await finish()).status).toBe(201)
  const again = await createHttpClient(service.url).post('/api/v1/enrollment/lookup', { token })
  expect([again.status, again.body]).toEqual([410, INVALID])
})

it('people invited after the first owner do not collide with them', async () => {
  const service = await useService()
  const finish = await readyToFinish(service, linkToken(service.setupUrl ?? ''), 'owner@example.com')
  expect((await finish()).status).toBe(201)
  const emails = [1, 2].map(() => `${randomBytes(4).toString('hex')}@example.com`)
  for (const email of emails) await inviteUser(service.composition.deps, { email }, { kind: 'cli' })
  expect((await service.composition.deps.users.list()).map(({ email }) => email).toSorted()).toEqual(
    ['owner@example.com', ...emails].toSorted(),
  )
})
