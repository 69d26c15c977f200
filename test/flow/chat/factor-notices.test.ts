import { describe, expect, it } from 'vitest'
import type { AuditType } from '../../../src/domain/audit.ts'
import type { User } from '../../../src/domain/user.ts'
import { personAudit } from '../../../src/flow/people/person.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { addPushDevice } from '../../../src/flow/tell/manage-devices.ts'
import { createChatPlatform, waitUntil } from '../../support/chat-platform.ts'
import { clockOf } from '../../support/clock.ts'
import { usePushService } from '../../support/push-setting.ts'
import { newRequester, useWorker } from '../../support/worker.ts'

const AT = new Date('2026-11-01T08:00:00Z')
const identity = (platform: 'slack' | 'teams', user: string) => ({
  platform,
  tenant: 'T1',
  user,
  key: `${platform}:T1:${user}`,
  linked_at: AT,
})

const KINDS: readonly AuditType[] = [
  'factor.passkey_removed',
  'factor.passkey_suspended',
  'factor.passkey_counter_fell',
  'factor.totp_added',
  'factor.totp_removed',
  'factor.totp_locked',
  'factor.totp_disabled',
  'factor.backup_codes_renewed',
  'factor.backup_code_used',
  'user.enrolled',
  'chat.linked',
  'chat.unlinked',
  'delegate.set',
  'delegate.removed',
  'member.changed',
  'member.removed',
  'push.device_added',
]

/** Somebody with two identities on Slack, one on Teams and a browser; and somebody else. */
async function notified() {
  const [slack, teams] = [createChatPlatform('slack'), createChatPlatform('teams')]
  const push = await usePushService()
  const worker = await useWorker({ chats: [slack, teams] })
  const [{ user }, other] = [await newRequester(worker), await newRequester(worker)]
  const chat = [identity('slack', 'U1'), identity('slack', 'U2'), identity('teams', 'A1')]
  await worker.stored('users').updateOne({ _id: user.id }, { $set: { chat } })
  await worker
    .stored('users')
    .updateOne({ _id: other.user.id }, { $set: { chat: [identity('slack', 'U9')] } })
  const browser = push.subscribe(worker.deps.pushKey.current().public_key)
  const { endpoint, keys } = browser.subscription
  await addPushDevice(worker.deps, user, { subscription: { endpoint, ...keys }, name: 'b' }, '203.0.113.1')
  await worker.stored('push_devices').updateMany({}, { $unset: { outbox_token: 1 } })
  return { worker, slack, teams, push, browser, user }
}

type Setting = Awaited<ReturnType<typeof notified>>

/** Something happens to the person, as the verbs write it down. */
async function happen({ worker }: Setting, user: User, ...types: AuditType[]): Promise<string[]> {
  // Each at a moment of its own: what is written with an enrolment is told as one.
  const entries = types.map((type, n) => {
    const entry = personAudit(worker.deps, type, user, { address: '203.0.113.7' })
    return { ...entry, at: new Date(entry.at.getTime() + n) }
  })
  for (const entry of entries) await worker.deps.users.addAudit(user.id, entry)
  return entries.map(({ eid }) => eid)
}

const toldIn = ({ slack, teams }: Setting) =>
  [...slack.notices, ...teams.notices].map(({ to, view }) => `${to} ${view.notice.type}`).sort()

describe('T34: a change of factors', () => {
  it('is told to every linked identity and to the browser, with when, from where, and what to do', async () => {
    const setting = await notified()
    const { worker, slack, browser, user, push } = setting
    await worker.start()
    await happen(setting, user, 'factor.passkey_added')
    await push.until('the browser was told', () => browser.messages.length === 1)
    await waitUntil(() =>
      expect(toldIn(setting)).toEqual(['A1', 'U1', 'U2'].map((to) => `${to} factor.passkey_added`)),
    )
    expect(slack.notices[0]?.view).toMatchObject({
      notice: { type: 'factor.passkey_added', at: expect.any(Date), address: '203.0.113.7' },
      links: { details: `${worker.deps.settings.baseUrl}/account` },
    })
    expect(browser.messages[0]?.payload).toEqual({
      title: 'A passkey was added to your account',
      body: expect.stringMatching(
        /^\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC from 203\.0\.113\.7\. If this was not you, open your account, /,
      ),
      url: '/account',
      tag: slack.notices[0]?.view.request_id,
    })
    expect(slack.messages).toEqual([])
  })

  it('of every kind is one; other entries are none', async () => {
    const setting = await notified()
    await happen(setting, setting.user, 'session.created', ...KINDS, 'user.changed', 'user.invited')
    await setting.worker.start()
    const wanted = KINDS.flatMap((type) => ['A1', 'U1', 'U2'].map((to) => `${to} ${type}`)).sort()
    await waitUntil(() => expect(toldIn(setting)).toEqual(wanted))
    await waitUntil(() => expect(setting.browser.messages).toHaveLength(KINDS.length))
    const told = setting.browser.messages.map(({ payload }) => payload)
    const titles = told.map(({ title }) => title)
    const suspended = told.find(({ title }) => title === 'One of your passkeys was suspended')
    // Nobody can tell whether "this was them"; and a session that the copy began goes on.
    expect(suspended?.body).toMatch(
      /copied\. Open your account, end the other sessions and add another passkey; without another factor, ask the operator for a new link\.$/,
    )
    expect(new Set(titles).size).toBe(KINDS.length)
    expect(titles).not.toContain('Your account was changed')
  })

  it('is told once, whoever carries it on and however often, also after a crash', async () => {
    const setting = await notified()
    const { worker, user, browser } = setting
    await happen(setting, user, 'factor.totp_removed')
    const before = await worker.stored('users').findOne({ _id: user.id })
    await createRelay(worker.deps, NO_LOOPS).run()
    const again = { outbox_token: before?.outbox_token, audit: before?.audit }
    await worker.stored('users').updateOne({ _id: user.id }, { $set: again })
    const work = await worker.start()
    await work.relay.run()
    await waitUntil(() => expect(toldIn(setting)).toHaveLength(3))
    await waitUntil(() => expect(browser.messages).toHaveLength(1))
    await waitUntil(async () => {
      const open = await worker.stored('cards').countDocuments({ state: { $in: ['due', 'leased'] } })
      expect(open).toBe(0)
    })
    expect(toldIn(setting)).toHaveLength(3)
    expect(browser.answers).toEqual([201])
  })

  it('is tried again when the platform fails, and not told to who took the identity back', async () => {
    const setting = await notified()
    const { worker, slack, user } = setting
    slack.behave(({ what, to, nth }) =>
      what === 'notice' && to === 'U1' && nth === 1 ? { outcome: 'failed' } : undefined,
    )
    const [eid] = await happen(setting, user, 'factor.passkey_removed')
    await createRelay(worker.deps, NO_LOOPS).run()
    const left = [identity('slack', 'U1'), identity('teams', 'A1')]
    await worker.stored('users').updateOne({ _id: user.id }, { $set: { chat: left } })
    await worker.start()
    await waitUntil(() =>
      expect(toldIn(setting)).toEqual(['A1', 'U1'].map((to) => `${to} factor.passkey_removed`)),
    )
    // What the platform took is noted a moment later.
    await waitUntil(async () => {
      const cards = await worker.deps.cards.ofRequest(String(eid))
      expect(cards.map(({ state, message }) => [state, message !== undefined]).sort()).toEqual([
        ['idle', false],
        ['idle', true],
        ['idle', true],
      ])
    })
  })

  it('that came with enrolling is told as that alone', async () => {
    const setting = await notified()
    const { worker, user } = setting
    const now = new Date()
    const fixed = { ...worker.deps, clock: clockOf(() => now.getTime()) }
    const types = ['user.enrolled', 'factor.passkey_added'] as const
    const entries = types.map((type) => personAudit(fixed, type, user, { address: '203.0.113.7' }))
    await worker.stored('users').updateOne({ _id: user.id }, {
      $set: { outbox_token: entries[1]?.eid },
      $push: { audit: { $each: entries } },
    } as object)
    await worker.start()
    await waitUntil(() =>
      expect(toldIn(setting)).toEqual(['A1', 'U1', 'U2'].map((to) => `${to} user.enrolled`)),
    )
    expect(setting.browser.messages.length).toBeLessThanOrEqual(1)
  })
})
