import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditOf } from '../../support/audit.ts'
import { stored } from '../../support/caller.ts'
import { askFor, linkTo, newSpeaker, proofForLink, say } from '../../support/chat-speaker.ts'
import { codeAt, enrolWithPasskey, enrolWithTotp, passkeyProof, wrongCodeAt } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'

const LOOK = '/api/v1/chat-links/look'
const USE = '/api/v1/chat-links/use'
const INVALID = {
  error: 'chat_link_invalid',
  message: 'This link has expired, was already used or is incomplete; ask for a new one in chat.',
}
const TAKEN = {
  error: 'identity_taken',
  message: 'This chat identity is linked to another person; unlink it there first.',
}
const PROOF_REQUIRED = { error: 'proof_required', message: 'Confirm with a passkey or a code first.' }
const CHALLENGE_INVALID = {
  error: 'challenge_invalid',
  message: 'This confirmation has expired, was already used or belongs to something else; start again.',
}
const LIMIT = {
  error: 'identity_limit',
  message: 'You have reached the limit of 10 chat identities; remove one first.',
}

let service: TestService
let people = 0
let later = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, localTime: () => Date.now() + later })
})
afterAll(() => service.close())

function enrol() {
  people += 1
  return enrolWithPasskey(service, `person${people}@example.com`)
}

const chatOf = async (userId: string) => (await service.composition.deps.users.find(userId))?.chat

describe('looking at a link', () => {
  it('tells anybody who has it what it is for, and uses nothing up', async () => {
    const speaker = newSpeaker()
    const token = await askFor(service, speaker, 'link')
    const stranger = createHttpClient(service.url)
    const expected = {
      id: expect.stringMatching(/^cln_/),
      kind: 'link',
      platform: 'slack',
      person: speaker.shown_as.person,
      workspace: 'Acme',
      expires_at: expect.any(String),
    }
    for (let time = 0; time < 3; time += 1) {
      const answer = await stranger.post(LOOK, { token })
      expect([answer.status, answer.body]).toEqual([200, expected])
    }
  })

  it('shows hostile names as text that cannot pass for ours', async () => {
    const speaker = newSpeaker()
    const person = `  Ada\u202e\n\n\nApproved ${'x'.repeat(200)}`
    const token = await askFor(service, { ...speaker, shown_as: { person, workspace: ' ' } }, 'link')
    const { body } = await createHttpClient(service.url).post(LOOK, { token })
    expect(body.person).toMatch(/^Ada\[U\+202E\]\[3 line breaks\]Approved x+…$/)
    expect([...body.person]).toHaveLength(80)
    expect(body.workspace).toBe('T1')
  })

  it.each(['', 'x', 'A'.repeat(43), 'A'.repeat(128)])('404: does not know the token %j', async (token) => {
    const answer = await createHttpClient(service.url).post(LOOK, { token })
    expect([answer.status, answer.body]).toEqual([404, INVALID])
  })

  it('400: wants a token', async () => {
    const none = await createHttpClient(service.url).post(LOOK, {})
    expect([none.status, none.body.error]).toEqual([400, 'token required'])
    const odd = await createHttpClient(service.url).post(LOOK, { token: { $ne: null } })
    expect([odd.status, odd.body]).toMatchObject([400, { error: 'invalid_field', field: 'token' }])
    const long = await createHttpClient(service.url).post(USE, { token: 'A'.repeat(129) })
    expect([long.status, long.body]).toMatchObject([400, { error: 'invalid_field', detail: 'is too long' }])
  })

  it('404: is over after ten minutes', async () => {
    const person = await enrol()
    const token = await askFor(service, newSpeaker(), 'link')
    const proof = await proofForLink(service, person, token)
    const past = { $set: { expires_at: new Date(Date.now() - 1_000) } }
    await stored(service, 'chat_links').updateMany({}, past)
    for (const [path, body] of [[LOOK, { token }] as const, [USE, { token, proof }] as const]) {
      const answer = await person.browser.post(path, body)
      expect([answer.status, answer.body]).toEqual([404, INVALID])
    }
    expect(await chatOf(person.userId)).toEqual([])
  })
})

describe('linking', () => {
  it('takes a signed-in person and a fresh proof; from then on the identity is theirs', async () => {
    const person = await enrol()
    const speaker = newSpeaker()
    const token = await askFor(service, speaker, 'link')
    const proof = await proofForLink(service, person, token)
    const answer = await person.browser.post(USE, { token, proof })
    const key = `slack:T1:${speaker.identity.user}`
    const linked = {
      key,
      platform: 'slack',
      tenant: 'T1',
      person: speaker.shown_as.person,
      workspace: 'Acme',
      linked_at: expect.any(String),
    }
    expect([answer.status, answer.body]).toEqual([200, { linked }])
    expect((await person.browser.get('/api/v1/me/chat')).body).toEqual({ identities: [linked] })
    expect(await auditOf(service, { type: 'chat.linked' })).toMatchObject([
      {
        subject: person.userId,
        actor: { kind: 'user', id: person.userId, address: expect.any(String) },
        detail: { identity: key },
      },
    ])
    expect((await person.browser.get('/api/v1/session')).status).toBe(200)
  })

  it('works with a code, too, and a wrong one does not burn the link', async () => {
    const person = await enrolWithTotp(service, 'codes@example.com')
    const token = await askFor(service, newSpeaker(), 'link')
    later += 60_000
    const now = service.composition.deps.clock.now()
    const wrong = await person.browser.post(USE, { token, proof: { totp: wrongCodeAt(person.secret, now) } })
    expect([wrong.status, wrong.body]).toEqual([
      403,
      {
        error: 'totp_refused',
        message:
          'The code is wrong or was already used; wait for the next one. If that one fails too, check the clock of your phone.',
      },
    ])
    const right = await person.browser.post(USE, { token, proof: { totp: codeAt(person.secret, now) } })
    expect(right.status).toBe(200)
  })

  it('401: needs a session, and an API key is none', async () => {
    const person = await enrol()
    const token = await askFor(service, newSpeaker(), 'link')
    const refused = { error: 'not_signed_in', message: 'Sign in first.' }
    const stranger = await createHttpClient(service.url).post(USE, { token })
    expect([stranger.status, stranger.body]).toEqual([401, refused])
    const key = { headers: { Authorization: `Bearer sa_live_${'x'.repeat(49)}` } }
    const keyed = await person.browser.post(USE, { token }, key)
    expect([keyed.status, keyed.body]).toEqual([401, refused])
    const byToken = { headers: { Authorization: `Bearer ${person.token}` } }
    const signedIn = await createHttpClient(service.url).post(USE, { token }, byToken)
    expect([signedIn.status, signedIn.body]).toEqual([403, PROOF_REQUIRED])
  })

  it('T22, 403: refuses what another site made the browser send', async () => {
    const person = await enrol()
    const token = await askFor(service, newSpeaker(), 'link')
    const refused = {
      error: 'csrf_refused',
      message: 'The request did not come from a page of this service; open the page again and retry.',
    }
    for (const path of [LOOK, USE, '/api/v1/me/chat/remove', '/api/v1/account/channels/remove']) {
      for (const options of [
        { origin: 'https://evil.example' },
        { origin: null },
        { headers: { 'Content-Type': 'text/plain' } },
        { headers: { 'Sec-Fetch-Site': 'cross-site' } },
      ]) {
        const answer = await person.browser.post(path, { token }, options)
        expect([answer.status, answer.body], path).toEqual([403, refused])
      }
    }
  })

  it('T34, 403: a session alone is not enough', async () => {
    const person = await enrol()
    const token = await askFor(service, newSpeaker(), 'link')
    const answer = await person.browser.post(USE, { token })
    expect([answer.status, answer.body]).toEqual([403, PROOF_REQUIRED])
    const both = await person.browser.post(USE, { token, proof: {} })
    expect([both.status, both.body]).toMatchObject([400, { error: 'invalid_field', field: 'proof' }])
  })

  it('T34: a proof counts for this link only, and a wrong one does not burn the link', async () => {
    const person = await enrol()
    const token = await askFor(service, newSpeaker(), 'link')
    const other = await askFor(service, newSpeaker(), 'link')
    const { id } = (await person.browser.post(LOOK, { token })).body
    const wrong = [
      await passkeyProof(person, service, 'passkey.add'),
      await passkeyProof(person, service, 'chat.channel', id),
      await proofForLink(service, person, other),
      await proofForLink(service, await enrol(), token),
    ]
    for (const proof of wrong) {
      const answer = await person.browser.post(USE, { token, proof })
      expect([answer.status, answer.body]).toEqual([400, CHALLENGE_INVALID])
    }
    expect(await chatOf(person.userId)).toEqual([])
    const proof = await proofForLink(service, person, token)
    expect((await person.browser.post(USE, { token, proof })).status).toBe(200)
  })

  it('404: starts no proof without naming a link', async () => {
    const person = await enrol()
    for (const operation of ['chat.link', 'chat.channel']) {
      const answer = await person.browser.post('/api/v1/me/step-up/options', { operation })
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
  })

  it('404: a link counts once', async () => {
    const person = await enrol()
    const token = await askFor(service, newSpeaker(), 'link')
    const proofs = [await proofForLink(service, person, token), await proofForLink(service, person, token)]
    expect((await person.browser.post(USE, { token, proof: proofs[0] })).status).toBe(200)
    const again = await person.browser.post(USE, { token, proof: proofs[1] })
    expect([again.status, again.body]).toEqual([404, INVALID])
  })

  it('two people with one link at once: one gets the identity, the other nothing', async () => {
    const both = [await enrol(), await enrol()]
    const speaker = newSpeaker()
    const token = await askFor(service, speaker, 'link')
    const proofs = await Promise.all(both.map((person) => proofForLink(service, person, token)))
    const answers = await Promise.all(
      both.map(({ browser }, n) => browser.post(USE, { token, proof: proofs[n] })),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    const lost = answers.find(({ status }) => status !== 200)
    expect([INVALID, TAKEN]).toContainEqual(lost?.body)
    const chats = await Promise.all(both.map(({ userId }) => chatOf(userId)))
    expect(chats.map((chat) => chat?.length)).toEqual(statuses.map((status) => (status === 200 ? 1 : 0)))
  })

  it('404: a newer link of the same identity ends the older one', async () => {
    const [one, two] = [await enrol(), await enrol()]
    const speaker = newSpeaker()
    const first = await askFor(service, speaker, 'link')
    const proof = await proofForLink(service, one, first)
    await linkTo(service, two, speaker)
    const late = await one.browser.post(USE, { token: first, proof })
    expect([late.status, late.body]).toEqual([404, INVALID])
    expect(await chatOf(one.userId)).toEqual([])
  })

  it('409: an identity that somebody linked meanwhile is theirs', async () => {
    const [one, two] = [await enrol(), await enrol()]
    const speaker = newSpeaker()
    const token = await askFor(service, speaker, 'link')
    const proof = await proofForLink(service, one, token)
    const holder = await service.composition.deps.users.find(two.userId)
    const chat = [{ ...speaker.identity, linked_at: new Date() }]
    await service.composition.deps.users.change(two.userId, holder?.version ?? -1, { chat }, [])
    const answer = await one.browser.post(USE, { token, proof })
    expect([answer.status, answer.body]).toEqual([409, TAKEN])
    // Nothing was used up by the refusal.
    expect((await one.browser.post(LOOK, { token })).status).toBe(200)
  })

  it('T37: the same user id in another workspace is somebody else', async () => {
    const [one, two] = [await enrol(), await enrol()]
    const speaker = newSpeaker()
    const elsewhere = newSpeaker({ user: speaker.identity.user, tenant: 'T2' })
    await linkTo(service, one, speaker)
    await linkTo(service, two, elsewhere)
    const { users } = service.composition.deps
    expect((await users.findByIdentity(`slack:T1:${speaker.identity.user}`))?.id).toBe(one.userId)
    expect((await users.findByIdentity(`slack:T2:${speaker.identity.user}`))?.id).toBe(two.userId)
    expect(await users.findByIdentity(`teams:T1:${speaker.identity.user}`)).toBeUndefined()
  })

  it('409: a person has ten identities at most', async () => {
    const person = await enrol()
    for (let n = 0; n < 10; n += 1) await linkTo(service, person, newSpeaker())
    const token = await askFor(service, newSpeaker(), 'link')
    const { id } = (await person.browser.post(LOOK, { token })).body
    const options = { operation: 'chat.link', target: id }
    const asked = await person.browser.post('/api/v1/me/step-up/options', options)
    expect([asked.status, asked.body]).toEqual([409, LIMIT])
    const answer = await person.browser.post(USE, { token })
    expect([answer.status, answer.body]).toEqual([409, LIMIT])
  })

  it('429: counts looks and uses against the address, as sign-ins', async () => {
    const stranger = createHttpClient(service.url)
    const answers = await Promise.all(Array.from({ length: 140 }, () => stranger.post(LOOK, { token: 'x' })))
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(20)
    expect(answers.find(({ status }) => status === 429)?.body.error).toBe('rate limit exceeded')
  })
})

describe('unlinking on the account page', () => {
  it('takes a session, and no proof; in chat they are nobody again', async () => {
    const person = await enrol()
    const speaker = newSpeaker()
    await linkTo(service, person, speaker)
    const key = `slack:T1:${speaker.identity.user}`
    const answer = await person.browser.post('/api/v1/me/chat/remove', { key })
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    expect((await person.browser.get('/api/v1/me/chat')).body).toEqual({ identities: [] })
    expect(await say(service, speaker, 'pending')).toMatchObject({ heading: 'You are not linked yet' })
    expect(await auditOf(service, { type: 'chat.unlinked', subject: person.userId })).toMatchObject([
      { actor: { kind: 'user', id: person.userId }, detail: { identity: key } },
    ])
  })

  it("404: knows no identity that is not one's own", async () => {
    const [one, two] = [await enrol(), await enrol()]
    const speaker = newSpeaker()
    await linkTo(service, two, speaker)
    const missing = {
      error: 'not_found',
      message: 'There is no such resource, or it is not yours; check the address and its ids.',
    }
    for (const key of [`slack:T1:${speaker.identity.user}`, 'slack:T1:nobody', '']) {
      const answer = await one.browser.post('/api/v1/me/chat/remove', { key })
      expect([answer.status, answer.body]).toEqual([404, missing])
    }
    expect(await chatOf(two.userId)).toHaveLength(1)
  })

  it('401, 400: needs a session and a key', async () => {
    const stranger = createHttpClient(service.url)
    expect((await stranger.get('/api/v1/me/chat')).body.error).toBe('not_signed_in')
    expect((await stranger.post('/api/v1/me/chat/remove', { key: 'x' })).status).toBe(401)
    const person = await enrol()
    const answer = await person.browser.post('/api/v1/me/chat/remove', {})
    expect([answer.status, answer.body.error]).toEqual([400, 'key required'])
  })
})
