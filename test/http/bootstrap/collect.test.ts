import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { handOutKey } from '../../../src/flow/bootstrap/poll-bootstrap.ts'
import { renewInvitation, resetPerson } from '../../../src/flow/joining/invite-user.ts'
import {
  type Begun,
  begin,
  codeChallenge,
  consent,
  consentPath,
  pollOnce,
  pollRested,
  setStored,
  stored,
} from '../../support/bootstraps.ts'
import {
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  enrolWithTotp,
  expectStatus,
  linkToken,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { restoreStore } from '../../support/restored.ts'
import { startService, type TestService } from '../../support/service.ts'
import { createSoftAuthenticator } from '../../support/soft-authenticator.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

let owners = 0
function newOwner(): Promise<EnrolledPerson> {
  owners += 1
  return enrolWithPasskey(service, `owner${owners}@example.com`)
}

async function newOwnerWithCodes() {
  owners += 1
  const owner = await enrolWithTotp(service, `owner${owners}@example.com`)
  return { ...owner, authenticator: createSoftAuthenticator() }
}

/** The owner's word, by the code that made their codes known: it is fresh again. */
async function consentByCode(_: TestService, owner: { secret?: string } & EnrolledPerson, begun: Begun) {
  const { connection, deps } = service.composition
  const users = connection.collection<{ _id: string }>('users')
  await users.updateOne({ _id: owner.userId }, { $set: { 'totp.last_step': 0 } })
  const said = { decision: 'approved', code: begun.code, totp: codeAt(owner.secret ?? '', deps.clock.now()) }
  return owner.browser.post(`${await consentPath(service, begun)}/decision`, said)
}

function nextPoll(secret: string, verifier?: string) {
  return pollRested(service, secret, verifier)
}

function ask(rawKey: string) {
  return createHttpClient(service.url).post(
    '/api/v1/approvals/request',
    { action: 'Deploy' },
    { headers: { Authorization: `Bearer ${rawKey}` }, origin: null },
  )
}

async function keysOf({ browser }: Pick<EnrolledPerson, 'browser'>) {
  return expectStatus(await browser.get('/api/v1/account/api-keys'), 200).data
}

describe('collecting the key of a bootstrap', () => {
  it('leads from the question over the consent to a key that works, given in the first answer only', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    expect((await pollOnce(service, begun.secret)).body).toEqual({ status: 'pending' })
    expect(expectStatus(await consent(service, owner, begun), 200)).toMatchObject({ status: 'approved' })
    expect(await keysOf(owner)).toEqual([])
    // Whose answer has no body.
    const status = `${service.url}/api/v1/bootstrap/${begun.secret}/status`
    expect((await fetch(status, { method: 'HEAD' })).status).toBe(404)
    const first = await nextPoll(begun.secret)
    expect(first.status).toBe(200)
    expect(first.body).toEqual({ status: 'approved', api_key: expect.stringMatching(/^sa_live_\w{49}$/) })
    expect(first.headers.get('Cache-Control')).toBe('no-store')
    expect((await nextPoll(begun.secret)).body).toEqual(ended('already_collected'))
    expect((await ask(first.body.api_key)).status).toBe(201)
    expect(await keysOf(owner)).toMatchObject([
      { name: 'Release agent', sandbox: false, scopes: ['approval:create', 'approval:read'] },
    ])
  })

  it('T50: of 20 parallel polls exactly one is answered with the key, and the database holds it nowhere', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    const answers = await Promise.all(Array.from({ length: 20 }, () => pollOnce(service, begun.secret)))
    const keys = answers.flatMap(({ body }) => body.api_key ?? [])
    expect(keys).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(19)
    expect(await keysOf(owner)).toHaveLength(1)
    await expect.poll(async () => (await stored(service, begun.secret)).collected).toBeDefined()
    const written = await everything()
    for (const secret of [keys[0], keys[0].slice('sa_live_'.length), begun.secret, begun.secret.slice(5)])
      expect(written).not.toContain(secret)
    expect(written).toContain('Release agent')
  })

  it('T50: past the poll interval, too, one of 20 makes the key: the key itself is the claim', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    const bootstrap = await stored(service, begun.secret)
    const { deps } = service.composition
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, index) => handOutKey(deps, bootstrap, `10.9.9.${index}`)),
    )
    const given = made.filter((key) => key !== undefined)
    expect(given).toHaveLength(1)
    expect(await keysOf(owner)).toHaveLength(1)
    expect((await ask(given[0] ?? '')).status).toBe(201)
    // Nobody noted the collection, as after a crash: the next poll does, and gives nothing out.
    expect((await stored(service, begun.secret)).collected).toBeUndefined()
    expect((await nextPoll(begun.secret)).body).toEqual(ended('already_collected'))
    expect((await stored(service, begun.secret)).collected?.at).toBeInstanceOf(Date)
  })

  it('leaves the key to the next poll when a process dies before it is made', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    const { apiKeys } = service.composition.deps
    const { insert } = apiKeys
    apiKeys.insert = () => Promise.reject(new Error('killed'))
    expect((await pollOnce(service, begun.secret)).body.error).toBe('internal_error')
    apiKeys.insert = insert
    expect((await nextPoll(begun.secret)).body.api_key).toMatch(/^sa_live_/)
    expect(await keysOf(owner)).toHaveLength(1)
  })

  it('waits for the owner to revoke a key when the account got too many since the consent', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    const { apiKeys } = service.composition.deps
    const { insert } = apiKeys
    apiKeys.insert = (key) => insert(key, 0)
    const full = await pollOnce(service, begun.secret)
    apiKeys.insert = insert
    expect([full.status, full.body.error]).toEqual([409, 'key_limit'])
    expect((await nextPoll(begun.secret)).body.api_key).toMatch(/^sa_live_/)
  })

  it('gives a caller that proves its verifier another key for a lost one, and ends the first', async () => {
    const owner = await newOwner()
    const { verifier, code_challenge } = codeChallenge()
    const begun = await begin(service, owner.email, { code_challenge, code_challenge_method: 'S256' })
    await consent(service, owner, begun)
    const first = (await nextPoll(begun.secret, verifier)).body.api_key
    const second = (await nextPoll(begun.secret, verifier)).body.api_key
    expect(second).toMatch(/^sa_live_/)
    expect(second).not.toBe(first)
    const refused = await ask(first)
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid or missing API key'])
    expect((await ask(second)).status).toBe(201)
    await expect.poll(async () => (await keysOf(owner))[0].last_used_at).not.toBeNull()
    expect((await nextPoll(begun.secret, verifier)).body).toEqual(ended('already_collected'))
    expect((await ask(second)).status).toBe(201)
    expect(await keysOf(owner)).toHaveLength(1)
  })

  it('replaces nothing after 60 seconds, nor a key that the owner revoked', async () => {
    const owner = await newOwner()
    const one = codeChallenge()
    const late = await begin(service, owner.email, { code_challenge: one.code_challenge })
    await consent(service, owner, late)
    const key = (await nextPoll(late.secret, one.verifier)).body.api_key
    const { key_id: lateKey = '' } = await stored(service, late.secret)
    await service.composition.connection
      .collection<{ _id: string }>('api_keys')
      .updateOne({ _id: lateKey }, { $set: { created_at: new Date(Date.now() - 61_000) } })
    expect((await nextPoll(late.secret, one.verifier)).body).toEqual(ended('already_collected'))
    expect((await ask(key)).status).toBe(201)
    const two = codeChallenge()
    const revoked = await begin(service, owner.email, { code_challenge: two.code_challenge })
    await consent(service, owner, revoked)
    const lost = (await nextPoll(revoked.secret, two.verifier)).body.api_key
    const { key_id } = await stored(service, revoked.secret)
    expectStatus(await owner.browser.delete(`/api/v1/account/api-keys/${key_id}`), 200)
    expect((await nextPoll(revoked.secret, two.verifier)).body).toEqual(ended('already_collected'))
    expect((await ask(lost)).status).toBe(401)
  })

  it('gives the key also to a caller that first asks after the ten minutes of the owner', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    const { collect_by, consent: said } = await stored(service, begun.secret)
    expect(Number(collect_by) - Number(said?.at)).toBe(3_600_000)
    await setStored(service, begun.secret, { expires_at: new Date(Date.now() - 1_000) })
    expect((await nextPoll(begun.secret)).body).toMatchObject({
      status: 'approved',
      api_key: expect.stringMatching(/^sa_live_/),
    })
  })

  it('says that a consent which was not used for an hour has ended, and makes no key', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    await setStored(service, begun.secret, { collect_by: new Date(Date.now() - 1_000) })
    for (let poll = 0; poll < 2; poll += 1)
      expect((await nextPoll(begun.secret)).body).toEqual(ended('not_collected'))
    expect(await keysOf(owner)).toEqual([])
  })

  it.each([
    { factor: 'passkey', enrol: newOwner, say: consent },
    { factor: 'codes', enrol: newOwnerWithCodes, say: consentByCode },
  ])('T23: makes no key once the $factor that consented went, though codes came after', async (by) => {
    const { deps } = service.composition
    const owner = await by.enrol()
    const begun = await begin(service, owner.email)
    expectStatus(await by.say(service, owner, begun), 200)
    await resetPerson(deps, owner, { kind: 'cli' })
    const { link } = await renewInvitation(deps, owner, { kind: 'cli' })
    const back = await enrolWithTotp(service, owner.email, linkToken(link.url))
    expect((await nextPoll(begun.secret)).body).toEqual(ended('not_collected'))
    expect(await keysOf(back)).toEqual([])
  })

  it.each([
    { factor: 'passkey', enrol: newOwner, say: consent, ended: { 'passkeys.0.suspended_at': new Date() } },
    {
      factor: 'codes',
      enrol: newOwnerWithCodes,
      say: consentByCode,
      ended: { 'totp.disabled_at': new Date() },
    },
    { factor: 'passkey', enrol: newOwner, say: consent, rule: 'attested' },
    { factor: 'codes', enrol: newOwnerWithCodes, say: consentByCode, rule: 'attested' },
  ])('T30: makes no key once the $factor that consented ceased to count (rule: $rule)', async (by) => {
    const owner = await by.enrol()
    const begun = await begin(service, owner.email)
    expectStatus(await by.say(service, owner, begun), 200)
    const { connection } = service.composition
    const users = connection.collection<{ _id: string }>('users')
    if (by.ended !== undefined) await users.updateOne({ _id: owner.userId }, { $set: by.ended })
    const rules = { 'policy.authenticators': by.rule }
    if (by.rule !== undefined)
      await connection.collection('accounts').updateOne({ owner_id: owner.userId }, { $set: rules })
    expect((await nextPoll(begun.secret)).body).toEqual(ended('not_collected'))
    expect(await keysOf(owner)).toEqual([])
  })

  it('is over after a restore: pending ones and consents of the copy have ended', async () => {
    const owner = await newOwner()
    const [agreed, waiting] = [await begin(service, owner.email), await begin(service, owner.email)]
    expectStatus(await consent(service, owner, agreed), 200)
    await restoreStore(service.composition.deps)
    expect((await nextPoll(agreed.secret)).body).toEqual(ended('not_collected'))
    expect((await nextPoll(waiting.secret)).body).toEqual(ended('not_answered'))
    const { id } = await stored(service, waiting.secret)
    const listed = await service.composition.deps.trail.list({ subject: id, limit: 9 })
    expect(listed.map(({ entry }) => [entry?.type, entry?.detail])).toContainEqual([
      'bootstrap.expired',
      { reason: 'restored' },
    ])
    const again = await begin(service, owner.email)
    expect((await nextPoll(again.secret)).body).toEqual({ status: 'pending' })
  })

  it('tells the owner who collected: in the audit trail, on the consent and with key.created', async () => {
    const owner = await newOwner()
    const begun = await begin(service, owner.email)
    await consent(service, owner, begun)
    const headers = { 'X-Forwarded-For': '198.51.100.7' }
    const answer = await createHttpClient(service.url).get(`/api/v1/bootstrap/${begun.secret}/status`, {
      headers,
    })
    expect(answer.body.api_key).toMatch(/^sa_live_/)
    await expect.poll(async () => (await stored(service, begun.secret)).collected).toBeDefined()
    const bootstrap = await stored(service, begun.secret)
    const { body } = await owner.browser.get(`/api/v1/account/bootstrap/${bootstrap.id}`)
    expect(body.collected).toMatchObject({ address: '198.51.100.7', key_id: bootstrap.key_id })
    expect(bootstrap.audit.map(({ type }) => type)).toEqual([
      'bootstrap.requested',
      'bootstrap.approved',
      'bootstrap.collected',
    ])
    expect(bootstrap.audit[2]?.actor).toEqual({ kind: 'public', address: '198.51.100.7' })
    const key = await service.composition.deps.apiKeys.find(bootstrap.key_id ?? '')
    expect(JSON.parse(key?.outbox[0]?.body ?? '')).toMatchObject({
      type: 'key.created',
      data: { consent_id: bootstrap.id, collected_from: '198.51.100.7' },
    })
  })
})

/** What is answered when there is no key to give, or none any more. */
function ended(reason: string) {
  return { status: 'expired', reason, message: expect.stringContaining('tart again') }
}

/** Every document of every collection as text. */
async function everything(): Promise<string> {
  const { db } = service.composition.connection
  const names = (await db?.listCollections().toArray()) ?? []
  const all = await Promise.all(names.map(({ name }) => db?.collection(name).find({}).toArray()))
  return JSON.stringify(all)
}
