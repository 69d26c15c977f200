import { describe, expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { stored } from '../../support/caller.ts'
import { buttonsOn } from '../../support/card-lines.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { proofForLink } from '../../support/chat-speaker.ts'
import { deciderOf, proveFor, setPolicy, tryDecide } from '../../support/deciders.ts'
import { type EnrolledPerson, enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { ask, callWithKey, keyOf } from '../../support/live.ts'
import type { SentActivity, TeamsMessageState } from '../../support/teams-connector.ts'
import {
  linkTo,
  personNumber,
  type TeamsOptions,
  type TeamsSetting,
  useTeams,
} from '../../support/teams-service.ts'

/** Approvers with passkeys, one for each of the tenant's people, and a key of the first one's account. */
async function useApprovers(
  count: number,
  options: TeamsOptions & { linked?: boolean; quorum?: number } = {},
) {
  const setting = await useTeams({ work: true, people: count, ...options })
  const { service } = setting
  const approvers: EnrolledPerson[] = []
  for (let n = 1; n <= count; n += 1) {
    const person = await enrolWithPasskey(service, `person-${n}@example.com`)
    if (options.linked !== false) await linkTo(setting, { id: person.userId }, personNumber(setting, n))
    approvers.push(person)
  }
  const [owner] = approvers
  if (owner === undefined) throw new Error('no approver')
  const user = await userOf(setting, owner)
  const ids = approvers.map(({ userId }) => userId)
  await setPolicy(service, user.account_id, { approvers: ids, quorum: options.quorum ?? 1 })
  return { ...setting, approvers, owner, accountId: user.account_id, key: await keyOf(service, user.id) }
}

async function userOf({ service }: Pick<TeamsSetting, 'service'>, { userId }: EnrolledPerson): Promise<User> {
  const user = await service.composition.deps.users.find(userId)
  if (user === undefined) throw new Error('no such person')
  return user
}

const last = (message: TeamsMessageState | undefined): SentActivity => message?.shown.at(-1)
const cardOf = (message: TeamsMessageState | undefined): SentActivity =>
  last(message)?.attachments?.[0]?.content
const text = (message: TeamsMessageState | undefined) => JSON.stringify(cardOf(message))
const titles = (message: TeamsMessageState | undefined): string[] =>
  buttonsOn(cardOf(message) ?? {}).map(({ title }) => title)

async function decideAs(
  setting: TeamsSetting,
  person: EnrolledPerson,
  id: string,
  decision: 'approved' | 'rejected',
) {
  const { deps } = setting.service.composition
  const decider = await deciderOf(setting.service, person)
  return tryDecide(deps, decider, await proveFor(deps, decider, id, decision))
}

describe('a card in Teams', () => {
  it('is posted to every approver, edited in place after the decision, and the decision said below it', async () => {
    const setting = await useApprovers(3)
    const { connector, approvers } = setting
    const id = await ask(setting, { context: { reason: 'Invoices may go' } })
    const people = [1, 2, 3].map((n) => personNumber(setting, n))
    await waitUntil(() => expect(people.map((person) => connector.in(person.id).length)).toEqual([1, 1, 1]))
    for (const person of people) {
      const [message] = connector.in(person.id)
      expect(text(message)).toContain('Deploy release 4.2')
      expect(text(message)).toContain('Invoices may go')
      expect(titles(message)).toEqual(['Approve…', 'Reject…', 'Details', 'Refresh'])
      expect(buttonsOn(cardOf(message))[0]).toMatchObject({
        type: 'Action.OpenUrl',
        url: expect.stringContaining(`/a/${id}?d=approve`),
      })
    }
    const [, second] = approvers
    expect(await decideAs(setting, second ?? setting.owner, id, 'approved')).toMatch(/^dec_/)
    for (const person of people) {
      await waitUntil(() => expect(connector.in(person.id)).toHaveLength(2))
      const [card, reply] = connector.in(person.id)
      expect(card?.shown.length).toBeGreaterThan(1)
      expect(text(card)).toContain('Approved')
      expect(text(card)).not.toContain('Invoices may go')
      expect(titles(card)).toEqual(['Open the approval page'])
      expect(last(card).id).toBe(card?.id)
      expect(text(reply)).toContain('Approved')
    }
    expect(connector.refused).toEqual([])
  })

  it('comes by itself to who gets the app while a request waits, and is mended for who gets it again', async () => {
    const setting = await useApprovers(3)
    const { connector, driver, service } = setting
    const [bob, gil] = [personNumber(setting, 2), personNumber(setting, 3)]
    const { users } = service.composition.deps
    const third = (await users.findByEmail('person-3@example.com')) ?? expect.unreachable()
    await users.change(third.id, third.version, { chat: [] }, [])
    connector.installed.delete(gil.id)
    const first = await ask(setting)
    await waitUntil(() => expect(connector.in(bob.id)).toHaveLength(1))
    connector.installed.delete(bob.id)
    await decideAs(setting, setting.owner, first, 'approved')
    const waiting = await ask(setting)
    const unreachable = async () =>
      (await setting.service.composition.deps.cards.ofRequest(waiting)).filter(
        ({ state }) => state === 'unreachable',
      )
    await waitUntil(async () => expect(await unreachable()).toHaveLength(2))
    connector.installed.add(bob.id).add(gil.id)
    for (const person of [bob, gil]) await driver.installation(person, 'add')
    const toldOf = (person: typeof bob, id: string) =>
      connector
        .in(person.id)
        .filter((message) => JSON.stringify(message.shown[0]).includes(`${id}?d=approve`))
    for (const person of [bob, gil]) await waitUntil(() => expect(toldOf(person, waiting)).toHaveLength(1))
    await waitUntil(() => expect(titles(toldOf(bob, first)[0])).toEqual(['Open the approval page']))
    expect(toldOf(gil, first)).toEqual([])
  })

  it('comes, or is mended, with the first message of a person whom the app could not reach', async () => {
    const setting = await useApprovers(2, { linked: false })
    const { connector, driver, service } = setting
    const people = [1, 2].map((n) => personNumber(setting, n))
    for (const person of people) await driver.installation(person, 'add-upgrade')
    const known = stored(service, 'chat_conversations')
    await waitUntil(async () => expect(await known.countDocuments({ email: { $exists: true } })).toBe(2))
    const [, blocking = expect.unreachable()] = people
    const place = connector.conversationOf(blocking.id)
    const about = (id: string) =>
      connector.in(blocking.id).filter(({ shown }) => JSON.stringify(shown[0]).includes(`${id}?d=approve`))
    const before = await ask(setting)
    await waitUntil(() => expect(about(before)).toHaveLength(1))
    connector.behave(({ what, to }) =>
      what !== 'member' && to === place ? { status: 403, code: 'BotNotInConversationRoster' } : undefined,
    )
    await decideAs(setting, setting.owner, before, 'approved')
    const meanwhile = await ask(setting)
    const over = await ask(setting)
    const cards = stored(service, 'cards')
    const resting = { state: 'unreachable', 'recipient.kind': 'approver' }
    await waitUntil(async () => expect(await cards.countDocuments(resting)).toBe(3))
    await decideAs(setting, setting.owner, over, 'approved')
    const ended = { ...resting, request_id: over, shown: 2 }
    await waitUntil(async () => expect(await cards.findOne(ended)).not.toBeNull())
    const fences = async () => (await cards.find({ request_id: over }).toArray()).map(({ fence }) => fence)
    const untouched = await fences()
    connector.behave(() => undefined)
    await driver.message(blocking, 'help')
    await waitUntil(() => expect(about(meanwhile)).toHaveLength(1))
    await waitUntil(() => expect(titles(about(before)[0])).toEqual(['Open the approval page']))
    expect([about(over), await fences()]).toEqual([[], untouched])
  })

  it('says the outcome where a card perhaps stands, asks us at each look, and is mended by a press', async () => {
    const setting = await useApprovers(1)
    const { connector, driver } = setting
    const person = personNumber(setting, 1)
    let posts = 0
    let away = true
    connector.behave(({ what }) => {
      if (what !== 'post') return undefined
      posts += 1
      return posts === 1 ? 'lost' : away ? { status: 503 } : undefined
    })
    const id = await ask(setting)
    await waitUntil(() => expect(posts).toBeGreaterThan(1))
    await decideAs(setting, setting.owner, id, 'approved')
    const cards = stored(setting.service, 'cards')
    const failed = { state: 'due', tries: { $gt: 1 }, wanted: 2 }
    await waitUntil(async () => expect(await cards.countDocuments(failed)).toBe(1))
    away = false
    await cards.updateMany(failed, { $set: { next_at: new Date(0) } })
    const other = await ask(setting)
    await waitUntil(() =>
      expect(connector.in(person.id).map(titles)).toContainEqual(['Open the approval page']),
    )
    const [stray] = connector.in(person.id)
    expect(cardOf(stray).refresh.action).toMatchObject({
      verb: 'countersign.refresh',
      data: { request_id: id },
    })
    expect(titles(stray)).toContain('Approve…')
    const pressed = { activity: { replyToId: stray?.id } }
    await driver.press(person, 'countersign.refresh', { request_id: id }, pressed)
    await waitUntil(() => expect(titles(stray)).toEqual(['Open the approval page']))
    expect(cardOf(stray).refresh).toBeUndefined()
    expect(other).not.toBe(id)
  })

  it('shows how the quorum stands, and asks nothing more of whoever voted', async () => {
    const setting = await useApprovers(2, { quorum: 2 })
    const { connector } = setting
    const [first, second] = [personNumber(setting, 1), personNumber(setting, 2)]
    const id = await ask(setting)
    await waitUntil(() => expect(connector.in(second.id)).toHaveLength(1))
    await decideAs(setting, setting.owner, id, 'approved')
    await waitUntil(() => expect(titles(connector.in(first.id)[0])).toContain('Open the approval page'))
    expect(titles(connector.in(first.id)[0])).not.toContain('Approve…')
    await waitUntil(() => expect(text(connector.in(second.id)[0])).toContain('1 of 2'))
    expect(titles(connector.in(second.id)[0])).toContain('Approve…')
  })

  it('addressed by e-mail alone invites to link; the link from chat links exactly that person of that tenant', async () => {
    const setting = await useApprovers(1, { linked: false })
    const { connector, driver, owner, service, tenantId } = setting
    const person = personNumber(setting, 1)
    await driver.installation(person, 'add-upgrade')
    await waitUntil(async () =>
      expect(
        await stored(service, 'chat_conversations').findOne({ email: 'person-1@example.com' }),
      ).not.toBeNull(),
    )
    await ask(setting)
    await waitUntil(() => expect(text(connector.in(person.id)[0])).toContain('Write “link”'))
    await driver.message(person, 'link')
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(2))
    const url: string = cardOf(connector.in(person.id)[1]).actions[0].url
    expect(url.startsWith(`${service.url}/link#`)).toBe(true)
    const token = new URL(url).hash.slice(1)
    const proof = await proofForLink(service, owner, token)
    expectStatus(await owner.browser.post('/api/v1/chat-links/use', { token, proof }), 200)
    expect((await userOf(setting, owner)).chat).toMatchObject([
      { platform: 'teams', tenant: tenantId, user: person.id, shown_as: { person: 'Person 1' } },
    ])
    await waitUntil(() => expect(text(connector.in(person.id)[0])).not.toContain('Write “link”'))
    await driver.message(person, 'help')
    await waitUntil(() => expect(connector.in(person.id).map(text).join()).toContain('person-1@example.com'))
  })

  it('opens the conversation with somebody it never met once, and writes there from then on', async () => {
    const setting = await useApprovers(1)
    const { connector } = setting
    const person = personNumber(setting, 1)
    // How Teams is reached is known from anybody in the tenant.
    await setting.driver.installation(
      { ...person, id: '0a0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e' },
      'add-upgrade',
    )
    await ask(setting)
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(1))
    await ask(setting)
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(2))
    expect(connector.calls.filter(({ what, to }) => what === 'create' && to === person.id)).toHaveLength(1)
  })

  it('is said below to have been reminded of, which is mended at the next look once it is over', async () => {
    const setting = await useApprovers(1)
    const { connector, service, key } = setting
    const person = personNumber(setting, 1)
    await setting.driver.installation(person, 'add-upgrade')
    const id = await ask(setting)
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(1))
    expect((await callWithKey(service, key, `/${id}/remind`, {})).status).toBe(200)
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(2))
    const reminder = connector.in(person.id)[1]
    expect(text(reminder)).toContain('Reminder: a request waits for your decision')
    expect(cardOf(reminder).refresh.action).toMatchObject({
      verb: 'countersign.refresh',
      data: { request_id: id },
    })
    await decideAs(setting, setting.owner, id, 'approved')
    // As the client asks by itself when the reminder comes into view.
    const looked = { activity: { replyToId: reminder?.id } }
    const { body } = await setting.driver.press(person, 'countersign.refresh', { request_id: id }, looked)
    expect(buttonsOn(body.value).map(({ title }) => title)).toEqual(['Open the approval page'])
    // So that it is true for whoever sees it without asking, too.
    await waitUntil(() => expect(text(reminder)).toContain('Approved'))
    expect(cardOf(reminder).refresh).toBeUndefined()
  })

  it('that nobody can take does not hold up the others, and is on record', async () => {
    const setting = await useApprovers(3)
    const { connector, service } = setting
    const gone = personNumber(setting, 2)
    connector.installed.delete(gone.id)
    for (const n of [1, 3]) await setting.driver.installation(personNumber(setting, n), 'add-upgrade')
    const id = await ask(setting)
    await waitUntil(() => {
      expect(connector.in(personNumber(setting, 1).id)).toHaveLength(1)
      expect(connector.in(personNumber(setting, 3).id)).toHaveLength(1)
    })
    const { cards } = service.composition.deps
    await waitUntil(async () => {
      const states = (await cards.ofRequest(id)).map(({ state, message }) =>
        message === undefined ? state : 'posted',
      )
      expect(states.sort()).toEqual(['posted', 'posted', 'unreachable'])
    })
    expect(connector.in(gone.id)).toEqual([])
    expect(await decideAs(setting, setting.owner, id, 'rejected')).toMatch(/^dec_/)
    await waitUntil(() => expect(text(connector.in(personNumber(setting, 3).id)[0])).toContain('Rejected'))
  })

  it('too large for Teams goes out without the context, and says so', async () => {
    const setting = await useApprovers(1, { connector: { largest: 7_000 } })
    const { connector, driver } = setting
    const person = personNumber(setting, 1)
    await driver.installation(person, 'add-upgrade')
    const id = await ask(setting, { context: { reason: 'very long '.repeat(300) } })
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(1))
    const [message] = connector.in(person.id)
    expect(text(message)).toContain('Too large for Teams; it is on the approval page.')
    expect(text(message)).not.toContain('very long')
    expect(buttonsOn(cardOf(message))[0]?.url).toContain(`/a/${id}`)
    expect(connector.refused).toEqual([413])
  })
})

describe('a card in a channel', () => {
  it('begins a thread, shows no context, and is edited and answered there', async () => {
    const setting = await useApprovers(1)
    const { connector, driver, owner, channel, service } = setting
    const person = personNumber(setting, 1)
    await driver.message(person, 'channel', { channel, channelName: 'Releases' })
    await waitUntil(() => expect(connector.in(person.id)).toHaveLength(1))
    // The channel is told, a little later, that the answer went to the person.
    await waitUntil(() => expect(connector.in(channel)).toHaveLength(1))
    const token = new URL(cardOf(connector.in(person.id)[0]).actions[0].url).hash.slice(1)
    const proof = await proofForLink(service, owner, token)
    expectStatus(await owner.browser.post('/api/v1/chat-links/use', { token, proof }), 200)
    const before = connector.in(channel).length
    const id = await ask(setting, { context: { reason: 'For approvers alone' } })
    await waitUntil(() => expect(connector.in(channel)).toHaveLength(before + 1))
    const card = connector.in(channel).at(-1)
    expect(card?.conversation).toBe(`${channel};messageid=${card?.id}`)
    expect(text(card)).toContain('Deploy release 4.2')
    expect(text(card)).not.toContain('For approvers alone')
    await decideAs(setting, owner, id, 'approved')
    await waitUntil(() => expect(connector.in(channel)).toHaveLength(before + 2))
    expect(text(card)).toContain('Approved')
    expect(connector.in(channel).at(-1)?.conversation).toBe(card?.conversation)
  })
})
