import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { approve, BATCH, startBatch } from '../../support/batches.ts'
import {
  assertWith,
  codeAt,
  enrolWithTotp,
  expectStatus,
  passkeyProof,
  wrongCodeAt,
} from '../../support/enrolled.ts'
import { ask, keyOf, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
/** Milliseconds the clock was moved on: a code counts once. */
let later = 0

beforeAll(async () => {
  service = await startService({ localTime: () => Date.now() + later })
})
afterAll(() => service.close())

const now = () => service.composition.deps.clock.now()
const stored = (id: string) => service.composition.deps.requests.find(id)

/** The first code that was not used yet, and its step: half a minute may end right after. */
function nextStep(secret: string): { totp: string; step: number } {
  later += 30_000
  const at = now()
  return { totp: codeAt(secret, at), step: Math.floor(at.getTime() / 30_000) }
}

const nextCode = (secret: string) => nextStep(secret).totp

async function withCodes(email: string) {
  const person = await enrolWithTotp(service, email)
  return { person, key: await keyOf(service, person.userId) }
}

/** Somebody who has a passkey and codes. */
async function withBoth(email: string): Promise<LiveSetting & { secret: string }> {
  const own = await setUpOwner(service, email)
  const proof = await passkeyProof(own.owner, service, 'totp.add')
  const { secret } = expectStatus(await own.owner.browser.post('/api/v1/me/totp/options', { proof }), 200)
  expectStatus(await own.owner.browser.post('/api/v1/me/totp', { code: codeAt(secret, now()) }), 201)
  return { ...own, secret }
}

async function stillPending(...ids: string[]): Promise<void> {
  for (const id of ids) expect(await stored(id)).toMatchObject({ status: 'pending', votes: [] })
}

describe('a batch by one-time code', () => {
  it('T25: takes one code for everything, burns it once, and keeps the statement with every vote', async () => {
    const { person, key } = await withCodes('codes@example.com')
    const ids = [await ask({ service, key }), await ask({ service, key }), await ask({ service, key })]
    const started = await startBatch(person, approve(...ids))
    expect(started.methods).toEqual(['totp'])
    expect(started).not.toHaveProperty('options')
    const { totp, step } = nextStep(person.secret)
    const { data } = expectStatus(await person.browser.post(BATCH, { batch_id: started.batch_id, totp }), 200)
    expect(data).toHaveLength(3)
    for (const [index, id] of ids.entries()) {
      expect(data[index]).toMatchObject({ id, status: 'approved', decision: { method: 'totp' } })
      const evidence = (await stored(id))?.votes[0]?.evidence
      expect(evidence).toMatchObject({ type: 'totp', step })
      const batch = evidence?.type === 'totp' ? JSON.parse(evidence.batch_json ?? '{}') : {}
      expect(batch).toEqual(started.batch)
    }
    const more = await ask({ service, key })
    const second = await startBatch(person, approve(more))
    const replay = await person.browser.post(BATCH, { batch_id: second.batch_id, totp })
    expect([replay.status, replay.body.error]).toEqual([403, 'totp_refused'])
    await stillPending(more)
  })

  it('counts no code that was not asked for with options first', async () => {
    const { person, key } = await withCodes('bare@example.com')
    const id = await ask({ service, key })
    const totp = nextCode(person.secret)
    const bare = await person.browser.post(BATCH, { items: approve(id), totp })
    expect([bare.status, bare.body.error]).toEqual([400, 'batch_id required'])
    const foreign = await person.browser.post(BATCH, { batch_id: '0'.repeat(64), totp })
    expect([foreign.status, foreign.body.error]).toEqual([400, 'challenge_invalid'])
    const { batch_id } = await startBatch(person, approve(id))
    expectStatus(await person.browser.post(BATCH, { batch_id, totp }), 200)
  })

  it('uses the batch up with a wrong code; nothing is recorded, and the right one needs new options', async () => {
    const { person, key } = await withCodes('wrong@example.com')
    const id = await ask({ service, key })
    const { batch_id } = await startBatch(person, approve(id))
    const wrong = await person.browser.post(BATCH, { batch_id, totp: wrongCodeAt(person.secret, now()) })
    expect([wrong.status, wrong.body.error]).toEqual([403, 'totp_refused'])
    const totp = nextCode(person.secret)
    const late = await person.browser.post(BATCH, { batch_id, totp })
    expect([late.status, late.body.error]).toEqual([400, 'challenge_invalid'])
    await stillPending(id)
    const again = await startBatch(person, approve(id))
    expectStatus(await person.browser.post(BATCH, { batch_id: again.batch_id, totp }), 200)
  })

  it('is refused as a whole where one request demands a passkey; the code is not burnt', async () => {
    const both = await withBoth('both@example.com')
    const { browser } = both.owner
    const [plain, grave] = [await ask(both), await ask(both, { context: { source: 'gitlab' } })]
    const started = await startBatch(both.owner, approve(plain, grave))
    expect(started.methods).toEqual(['passkey'])
    const totp = nextCode(both.secret)
    const refused = await browser.post(BATCH, { batch_id: started.batch_id, totp })
    expect([refused.status, refused.body]).toMatchObject([403, { error: 'passkey_required', ids: [grave] }])
    await stillPending(plain, grave)
    const alone = await startBatch(both.owner, approve(plain))
    expect(alone.methods).toEqual(['passkey', 'totp'])
    expectStatus(await browser.post(BATCH, { batch_id: alone.batch_id, totp }), 200)
    const last = await startBatch(both.owner, approve(grave))
    const passkey = assertWith(both.owner, service, last.options)
    expectStatus(await browser.post(BATCH, { batch_id: last.batch_id, passkey }), 200)
  })

  it('is refused to whoever has no codes', async () => {
    const own = await setUpOwner(service, 'passkey-only@example.com')
    const id = await ask(own)
    const { batch_id } = await startBatch(own.owner, approve(id))
    const refused = await own.owner.browser.post(BATCH, { batch_id, totp: '123456' })
    expect([refused.status, refused.body.error]).toEqual([403, 'method_not_enrolled'])
    await stillPending(id)
  })

  it('is another batch once a passkey was added that high impact now demands', async () => {
    const { person, key } = await withCodes('grows@example.com')
    const ids = [await ask({ service, key }), await ask({ service, key }, { context: { source: 'github' } })]
    const { batch_id, methods } = await startBatch(person, approve(...ids))
    expect(methods).toEqual(['totp'])
    await addPasskey(person.userId)
    const refused = await person.browser.post(BATCH, { batch_id, totp: nextCode(person.secret) })
    expect([refused.status, refused.body]).toMatchObject([409, { error: 'batch_changed', ids }])
    await stillPending(...ids)
  })
})

/** As if from another device: on this one a new factor would have renewed the session, which ends the batch, too. */
async function addPasskey(userId: string): Promise<void> {
  const { users } = service.composition.deps
  const model = await setUpOwner(service, 'model@example.com')
  const [passkey] = (await users.find(model.owner.userId))?.passkeys ?? []
  const user = await users.find(userId)
  if (passkey === undefined || user === undefined) return expect.unreachable()
  const passkeys = [{ ...passkey, id: `pky_${'0'.repeat(26)}`, credential_id: 'AAAA' }]
  await users.change(userId, user.version, { passkeys }, [])
}
