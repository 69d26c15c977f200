import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resetPerson } from '../../../src/flow/joining/invite-user.ts'
import { auditOf } from '../../support/audit.ts'
import { createChatPlatform } from '../../support/chat-platform.ts'
import { askFor, inChannel, linkTo, newSpeaker, proofForLink, say } from '../../support/chat-speaker.ts'
import { enrolWithPasskey, passkeyProof } from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { startService, type TestService } from '../../support/service.ts'

const USE = '/api/v1/chat-links/use'
const CHANNELS = '/api/v1/account/channels'
const INVALID = {
  error: 'chat_link_invalid',
  message: 'This link has expired, was already used or is incomplete; ask for a new one in chat.',
}
const NOT_YOURS = {
  error: 'chat_link_not_yours',
  message: 'Another person asked for this link in chat; sign in as that person.',
}
const LIMIT = {
  error: 'channel_limit',
  message: 'The account has reached the limit of 5 channels; remove one first.',
}

const chat = createChatPlatform()
let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' }, chats: [chat] })
})
afterAll(() => service.close())

/** An owner who has linked an identity. */
async function linked() {
  people += 1
  const owner = await enrolWithPasskey(service, `owner${people}@example.com`)
  const speaker = newSpeaker()
  await linkTo(service, owner, speaker)
  return { owner, speaker }
}

type Linked = Awaited<ReturnType<typeof linked>>

async function add({ owner, speaker }: Linked, channel: string) {
  const token = await askFor(service, inChannel(speaker, channel), 'channel')
  return owner.browser.post(USE, { token, proof: await proofForLink(service, owner, token) })
}

async function channelsOf({ owner }: Linked): Promise<string[]> {
  const { data } = (await owner.browser.get(CHANNELS)).body
  return Array.from(data, (entry) => String(Object(entry).channel))
}

const added = (channel: string) => ({
  platform: 'slack',
  tenant: 'T1',
  channel,
  name: `name of ${channel}`,
  workspace: 'Acme',
})

describe('adding a channel', () => {
  it('is undone for a person who is reset while the app says hello there (T23)', async () => {
    const setting = await linked()
    const { email } = setting.owner
    const { post } = chat
    chat.post = async (...message) => {
      await resetPerson(service.composition.deps, { email }, { kind: 'cli' })
      return post(...message)
    }
    const answer = await add(setting, 'CRESET').finally(() => {
      chat.post = post
    })
    expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    const user = await service.composition.deps.users.find(setting.owner.userId)
    const account = await service.composition.deps.accounts.find(user?.account_id ?? '')
    expect(account?.channels).toEqual([])
    const removal = { actor: { kind: 'service' }, detail: { channel: 'CRESET' } }
    expect(await auditOf(service, { type: 'channel.removed', subject: account?.id ?? '' })).toMatchObject([
      removal,
    ])
  })

  it('takes the owner and a fresh proof for this link', async () => {
    const setting = await linked()
    const token = await askFor(service, inChannel(setting.speaker, 'C1'), 'channel')
    const { browser } = setting.owner
    const seen = await browser.post('/api/v1/chat-links/look', { token })
    expect(seen.body).toMatchObject({ kind: 'channel', channel: 'name of C1', workspace: 'Acme' })
    const proof = await passkeyProof(setting.owner, service, 'chat.channel', seen.body.id)
    const answer = await browser.post(USE, { token, proof })
    expect([answer.status, answer.body]).toEqual([200, { channel: added('C1') }])
    expect((await browser.get(CHANNELS)).body).toEqual({ data: [added('C1')], next_cursor: null })
    const user = await service.composition.deps.users.find(setting.owner.userId)
    const accountId = user?.account_id ?? ''
    expect(await auditOf(service, { type: 'channel.added', subject: accountId })).toMatchObject([
      {
        account_id: accountId,
        actor: { kind: 'user', id: setting.owner.userId },
        detail: { platform: 'slack', tenant: 'T1', channel: 'C1' },
      },
    ])
    const again = await say(service, inChannel(setting.speaker, 'C1'), 'channel')
    expect(again).toMatchObject({
      kind: 'notice',
      heading: 'Already notified',
      sentence: expect.stringContaining('Turn this off under Integrations.'),
    })
  })

  it('409: connects no channel in which the app cannot post, and leaves the link good', async () => {
    const { owner, speaker } = await linked()
    const token = await askFor(service, inChannel(speaker, 'C-without-app'), 'channel')
    const use = async () =>
      owner.browser.post(USE, { token, proof: await proofForLink(service, owner, token) })
    chat.behave(() => ({ outcome: 'unreachable', code: 'not_in_channel' }))
    const refused = await use()
    chat.behave(() => undefined)
    expect([refused.status, refused.body]).toEqual([
      409,
      {
        error: 'channel_unreachable',
        message:
          'The app cannot post in this channel, so nothing was connected; add the app to it, then confirm again.',
        reason: 'not_in_channel',
      },
    ])
    expect(await channelsOf({ owner, speaker })).toEqual([])
    expect((await use()).status).toBe(200)
    expect(chat.greeted.filter((channel) => channel === 'C-without-app')).toHaveLength(1)
  })

  it('401, 403: not without a session, a proof, or with a proof for something else', async () => {
    const { owner, speaker } = await linked()
    const token = await askFor(service, inChannel(speaker, 'C1'), 'channel')
    const stranger = await createHttpClient(service.url).post(USE, { token })
    expect([stranger.status, stranger.body.error]).toEqual([401, 'not_signed_in'])
    const bare = await owner.browser.post(USE, { token })
    expect([bare.status, bare.body.error]).toEqual([403, 'proof_required'])
    const { id } = (await owner.browser.post('/api/v1/chat-links/look', { token })).body
    const wrong = await passkeyProof(owner, service, 'chat.link', id)
    const answer = await owner.browser.post(USE, { token, proof: wrong })
    expect([answer.status, answer.body.error]).toEqual([400, 'challenge_invalid'])
    const proof = await proofForLink(service, owner, token)
    expect((await owner.browser.post(USE, { token, proof })).status).toBe(200)
  })

  it('403: another owner who is lured into the link adds nothing, and leaves it as it is', async () => {
    const mine = await linked()
    const theirs = await linked()
    const token = await askFor(service, inChannel(mine.speaker, 'C-evil'), 'channel')
    const proof = await proofForLink(service, theirs.owner, token)
    const answer = await theirs.owner.browser.post(USE, { token, proof })
    expect([answer.status, answer.body]).toEqual([403, NOT_YOURS])
    expect(await channelsOf(theirs)).toEqual([])
    const own = await proofForLink(service, mine.owner, token)
    expect((await mine.owner.browser.post(USE, { token, proof: own })).status).toBe(200)
  })

  it('404: counts once, and not after the identity was unlinked', async () => {
    const setting = await linked()
    const token = await askFor(service, inChannel(setting.speaker, 'C1'), 'channel')
    const proofs = [
      await proofForLink(service, setting.owner, token),
      await proofForLink(service, setting.owner, token),
    ]
    const answers = await Promise.all(
      proofs.map((proof) => setting.owner.browser.copy().post(USE, { token, proof })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    expect(answers.find(({ status }) => status === 404)?.body).toEqual(INVALID)
    const late = await askFor(service, inChannel(setting.speaker, 'C2'), 'channel')
    const proof = await proofForLink(service, setting.owner, late)
    await say(service, setting.speaker, 'unlink')
    const unlinked = await setting.owner.browser.post(USE, { token: late, proof })
    expect([unlinked.status, unlinked.body]).toEqual([404, INVALID])
    expect(await channelsOf(setting)).toEqual(['C1'])
  })

  it('409: an account has five channels at most, also when several are added at once', async () => {
    const setting = await linked()
    const { accounts, users } = service.composition.deps
    for (const channel of ['C1', 'C2', 'C3']) expect((await add(setting, channel)).status).toBe(200)
    // Links of one identity replace each other: colleagues of the same person ask.
    const others = [newSpeaker(), newSpeaker(), newSpeaker()]
    for (const speaker of others) await linkTo(service, setting.owner, speaker)
    const tokens = await Promise.all(
      others.map((speaker, n) => askFor(service, inChannel(speaker, `C1${n}`), 'channel')),
    )
    const proofs: object[] = []
    for (const token of tokens) proofs.push(await proofForLink(service, setting.owner, token))
    const answers = await Promise.all(
      tokens.map((token, n) => setting.owner.browser.copy().post(USE, { token, proof: proofs[n] })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409])
    expect(answers.find(({ status }) => status === 409)?.body).toEqual(LIMIT)
    expect(await channelsOf(setting)).toHaveLength(5)
    const full = await say(service, inChannel(setting.speaker, 'C9'), 'channel')
    expect(full).toMatchObject({
      kind: 'notice',
      heading: 'Too many channels',
      sentence: expect.stringContaining('Remove one under Integrations first.'),
    })
    const user = await users.find(setting.owner.userId)
    expect((await accounts.find(user?.account_id ?? ''))?.channels).toHaveLength(5)
  })
})

describe('removing a channel', () => {
  it('takes the owner only; the account is told so', async () => {
    const setting = await linked()
    await add(setting, 'C1')
    await add(setting, 'C2')
    const body = { platform: 'slack', tenant: 'T1', channel: 'C1' }
    const answer = await setting.owner.browser.post(`${CHANNELS}/remove`, body)
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    expect(await channelsOf(setting)).toEqual(['C2'])
    const user = await service.composition.deps.users.find(setting.owner.userId)
    const removed = await auditOf(service, { type: 'channel.removed', subject: user?.account_id ?? '' })
    expect(removed).toMatchObject([{ actor: { id: setting.owner.userId }, detail: { channel: 'C1' } }])
  })

  it("404: knows no other channel, nor another account's", async () => {
    const setting = await linked()
    const other = await linked()
    await add(other, 'C1')
    const missing = {
      error: 'not_found',
      message: 'There is no such resource, or it is not yours; check the address and its ids.',
    }
    for (const body of [
      { platform: 'slack', tenant: 'T1', channel: 'C1' },
      { platform: 'teams', tenant: 'T1', channel: 'C1' },
    ]) {
      const answer = await setting.owner.browser.post(`${CHANNELS}/remove`, body)
      expect([answer.status, answer.body]).toEqual([404, missing])
    }
    expect(await channelsOf(other)).toEqual(['C1'])
  })

  it('401, 400: needs a session, and a platform that there is', async () => {
    const stranger = createHttpClient(service.url)
    expect((await stranger.get(CHANNELS)).body).toEqual({ error: 'not_signed_in', message: 'Sign in first.' })
    expect((await stranger.post(`${CHANNELS}/remove`, {})).status).toBe(401)
    const { owner } = await linked()
    const odd = { platform: 'irc', tenant: 'T1', channel: 'C1' }
    const answer = await owner.browser.post(`${CHANNELS}/remove`, odd)
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { error: 'invalid_field', field: 'platform', detail: 'must be slack or teams' },
    ])
  })
})
