import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alter, lapse, newCaller, send, signIn, stored, type TestCaller } from '../../support/caller.ts'
import { CHANGED, openInbox, timedNext, watchInbox } from '../../support/inbox-stream.ts'
import { joinAccount } from '../../support/joined.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const tokenOf = (caller: TestCaller) => signIn(service, caller.user)

async function waiting(token: string): Promise<string[]> {
  const { body } = await send(service, '/api/v1/me/pending', { token })
  return Object(body.data).map(({ id }: { id: string }) => id)
}

describe('a stream of the inbox', () => {
  it('is an event stream that neither caches nor proxies keep', async () => {
    const stream = await openInbox(service, await tokenOf(await newCaller(service)))
    expect(stream.status).toBe(200)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('cache-control')).toBe('no-store')
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    stream.close()
  })

  it('tells at once of a request made and of one withdrawn by this process', async () => {
    const caller = await newCaller(service)
    const token = await tokenOf(caller)
    const stream = await watchInbox(service, token)
    const id = await caller.createdId()
    const made = await timedNext(stream, service)
    expect(made.event).toEqual(CHANGED)
    expect(made.ms).toBeLessThan(900)
    expect(await waiting(token)).toEqual([id])
    await caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' })
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    expect(await waiting(token)).toEqual([])
    stream.close()
  })

  it.each([
    ['a vote', { version: 2 }],
    ['a withdrawal', { status: 'expired', version: 2 }],
    ['the end of its time', { expires_at: new Date(0) }],
  ])('tells within two seconds of %s by another process', async (_what, change) => {
    const caller = await newCaller(service)
    const id = await caller.createdId()
    const stream = await watchInbox(service, await tokenOf(caller))
    await alter(service, 'requests', id, change)
    const { event, ms } = await timedNext(stream, service)
    expect(event).toEqual(CHANGED)
    expect(ms).toBeLessThan(2_000)
    stream.close()
  })

  it('tells within two seconds that the key of one that waits was revoked', async () => {
    const caller = await newCaller(service)
    await caller.createdId()
    const token = await tokenOf(caller)
    const stream = await watchInbox(service, token)
    await alter(service, 'api_keys', caller.keyId, { revoked_at: new Date() })
    const { event, ms } = await timedNext(stream, service)
    expect(event).toEqual(CHANGED)
    expect(ms).toBeLessThan(2_000)
    stream.close()
  })

  it('tells of one that came in the place of another between two looks', async () => {
    const caller = await newCaller(service)
    const old = await caller.createdId()
    const stream = await watchInbox(service, await tokenOf(caller))
    const sample = await stored(service, 'requests').findOne({ _id: old })
    const { outbox_token: _, ...plain } = Object(sample)
    await Promise.all([
      stored(service, 'requests').insertOne({
        ...plain,
        _id: `req_${'1'.repeat(26)}`,
        created_at: new Date(Date.now() + 5),
      }),
      stored(service, 'requests').deleteOne({ _id: old }),
    ])
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    stream.close()
  })

  it('tells a delegate of the pending requests of their principal, and when the delegation ends', async () => {
    const principal = await newCaller(service)
    const delegate = await newCaller(service)
    const stream = await watchInbox(service, await tokenOf(delegate))
    const during = {
      user_id: delegate.user.id,
      starts_at: new Date(Date.now() - 1_000),
      ends_at: new Date(Date.now() + 3_600_000),
    }
    await principal.createdId()
    await alter(service, 'users', principal.user.id, { delegate: during })
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    await principal.createdId()
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    await alter(service, 'users', principal.user.id, {
      'delegate.ends_at': new Date(Date.now() - 1_000),
    })
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    stream.close()
  })

  it('tells a delegate that they may decide in an account now, and that they may not any more', async () => {
    const principal = await newCaller(service)
    const delegate = await newCaller(service)
    const [account, person] = [principal.user.account_id, delegate.user.id]
    const during = { starts_at: new Date(Date.now() - 1_000), ends_at: new Date(Date.now() + 3_600_000) }
    await alter(service, 'users', principal.user.id, { delegate: { user_id: person, ...during } })
    await joinAccount(service, account, person, 'auditor')
    await principal.createdId()
    const stream = await watchInbox(service, await tokenOf(delegate))
    await alter(service, 'accounts', account, { 'members.0.role': 'approver' })
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    await alter(service, 'accounts', account, { members: [] })
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    stream.close()
  })

  it('says nothing of the requests of other approvers, nor of dry-runs', async () => {
    const watcher = await newCaller(service)
    const dry = await newCaller(service, { user: watcher.user, sandbox: true })
    const stranger = await newCaller(service)
    const stream = await watchInbox(service, await tokenOf(watcher))
    await stranger.createdId()
    await dry.createdId()
    const other = await watchInbox(service, await tokenOf(stranger))
    const foreign = await stranger.createdId()
    expect((await timedNext(other, service)).event).toEqual(CHANGED)
    await lapse(service, foreign)
    expect((await timedNext(other, service)).event).toEqual(CHANGED)
    const own = await watcher.createdId()
    // The first thing told is the watcher's own: nothing before it was.
    expect((await timedNext(stream, service)).event).toEqual(CHANGED)
    expect(await waiting(await tokenOf(watcher))).toEqual([own])
    stream.close()
    other.close()
  })

  it('answers HEAD without a stream', async () => {
    const token = await tokenOf(await newCaller(service))
    const answer = await send(service, '/api/v1/me/pending/events', { method: 'HEAD', token })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
  })

  it('T23: does not keep the session alive', async () => {
    const token = await tokenOf(await newCaller(service))
    const { body } = await send(service, '/api/v1/me/sessions', { token })
    const [{ id }] = Object(body.data)
    const before = new Date(Date.now() - 600_000)
    await alter(service, 'sessions', id, { last_seen_at: before })
    const stream = await watchInbox(service, token)
    expect((await stored(service, 'sessions').findOne({ _id: id }))?.last_seen_at).toEqual(before)
    stream.close()
  })
})
