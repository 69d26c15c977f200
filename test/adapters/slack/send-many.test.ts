import { expect, it, vi } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { newPerson } from '../../../src/flow/people/person.ts'
import { vote } from '../../flow/chat/card-setting.ts'
import { asMembers } from '../../support/members.ts'
import { patienceFor } from '../../support/patience.ts'
import { size } from '../../support/size.ts'
import { type SlackEmulator, useSlack } from '../../support/slack-emulator.ts'
import type { SlackCall } from '../../support/slack-proxy.ts'
import { newRequester, useWorker, type Worker } from '../../support/worker.ts'
import { portTo, ratesTimes } from './port-setting.ts'
import { emailOf } from './send-setting.ts'

const NAMES = ['ana', 'ben', 'cyd']

interface ManySetting {
  slack: SlackEmulator
  workers: Worker[]
  requester: Awaited<ReturnType<typeof newRequester>>
  people: User[]
}

/**
 * So many processes on one database, all sending to one workspace that keeps Slack's limits.
 * @param speed how much faster than the real clock these limits and our pace go
 */
async function useMany(processes: number, speed: number): Promise<ManySetting> {
  const slack = await useSlack({
    users: NAMES.map((name) => ({ name, email: emailOf(name) })),
    limits: speed,
  })
  const port = () => portTo(slack, ratesTimes(speed)).port
  const first = await useWorker({ chats: [port()] })
  const workers = [first]
  while (workers.length < processes) workers.push(await useWorker({ chats: [port()], beside: first }))
  const requester = await newRequester(first)
  const people: User[] = []
  for (const name of NAMES) {
    const { user, account } = newPerson(first.deps, { email: emailOf(name), name })
    await first.deps.accounts.insert(account)
    await first.deps.users.insert(user)
    people.push(user)
  }
  const policy = { approvers: people.map(({ id }) => id), quorum: 1, passkey_only: false }
  await first
    .stored('accounts')
    .updateOne(
      { _id: requester.account.id },
      { $set: { policy, members: asMembers(policy.approvers), monthly_quota: 0 } },
    )
  for (const worker of workers) await worker.start()
  return { slack, workers, requester, people }
}

/** Looks seldom: the store has enough to do. At Slack's pace, faster as `speed` says. */
function waitUntil(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: patienceFor(size(30_000, 600_000)), interval: 300 })
}

/** Asks so many times at once, and decides all as soon as every card has been posted. */
async function askAndDecide({ workers, requester, people }: ManySetting, count: number): Promise<number[]> {
  const [worker, person] = [workers[0] ?? expect.unreachable(), people[0] ?? expect.unreachable()]
  const posted = { 'message.message': { $exists: true } }
  const started = performance.now()
  const ids = await Promise.all(Array.from({ length: count }, () => requester.request()))
  await waitUntil(async () => {
    expect(await worker.stored('cards').countDocuments(posted)).toBe(count * NAMES.length)
  })
  const asked = performance.now()
  await Promise.all(ids.map((id) => vote({ worker }, id, person, 'approved')))
  await waitUntil(async () => {
    expect(await worker.stored('requests').countDocuments({ outbox_token: { $gt: '' } })).toBe(0)
    expect(await worker.stored('cards').countDocuments({ state: { $ne: 'idle' } })).toBe(0)
  })
  return [asked - started, performance.now() - asked].map(Math.round)
}

/**
 * How often an answer came too late, as on a machine with too much to do: of those that do not let the app read along, what was
 * posted is posted once more then, and what was edited is edited twice more.
 */
async function lateAnswers({ workers: [worker = expect.unreachable()] }: ManySetting) {
  const late = (what: string) =>
    worker.stored('cards').countDocuments({
      attempts: { $elemMatch: { what, outcome: { $in: ['timeout', 'interrupted', 'failed'] } } },
    })
  return { posts: await late('post'), replies: await late('reply'), updates: await late('update') }
}

/** Every person has one card of each request, and each shows the decision and was told of it once. */
async function expectAllShown(setting: ManySetting, count: number): Promise<void> {
  const late = await lateAnswers(setting)
  for (const name of NAMES) {
    const messages = await setting.slack.dmOf(setting.slack.user(name))
    const requests = messages.map((message) => /req_\w+/.exec(JSON.stringify(message.blocks))?.[0])
    const spare = messages.length - count
    expect(new Set(requests).size).toBe(count)
    expect(spare).toBeLessThanOrEqual(late.posts)
    expect(messages.filter(({ text }) => text.startsWith('Approved.')).length).toBeGreaterThanOrEqual(count)
    const toldOnce = messages.filter(({ reply_count }) => reply_count === 1)
    expect(toldOnce.length).toBeGreaterThanOrEqual(count - late.replies)
  }
}

/** For each card a post, a reply and an edit. */
async function expectCalls(
  setting: ManySetting,
  counts: Record<string, number>,
  cards: number,
): Promise<void> {
  const { posts, replies, updates } = await lateAnswers(setting)
  expect(counts['chat.postMessage ok']).toBeGreaterThanOrEqual(2 * cards)
  expect(counts['chat.postMessage ok']).toBeLessThanOrEqual(2 * cards + posts + replies)
  expect(counts['chat.update ok']).toBeGreaterThanOrEqual(cards)
  expect(counts['chat.update ok']).toBeLessThanOrEqual(cards + 4 * (posts + replies + updates))
}

function outcomes(calls: readonly SlackCall[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { method, outcome } of calls) {
    const key = `${method} ${outcome}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** More messages than the burst that Slack allows a workspace, so that most of them have to keep its pace. */
const MANY = size(55, 200)

it(`keeps ${MANY * 3} cards of ${MANY} requests at once within the limits of Slack: no duplicate, no lost edit, no 429`, async () => {
  const setting = await useMany(1, 30)
  const times = await askAndDecide(setting, MANY)
  await expectAllShown(setting, MANY)
  const counts = outcomes(setting.slack.calls)
  console.info(
    `${MANY} requests × 3 at 30 times the pace: posted, decided after ${times.join(', ')} ms`,
    counts,
  )
  expect(counts).toMatchObject({
    'users.lookupByEmail ok': 3,
    'conversations.open ok': 3,
  })
  await expectCalls(setting, counts, MANY * 3)
  expect(counts).not.toHaveProperty('chat.postMessage ratelimited')
  expect(counts).not.toHaveProperty('chat.update ratelimited')
})

/** Their edits are more than the 50 that Slack allows a workspace in a minute. */
const SLOWED = size(18, 25)

it('is never refused where the limits are slower than the machine, since it waits before Slack has to say so', async () => {
  const setting = await useMany(1, 6)
  const times = await askAndDecide(setting, SLOWED)
  await expectAllShown(setting, SLOWED)
  const counts = outcomes(setting.slack.calls)
  console.info(
    `${SLOWED} requests × 3 at 6 times the pace: posted, decided after ${times.join(', ')} ms`,
    counts,
  )
  await expectCalls(setting, counts, SLOWED * 3)
  expect(counts).not.toHaveProperty('chat.postMessage ratelimited')
  expect(counts).not.toHaveProperty('chat.update ratelimited')
})

const SHARED = size(24, 40)

it('posts no card twice and loses no edit when two processes share the work, and heeds the 429s they cause together', async () => {
  const setting = await useMany(2, 10)
  // One in so many posts or edits is one too many.
  const oneIn = SHARED / 2
  setting.slack.behave(({ method, nth }) =>
    method.startsWith('chat.') && nth % oneIn === 0
      ? { status: 429, headers: { 'retry-after': '1' } }
      : undefined,
  )
  const times = await askAndDecide(setting, SHARED)
  await expectAllShown(setting, SHARED)
  const counts = outcomes(setting.slack.calls)
  console.info(
    `${SHARED} requests × 3 by two processes at 10 times the pace: posted, decided after ${times.join(', ')} ms`,
    counts,
  )
  await expectCalls(setting, counts, SHARED * 3)
  const refused = setting.slack.calls.filter(({ outcome }) => outcome === 'HTTP 429')
  expect(refused.length).toBeGreaterThanOrEqual(15)
  expect(refused.length).toBeLessThan(60)
})
