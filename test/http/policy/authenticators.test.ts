import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { factorsAnswer } from '../../../src/http/api/factors.ts'
import { membersAnswer } from '../../../src/http/api/members.ts'
import { policyAnswer } from '../../../src/http/api/policy.ts'
import { readMetadataBlob } from '../../../src/signing/metadata-blob.ts'
import {
  authorityNamed,
  batchOf,
  type Certified,
  certify,
  metadataBlob,
  pemOf,
  withMetadata,
} from '../../support/authenticator-maker.ts'
import { approve, BATCH, startBatch } from '../../support/batches.ts'
import { begin, consentPath } from '../../support/bootstraps.ts'
import { stored } from '../../support/caller.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  expectStatus,
  linkToken,
  passkeyProof,
} from '../../support/enrolled.ts'
import { type Answer, createHttpClient } from '../../support/http-client.ts'
import { inviteMember, newMember, newOwner } from '../../support/invited.ts'
import { ask, keyOf } from '../../support/live.ts'
import { startService, type TestService, useService } from '../../support/service.ts'
import { createSoftAuthenticator, type RegistrationCeremony } from '../../support/soft-authenticator.ts'

const TOKEN = 'ee882879-721c-4913-9775-3dfcce97072a'
const OTHER = '2fc0579f-8113-47ea-b116-bb5a8db9202a'
const BROKEN = '19083c3d-8383-4b18-bc03-8f1c9ab2fd1b'
const CROSSED = '0bb43545-fd2c-4185-87dd-feb0b2916ace'
const SECOND = 'c1f9a0bc-1dd2-404a-b27f-8e29047a43fd'
const UNKNOWN = '6028b017-b1d4-4c02-b4b3-afcdafc96bb2'

const metadataRoot = authorityNamed('Metadata root')
const makerRoot = authorityNamed('Maker root')
const otherRoot = authorityNamed('Other root')
const u2fRoot = authorityNamed('U2F root')
const crossRoot = authorityNamed('Cross root')
const crossedRoot = authorityNamed('Crossed root', crossRoot)
const MODELS = [
  { model: TOKEN, name: 'Token 5 NFC', roots: [{ ...makerRoot, der: Buffer.from('none') }, makerRoot] },
  { model: OTHER, name: 'Other Key', roots: [otherRoot] },
  { model: CROSSED, name: 'Crossed Key', roots: [crossRoot] },
  { name: 'U2F Key', roots: [crossedRoot, u2fRoot] },
  { model: SECOND, name: 'Second Factor Key', roots: [u2fRoot] },
  { model: BROKEN, name: 'Broken Key', roots: [makerRoot], statuses: ['FIDO_CERTIFIED', 'REVOKED'] },
]

/** A registration as a token of that batch makes it. */
function attestedBy(batch: Certified, model = TOKEN, chain: Certified[] = []): Partial<RegistrationCeremony> {
  return {
    format: 'packed',
    model,
    maker: { key: batch.key, chain: [batch, ...chain].map(({ der }) => der) },
  }
}

const genuine = () => attestedBy(batchOf(TOKEN, makerRoot))

let service: TestService
let owner: Awaited<ReturnType<typeof newOwner>>
let people = 0
beforeAll(async () => {
  const blob = metadataBlob(MODELS, { root: metadataRoot, nextUpdate: '2026-01-31' })
  service = await withMetadata(blob, metadataRoot, (env) =>
    startService({ env: { TRUST_PROXY: '1', ...env } }),
  )
})
afterAll(() => service.close())
beforeEach(async () => {
  people += 1
  owner = await newOwner(service, `owner${people}@example.com`)
})

const REFUSED = [403, 'authenticator_refused']
const said = ({ status, body }: Answer) => [status, body.error]

/** Adds a passkey as the account page does. @returns what its options asked for, and the answer */
async function addPasskey(person: EnrolledPerson, ceremony: Partial<RegistrationCeremony>, attested = true) {
  const proof = await passkeyProof(person, service, 'passkey.add')
  const asked = await person.browser.post('/api/v1/me/passkeys/options', { proof, attested })
  const { options } = expectStatus(asked, 200)
  const credential = person.authenticator.register(options, { origin: service.url, ...ceremony })
  const answer = await person.browser.post('/api/v1/me/passkeys', { name: 'token', credential })
  return { asked: options.attestation, answer }
}

/** @param by the passkey that confirms: 0 is the one that they enrolled with */
async function setRule(authenticators: unknown, by: number, approvers: string[] = []) {
  const operation = { operation: 'policy.change' }
  const asked = await owner.browser.post('/api/v1/me/step-up/options', operation)
  if (asked.status !== 200) return asked
  const proof = { passkey: assertBy(owner, by, asked.body.options) }
  const rules = { approvers, quorum: 1, passkey_only: false, high_impact: false, authenticators, proof }
  return owner.browser.put('/api/v1/account/policy', rules)
}

/** With that passkey, whether the options allow it or not. */
function assertBy(
  person: EnrolledPerson,
  index: number,
  options: Parameters<typeof assertWith>[2],
): ReturnType<typeof assertWith> {
  const credential = person.authenticator.credentials[index] ?? expect.unreachable()
  return assertWith(person, service, options, { credential })
}

/** The owner has a plain passkey (0) and an attested one (1), and the policy counts such alone. */
async function ruled(rule: unknown = 'attested', approvers: string[] = []): Promise<void> {
  expectStatus((await addPasskey(owner, genuine())).answer, 201)
  expectStatus(await setRule(rule, 1, approvers), 200)
}

describe('the metadata of authenticators', () => {
  const host = 'mds.fidoalliance.org'
  const good = metadataBlob(MODELS, { root: metadataRoot })
  const [header, , signature] = good.split('.')
  const payload = Buffer.from(JSON.stringify({ no: 2, nextUpdate: '2099-01-01', entries: [] }))
  const late = certify({ name: [['2.5.4.3', 'late']], by: metadataRoot, until: Date.now() - 3_600_000 })
  it.each<[string, string, { roots: Certified[]; host?: string }, RegExp]>([
    ['signed under another root', good, { roots: [makerRoot] }, /leads to none of the roots/],
    ['signed under no root', good, { roots: [] }, /leads to none of the roots/],
    [
      'of a signer that has run out',
      metadataBlob(MODELS, { root: metadataRoot, signer: late }),
      { roots: [metadataRoot] },
      /leads to none/,
    ],
    ['of another signer under a public root', good, { roots: [metadataRoot], host }, /its signer is not mds/],
    [
      'changed after it was signed',
      [header, payload.toString('base64url'), signature].join('.'),
      { roots: [metadataRoot] },
      /signature verification failed/,
    ],
    ['that is none', 'no metadata', { roots: [metadataRoot] }, /Invalid Token|Protected Header/],
  ])('is not taken from a file %s', async (_name, blob, { roots, ...trust }, reason) => {
    const read = readMetadataBlob(blob, { roots: roots.map(pemOf), ...trust }, new Date())
    await expect(read).rejects.toThrow(reason)
  })

  it('keeps the service from starting when the file cannot be trusted, and is used, with a warning, when it is old', async () => {
    const start = withMetadata(good, makerRoot, (env) => startService({ env }))
    await expect(start).rejects.toThrow(
      'FIDO_METADATA_FILE: cannot be used: its signer leads to none of the roots',
    )
    const warned = service.logged.filter(({ level }) => level === 'warn').map(({ message }) => message)
    expect(warned).toContain('the metadata of authenticators is outdated; download a newer file')
  })
})

describe('authenticators in the policy', () => {
  it('T88: are set with a passkey that they permit, shown, and taken back', async () => {
    expect(said(await setRule('attested', 0))).toEqual([422, 'no_eligible_approver'])
    const added = await addPasskey(owner, genuine())
    expect(added.asked).toBe('direct')
    expect(expectStatus(added.answer, 201).passkey).toMatchObject({
      aaguid: TOKEN,
      authenticator: 'Token 5 NFC',
      attested: true,
      device_bound: true,
    })
    expect(said(await setRule('attested', 0))).toEqual(REFUSED)
    const policy = expectStatus(await setRule([TOKEN.toUpperCase()], 1), 200)
    expect(policyAnswer.safeParse(policy).error?.issues ?? []).toEqual([])
    expect(policy).toMatchObject({ authenticators: [TOKEN], can_attest: true, reachable: true })
    // A policy that does not name them leaves them as they are.
    expect(expectStatus(await setRule(undefined, 1), 200)).toMatchObject({ authenticators: [TOKEN] })
    expect(said(await setRule(null, 0))).toEqual(REFUSED)
    expect(said(await setRule([OTHER], 1))).toEqual([422, 'no_eligible_approver'])
    expect(expectStatus(await setRule(null, 1), 200)).not.toHaveProperty('authenticators')
    const account = await stored(service, 'accounts').findOne({ _id: owner.accountId })
    const details = Array.from(Object(account).audit, (entry) => Object(entry).detail.authenticators)
    expect(details).toEqual([TOKEN, TOKEN, undefined])
  })

  it.each([['yes'], [[]], [['x']], [true]])('400: refuses %o', async (authenticators) => {
    const answer = await owner.browser.put('/api/v1/account/policy', {
      ...{ approvers: [], quorum: 1, passkey_only: false, high_impact: false, authenticators },
    })
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([
      400,
      'invalid_field',
      Array.isArray(authenticators) && authenticators.length > 0 ? 'authenticators.0' : 'authenticators',
    ])
  })

  it('say what each passkey is, to the person and to the owner', async () => {
    await ruled()
    const factors = expectStatus(await owner.browser.get('/api/v1/me/factors'), 200)
    expect(factorsAnswer.safeParse(factors).error?.issues ?? []).toEqual([])
    const none = '00000000-0000-0000-0000-000000000000'
    const made = [
      { aaguid: none, device_bound: true },
      { aaguid: TOKEN, device_bound: true, authenticator: 'Token 5 NFC', attested: true },
    ]
    expect(factors).toMatchObject({ can_attest: true, passkeys: made })
    const members = expectStatus(await owner.browser.get('/api/v1/account/members'), 200)
    expect(membersAnswer.safeParse(members).error?.issues ?? []).toEqual([])
    expect(members.data[0].passkeys).toEqual(made)
    const user = await service.composition.deps.users.find(owner.userId)
    expect(user?.passkeys[1]).toMatchObject({ attestation: 'packed', transports: ['internal', 'hybrid'] })
    expect(user?.audit.at(-1)?.detail).toMatchObject({ aaguid: TOKEN, attested: true })
  })
})

describe('a decision under authenticators', () => {
  it('T88: counts by a permitted passkey alone, and shows and signs the rule', async () => {
    const key = await keyOf(service, owner.userId)
    const before = await ask({ service, key })
    await ruled()
    const id = await ask({ service, key })
    const review = expectStatus(await owner.browser.get(`/api/v1/approvals/${id}/review`), 200)
    expect(review).toMatchObject({
      policy: { passkey_only: true, authenticators: 'attested' },
      may_decide: true,
    })
    const start = async (request: string) =>
      expectStatus(
        await owner.browser.post(`/api/v1/approvals/${request}/decision/options`, { decision: 'approved' }),
        200,
      ).options
    const decide = async (request: string, by: number) => {
      const passkey = assertBy(owner, by, await start(request))
      return owner.browser.post(`/api/v1/approvals/${request}/decision`, { decision: 'approved', passkey })
    }
    const [, token] = owner.authenticator.credentials
    expect(Array.from((await start(id)).allowCredentials, (one) => Object(one).id)).toEqual([token?.id])
    expect(said(await decide(id, 0))).toEqual(REFUSED)
    expect((await service.composition.deps.requests.find(id))?.votes).toEqual([])
    expect((await decide(id, 1)).status).toBe(200)
    // Made before the rule, and decided as it was made (T79).
    expect((await decide(before, 0)).status).toBe(200)
  })

  it('T88: stop counting a model that is reported as broken after it was registered', async () => {
    await ruled()
    const id = await ask({ service, key: await keyOf(service, owner.userId) })
    const models = MODELS.map((one) => (one.model === TOKEN ? { ...one, statuses: ['REVOKED'] } : one))
    const database = service.composition.connection.name
    const blob = metadataBlob(models, { root: metadataRoot })
    const later = await withMetadata(blob, metadataRoot, (env) =>
      useService({ database, env: { TRUST_PROXY: '1', BASE_URL: service.url, ...env } }),
    )
    const decide = async ({ url }: TestService) => {
      const browser = createHttpClient(url, new Map(owner.browser.cookies))
      const from = { origin: service.url }
      const path = `/api/v1/approvals/${id}/decision`
      const asked = await browser.post(`${path}/options`, { decision: 'approved' }, from)
      const passkey = assertBy(owner, 1, expectStatus(asked, 200).options)
      return browser.post(path, { decision: 'approved', passkey }, from)
    }
    expect(said(await decide(later))).toEqual(REFUSED)
    expect((await decide(service)).status).toBe(200)
  })

  it('T88: refuses a code, and whoever has no permitted passkey, with the reason', async () => {
    const plain = await newMember(service, owner, `plain${people}@example.com`)
    const proof = await passkeyProof(owner, service, 'totp.add')
    const setUp = expectStatus(await owner.browser.post('/api/v1/me/totp/options', { proof }), 200)
    const code = codeAt(setUp.secret, service.composition.deps.clock.now())
    expectStatus(await owner.browser.post('/api/v1/me/totp', { code }), 201)
    await ruled('attested', [owner.userId, plain.userId])
    const id = await ask({ service, key: await keyOf(service, owner.userId) })
    const decision = `/api/v1/approvals/${id}/decision`
    const byCode = await owner.browser.post(decision, { decision: 'approved', totp: '123456' })
    expect(said(byCode)).toEqual([403, 'passkey_required'])
    const asked = await plain.browser.post(`${decision}/options`, { decision: 'approved' })
    expect(said(asked)).toEqual(REFUSED)
    const review = expectStatus(await plain.browser.get(`/api/v1/approvals/${id}/review`), 200)
    expect(review).toMatchObject({ may_decide: false, why_not: 'authenticator_refused', methods: [] })
    const batch = await plain.browser.post(`${BATCH}/options`, { items: approve(id) })
    expect([...said(batch), batch.body.ids]).toEqual([...REFUSED, [id]])
  })

  it('T88: counts in a batch, and in the consent to a key, likewise', async () => {
    await ruled()
    const key = await keyOf(service, owner.userId)
    const items = approve(await ask({ service, key }), await ask({ service, key }))
    const gesture = async (by: number) => {
      const { batch_id, options } = await startBatch(owner, items)
      return owner.browser.post(BATCH, { batch_id, passkey: assertBy(owner, by, options) })
    }
    expect(said(await gesture(0))).toEqual(REFUSED)
    expect((await gesture(1)).status).toBe(200)

    const begun = await begin(service, owner.email)
    const path = await consentPath(service, begun)
    const consent = async (by: number) => {
      const words = { decision: 'approved', code: begun.code }
      const { options } = expectStatus(await owner.browser.post(`${path}/decision/options`, words), 200)
      return owner.browser.post(`${path}/decision`, { ...words, passkey: assertBy(owner, by, options) })
    }
    expect(said(await consent(0))).toEqual(REFUSED)
    expect((await consent(1)).status).toBe(200)
  })

  it('T88: leaves a passkey that does not count to sign in with, but not to manage the account', async () => {
    await ruled()
    const { options } = expectStatus(await owner.browser.post('/api/v1/session/passkey/options', {}), 200)
    const credential = assertBy(owner, 0, options)
    expectStatus(await owner.browser.post('/api/v1/session/passkey', { credential }), 200)
    const makeKey = () => owner.browser.post('/api/v1/account/api-keys', { name: 'bot' })
    expect(said(await makeKey())).toEqual([403, 'proof_required'])
    const prove = async (by: number) => {
      const asked = await owner.browser.post('/api/v1/me/step-up/options', { operation: 'session.prove' })
      const passkey = assertBy(owner, by, expectStatus(asked, 200).options)
      return owner.browser.post('/api/v1/session/proof', { proof: { passkey } })
    }
    expect(said(await prove(0))).toEqual(REFUSED)
    expect((await prove(1)).status).toBe(200)
    expect((await makeKey()).status).toBe(201)
    // Their own factors any passkey confirms: else none could add the first that counts.
    expect((await addPasskey(owner, genuine(), false)).asked).toBe('direct')
  })
})

describe('enrolling under authenticators', () => {
  const intermediate = authorityNamed('Maker CA 2', makerRoot)
  const wish = { name: intermediate.name, by: makerRoot, authority: true }
  const old = certify({ ...wish, until: Date.now() - 3_600_000 })
  const batch = batchOf(TOKEN, makerRoot)
  it.each<[string, Partial<RegistrationCeremony>, unknown[], string[]?]>([
    ['takes a genuine token', attestedBy(batch), [201, undefined]],
    [
      'takes one whose batch stands under an authority of the maker',
      attestedBy(batchOf(TOKEN, intermediate), TOKEN, [intermediate]),
      [201, undefined],
    ],
    [
      'takes one whose batch names no model, under a root that no other model has',
      attestedBy(batchOf(undefined, otherRoot), OTHER),
      [201, undefined],
    ],
    ['refuses it under a root that another model has', attestedBy(batchOf(undefined, makerRoot)), REFUSED],
    [
      'refuses it under a root that a model of before FIDO2 has',
      attestedBy(batchOf(undefined, u2fRoot), SECOND),
      REFUSED,
    ],
    [
      'refuses it under a root that signed one of another model',
      attestedBy(batchOf(undefined, crossedRoot), CROSSED, [crossedRoot]),
      REFUSED,
    ],
    ['refuses a passkey that proves nothing', {}, REFUSED],
    ['refuses one that only claims the model', { model: TOKEN }, REFUSED],
    ['refuses one that vouches for itself', { format: 'packed', model: TOKEN }, REFUSED],
    [
      'refuses one that an unknown maker vouches for',
      attestedBy(batchOf(TOKEN, authorityNamed('Maker root'))),
      REFUSED,
    ],
    ['refuses the maker of another model', attestedBy(batchOf(TOKEN, otherRoot)), REFUSED],
    [
      'refuses a genuine one of a model that is not listed',
      attestedBy(batchOf(OTHER, otherRoot), OTHER),
      REFUSED,
      [TOKEN],
    ],
    ['refuses a model that was revoked', attestedBy(batchOf(BROKEN, makerRoot), BROKEN), REFUSED],
    [
      'refuses a model that the metadata does not know',
      attestedBy(batchOf(UNKNOWN, makerRoot), UNKNOWN),
      REFUSED,
    ],
    [
      'refuses a batch that another batch vouches for',
      attestedBy(batchOf(TOKEN, batch), TOKEN, [batch]),
      REFUSED,
    ],
    ['refuses an authority that has run out', attestedBy(batchOf(TOKEN, old), TOKEN, [old]), REFUSED],
    [
      'refuses a certificate for another model',
      attestedBy(batchOf(OTHER, makerRoot), TOKEN),
      [403, 'passkey_refused'],
    ],
    [
      'refuses a signature that the batch did not make',
      { ...attestedBy(batch), tamper: (made) => made.with(-1, (made.at(-1) ?? 0) ^ 1) },
      [403, 'passkey_refused'],
    ],
    [
      'refuses what is no certificate',
      { ...attestedBy(batch), maker: { key: batch.key, chain: [Buffer.from('x')] } },
      [403, 'passkey_refused'],
    ],
  ])('%s', async (_name, ceremony, expected, listed) => {
    await ruled(listed)
    const { link } = await inviteMember(service, owner, `member${people}@example.com`)
    const token = linkToken(link.url)
    const browser = createHttpClient(service.url)
    const started = await browser.post('/api/v1/enrollment/passkey/options', { token })
    const { options } = expectStatus(started, 200)
    expect(options.attestation).toBe('direct')
    const credential = createSoftAuthenticator().register(options, { origin: service.url, ...ceremony })
    const body = { token, passkey_name: 'token', credential }
    expect(said(await browser.post('/api/v1/enrollment/passkey', body))).toEqual(expected)
  })

  it('asks for nothing, and refuses nothing, where no policy does', async () => {
    const { asked, answer } = await addPasskey(owner, {}, false)
    expect([asked, answer.status]).toEqual(['none', 201])
    const strange = attestedBy(batchOf(TOKEN, authorityNamed('Maker root')))
    const { passkey } = expectStatus((await addPasskey(owner, strange)).answer, 201)
    expect([passkey.authenticator, passkey.attested]).toEqual(['Token 5 NFC', undefined])
  })
})
