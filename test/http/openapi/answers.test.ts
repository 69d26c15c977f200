import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itAnswersAboutBatches } from '../../support/batch-answers.ts'
import { createChatPlatform } from '../../support/chat-platform.ts'
import { askFor, inChannel, newSpeaker, proofForLink } from '../../support/chat-speaker.ts'
import { documentedCodes, documentedOperations } from '../../support/documented.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  invitationFor,
  passkeyProof,
} from '../../support/enrolled.ts'
import { itAnswersAboutHistory } from '../../support/history-answers.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { proofFor } from '../../support/live.ts'
import { itAnswersAboutMembers } from '../../support/member-answers.ts'
import { addKey } from '../../support/people.ts'
import { itAnswersAboutPush } from '../../support/push-answers.ts'
import { freePort, startService, type TestService } from '../../support/service.ts'
import { itAnswersAboutSeveral } from '../../support/several-answers.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'
import { documented, refused, seen } from '../../support/witness.ts'

describe('the answers of the service are those of the document', () => {
  let service: TestService
  /** Milliseconds the clock was moved on: a code counts once. */
  let later = 0
  const chat = createChatPlatform()
  let owner: EnrolledPerson
  let live: ReturnType<typeof withKey>
  let sandbox: ReturnType<typeof withKey>

  function withKey(key: string) {
    const client = createHttpClient(service.url)
    const headers = { Authorization: `Bearer ${key}` }
    return {
      get: (path: string, more: Record<string, string> = {}) =>
        client.get(path, { headers: { ...headers, ...more } }),
      post: (path: string, body: unknown = {}, more: Record<string, string> = {}) =>
        client.post(path, body, { headers: { ...headers, ...more }, origin: null }),
    }
  }

  beforeAll(async () => {
    // Serves nobody before it is asked for: requests then have no cards.
    chat.tenants = []
    service = await startService({
      env: { TRUST_PROXY: '1', CALLBACK_ALLOW_PRIVATE: '1' },
      localTime: () => Date.now() + later,
      chats: [chat],
    })
    owner = await enrolWithPasskey(service, 'owner@example.com')
    const user = await service.composition.deps.users.find(owner.userId)
    if (user === undefined) throw new Error('no owner')
    live = withKey((await addKey(service, user)).raw_key)
    sandbox = withKey((await addKey(service, user, { sandbox: true })).raw_key)
  })
  afterAll(() => service.close())

  async function accountIdOf({ userId }: EnrolledPerson): Promise<string> {
    return (await service.composition.deps.users.find(userId))?.account_id ?? expect.unreachable('no user')
  }

  async function ask(body: object = {}): Promise<string> {
    const answer = await live.post('/api/v1/approvals/request', { action: 'Deploy', ...body })
    return documented('post', '/api/v1/approvals/request', 201, answer).id
  }

  it('when a request is made, read, listed, awaited, reminded and approved', async () => {
    const id = await ask({ audience: 'me', attachments: [{ name: 'a.txt', text: 'due' }] })
    const path = '/api/v1/approvals/{id}'
    const attached = await owner.browser.get(`/api/v1/approvals/${id}/attachments/0`)
    documented('get', `${path}/attachments/{index}`, 200, attached)
    documented('get', path, 200, await live.get(`/api/v1/approvals/${id}`))
    documented('get', '/api/v1/approvals', 200, await live.get('/api/v1/approvals?limit=1'))
    const remind = () => live.post(`/api/v1/approvals/${id}/remind`)
    documented('post', `${path}/remind`, 200, await remind())
    refused('post', `${path}/remind`, 429, await remind(), 'remind_rate_limited')
    documented('get', '/api/v1/me/pending', 200, await owner.browser.get('/api/v1/me/pending'))
    documented('get', `${path}/review`, 200, await owner.browser.get(`/api/v1/approvals/${id}/review`))
    documented('get', `${path}/verify`, 200, await live.get(`/api/v1/approvals/${id}/verify`))
    await approve(id)
    documented('get', `${path}/wait`, 200, await live.get(`/api/v1/approvals/${id}/wait?timeout=1`))
    documented('get', path, 200, await live.get(`/api/v1/approvals/${id}`))
    documented('get', `${path}/review`, 200, await owner.browser.get(`/api/v1/approvals/${id}/review`))
    const verdict = documented('get', `${path}/verify`, 200, await live.get(`/api/v1/approvals/${id}/verify`))
    expect(verdict.valid).toBe(true)
    documented('post', `${path}/token`, 200, await live.post(`/api/v1/approvals/${id}/token`))
    refused('post', `${path}/remind`, 409, await remind(), 'not_pending')
  })

  async function approve(id: string): Promise<void> {
    const path = '/api/v1/approvals/{id}/decision'
    const asked = await owner.browser.post(`/api/v1/approvals/${id}/decision/options`, {
      decision: 'approved',
    })
    const { options } = documented('post', `${path}/options`, 200, asked)
    const passkey = assertWith(owner, service, options)
    const decide = () =>
      owner.browser.post(`/api/v1/approvals/${id}/decision`, { decision: 'approved', passkey })
    documented('post', path, 200, await decide())
    refused('post', path, 409, await decide(), 'not_pending')
  }

  it('when a request is rejected', async () => {
    const id = await ask()
    const passkey = await proofFor({ service, owner }, id, 'rejected')
    const decided = await owner.browser.post(`/api/v1/approvals/${id}/decision`, {
      decision: 'rejected',
      comment: 'Not today',
      passkey,
    })
    documented('post', '/api/v1/approvals/{id}/decision', 200, decided)
    const read = await live.get(`/api/v1/approvals/${id}`)
    const body = documented('get', '/api/v1/approvals/{id}', 200, read)
    expect(body.decision.comment).toBe('Not today')
  })

  it('when the sandbox decides', async () => {
    const asked = { action: 'Try', sandbox_auto_decide_seconds: 0 }
    const answer = await sandbox.post('/api/v1/approvals/request', asked)
    const { request_id: id } = documented('post', '/api/v1/approvals/request', 201, answer)
    const reminded = await sandbox.post(`/api/v1/approvals/${id}/remind`)
    documented('post', '/api/v1/approvals/{id}/remind', 200, reminded)
    const read = documented(
      'get',
      '/api/v1/approvals/{id}',
      200,
      await sandbox.get(`/api/v1/approvals/${id}`),
    )
    expect(read).toMatchObject({ status: 'approved', sandbox: true, decision: { method: 'sandbox' } })
    const verdict = await sandbox.get(`/api/v1/approvals/${id}/verify`)
    documented('get', '/api/v1/approvals/{id}/verify', 200, verdict)
    const bundle = await sandbox.get(`/api/v1/approvals/${id}/receipt`)
    documented('get', '/api/v1/approvals/{id}/receipt', 200, bundle)
    const unknown = await sandbox.get(`/api/v1/approvals/req_${'0'.repeat(26)}/verify`)
    documented('get', '/api/v1/approvals/{id}/verify', 404, unknown)
  })

  it('when a request is watched, used up or withdrawn', async () => {
    const path = '/api/v1/approvals/{id}'
    const asked = { action: 'Try', sandbox_auto_decide_seconds: 0 }
    const { request_id: id } = (await sandbox.post('/api/v1/approvals/request', asked)).body
    const events = await sandbox.get(`/api/v1/approvals/${id}/events`)
    const stream = documented('get', `${path}/events`, 200, events)
    const last = { 'Last-Event-ID': /^id: (.+)$/m.exec(stream)?.[1] ?? '' }
    const again = await sandbox.get(`/api/v1/approvals/${id}/events`, last)
    documented('get', `${path}/events`, 204, again)
    const use = (json?: object) => sandbox.post(`/api/v1/approvals/${id}/consume`, json)
    refused('post', `${path}/consume`, 409, await use({ action: 'Other' }), 'mismatch')
    documented('post', `${path}/consume`, 200, await use({ action: 'Try' }))
    refused('post', `${path}/consume`, 409, await use(), 'already_consumed')
    documented('get', path, 200, await sandbox.get(`/api/v1/approvals/${id}`))
    const pending = await ask()
    const early = await live.post(`/api/v1/approvals/${pending}/consume`)
    refused('post', `${path}/consume`, 409, early, 'not_approved')
    const cancel = () => live.post(`/api/v1/approvals/${pending}/cancel`)
    documented('post', `${path}/cancel`, 200, await cancel())
    refused('post', `${path}/cancel`, 409, await cancel(), 'not_pending')
    const all = '/api/v1/account/requests/withdraw'
    documented('post', all, 200, await owner.browser.post(all, { ids: [pending] }))
    documented('get', path, 200, await live.get(`/api/v1/approvals/${pending}`))
    documented('get', `${path}/verify`, 200, await live.get(`/api/v1/approvals/${pending}/verify`))
  })

  it('when a request is refused', async () => {
    const path = '/api/v1/approvals/request'
    refused('post', path, 400, await live.post(path, {}), 'action required')
    refused('post', path, 400, await live.post(path, { action: 'x', ttl_seconds: 1 }), 'invalid_field')
    const dry = { action: 'x', sandbox_decision: 'approved' }
    refused('post', path, 400, await live.post(path, dry), 'sandbox_fields_require_sandbox_key')
    const key = { 'Idempotency-Key': 'one' }
    await live.post(path, { action: 'x' }, key)
    refused('post', path, 422, await live.post(path, { action: 'y' }, key), 'idempotency_mismatch')
    const badLimit = await live.get('/api/v1/approvals?limit=0')
    refused('get', '/api/v1/approvals', 400, badLimit, 'invalid_field')
  })

  it('about the account', async () => {
    const path = '/api/v1/account/api-keys'
    const made = await owner.browser.post(path, { name: 'bot' })
    const { key } = documented('post', path, 201, made)
    documented('get', path, 200, await owner.browser.get(path))
    documented('delete', `${path}/{id}`, 200, await owner.browser.delete(`${path}/${key.id}`))
    const audit = '/api/v1/account/audit'
    documented('get', audit, 200, await owner.browser.get(audit))
    refused('get', audit, 400, await owner.browser.get(`${audit}?limit=101`), 'invalid_field')
    refused('delete', `${path}/{id}`, 404, await owner.browser.delete(`${path}/${key.id}`), 'not_found')
    const secret = '/api/v1/account/webhook-secret'
    expect(documented('get', secret, 200, await live.get(secret))).toHaveProperty('webhook_signing_secret')
    expect(documented('get', secret, 200, await owner.browser.get(secret))).toHaveProperty('keys')
  })

  it('when an agent asks for a key of its own', async () => {
    const path = '/api/v1/bootstrap'
    const agent = createHttpClient(service.url)
    const asked = await agent.post(path, { email: owner.email, client_name: 'Agent' }, { origin: null })
    const { bootstrap_id } = documented('post', path, 202, asked)
    const status = () => agent.get(`${path}/${bootstrap_id}/status`)
    documented('get', `${path}/{id}/status`, 200, await status())
    refused('get', `${path}/{id}/status`, 429, await status(), 'slow_down')
    const [, code] = /code (\S+):/.exec(asked.body.message) ?? []
    const consents = '/api/v1/account/bootstrap'
    const { data } = documented('get', consents, 200, await owner.browser.get(consents))
    const mine = `${consents}/${data[0].id}`
    documented('get', `${consents}/{id}`, 200, await owner.browser.get(mine))
    const decision = `${consents}/{id}/decision`
    const wrong = { decision: 'approved', code: code?.startsWith('B') ? 'CCCCCCCC' : 'BBBBBBBB' }
    const guessed = await owner.browser.post(`${mine}/decision/options`, wrong)
    refused('post', `${decision}/options`, 403, guessed, 'wrong_matching_code')
    const said = { decision: 'approved', code }
    const started = await owner.browser.post(`${mine}/decision/options`, said)
    const { options } = documented('post', `${decision}/options`, 200, started)
    const proof = { ...said, passkey: assertWith(owner, service, options) }
    documented('post', decision, 200, await owner.browser.post(`${mine}/decision`, proof))
    refused('post', decision, 409, await owner.browser.post(`${mine}/decision`, proof), 'not_pending')
    later += 3_000
    expect(documented('get', `${path}/{id}/status`, 200, await status())).toHaveProperty('api_key')
    documented('get', `${consents}/{id}`, 200, await owner.browser.get(mine))
  })

  it('about webhooks and their deliveries', async () => {
    const path = '/api/v1/account/webhooks'
    const one = `${path}/{id}`
    const url = `http://127.0.0.1:${await freePort()}/in`
    const { webhook } = documented('post', path, 201, await owner.browser.post(path, { url }))
    refused('post', path, 400, await owner.browser.post(path, { url: 'x' }), 'invalid_field')
    documented('get', path, 200, await owner.browser.get(path))
    const mine = `${path}/${webhook.id}`
    documented('get', one, 200, await owner.browser.get(mine))
    documented('post', `${one}/rotate`, 200, await owner.browser.post(`${mine}/rotate`, {}))
    documented('post', `${one}/enable`, 200, await owner.browser.post(`${mine}/enable`, {}))
    const { id } = documented('post', `${one}/test`, 200, await owner.browser.post(`${mine}/test`, {}))
    const replay = '/api/v1/deliveries/{id}/replay'
    const again = () => owner.browser.post(`/api/v1/deliveries/${id}/replay`, {})
    documented('post', replay, 200, await again())
    refused('post', replay, 409, await again(), 'delivery_in_progress')
    documented('get', `${one}/deliveries`, 200, await owner.browser.get(`${mine}/deliveries`))
    expect(documented('get', one, 200, await owner.browser.get(mine)).last_delivery.id).toBe(id)
    documented('get', path, 200, await owner.browser.get(path))
    const dead = '/api/v1/account/dead-letters'
    documented('get', dead, 200, await owner.browser.get(dead))
    refused('get', dead, 400, await owner.browser.get(`${dead}?limit=101`), 'invalid_field')
    documented('delete', one, 200, await owner.browser.delete(mine))
    refused('delete', one, 404, await owner.browser.delete(mine), 'not_found')
    const request = await ask({ callback_url: url })
    for (const client of [live, owner.browser]) {
      const log = await client.get(`/api/v1/approvals/${request}/deliveries`)
      documented('get', '/api/v1/approvals/{id}/deliveries', 200, log)
    }
  })

  it('about identities and channels in chat', async () => {
    const look = '/api/v1/chat-links/look'
    const use = '/api/v1/chat-links/use'
    const person = await enrolWithPasskey(service, 'chatty@example.com')
    const { browser } = person
    const speaker = newSpeaker()
    chat.tenants = ['T1']
    const useLink = async (said: typeof speaker, command: 'link' | 'channel') => {
      const token = await askFor(service, said, command)
      documented('post', look, 200, await browser.post(look, { token }))
      const proof = await proofForLink(service, person, token)
      const answer = await browser.post(use, { token, proof })
      refused('post', use, 404, await browser.post(use, { token, proof }), 'chat_link_invalid')
      return documented('post', use, 200, answer)
    }
    const { linked } = await useLink(speaker, 'link')
    documented('get', '/api/v1/me/chat', 200, await browser.get('/api/v1/me/chat'))
    const { channel } = await useLink(inChannel(speaker, 'C1'), 'channel')
    const channels = '/api/v1/account/channels'
    documented('get', channels, 200, await browser.get(channels))
    const remove = `${channels}/remove`
    documented('post', remove, 200, await browser.post(remove, channel))
    refused('post', remove, 404, await browser.post(remove, channel), 'not_found')
    const apps = '/api/v1/account/chat-apps'
    documented('get', apps, 200, await browser.get(apps))
    const workspace = { platform: 'slack', tenant: 'T-acme' }
    refused('post', `${apps}/remove`, 404, await browser.post(`${apps}/remove`, workspace), 'not_found')
    const account_ids = [await accountIdOf(person)]
    const installed = { ...workspace, platform: 'slack', workspace_name: 'Acme', account_ids } as const
    const { installations, clock } = service.composition.deps
    await installations.put({ ...installed, sealed: 'x', installed_at: clock.now() })
    documented('post', `${apps}/remove`, 200, await browser.post(`${apps}/remove`, workspace))
    const unlink = '/api/v1/me/chat/remove'
    documented('post', unlink, 200, await browser.post(unlink, linked))
    refused('post', unlink, 404, await browser.post(unlink, linked), 'not_found')
  })

  it('about the service', async () => {
    const client = createHttpClient(service.url)
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/.well-known/jwks.json'])
      documented('get', path, 200, await client.get(path))
  })

  it('while somebody enrols with a passkey, signs in and out', async () => {
    const token = await invitationFor(service, 'ada@example.com')
    const browser = createHttpClient(service.url)
    const authenticator = createSoftAuthenticator()
    const start = '/api/v1/enrollment'
    documented('post', `${start}/lookup`, 200, await browser.post(`${start}/lookup`, { token }))
    const asked = await browser.post(`${start}/passkey/options`, { token })
    const { options } = documented('post', `${start}/passkey/options`, 200, asked)
    const credential = authenticator.register(options, { origin: service.url })
    const enrolled = await browser.post(`${start}/passkey`, { token, passkey_name: 'laptop', credential })
    documented('post', `${start}/passkey`, 201, enrolled)
    const used = await browser.post(`${start}/lookup`, { token })
    refused('post', `${start}/lookup`, 410, used, 'enrollment_invalid')
    const session = '/api/v1/session'
    documented('get', session, 200, await browser.get(session))
    documented('post', `${session}/refresh`, 200, await browser.post(`${session}/refresh`, {}))
    documented('delete', session, 200, await browser.delete(session))
    documented('get', session, 204, await browser.get(`${session}?optional=true`))
    const offered = await browser.post(`${session}/passkey/options`, {})
    const challenge = documented('post', `${session}/passkey/options`, 200, offered)
    const assertion = authenticator.authenticate(challenge.options, { origin: service.url })
    const signedIn = await browser.post(`${session}/passkey`, { credential: assertion })
    documented('post', `${session}/passkey`, 200, signedIn)
  })

  it('while somebody enrols and signs in with codes', async () => {
    const start = '/api/v1/enrollment/totp'
    const token = await invitationFor(service, 'eve@example.com')
    const browser = createHttpClient(service.url)
    const asked = await browser.post(`${start}/options`, { token })
    const { secret } = documented('post', `${start}/options`, 200, asked)
    const now = () => service.composition.deps.clock.now()
    const enrolled = await browser.post(start, { token, code: codeAt(secret, now()) })
    const { backup_codes } = documented('post', start, 201, enrolled)
    const email = 'eve@example.com'
    later += 60_000
    const next = codeAt(secret, now())
    const byCode = await browser.post('/api/v1/session/totp', { email, code: next })
    documented('post', '/api/v1/session/totp', 200, byCode)
    const replayed = await browser.post('/api/v1/session/totp', { email, code: next })
    refused('post', '/api/v1/session/totp', 401, replayed, 'sign_in_failed')
    const byBackup = await browser.post('/api/v1/session/backup-code', { email, code: backup_codes[0] })
    documented('post', '/api/v1/session/backup-code', 200, byBackup)
  })

  it('while somebody changes their factors', async () => {
    const me = '/api/v1/me'
    const person = await enrolWithPasskey(service, 'grace@example.com')
    const { browser } = person
    const asked = await browser.post(`${me}/step-up/options`, { operation: 'passkey.add' })
    const { options: challenge } = documented('post', `${me}/step-up/options`, 200, asked)
    const proof = { passkey: assertWith(person, service, challenge) }
    const started = await browser.post(`${me}/passkeys/options`, { proof })
    const { options } = documented('post', `${me}/passkeys/options`, 200, started)
    const second = createSoftAuthenticator()
    const credential = second.register(options, { origin: service.url })
    const added = await browser.post(`${me}/passkeys`, { name: 'key', credential })
    const { passkey } = documented('post', `${me}/passkeys`, 201, added)
    const presence = { proof: await passkeyProof(person, service, 'session.prove') }
    documented('post', '/api/v1/session/proof', 200, await browser.post('/api/v1/session/proof', presence))
    const removal = { proof: await passkeyProof(person, service, 'passkey.remove', passkey.id) }
    const removed = await browser.post(`${me}/passkeys/${passkey.id}/remove`, removal)
    documented('post', `${me}/passkeys/{id}/remove`, 200, removed)

    const codes = await browser.post(`${me}/totp/options`, {
      proof: await passkeyProof(person, service, 'totp.add'),
    })
    const { secret } = documented('post', `${me}/totp/options`, 200, codes)
    const code = codeAt(secret, service.composition.deps.clock.now())
    documented('post', `${me}/totp`, 201, await browser.post(`${me}/totp`, { code }))
    documented('get', `${me}/factors`, 200, await browser.get(`${me}/factors`))
    const renewal = { proof: await passkeyProof(person, service, 'backup_codes.renew') }
    documented('post', `${me}/backup-codes`, 201, await browser.post(`${me}/backup-codes`, renewal))
    const end = { proof: await passkeyProof(person, service, 'totp.remove') }
    documented('post', `${me}/totp/remove`, 200, await browser.post(`${me}/totp/remove`, end))
    const none = `${me}/totp/options`
    refused('post', none, 403, await browser.post(none, {}), 'proof_required')
  })

  itAnswersAboutBatches(() => service)
  itAnswersAboutMembers(() => service)
  itAnswersAboutHistory(() => service)
  itAnswersAboutPush(() => service)
  itAnswersAboutSeveral(() => service)

  it('to somebody without credentials, on every operation', async () => {
    const stranger = createHttpClient(service.url)
    for (const { method, path } of documentedOperations()) {
      const real = path.replace('{id}', `req_${'0'.repeat(26)}`).replace('{index}', '0')
      const answer = await stranger[method](real, {})
      documented(method, path, answer.status, answer)
      if (answer.status >= 400 && !path.endsWith('/verify'))
        expect(documentedCodes(method, path, answer.status), path).toContain(answer.body.error)
    }
  })

  it('and no operation was left out', () => {
    const good = documentedOperations().flatMap(({ method, path, statuses }) =>
      statuses.filter((status) => status.startsWith('2')).map((status) => `${method} ${path} ${status}`),
    )
    expect(good.length).toBeGreaterThan(30)
    expect(good.filter((where) => !seen.has(where))).toEqual([])
  })
})
