import { expect, it } from 'vitest'
import { removePasskey } from '../../../src/flow/people/manage-passkeys.ts'
import { addTotp, startAddingTotp } from '../../../src/flow/people/manage-totp.ts'
import type { SignedIn } from '../../../src/flow/people/sessions.ts'
import type { StepUp } from '../../../src/flow/people/step-up.ts'
import { startStepUp } from '../../../src/flow/people/step-up.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  invitationFor,
  passkeyProof,
  wrongCodeAt,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { type TestService, useService } from '../../support/service.ts'

const CLIENT = { address: '127.0.0.1', user_agent: 'test' }

async function signedIn(service: TestService, { userId, token }: EnrolledPerson): Promise<SignedIn> {
  const { deps } = service.composition
  const named = await deps.tokens.verify(token, deps.clock.now())
  const session = named && (await deps.sessions.findLive(named.session_id, deps.clock.now()))
  const user = await deps.users.find(userId)
  if (session === undefined || user === undefined) throw new Error('nobody is signed in')
  return { session, user }
}

it('T26: of many first codes at once under one link five are compared', async () => {
  const service = await useService()
  const token = await invitationFor(service, 'new@example.com')
  const browser = createHttpClient(service.url)
  const { secret } = expectStatus(await browser.post('/api/v1/enrollment/totp/options', { token }), 200)
  const code = wrongCodeAt(secret, service.composition.deps.clock.now())
  const guess = async () => (await browser.post('/api/v1/enrollment/totp', { token, code })).body.error
  const answers = await Promise.all(Array.from({ length: 20 }, guess))
  expect(answers.filter((error) => error === 'totp_refused')).toHaveLength(5)
  expect(answers.filter((error) => error === 'enrollment_invalid')).toHaveLength(15)
})

it('T34: two removals at once, each confirmed by the other passkey, leave one', async () => {
  const service = await useService()
  const { deps } = service.composition
  const person = await enrolWithPasskey(service, 'two@example.com')
  const proof = await passkeyProof(person, service, 'passkey.add')
  const asked = expectStatus(await person.browser.post('/api/v1/me/passkeys/options', { proof }), 200)
  const { excludeCredentials: _mine, ...options } = asked.options
  const credential = person.authenticator.register(options, { origin: service.url })
  expectStatus(await person.browser.post('/api/v1/me/passkeys', { name: 'phone', credential }), 201)
  const user = await deps.users.find(person.userId)
  const { session } = await signedIn(service, { ...person, token: await freshToken(person) })
  if (user === undefined) throw new Error('the person is gone')

  const arrived: (() => void)[] = []
  const users = {
    ...deps.users,
    change: async (...args: Parameters<typeof deps.users.change>) => {
      if (arrived.length < 2) {
        await new Promise<void>((resolve) => {
          arrived.push(resolve)
          if (arrived.length === 2) for (const go of arrived) go()
        })
      }
      return deps.users.change(...args)
    },
  }
  const who = { session, user }
  const remove = async (id: string): Promise<string> => {
    const stepUp: StepUp = { operation: 'passkey.remove', target: id }
    const started = await startStepUp(deps, who, stepUp)
    if (started.options === undefined) throw new Error('no passkey may confirm this')
    const passkey = assertWith(person, service, started.options)
    const done = removePasskey({ ...deps, users }, who, { id, proof: { passkey } }, CLIENT)
    return done.then(
      () => 'removed',
      (error: unknown) => (error instanceof Error ? error.message : 'odd'),
    )
  }
  const outcomes = await Promise.all(user.passkeys.map(({ id }) => remove(id)))
  expect(outcomes.toSorted()).toEqual(['last_factor', 'removed'])
  expect((await deps.users.find(person.userId))?.passkeys).toHaveLength(1)
})

it('T28: a code confirms only the seed it was made from, also when another set-up began meanwhile', async () => {
  const service = await useService()
  const { deps } = service.composition
  const person = await enrolWithPasskey(service, 'seeds@example.com')
  const who = await signedIn(service, person)
  const start = async () => {
    const { passkey } = await passkeyProof(person, service, 'totp.add')
    return startAddingTotp(deps, who, { passkey }, CLIENT.address)
  }
  const { secret } = await start()
  const users = {
    ...deps.users,
    takePendingTotpTry: async (...args: Parameters<typeof deps.users.takePendingTotpTry>) => {
      const taken = await deps.users.takePendingTotpTry(...args)
      await start()
      return taken
    },
  }
  const done = addTotp({ ...deps, users }, who, codeAt(secret, deps.clock.now()), CLIENT)
  await expect(done).rejects.toMatchObject({ code: 'totp_not_started' })
  expect((await deps.users.find(person.userId))?.totp ?? null).toBeNull()
})

async function freshToken({ browser }: EnrolledPerson): Promise<string> {
  return expectStatus(await browser.post('/api/v1/session/refresh', {}), 200).token
}
