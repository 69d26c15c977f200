import { describe, expect, it } from 'vitest'
import { handOutKey } from '../../../src/flow/bootstrap/poll-bootstrap.ts'
import { settleBootstrap } from '../../../src/flow/bootstrap/settle-bootstrap.ts'
import { startBootstrap } from '../../../src/flow/bootstrap/start-bootstrap.ts'
import { createChatPlatform, waitUntil } from '../../support/chat-platform.ts'
import { newRequester, useWorker, type Worker } from '../../support/worker.ts'

const requester = { address: '192.0.2.1', user_agent: 'curl' }

async function begin({ deps }: Worker, email: string) {
  return (await startBootstrap(deps, { email, clientName: 'Agent', requester })).bootstrap
}

async function setUp() {
  const chat = createChatPlatform()
  const worker = await useWorker({ chats: [chat] })
  const { user, account } = await newRequester(worker)
  chat.members.set(user.email, { platform: 'slack', tenant: 'T1', user: 'U1' })
  const channel = { platform: 'slack', tenant: 'T1', channel: 'C1' } as const
  await worker.stored('accounts').updateOne({ _id: account.id }, { $set: { channels: [channel] } })
  return { chat, worker, user }
}

describe('cards of agents that ask for a key', () => {
  it('go to the owner, never to a channel, and follow consent and collection in one message', async () => {
    const { chat, worker, user } = await setUp()
    await worker.start()
    const { id } = await begin(worker, user.email)
    await waitUntil(() => expect(chat.of('U1')).toHaveLength(1))
    const at = new Date()
    const evidence = { type: 'totp' as const, step: 1 }
    const said = { decision: 'approved' as const, method: 'totp' as const, at, user_id: user.id }
    const approved = await worker.deps.bootstraps.settle(id, {
      consent: { ...said, intent_json: '{}', evidence },
      key_id: 'key_of_the_card',
      collect_by: new Date(at.getTime() + 60_000),
      events: [],
      audit: [
        {
          eid: 'evt_consent',
          type: 'bootstrap.approved',
          at,
          actor: { kind: 'user', id: user.id },
          account_id: user.account_id,
          subject: id,
        },
      ],
    })
    const kinds = () => chat.of('U1')[0]?.consents.map(({ status }) => status.kind)
    await waitUntil(() => expect(kinds()?.at(-1)).toBe('approved'))
    if (approved === undefined) throw new Error('not pending')
    await handOutKey(worker.deps, approved, '192.0.2.9')
    await settleBootstrap(worker.deps, approved)
    await waitUntil(() => expect(kinds()?.at(-1)).toBe('collected'))
    expect(kinds()?.[0]).toBe('pending')
    expect(chat.messages).toHaveLength(1)
    expect(chat.of('U1')[0]?.consents[0]).toMatchObject({
      request_id: id,
      client_name: 'Agent',
      requested_from: '192.0.2.1',
      invite_to_link: true,
    })
    await waitUntil(async () => {
      const told = await worker.deps.trail.list({ type: 'card.posted', limit: 10 })
      expect(told.map(({ entry }) => entry?.detail?.request_id)).toEqual([id])
    })
  })

  it('are made for nobody on a decoy, and not for what ran out before it could be sent', async () => {
    const { chat, worker, user } = await setUp()
    await begin(worker, 'nobody@example.com')
    const late = await begin(worker, user.email)
    await worker
      .stored('bootstraps')
      .updateOne({ _id: late.id }, { $set: { expires_at: new Date(Date.now() - 1_000) } })
    const work = await worker.start()
    await waitUntil(async () => expect((await worker.deps.bootstraps.find(late.id))?.status).toBe('expired'))
    await work.relay.run()
    await work.loops.cards.drain()
    expect(chat.calls.filter(({ what }) => what === 'post')).toEqual([])
    expect(await worker.stored('cards').countDocuments({ state: 'due' })).toBe(0)
  })
})
