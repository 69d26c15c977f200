import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { identityKey } from '../../../src/domain/chat.ts'
import type { ChatSpeaker } from '../../../src/flow/chat/chat-answer.ts'
import { auditOf } from '../../support/audit.ts'
import { createChatPlatform } from '../../support/chat-platform.ts'
import { inChannel, linkTo, newSpeaker, say } from '../../support/chat-speaker.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

const UNKNOWN_REQUEST = `req_${'0'.repeat(26)}`
const NOT_LINKED = {
  kind: 'notice',
  tone: 'refused',
  heading: 'You are not linked yet',
  sentence: 'Type /countersign link, open the link you get, and confirm.',
}

let service: TestService
let owner: LiveSetting
beforeAll(async () => {
  const chats = [createChatPlatform()]
  service = await startService({ env: { TRUST_PROXY: '1' }, chats })
  owner = await setUpOwner(service)
})
afterAll(() => service.close())

/** A request that somebody approved. */
async function approved(): Promise<{ id: string; body: Record<string, unknown> }> {
  const id = await ask(owner, { context: { reason: 'due' } })
  expect((await decideByPasskey(owner, id, 'approved')).status).toBe(200)
  const headers = { Authorization: `Bearer ${owner.key}` }
  const body = await (await fetch(`${service.url}/api/v1/approvals/${id}`, { headers })).json()
  return { id, body: Object(body) }
}

async function verdict(text: string, speaker = newSpeaker()) {
  const answer = await say(service, speaker, text)
  if (answer.kind !== 'verdict') throw new Error(JSON.stringify(answer))
  return answer
}

describe('verify', () => {
  it('tells anybody what became of a request, by its id or that of its receipt', async () => {
    const { id, body } = await approved()
    const decisionId = String(Object(body.decision).id)
    for (const asked of [id, decisionId]) {
      const { view, share } = await verdict(`verify ${asked}`)
      expect(share).toBe(false)
      expect(view).toMatchObject({ kind: 'approved', asked, heading: 'Approved' })
      expect(view.facts).toMatchObject({ request_id: id, decision_id: decisionId, method: 'passkey' })
    }
  })

  it('takes the address of the approval page, as people copy it from the card', async () => {
    const { id } = await approved()
    const { view } = await verdict(`verify ${service.url}/a/${id}?d=approve`)
    expect(view).toMatchObject({ kind: 'approved', asked: id })
    const other = await say(service, newSpeaker(), `verify https://evil.example/a/${id}`)
    expect(other).toMatchObject({
      kind: 'notice',
      heading: 'Not a receipt, id or address that can be verified',
    })
  })

  it('says what was approved to a linked person of that account, where no one else reads along', async () => {
    const { id } = await approved()
    const [linked, stranger] = [newSpeaker(), newSpeaker()]
    await linkTo(service, owner.owner, linked)
    await linkTo(service, await enrolWithPasskey(service, 'elsewhere@example.com'), stranger)
    const told = async (text: string, speaker: ChatSpeaker) => (await verdict(text, speaker)).view.action
    expect(await told(`verify ${id}`, linked)).toBe('Deploy release 4.2')
    expect(await told(`verify ${id}`, inChannel(linked, 'C1'))).toBe('Deploy release 4.2')
    expect(await told(`verify ${id} share`, inChannel(linked, 'C1'))).toBeUndefined()
    for (const speaker of [stranger, newSpeaker()])
      expect(await told(`verify ${id}`, speaker)).toBeUndefined()
    const teams = newSpeaker({ platform: 'teams' })
    await linkTo(service, owner.owner, teams)
    expect(await told(`verify ${id}`, teams)).toBe('Deploy release 4.2')
    expect(await told(`verify ${id}`, inChannel(teams, 'C1'))).toBeUndefined()
  })

  it('writes down who asked, as the platform names them', async () => {
    const { id, body } = await approved()
    const speaker = newSpeaker()
    await say(service, speaker, `verify ${id}`)
    await say(service, speaker, `verify ${Object(body.decision).id}`)
    await say(service, speaker, `verify ${JSON.stringify(body)}`)
    const entries = await auditOf(service, { type: 'approval.verified', subject: id })
    const account = (await service.composition.deps.users.find(owner.owner.userId))?.account_id
    const entry = {
      actor: { kind: 'chat', id: `slack:T1:${speaker.identity.user}` },
      account_id: account,
      detail: { result: 'valid' },
    }
    expect(entries).toMatchObject([entry, entry, entry])
  })

  it.each([UNKNOWN_REQUEST, `dec_${'0'.repeat(26)}`, 'req_cut'])(
    'tells that %s is unknown, and writes it down',
    async (asked) => {
      const { view } = await verdict(`verify ${asked}`)
      expect(view).toEqual({
        kind: 'unknown',
        asked,
        heading: 'Unknown',
        sentence: 'There is no such request; check the id.',
      })
      expect(await auditOf(service, { type: 'approval.verified', subject: asked })).toMatchObject([
        { detail: { result: 'not_found' } },
      ])
    },
  )

  it('finds no request by a made-up id of a decision', async () => {
    const { id } = await approved()
    expect((await verdict(`verify dec_${id.slice(4)}`)).view.kind).toBe('unknown')
  })

  it('tells that a request waits', async () => {
    const { view } = await verdict(`verify ${await ask(owner)} share`)
    expect(view).toMatchObject({ kind: 'pending', heading: 'Not decided yet' })
  })

  it('checks a pasted receipt in every form an answer of ours has', async () => {
    const { id, body } = await approved()
    const publicly = await (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json()
    for (const receipt of [body, body.decision, publicly]) {
      const { view } = await verdict(`verify \`\`\`${JSON.stringify(receipt, null, 2)}\`\`\``)
      expect(view).toMatchObject({ kind: 'approved', asked: 'a pasted receipt', facts: { request_id: id } })
    }
    const whole = await verdict(`verify ${JSON.stringify(body)} share`)
    expect(whole).toMatchObject({ share: true, view: { facts: { checked: 'exactly as approved' } } })
  })

  it('finds a receipt invalid that was altered, and says why', async () => {
    const { body } = await approved()
    const forged = { ...body, action: 'Pay somebody else' }
    const { view } = await verdict(`verify ${JSON.stringify(forged)}`)
    expect(view.kind).toBe('invalid')
    expect(view.heading).toBe('Not valid: do not act on it')
    expect(view).not.toHaveProperty('facts')
    const logged = await auditOf(service, { type: 'approval.verified', subject: 'pasted receipt' })
    expect(logged.at(-1)?.detail?.result).toMatch(/^receipt_/)
  })

  it('finds a receipt invalid beside which stand votes that do not hold', async () => {
    const { body } = await approved()
    const decision = Object(body.decision)
    const votes = [decision, { ...decision, id: `dec_${'0'.repeat(26)}` }]
    const { view } = await verdict(`verify ${JSON.stringify({ ...body, decision: { ...decision, votes } })}`)
    expect(view).toMatchObject({
      kind: 'invalid',
      sentence: expect.stringContaining('One of the votes is invalid.'),
    })
  })

  it('calls no receipt valid whose action and context nothing proves', async () => {
    const { body } = await approved()
    const { intent: _gone, ...decision } = Object(body.decision)
    const { view } = await verdict(`verify ${JSON.stringify({ ...body, context: { other: 1 }, decision })}`)
    expect(view).toMatchObject({ kind: 'unproven', heading: 'Receipt valid, content not proven' })
  })

  it('finds a receipt invalid that another service signed', async () => {
    const { body } = await approved()
    const other = { ...Object(body.decision), public_key_id: 'A'.repeat(43), public_key: undefined }
    const { view } = await verdict(`verify ${JSON.stringify(other)}`)
    expect(view).toMatchObject({
      kind: 'invalid',
      sentence: 'It was not signed with a key of this service, as its receipts are.',
    })
  })

  it('warns of a key that was revoked after the decision', async () => {
    const { body } = await approved()
    const kid = String(Object(body.decision).public_key_id)
    const keys = service.composition.connection.collection<{ _id: string }>('signing_keys')
    const revoke = (revoked_at: Date | null) => keys.updateOne({ _id: kid }, { $set: { revoked_at } })
    await revoke(new Date(Date.now() + 60_000))
    await service.composition.deps.keys.reload()
    const { view } = await verdict(`verify ${JSON.stringify(body)}`)
    await revoke(null)
    await service.composition.deps.keys.reload()
    expect(view.kind).toBe('approved')
    expect(view.key_revoked_at).toBeInstanceOf(Date)
  })

  it('says what to do when there is nothing to verify', async () => {
    const speaker = newSpeaker()
    expect(await say(service, speaker, 'verify')).toMatchObject({
      heading: 'Say what to verify',
      tone: 'problem',
    })
    for (const [typed, named] of [
      ['/verify', 'Type /verify followed by'],
      ['verify', 'Type /countersign verify followed by'],
    ] as const)
      expect(await say(service, speaker, typed)).toMatchObject({ sentence: expect.stringContaining(named) })
    expect(await say(service, speaker, '/verify help')).toMatchObject({ kind: 'help' })
    const odd = await say(service, speaker, 'verify my work')
    expect(odd).toMatchObject({
      kind: 'notice',
      heading: 'Not a receipt, id or address that can be verified',
    })
    const broken = await say(service, speaker, 'verify {"signed_payload": ')
    expect(broken).toMatchObject({ kind: 'notice', heading: 'The receipt cannot be read' })
  })

  it('T68: refuses the 31st a minute of one identity, and of no other, and tells the trail in bulk', async () => {
    const speaker = newSpeaker()
    const answers = await Promise.all(
      Array.from({ length: 70 }, () => say(service, speaker, `verify ${UNKNOWN_REQUEST}`)),
    )
    const refused = answers.filter(({ kind }) => kind === 'notice')
    // A new minute may begin in between.
    expect(refused.length === 40 || refused.length === 10).toBe(true)
    expect(refused[0]).toMatchObject({ tone: 'refused', heading: 'Too many at once' })
    expect((await verdict(`verify ${UNKNOWN_REQUEST}`)).view.kind).toBe('unknown')
    const entries = await auditOf(service, { type: 'approval.verified', subject: UNKNOWN_REQUEST })
    const bulk = entries.filter(
      ({ actor, detail }) =>
        detail?.result === 'rate_limited' && 'id' in actor && actor.id === identityKey(speaker.identity),
    )
    expect(bulk.length).toBeLessThan(refused.length)
    const attempts = bulk.map(({ detail }) => Number(detail?.attempts))
    expect(attempts.reduce((sum, one) => sum + one, 0)).toBe(refused.length)
  })
})

describe('somebody who is not linked', () => {
  it.each(['pending', 'browser', 'channel'])('is told how to link when they say %s', async (command) => {
    const speaker = newSpeaker()
    expect(await say(service, inChannel(speaker, 'C1'), command)).toEqual(NOT_LINKED)
    const teams = newSpeaker({ platform: 'teams' })
    expect(await say(service, teams, command)).toMatchObject({
      sentence: 'Type “link”, open the link you get, and confirm.',
    })
  })

  it('gets the commands, and no name', async () => {
    const help = await say(service, newSpeaker(), 'help')
    expect(help).toMatchObject({ kind: 'help' })
    expect(help).not.toHaveProperty('linked_as')
    expect(help).not.toHaveProperty('unknown')
    expect(await say(service, newSpeaker(), 'approve everything')).toMatchObject({
      kind: 'help',
      unknown: true,
    })
  })

  it('unlinks nothing', async () => {
    expect(await say(service, newSpeaker(), 'unlink')).toMatchObject({
      kind: 'notice',
      heading: 'Not linked',
    })
  })

  it('gets a link, good for ten minutes, of which only the newest holds', async () => {
    const speaker = newSpeaker()
    const first = await say(service, speaker, 'link')
    const second = await say(service, speaker, 'link')
    if (first.kind !== 'link' || second.kind !== 'link') throw new Error('no links')
    expect(second.purpose).toBe('link')
    expect(second.url).toMatch(new RegExp(`^${service.url}/link#[A-Za-z0-9_-]{43}$`))
    const left = second.expires_at.getTime() - service.composition.deps.clock.now().getTime()
    expect(left).toBeGreaterThan(9 * 60_000)
    expect(left).toBeLessThanOrEqual(10 * 60_000)
    const stored = await service.composition.connection
      .collection('chat_links')
      .find({ 'identity.user': speaker.identity.user })
      .toArray()
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).not.toContain(second.url.slice(-43))
  })

  it('gets ten links in ten minutes, even asking at once', async () => {
    const speaker = newSpeaker()
    const answers = await Promise.all(Array.from({ length: 32 }, () => say(service, speaker, 'link')))
    const refused = answers.filter(({ kind }) => kind === 'notice')
    expect(refused.length === 22 || refused.length === 12).toBe(true)
    expect(refused[0]).toMatchObject({ tone: 'refused', heading: 'Too many at once' })
  })
})

describe('somebody who is linked', () => {
  it('is told so by help, and may not link again', async () => {
    const person = await enrolWithPasskey(service, 'ada@example.com')
    const speaker = newSpeaker()
    await linkTo(service, person, speaker)
    expect(await say(service, speaker, 'help')).toMatchObject({ linked_as: 'ada (ada@example.com)' })
    expect(await say(service, speaker, 'link')).toEqual({
      kind: 'notice',
      tone: 'refused',
      heading: 'Already linked',
      sentence: 'Type /countersign help to see to whom, or /countersign unlink to unlink yourself first.',
    })
  })

  it('T37: is somebody else in another workspace with the same user id, and on another platform', async () => {
    const person = await enrolWithPasskey(service, 'same-id@example.com')
    const speaker = newSpeaker()
    await linkTo(service, person, speaker)
    const elsewhere = newSpeaker({ user: speaker.identity.user, tenant: 'T2' })
    expect(await say(service, elsewhere, 'pending')).toEqual(NOT_LINKED)
    expect(await say(service, elsewhere, 'help')).not.toHaveProperty('linked_as')
    const teams = newSpeaker({ user: speaker.identity.user, platform: 'teams' })
    expect(await say(service, teams, 'pending')).toMatchObject({ heading: 'You are not linked yet' })
    expect(await say(service, speaker, 'pending')).toMatchObject({ kind: 'pending' })
  })

  it('lists the speaker’s pending requests, ten at most, and how many more', async () => {
    const setting = await setUpOwner(service, 'busy@example.com')
    const speaker = newSpeaker()
    await linkTo(service, setting.owner, speaker)
    const none = { kind: 'pending', rows: [], more: 0, open: `${service.url}/` }
    expect(await say(service, speaker, 'pending')).toEqual(none)
    const first = await ask(setting, { action: 'Pay\u202e 100', requires_individual_decision: true })
    for (let n = 0; n < 11; n += 1) await ask(setting)
    const answer = await say(service, speaker, 'pending')
    if (answer.kind !== 'pending') throw new Error(answer.kind)
    expect(answer.rows).toHaveLength(10)
    expect(answer.more).toBe(2)
    expect(answer.rows[0]).toEqual({
      request_id: first,
      action: 'Pay[U+202E] 100',
      hidden_characters: true,
      requested_by: 'test key of busy',
      high_impact: true,
      expires_at: expect.any(Date),
      url: `${service.url}/a/${first}`,
    })
  })

  it('takes the link back, and is nobody again', async () => {
    const person = await enrolWithPasskey(service, 'leaver@example.com')
    const speaker = newSpeaker()
    await linkTo(service, person, speaker)
    const answers = await Promise.all([say(service, speaker, 'unlink'), say(service, speaker, 'unlink')])
    expect(answers.map((answer) => 'heading' in answer && answer.heading).sort()).toEqual([
      'Not linked',
      'Unlinked',
    ])
    const sentences = answers.map((answer) => 'sentence' in answer && answer.sentence)
    expect(sentences.join(' ')).toContain('may still reach you by your e-mail address')
    expect(await say(service, speaker, 'pending')).toEqual(NOT_LINKED)
    expect(await auditOf(service, { type: 'chat.unlinked', subject: person.userId })).toMatchObject([
      { actor: { kind: 'chat', id: `slack:T1:${speaker.identity.user}` } },
    ])
  })

  it('needs no known browser without codes, and no channel outside of one', async () => {
    const person = await enrolWithPasskey(service, 'keys@example.com')
    const speaker = newSpeaker()
    await linkTo(service, person, speaker)
    expect(await say(service, speaker, 'browser')).toMatchObject({ heading: 'Nothing to do' })
    expect(await say(service, speaker, 'channel')).toMatchObject({
      heading: 'Which channel?',
      sentence: 'Type /countersign channel in the channel you want to notify.',
    })
    const elsewhere = newSpeaker({ tenant: 'T-unknown' })
    await linkTo(service, person, elsewhere)
    expect(await say(service, inChannel(elsewhere, 'C1'), 'channel')).toMatchObject({
      heading: 'Not connected',
    })
  })
})
