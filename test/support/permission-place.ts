import { send } from './caller.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus, passkeyProof } from './enrolled.ts'
import { inviteMember, makeAccount, newMember, newOwner } from './invited.ts'
import { ask, decideByPasskey } from './live.ts'
import { addKey } from './people.ts'
import { freePort, startService, type TestService } from './service.ts'

/** Everybody the table of permissions speaks of, and the credentials they come with. */
export const ACTORS = [
  'nobody',
  'stranger',
  'internal token',
  'another API key',
  'API key',
  'auditor',
  'approver, not named',
  'approver, named',
  'owner',
] as const
export type Actor = (typeof ACTORS)[number]

const INTERNAL = 'internal-secret-of-at-least-32-characters'

/** One account with something of every kind in it. */
export interface Place {
  service: TestService
  people: Record<'owner' | 'named' | 'other' | 'auditor' | 'stranger', EnrolledPerson>
  accountId: string
  /** Key, its raw form, and a spare one to be revoked. */
  keyId: string
  key: string
  spareKeyId: string
  webhookId: string
  deliveryId: string
  /** Somebody who has not answered their invitation. */
  invitedId: string
  consentId: string
  approvedId: string
  as(actor: Actor): { token?: string; headers?: Record<string, string> }
  /** A pending request of the key, which names the owner and the named approver. */
  ask(): Promise<string>
}

/** Builds it over HTTP. */
export async function buildPlace(): Promise<Place> {
  const env = { TRUST_PROXY: '1', CALLBACK_ALLOW_PRIVATE: '1', INTERNAL_SERVICE_TOKEN: INTERNAL.slice(9) }
  const service = await startService({ env, work: true })
  const owner = await newOwner(service, 'owner@example.com')
  const named = await newMember(service, owner, 'named@example.com')
  const other = await newMember(service, owner, 'other@example.com')
  const auditor = await newMember(service, owner, 'auditor@example.com', 'auditor')
  for (const person of [named, other, auditor]) await makeAccount(person)
  const stranger = await enrolWithPasskey(service, 'stranger@example.com')
  const { member } = await inviteMember(service, owner, 'invited@example.com')
  const proof = await passkeyProof(owner, service, 'policy.change')
  const approvers = [owner.userId, named.userId]
  const rules = { approvers, quorum: 1, passkey_only: false, high_impact: false, proof }
  expectStatus(await owner.browser.put('/api/v1/account/policy', rules), 200)
  const keys = await keysOf(service, owner.userId)
  const things = await thingsOf(service, owner)
  const asking = () => ask({ service, key: keys.key })
  const approvedId = await asking()
  expectStatus(await decideByPasskey({ service, owner: named }, approvedId, 'approved'), 200)
  const people = { owner, named, other, auditor, stranger }
  return {
    service,
    people,
    accountId: owner.accountId,
    invitedId: member.user_id,
    approvedId,
    ...keys,
    ...things,
    ask: asking,
    as: (actor) => credential(actor, people, keys),
  }
}

async function keysOf(service: TestService, userId: string) {
  const user = await service.composition.deps.users.find(userId)
  if (user === undefined) throw new Error('no owner')
  const { raw_key: key, id: keyId } = await addKey(service, user)
  const { raw_key: otherKey } = await addKey(service, user)
  return { key, keyId, otherKey, spareKeyId: (await addKey(service, user)).id }
}

async function thingsOf(service: TestService, owner: EnrolledPerson & { accountId: string }) {
  const url = `http://127.0.0.1:${await freePort()}/in`
  const { webhook } = expectStatus(await owner.browser.post('/api/v1/account/webhooks', { url }), 201)
  const tested = await owner.browser.post(`/api/v1/account/webhooks/${webhook.id}/test`, {})
  const json = { email: owner.email, client_name: 'Agent' }
  await send(service, '/api/v1/bootstrap', { method: 'POST', json })
  const consents = expectStatus(await owner.browser.get('/api/v1/account/bootstrap'), 200)
  const channel = { platform: 'slack', tenant: 'T1', channel: 'C0OFTHEOWNER' } as const
  const { accounts } = service.composition.deps
  const entry = { eid: `evt_${'0'.repeat(26)}`, type: 'channel.added', at: new Date() } as const
  const audit = { ...entry, actor: { kind: 'cli' }, subject: owner.accountId } as const
  await accounts.addChannel(owner.accountId, channel, 5, audit)
  return {
    webhookId: String(webhook.id),
    deliveryId: String(expectStatus(tested, 200).id),
    consentId: String(consents.data[0].id),
  }
}

function credential(
  actor: Actor,
  people: Place['people'],
  keys: { key: string; otherKey: string },
): ReturnType<Place['as']> {
  switch (actor) {
    case 'nobody':
      return {}
    case 'internal token':
      return { token: INTERNAL, headers: { 'X-Approver-Email': people.owner.email } }
    case 'API key':
      return { token: keys.key }
    case 'another API key':
      return { token: keys.otherKey }
    case 'approver, named':
      return { token: people.named.token }
    case 'approver, not named':
      return { token: people.other.token }
    default:
      return { token: people[actor].token }
  }
}
