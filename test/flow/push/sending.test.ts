import { describe, expect, it } from 'vitest'
import { startBootstrap } from '../../../src/flow/bootstrap/start-bootstrap.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { cancelRequest } from '../../../src/flow/requests/cancel-request.ts'
import { createBatch } from '../../../src/flow/requests/create-batch.ts'
import { createRequest } from '../../../src/flow/requests/create-request.ts'
import { remindApprovers, remindAutomatically } from '../../../src/flow/tell/remind-approvers.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { clockOf } from '../../support/clock.ts'
import { asMembers } from '../../support/members.ts'
import { type PushSetting, usePushSetting } from '../../support/push-setting.ts'
import { newRequester } from '../../support/worker.ts'
import { askMany, dieAfter, vote } from '../chat/card-setting.ts'

/** Asks with these words and carries what that leaves as far as the browsers. */
async function ask(
  { worker, requester }: PushSetting,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const { deps } = worker
  const body = { action: 'Deploy', context: {}, requires_individual_decision: false, ...fields }
  return (await createRequest(deps, requester.caller, body)).request.id
}

const pushesOf = async ({ worker }: PushSetting) => {
  const found = await worker.stored('pushes').find({}).sort({ created_at: 1, _id: 1 }).toArray()
  return found.map(({ about, state, user_id }) => ({ kind: Object(about).kind, state, user_id }))
}

const untilAtRest = (setting: PushSetting, count: number) =>
  waitUntil(async () => {
    const states = (await pushesOf(setting)).map(({ state }) => state)
    expect(states).toHaveLength(count)
    expect(states.filter((state) => state === 'due' || state === 'leased')).toEqual([])
  })

describe('a new request', () => {
  it('is shown on every browser of its approver, encrypted for it, signed by the key of this service', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester, browserOf } = setting
    const [laptop, phone] = [await browserOf(requester.user), await browserOf(requester.user, 'phone')]
    await worker.start()
    const began = Date.now()
    const id = await ask(setting, { action: 'Pay $120.00\nto АCME', requires_individual_decision: true })
    await push.until('both were told', () => laptop.messages.length + phone.messages.length === 2)
    expect(push.problems).toEqual([])
    expect(laptop.messages).toHaveLength(1)
    const [message] = phone.messages
    expect(message?.payload).toEqual({
      title: 'High impact: a request waits for your decision',
      body: `⚠️ Look-alike letters. Pay $120.00 to АCME\nRequested by key of ${requester.account.name}`,
      url: `/a/${id}`,
      tag: id,
    })
    expect(message?.urgency).toBe('high')
    expect(message?.ttl).toBeGreaterThan(3599 - (Date.now() - began) / 1000)
    expect(message?.ttl).toBeLessThanOrEqual(3600)
    expect(message?.topic).toMatch(/^[0-9a-f]{32}$/)
    expect(message?.topic).not.toContain(id.slice(4, 12))
    expect(message?.claims).toMatchObject({ aud: push.url, sub: 'mailto:countersign@example.com' })
    await untilAtRest(setting, 2)
    await waitUntil(async () => {
      const trail = await worker.stored('audit_log').find({ 'entry.type': 'push.sent' }).toArray()
      expect(trail.map(({ entry }) => Object(entry).detail)).toMatchObject([
        { about: 'request', request_id: id, recipient: requester.user.id, outcome: 'http_201' },
        { request_id: id },
      ])
    })
    await waitUntil(async () => {
      const devices = await worker.deps.pushDevices.activeOf([requester.user.id])
      expect(devices.map((one) => one.last_sent_at)).toEqual([expect.any(Date), expect.any(Date)])
    })
  })

  it('of several in one call is one, which leads to all, and one more when they are reminded of together', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester } = setting
    const browser = await setting.browserOf(requester.user)
    await worker.start()
    const inputs = ['Pay 1', 'Pay 2', 'Pay 3'].map((action) => {
      return { action, context: {}, requires_individual_decision: false }
    })
    const made = await createBatch(worker.deps, requester.caller, inputs, { key: 'k', body: {} })
    const ids = made.requests.map(({ id }) => id)
    const batch = made.requests[0]?.batch?.id
    await push.until('it was told', () => browser.messages.length === 1)
    await untilAtRest(setting, 1)
    expect(browser.messages[0]?.payload).toEqual({
      title: '3 requests wait for your decision',
      body: `Pay 1\n… 2 more requests\nRequested by key of ${requester.account.name}`,
      url: `/?batch=${batch}`,
      tag: batch,
    })
    await cancelRequest(worker.deps, requester.caller, ids[0] ?? '')
    const start = Math.floor(worker.deps.clock.now().getTime() / 60_000)
    const others = await Promise.all(
      ids.slice(1).map((id) => remindApprovers(worker.deps, requester.caller, id)),
    )
    expect(others.map(({ accepted }) => accepted)).toEqual([true, true])
    const minutes = 1 + Math.floor(worker.deps.clock.now().getTime() / 60_000) - start
    expect(browser.messages.length).toBeLessThanOrEqual(1 + minutes)
    expect(browser.messages[1]?.payload).toMatchObject({
      title: 'Still waiting for your decision',
      tag: batch,
    })
  })

  it.each(['a minute later', 'after a vote', 'after a withdrawal'])(
    'of a call that was cut off: its repeat %s is one more, whatever it makes',
    async (when) => {
      const setting = await usePushSetting()
      const { worker, push, requester } = setting
      const browser = await setting.browserOf(requester.user)
      const pays = Array.from({ length: 5 }, (_, n) => ({ action: `Pay ${n + 1}` }))
      await dieAfter(setting, 1, () => askMany(setting, pays, 'k'))
      await worker.start()
      await createRelay(worker.deps, NO_LOOPS).run()
      await push.until('the first was told', () => browser.messages.length === 1)
      const requests = worker.stored('requests')
      const [made = ''] = (await requests.find({}).toArray()).map(({ _id }) => _id)
      if (when === 'after a vote') await vote(setting, made, requester.user, 'approved')
      else if (when === 'after a withdrawal') await cancelRequest(worker.deps, requester.caller, made)
      else {
        // By the store's clock, and not at the edge of a turn.
        const created_at = new Date(worker.deps.clock.now().getTime() - 65_000)
        await requests.updateOne({ _id: made }, { $set: { created_at } })
      }
      await askMany(setting, pays, 'k')
      await waitUntil(async () =>
        expect(await requests.countDocuments({ outbox_token: { $ne: null } })).toBe(0),
      )
      await untilAtRest(setting, 2)
      const title = `${when === 'a minute later' ? 5 : 4} requests wait for your decision`
      expect(browser.messages.slice(1).map(({ payload }) => payload.title)).toEqual([title])
    },
  )

  it('of several in one call is one reminder of one pass, also when a minute passes meanwhile', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester } = setting
    const browser = await setting.browserOf(requester.user)
    await worker
      .stored('accounts')
      .updateOne({ _id: requester.account.id }, { $set: { 'policy.reminders': [0.5] } })
    await worker.start()
    const ids = await askMany(setting, [{ action: 'Pay 1' }, { action: 'Pay 2' }, { action: 'Pay 3' }])
    await push.until('it was told', () => browser.messages.length === 1)
    const made = (await worker.deps.requests.findMany(ids)).map(({ created_at }) => created_at.getTime())
    const minute = Math.ceil(Math.max(...made) / 60_000) * 60_000
    const requests = worker.stored('requests')
    const due = { remind_at: new Date(Math.min(...made) - 1), reminded_at: new Date(0) }
    await requests.updateMany({}, { $set: due })
    let looks = 0
    const clock = clockOf(() => minute + (looks++ < 4 ? -1 : 1))
    await remindAutomatically({ ...worker.deps, clock })
    await waitUntil(async () =>
      expect(await requests.countDocuments({ outbox_token: { $ne: null } })).toBe(0),
    )
    await untilAtRest(setting, 2)
    expect((await pushesOf(setting)).map(({ kind }) => kind)).toEqual(['request', 'reminder'])
  })

  it('shows hidden characters of the action, and says how much of a long one is missing', async () => {
    const setting = await usePushSetting()
    const browser = await setting.browserOf(setting.requester.user)
    await setting.worker.start()
    await ask(setting, { action: `safe\u202eegnahc ${'x'.repeat(900)}` })
    await setting.push.until('it was told', () => browser.messages.length === 1)
    const body = browser.messages[0]?.payload.body ?? ''
    expect(body).not.toContain('\u202e')
    expect(body).toMatch(/^⚠️ Hidden characters\. safe.*202E/)
    expect(body).toMatch(/… \d+ more characters\nRequested by/)
    expect(body.length).toBeLessThan(500)
  })

  it('says nothing of the context, and nothing at all for a dry-run', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester, browserOf } = setting
    const browser = await browserOf(requester.user)
    const sandbox = await newRequester(worker, true)
    const other = await browserOf(sandbox.user)
    await worker.start()
    await sandbox.request()
    await ask(setting, { context: { password: 'hunter2' } })
    await push.until('the live one was told', () => browser.messages.length === 1)
    await untilAtRest(setting, 1)
    expect(other.answers).toEqual([])
    expect(JSON.stringify(browser.messages)).not.toContain('hunter2')
  })

  it('is told to delegates too, while they stand in, and to nobody who has no say', async () => {
    const setting = await usePushSetting()
    const { worker, push, requester, browserOf } = setting
    const [delegate, late, outsider] = [
      await newRequester(worker),
      await newRequester(worker),
      await newRequester(worker),
    ]
    const absent = await newRequester(worker)
    const [told, notYet, stranger, own] = await Promise.all(
      [delegate, late, outsider, absent].map(({ user }) => browserOf(user)),
    )
    const day = (n: number) => new Date(Date.now() + n * 86_400_000)
    const standIn = (who: typeof absent, whom: typeof absent, from: number, to: number) =>
      worker
        .stored('users')
        .updateOne(
          { _id: who.user.id },
          { $set: { delegate: { user_id: whom.user.id, starts_at: day(from), ends_at: day(to) } } },
        )
    await standIn(absent, delegate, -1, 1)
    await standIn(requester, late, 1, 2)
    const policy = {
      approvers: [absent.user.id, requester.user.id],
      quorum: 1,
      passkey_only: false,
      reminders: [],
    }
    const members = asMembers([absent.user.id, delegate.user.id, late.user.id])
    await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { policy, members } })
    await worker.start()
    await ask(setting)
    await push.until('both were told', () => (told?.messages.length ?? 0) + (own?.messages.length ?? 0) === 2)
    await untilAtRest(setting, 2)
    expect([notYet?.answers, stranger?.answers]).toEqual([[], []])
    // Somebody made a delegate who decides nothing in this account is told nothing of it.
    await standIn(absent, outsider, -1, 1)
    await ask(setting)
    await push.until('the absent one was told', () => own?.messages.length === 2)
    await untilAtRest(setting, 3)
    expect([told?.messages.length, stranger?.answers]).toEqual([1, []])
  })

  it('is not told any more once it is decided, however long the push waited', async () => {
    const setting = await usePushSetting()
    const browser = await setting.browserOf(setting.requester.user)
    const id = await ask(setting)
    const relayOnly = setting.worker
    const work = await relayOnly.start()
    setting.push.behave(async () => {
      await vote(setting, id, setting.requester.user, 'approved')
      return { status: 503 }
    })
    await setting.push.until('the first attempt failed', () => browser.answers.length === 1)
    setting.push.behave(() => undefined)
    await untilAtRest(setting, 1)
    await work.relay.run()
    expect(browser.answers).toEqual([503])
    expect(await pushesOf(setting)).toMatchObject([{ kind: 'request', state: 'dropped' }])
  })
})

describe('the push service’s answer', () => {
  it('410 removes the subscription, with an entry that says why', async () => {
    const setting = await usePushSetting()
    const { worker, requester, browserOf } = setting
    const [gone, here] = [await browserOf(requester.user), await browserOf(requester.user)]
    gone.unsubscribe()
    await worker.start()
    await ask(setting)
    await untilAtRest(setting, 2)
    await waitUntil(async () => {
      expect((await worker.deps.pushDevices.activeOf([requester.user.id])).map(({ id }) => id)).toEqual([
        here.deviceId,
      ])
    })
    await waitUntil(async () => {
      const trail = await worker.stored('audit_log').find({ 'entry.subject': gone.deviceId }).toArray()
      expect(trail.map(({ entry }) => [Object(entry).type, Object(entry).detail])).toEqual([
        ['push.device_removed', { user_id: requester.user.id, reason: 'gone' }],
      ])
    })
    await ask(setting)
    await setting.push.until('only the other one is told', () => here.messages.length === 2)
    expect(gone.answers).toEqual([410])
    const left = await worker.stored('push_devices').findOne({ _id: gone.deviceId })
    expect(left).not.toHaveProperty('sealed')
    expect(left).not.toHaveProperty('endpoint_hash')
  })

  it.each([
    [429, { 'Retry-After': '1' }],
    [503, {}],
    [500, {}],
  ])('%i is tried again, and told once', async (status, headers) => {
    const setting = await usePushSetting()
    const browser = await setting.browserOf(setting.requester.user)
    setting.push.behave(({ answers }) => (answers.length === 0 ? { status, headers } : undefined))
    await setting.worker.start()
    await ask(setting)
    await setting.push.until('the second attempt came', () => browser.answers.length === 2)
    await untilAtRest(setting, 1)
    expect(browser.answers).toEqual([status, 201])
    expect(browser.messages).toHaveLength(1)
  })

  it.each([400, 403, 413])('%i is final: the push is given up, the subscription stays', async (status) => {
    const setting = await usePushSetting()
    const { worker, requester } = setting
    const browser = await setting.browserOf(requester.user)
    setting.push.behave(() => ({ status }))
    await worker.start()
    await ask(setting)
    await untilAtRest(setting, 1)
    expect(browser.answers).toEqual([status])
    expect(await pushesOf(setting)).toMatchObject([{ state: 'dead' }])
    expect(await worker.deps.pushDevices.activeOf([requester.user.id])).toHaveLength(1)
    await waitUntil(async () => {
      const failed = await worker.stored('audit_log').findOne({ 'entry.type': 'push.failed' })
      expect(Object(failed?.entry).detail).toMatchObject({
        outcome: `http_${status}`,
        device: browser.deviceId,
      })
    })
  })

  it('is tried no longer than the request lasts', async () => {
    const setting = await usePushSetting()
    const browser = await setting.browserOf(setting.requester.user)
    setting.push.behave(() => ({ status: 503, headers: { 'Retry-After': '3000' } }))
    await setting.worker.start()
    await ask(setting, { ttl_seconds: 60 })
    await untilAtRest(setting, 1)
    expect(browser.answers).toEqual([503])
    expect(await pushesOf(setting)).toMatchObject([{ state: 'dead' }])
  })

  it('T4: is not followed when it is a redirect', async () => {
    const setting = await usePushSetting()
    const [browser, other] = [
      await setting.browserOf(setting.requester.user),
      setting.push.subscribe(setting.worker.deps.pushKey.current().public_key),
    ]
    setting.push.behave(({ answers }) =>
      answers.length === 0 ? { status: 307, headers: { Location: other.subscription.endpoint } } : undefined,
    )
    await setting.worker.start()
    await ask(setting)
    await setting.push.until('it was tried again', () => browser.answers.length === 2)
    expect(browser.answers).toEqual([307, 201])
    expect(other.answers).toEqual([])
  })
})

describe('an agent that asks for a key', () => {
  it('is told to the owner: its name is its own word, and the matching code is not in it', async () => {
    const setting = await usePushSetting()
    const { worker, requester, push } = setting
    const browser = await setting.browserOf(requester.user)
    await worker.start()
    await startBootstrap(worker.deps, {
      email: requester.user.email,
      clientName: 'Оps\nbot',
      requester: { address: '203.0.113.9', user_agent: 'curl' },
    })
    await push.until('the owner was told', () => browser.messages.length === 1)
    const stored = await worker.stored('bootstraps').findOne({ account_id: requester.account.id })
    expect(browser.messages[0]?.payload).toEqual({
      title: 'An agent asks for an API key of your account',
      body: '⚠️ Look-alike letters. It calls itself “Оps bot”, unverified. Requested from 203.0.113.9.',
      url: `/b/${stored?._id}`,
      tag: stored?._id,
    })
    expect(JSON.stringify(browser.messages)).not.toContain(String(stored?.code))
  })
})
