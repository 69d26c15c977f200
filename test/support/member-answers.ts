import { it } from 'vitest'
import { enrolWithPasskey, linkToken, passkeyProof } from './enrolled.ts'
import { createHttpClient } from './http-client.ts'
import { acceptByLink, enrolByLink } from './invited.ts'
import { addKey } from './people.ts'
import type { TestService } from './service.ts'
import { documented, refused } from './witness.ts'

const MEMBERS = '/api/v1/account/members'

/** Tests that hold the answers about members, policy, keys and delegates against the document. */
export function itAnswersAboutMembers(service: () => TestService): void {
  it('about members', async () => {
    const owner = await enrolWithPasskey(service(), 'boss@example.com')
    const bob = await enrolWithPasskey(service(), 'bob@example.com')
    const { browser } = owner
    const prove = (operation: string, target: string) => passkeyProof(owner, service(), operation, target)
    const invitation = async (email: string) => ({
      email,
      role: 'approver',
      proof: await prove('member.invite', email),
    })
    const invited = await browser.post(MEMBERS, await invitation('new@example.com'))
    const { member, link } = documented('post', MEMBERS, 201, invited)
    const twice = await browser.post(MEMBERS, { email: 'new@example.com', role: 'auditor' })
    refused('post', MEMBERS, 409, twice, 'member_exists')
    const looked = await createHttpClient(service().url).post('/api/v1/enrollment/lookup', {
      token: linkToken(link.url),
    })
    documented('post', '/api/v1/enrollment/lookup', 200, looked)
    const one = `${MEMBERS}/${member.user_id}`
    const newLink = await browser.post(`${one}/link`, { proof: await prove('member.invite', member.user_id) })
    const renewed = documented('post', `${MEMBERS}/{id}/link`, 201, newLink)
    const person = await enrolByLink(service(), renewed.link.url)
    documented('get', MEMBERS, 200, await browser.get(MEMBERS))
    const offered = { proof: await prove('member.recover', member.user_id) }
    const recovery = `${MEMBERS}/{id}/recovery`
    documented('post', recovery, 201, await browser.post(`${one}/recovery`, offered))
    documented('get', MEMBERS, 200, await browser.get(MEMBERS))
    documented('post', `${recovery}/cancel`, 200, await browser.post(`${one}/recovery/cancel`, {}))
    const again = { proof: await prove('member.recover', member.user_id) }
    documented('post', recovery, 201, await browser.post(`${one}/recovery`, again))
    const session = '/api/v1/session'
    documented('get', session, 200, await person.browser.get(session))
    const refuse = '/api/v1/me/recovery/refuse'
    documented('post', refuse, 200, await person.browser.post(refuse, {}))
    refused('post', recovery, 409, await browser.post(`${one}/recovery`, {}), 'recovery_declined')
    const account = '/api/v1/account'
    const keys = `${account}/api-keys`
    refused('post', keys, 409, await person.browser.post(keys, { name: 'x' }), 'no_own_account')
    documented('post', account, 201, await person.browser.post(account, { name: 'Own' }))
    refused('post', account, 409, await person.browser.post(account, { name: 'Own' }), 'own_account_exists')
    const change = { role: 'auditor', proof: await prove('member.change', member.user_id) }
    documented('patch', `${MEMBERS}/{id}`, 200, await browser.patch(one, change))
    const end = { proof: await prove('member.change', member.user_id) }
    documented('post', `${MEMBERS}/{id}/remove`, 200, await browser.post(`${one}/remove`, end))
    refused('post', `${MEMBERS}/{id}/remove`, 404, await browser.post(`${one}/remove`, {}), 'not_found')
    const accountId = (await browser.get('/api/v1/session')).body.user.account_id
    const answer = (word: string) => bob.browser.post(`/api/v1/me/${word}`, {})
    const asked = await browser.post(MEMBERS, await invitation('bob@example.com'))
    documented('get', '/api/v1/session', 200, await bob.browser.get('/api/v1/session'))
    const path = '/api/v1/me/invitations/{id}/accept'
    const early = await answer(`invitations/${accountId}/accept`)
    refused('post', path, 400, early, 'token required')
    const accepted = await acceptByLink(bob, accountId, asked.body.link.url)
    documented('post', path, 200, accepted)
    const left = await answer(`memberships/${accountId}/leave`)
    documented('post', '/api/v1/me/memberships/{id}/leave', 200, left)
    await browser.post(MEMBERS, await invitation('bob@example.com'))
    const declined = await answer(`invitations/${accountId}/decline`)
    documented('post', '/api/v1/me/invitations/{id}/decline', 200, declined)
  })

  it('about policies, delegates and profiles', async () => {
    const owner = await enrolWithPasskey(service(), 'policy@example.com')
    const { browser } = owner
    const prove = (operation: string, target?: string) => passkeyProof(owner, service(), operation, target)
    const path = '/api/v1/account/policy'
    documented('get', path, 200, await browser.get(path))
    const rules = { approvers: [], quorum: 1, passkey_only: true, high_impact: true, reminders: [0.5] }
    const policy = { ...rules, proof: await prove('policy.change') }
    documented('put', path, 200, await browser.put(path, policy))
    refused('put', path, 403, await browser.put(path, rules), 'proof_required')
    const user = await service().composition.deps.users.find(owner.userId)
    if (user === undefined) throw new Error('no owner')
    const { id } = await addKey(service(), user)
    const keys = '/api/v1/account/api-keys'
    const narrower = {
      policy: { approvers: [owner.userId], quorum: 1, passkey_only: true, high_impact: true },
      proof: await prove('key.change', id),
    }
    documented('patch', `${keys}/{id}`, 200, await browser.patch(`${keys}/${id}`, narrower))
    refused(
      'patch',
      `${keys}/{id}`,
      403,
      await browser.patch(`${keys}/${id}`, { policy: null }),
      'proof_required',
    )
    const profile = await browser.patch('/api/v1/me', { name: 'Boss', default_ttl_seconds: 600 })
    documented('patch', '/api/v1/me', 200, profile)
    const bob = await enrolWithPasskey(service(), 'stand-in@example.com')
    const invitation = { email: bob.email, role: 'approver', proof: await prove('member.invite', bob.email) }
    const { body: invited } = await browser.post(MEMBERS, invitation)
    await acceptByLink(bob, user.account_id, invited.link.url)
    const candidates = '/api/v1/me/delegate/candidates'
    documented('get', candidates, 200, await browser.get(candidates))
    const now = service().composition.deps.clock.now().getTime()
    const delegate = {
      user_id: bob.userId,
      starts_at: new Date(now).toISOString(),
      ends_at: new Date(now + 86_400_000).toISOString(),
      proof: await prove('delegate.change', bob.userId),
    }
    documented('put', '/api/v1/me/delegate', 200, await browser.put('/api/v1/me/delegate', delegate))
    const removed = await browser.post('/api/v1/me/delegate/remove', {})
    documented('post', '/api/v1/me/delegate/remove', 200, removed)
  })
}
