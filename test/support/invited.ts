import { type EnrolledPerson, enrolWithPasskey, expectStatus, linkToken, passkeyProof } from './enrolled.ts'
import { createHttpClient } from './http-client.ts'
import type { TestService } from './service.ts'
import { createSoftAuthenticator } from './soft-authenticator.ts'

type Inviting = Pick<EnrolledPerson, 'browser' | 'authenticator' | 'token' | 'userId' | 'email'>

/** An owner invites somebody, over HTTP. @returns the answer's body */
export async function inviteMember(
  service: TestService,
  owner: Inviting,
  email: string,
  role: 'approver' | 'auditor' = 'approver',
) {
  const proof = await passkeyProof(owner, service, 'member.invite', email)
  return expectStatus(await owner.browser.post('/api/v1/account/members', { email, role, proof }), 201)
}

/** Somebody who is here already accepts with the link they were handed. */
export function acceptByLink(person: Pick<EnrolledPerson, 'browser'>, accountId: string, url: string) {
  return person.browser.post(`/api/v1/me/invitations/${accountId}/accept`, { token: linkToken(url) })
}

/** Enrols with a passkey by a link, as its page does. */
export async function enrolByLink(service: TestService, url: string): Promise<EnrolledPerson> {
  const token = linkToken(url)
  const browser = createHttpClient(service.url)
  const authenticator = createSoftAuthenticator()
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', { token }), 200)
  const credential = authenticator.register(options, { origin: service.url })
  const body = { token, passkey_name: 'laptop', credential }
  const answer = expectStatus(await browser.post('/api/v1/enrollment/passkey', body), 201)
  return { browser, authenticator, token: answer.token, userId: answer.user.id, email: answer.user.email }
}

/** Somebody new who joins the account of an owner by the link of an invitation. */
export async function newMember(
  service: TestService,
  owner: Inviting,
  email: string,
  role: 'approver' | 'auditor' = 'approver',
): Promise<EnrolledPerson> {
  const { link } = await inviteMember(service, owner, email, role)
  return enrolByLink(service, link.url)
}

/** Makes the account of their own that an invited person does not have. */
export async function makeAccount({ browser }: Pick<EnrolledPerson, 'browser'>): Promise<void> {
  expectStatus(await browser.post('/api/v1/account', { name: 'Own' }), 201)
}

/** Somebody with a passkey, and the id of the account of their own. */
export async function newOwner(
  service: TestService,
  email: string,
): Promise<EnrolledPerson & { accountId: string }> {
  const person = await enrolWithPasskey(service, email)
  const user = await service.composition.deps.users.find(person.userId)
  if (user === undefined) throw new Error('nobody was enrolled')
  return { ...person, accountId: user.account_id }
}
