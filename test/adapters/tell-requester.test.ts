import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownText } from '../support/block-parts.ts'
import { type BothChats, cardIn, inSlack, inTeams, startBothChats } from '../support/both-chats.ts'
import { type Answer, callerWith, stored, type TestCaller } from '../support/caller.ts'
import { cardText } from '../support/card-lines.ts'
import { waitUntil } from '../support/chat-platform.ts'
import { setPolicy } from '../support/deciders.ts'
import { joinAccount } from '../support/joined.ts'
import { decideByPasskey } from '../support/live.ts'
import { addPerson } from '../support/people.ts'
import { linkTo, personNumber } from '../support/teams-service.ts'

/** Who asked the agent: a member who decides nothing, linked on both platforms. */
const DEV = 'person-3@example.com'

let both: BothChats
let caller: TestCaller
let accountId: string

beforeAll(async () => {
  both = await startBothChats()
  const { service, teams, slack } = both
  const { deps } = service.composition
  const owner = (await deps.users.find(both.owner.userId)) ?? expect.unreachable()
  accountId = owner.account_id
  caller = callerWith(service, owner, both.key, 'unused')
  // Fewer cards: Slack allows about one edit a second.
  await setPolicy(service, accountId, { approvers: [owner.id], quorum: 1 })
  const dev = await addPerson(service, DEV)
  await joinAccount(service, accountId, dev.id, 'approver')
  await linkTo(teams, dev, personNumber(teams, 3))
  const linked = (await deps.users.find(dev.id)) ?? expect.unreachable()
  const inSlack = {
    platform: 'slack',
    tenant: slack.teamId,
    user: slack.user('third'),
    linked_at: new Date(),
  } as const
  await deps.users.change(dev.id, linked.version, { chat: [...linked.chat, inSlack] }, [])
  await teams.driver.installation(personNumber(teams, 3), 'add-upgrade')
  await stored(service, 'accounts').updateOne(
    { _id: accountId },
    { $set: { 'channels.0.name': 'releases', 'channels.1.name': 'Releases' } },
  )
})
afterAll(() => both.close())

const END = {
  approved: (id: string) => decideByPasskey(both, id, 'approved'),
  rejected: (id: string) => decideByPasskey(both, id, 'rejected', 'Not on a Friday.'),
  withdrawn: (id: string) => caller.send(`/api/v1/approvals/${id}/cancel`, { method: 'POST' }),
  async expired(id: string) {
    const past = new Date(Date.now() - 60_000)
    await stored(both.service, 'requests').updateOne({ _id: id }, { $set: { expires_at: past } })
    return caller.read(id)
  },
}

/** The words of an outcome, and what tells more of it: who decided, or when it expired. */
const OUTCOMES = [
  ['approved', 'Approved', /Approver: [0-9a-f]{16}/],
  ['rejected', 'Rejected', /Approver: [0-9a-f]{16}/],
  ['expired', 'Expired without a decision', /Expired at: /],
  ['withdrawn', 'Withdrawn', /nothing to decide/],
] as const

const TOLD = 'The caller asked for the outcome to be told here.'

/** Makes a request, waits until all who are asked have its card, and ends it. */
async function ended(outcome: keyof typeof END, notify: object): Promise<string> {
  const id = await caller.createdId({ action: `Deploy *4.2* <!channel> ${outcome}`, notify })
  await waitUntil(async () => {
    expect(await inSlackChannel(id)).toHaveLength(1)
    expect(inTeams(both, both.teams.channel, id)).toHaveLength(1)
    expect(await inSlack(both, 'third', id)).toEqual([])
  })
  await END[outcome](id)
  return id
}

const inSlackChannel = async (id: string) =>
  (await both.slack.history(both.slackChannel)).filter((one) => JSON.stringify(one).includes(id))

/** What was said under the request's card in the channel in Slack. */
async function threadOf(id: string): Promise<string[]> {
  const [card] = await inSlackChannel(id)
  const thread = await both.slack.threadOf(both.slackChannel, card?.ts ?? '')
  return thread.map(({ blocks }) => shownText(blocks))
}

describe('the outcome', () => {
  it('goes to a member who is not asked, once in each chat, in full and without buttons', async () => {
    const dev = personNumber(both.teams, 3)
    await Promise.all(
      OUTCOMES.map(async ([outcome, words, more]) => {
        const id = await ended(outcome, { member: DEV })
        await waitUntil(async () => {
          expect(await inSlack(both, 'third', id)).toHaveLength(1)
          expect(inTeams(both, dev.id, id)).toHaveLength(1)
        })
        const [card] = await inSlack(both, 'third', id)
        const [activity] = inTeams(both, dev.id, id)
        for (const text of [shownText(card?.blocks), cardText(cardIn(activity))]) {
          expect(text).toContain(words)
          expect(text).toContain(`Deploy *4.2* <!channel> ${outcome}`)
          expect(text).toContain('Requested by: test key of ')
          expect(text).toMatch(more)
          expect(text).toContain(TOLD)
          // They may not open the page, and the account shows no names outside of it.
          expect(text).not.toContain('Open the approval page')
          expect(text).not.toContain('Decided by')
          expect(text).not.toContain('Friday')
        }
        expect(JSON.stringify([card, activity?.shown])).not.toMatch(/d=approve|d=reject/)
        expect(card?.text).not.toContain('<!channel>')
        expect(activity?.shown).toHaveLength(1)
      }),
    )
  })

  it('is said aloud under the card of the channel that is named, and of a decision under every card', async () => {
    await Promise.all(
      OUTCOMES.map(async ([outcome, words], index) => {
        const channel = index % 2 === 0 ? '#releases' : both.teams.channel
        const id = await ended(outcome, { channel })
        const isDecided = outcome === 'approved' || outcome === 'rejected'
        const cards = () => both.service.composition.deps.cards.ofRequest(id)
        await waitUntil(async () => {
          const states = (await cards()).map(({ state }) => state)
          expect(states.every((state) => state === 'idle')).toBe(true)
          const [card, ...others] = await inSlackChannel(id)
          expect([shownText(card?.blocks).includes(words), others]).toEqual([true, []])
          const [activity] = inTeams(both, both.teams.channel, id)
          expect(cardText(cardIn(activity))).toContain(words)
        })
        const here = channel === '#releases' ? 'slack' : 'teams'
        const thread = await threadOf(id)
        const [, ...below] = inTeams(both, both.teams.channel, id).map((one) => cardText(cardIn(one)))
        expect([thread.length, below.length]).toEqual([
          here === 'slack' || isDecided ? 1 : 0,
          here === 'teams' || isDecided ? 1 : 0,
        ])
        expect(here === 'slack' ? thread[0] : below[0]).toContain(words)
        const shown = [
          shownText((await inSlackChannel(id))[0]?.blocks),
          cardText(cardIn(inTeams(both, both.teams.channel, id)[0])),
        ]
        expect(shown.map((text) => text.includes(TOLD))).toEqual([here === 'slack', here === 'teams'])
      }),
    )
  })
})

const read = async (answer: Answer) => (await caller.read(String(answer.body.id))).body

describe('notify of a new request', () => {
  beforeAll(async () => {
    const { service, teams } = both
    // Two of one name, which this service serves, and one in a workspace that it does not.
    const twin = { platform: 'teams', tenant: teams.tenantId, name: 'twins' }
    await stored(service, 'accounts').updateOne({ _id: accountId }, {
      $push: {
        channels: {
          $each: [
            { ...twin, channel: teams.group },
            { ...twin, channel: 'gone' },
          ],
        },
      },
    } as object)
  })

  it('comes back as it was sent, in every state, and is part of what a repeated call must equal', async () => {
    const body = { action: 'Deploy', notify: { channel: 'releases' } }
    const headers = { 'Idempotency-Key': 'told' }
    const first = await caller.create(body, headers)
    expect(first.status).toBe(201)
    expect((await caller.create(body, headers)).text).toBe(first.text)
    const other = await caller.create({ ...body, notify: { channel: 'Releases' } }, headers)
    expect([other.status, other.body.error]).toEqual([422, 'idempotency_mismatch'])
    expect(await read(first)).toMatchObject({ status: 'pending', notify: { channel: 'releases' } })
    await END.rejected(String(first.body.id))
    expect(await read(first)).toMatchObject({ status: 'rejected', notify: { channel: 'releases' } })
    const member = await caller.create({ action: 'Deploy', notify: { member: ' Person-3@Example.com' } })
    expect((await read(member)).notify).toEqual({ member: ' Person-3@Example.com' })
    const review = async ({ body }: Answer) =>
      (await both.owner.browser.get(`/api/v1/approvals/${body.id}/review`)).body.outcome_goes_to
    expect(await review(member)).toEqual({ kind: 'member', name: 'person-3' })
    expect(await review(await caller.create({ ...body, notify: { channel: '#releases' } }))).toEqual({
      kind: 'channel',
      name: 'releases',
      platform: 'slack',
    })
    expect(await review(first)).toBeUndefined()
    expect(await read(await caller.create({ action: 'Deploy' }))).not.toHaveProperty('notify')
  })

  it.each([
    [{ channel: 'C0000000' }, 422, 'notify_not_linked', 'notify.channel'],
    [{ channel: '#nowhere' }, 422, 'notify_not_linked', 'notify.channel'],
    [{ member: 'person-2000@example.com' }, 422, 'notify_not_linked', 'notify.member'],
    [{ member: 'not an address' }, 422, 'notify_not_linked', 'notify.member'],
    [{ member: 'usr_0000000000000000000000000a' }, 422, 'notify_not_linked', 'notify.member'],
    [{}, 400, 'invalid_field', 'notify'],
    [{ channel: 'releases', member: DEV }, 400, 'invalid_field', 'notify'],
    [{ chanel: 'releases' }, 400, 'invalid_field', 'notify.chanel'],
    [{ channel: 'twins' }, 400, 'invalid_field', 'notify.channel'],
    ['releases', 400, 'invalid_field', 'notify'],
    [{ channel: 5 }, 400, 'invalid_field', 'notify.channel'],
  ])('%j is refused, and nothing is made', async (notify, status, error, field) => {
    const count = () => stored(both.service, 'requests').countDocuments({})
    const before = await count()
    const answer = await caller.create({ action: 'Deploy', notify })
    expect([answer.status, answer.body]).toMatchObject([
      status,
      { error, field, message: expect.any(String) },
    ])
    expect(await count()).toBe(before)
  })

  it('T89: reaches nobody but members who linked themselves: no stranger, no invited person, no one known by e-mail alone', async () => {
    const { service, teams } = both
    const linkable = (n: number) => ({ id: `aad-${n}`, name: `Person ${n}`, email: 'x@example.com' })
    const stranger = await addPerson(service, 'stranger@example.com')
    await linkTo(teams, stranger, linkable(1))
    const invited = await addPerson(service, 'invited@example.com')
    await joinAccount(service, accountId, invited.id, 'approver', 'invited')
    await linkTo(teams, invited, linkable(2))
    const unlinked = await addPerson(service, 'unlinked@example.com')
    await joinAccount(service, accountId, unlinked.id, 'approver')
    const answers = await Promise.all(
      ['stranger', 'invited', 'unlinked', 'nobody'].map((name) =>
        caller.create({ action: 'Deploy', notify: { member: `${name}@example.com` } }),
      ),
    )
    // Alike, so that a key tells its holder nothing about who has an account here.
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual(
      Array(4).fill([422, 'notify_not_linked']),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
})
