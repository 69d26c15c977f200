import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { setDelegate } from '../../support/batches.ts'
import { lapse, newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { setPolicy } from '../../support/deciders.ts'
import { asMembers } from '../../support/members.ts'
import { startStopwatch } from '../../support/stopwatch.ts'
import type { TeamsPerson } from '../../support/teams-connector.ts'
import type { TeamsReply } from '../../support/teams-driver.ts'
import { addTeamsUser, personNumber, startTeams } from '../../support/teams-service.ts'

const REFRESH = 'countersign.refresh'
const DETAILS = 'countersign.details'
const SECRET = 'For the eyes of approvers'
const CARD = 'application/vnd.microsoft.card.adaptive'
const MESSAGE = 'application/vnd.microsoft.activity.message'

let setting: Awaited<ReturnType<typeof startTeams>>
let caller: TestCaller
/** The 1st decides, the 2nd is linked and not asked, the 3rd is not linked, the 4th was asked by e-mail alone and is not found, the 5th comes later. */
let approver: TeamsPerson
let colleague: TeamsPerson
let stranger: TeamsPerson
let unlinked: TeamsPerson
/** Ids of the first two, of the 4th, and of the account. */
let ids: { approver: string; colleague: string; asked: string; account: string }
beforeAll(async () => {
  setting = await startTeams({ people: 5, work: true, connector: { strict: 0 } })
  const user = await addTeamsUser(setting, 1, true)
  const other = await addTeamsUser(setting, 2, true)
  const asked = await addTeamsUser(setting, 4, false)
  approver = personNumber(setting, 1)
  colleague = personNumber(setting, 2)
  stranger = personNumber(setting, 3)
  unlinked = personNumber(setting, 4)
  ids = { approver: user.id, colleague: other.id, asked: asked.id, account: user.account_id }
  caller = await newCaller(setting.service, { user })
  await setPolicy(setting.service, user.account_id, { approvers: [user.id, asked.id], quorum: 1 })
})
afterAll(() => setting.close())

const askFor = async () => {
  const id = await caller.createdId({ context: { reason: SECRET } })
  await waitUntil(() => expect(messageAbout(id)).toBeDefined())
  return id
}
const statesOf = async (id: string) =>
  (await setting.service.composition.deps.cards.ofRequest(id)).map(({ state }) => state).sort()
const messageAbout = (id: string) =>
  setting.connector.in(approver.id).find(({ shown: [first] }) => JSON.stringify(first).includes(id))

/** Well before Teams gives up. What is late is given up after 1.8 s, to which a busy machine adds. */
const IN_TIME_MS = 4_000

function expectAnswer(reply: TeamsReply, type: string): string {
  expect(reply).toMatchObject({ status: 200, body: { statusCode: 200, type } })
  expect(reply.ms).toBeLessThan(IN_TIME_MS)
  return JSON.stringify(reply.body.value)
}

describe('Refresh and Details', () => {
  it.each([REFRESH, DETAILS])(
    '%s shows a linked approver the request, in place of their card',
    async (verb) => {
      const id = await askFor()
      const reply = await setting.driver.press(approver, verb, { request_id: id })
      const card = expectAnswer(reply, CARD)
      expect(reply.body.value).toMatchObject({ type: 'AdaptiveCard', version: '1.5' })
      expect(card).toContain(SECRET)
      expect(card).toContain(`/a/${id}?d=approve`)
    },
  )

  it('pressed twice at once are answered twice alike, and change nothing', async () => {
    const id = await askFor()
    const { requests, cards } = setting.service.composition.deps
    await waitUntil(async () => {
      expect(await statesOf(id)).toEqual(['idle', 'unreachable'])
      // Whatever they leave for the trail has got there.
      expect((await cards.ofRequest(id)).flatMap(({ audit }) => audit)).toEqual([])
      expect(await requests.find(id)).toMatchObject({ audit: [], outbox: [] })
    })
    const before = [await requests.find(id), await cards.ofRequest(id), setting.connector.calls.length]
    const activity = { id: '1700000077777' }
    const replies = await Promise.all(
      Array.from({ length: 6 }, () =>
        setting.driver.press(approver, REFRESH, { request_id: id }, { activity }),
      ),
    )
    expect(new Set(replies.map((reply) => expectAnswer(reply, CARD))).size).toBe(1)
    expect([await requests.find(id), await cards.ofRequest(id), setting.connector.calls.length]).toEqual(
      before,
    )
  })

  it('decide nothing, whatever verb or decision the client sends along', async () => {
    const id = await askFor()
    const data = { request_id: id, decision: 'approved', approve: true, verb: 'approve' }
    expectAnswer(await setting.driver.press(approver, REFRESH, data), CARD)
    expect((await setting.service.composition.deps.requests.find(id))?.status).toBe('pending')
  })

  it('show what became of a request, without the context', async () => {
    const id = await askFor()
    await lapse(setting.service, id)
    const card = expectAnswer(await setting.driver.press(approver, DETAILS, { request_id: id }), CARD)
    expect(card).toContain('Expired')
    expect(card).not.toContain(SECRET)
  })

  it('show nothing to whoever is linked and not asked, as for requests that there are not', async () => {
    const id = await askFor()
    const refused = expectAnswer(await setting.driver.press(colleague, DETAILS, { request_id: id }), MESSAGE)
    const missing = expectAnswer(
      await setting.driver.press(colleague, DETAILS, { request_id: 'req_00000000000000000000000000' }),
      MESSAGE,
    )
    expect(refused).toBe('"There is no such request, or you are not an approver of it."')
    expect(missing).toBe(refused)
  })

  it('show the request to whoever stands in for an approver, as long as they do', async () => {
    const id = await askFor()
    const accounts = setting.service.composition.connection.collection<{ _id: string }>('accounts')
    await accounts.updateOne({ _id: ids.account }, { $set: { members: asMembers([ids.colleague]) } })
    await setDelegate(setting.service, ids.approver, ids.colleague)
    for (const verb of [REFRESH, DETAILS]) {
      const card = expectAnswer(await setting.driver.press(colleague, verb, { request_id: id }), CARD)
      expect(card).toContain(SECRET)
      expect(card).toContain('On behalf of: ')
    }
    await setDelegate(setting.service, ids.approver, null)
    const refused = await setting.driver.press(colleague, DETAILS, { request_id: id })
    expect(expectAnswer(refused, MESSAGE)).toBe(
      '"There is no such request, or you are not an approver of it."',
    )
  })

  it.each(['stranger', 'unlinked'] as const)('show nothing to whoever is not linked: %s', async (who) => {
    const id = await askFor()
    const person = { stranger, unlinked }[who]
    const refused = expectAnswer(await setting.driver.press(person, REFRESH, { request_id: id }), MESSAGE)
    expect(refused).toBe(
      '"Countersign does not know you here yet. Write “link” to this app, then try again."',
    )
  })

  it('show who was found by e-mail what their card shows, with how to say who they are, and no more', async () => {
    const found = personNumber(setting, 5)
    await setting.driver.installation(found, 'add-upgrade')
    const known = () =>
      stored(setting.service, 'chat_conversations').findOne({ email: 'person-5@example.com' })
    await waitUntil(async () => expect(await known()).not.toBeNull())
    const { id: userId } = await addTeamsUser(setting, 5, false)
    await setPolicy(setting.service, ids.account, { approvers: [ids.approver, userId], quorum: 1 })
    onTestFinished(() =>
      setPolicy(setting.service, ids.account, { approvers: [ids.approver, ids.asked], quorum: 1 }),
    )
    const id = await caller.createdId({ context: { reason: SECRET, note: 'n'.repeat(5000) } })
    const theirs = () => setting.connector.in(found.id).filter((one) => JSON.stringify(one).includes(id))
    await waitUntil(() => expect(theirs()).toHaveLength(1))
    for (const verb of [REFRESH, DETAILS]) {
      const reply = await setting.driver.press(found, verb, { request_id: id })
      const card = expectAnswer(reply, CARD)
      expect(card).toContain('Write “link” to this app')
      expect(card).toContain(`/a/${id}?d=approve`)
      // As much as was sent to them, however much there is.
      expect(card).not.toContain('n'.repeat(1200))
      expect(card).not.toContain(DETAILS)
    }
    expect(JSON.stringify(theirs()[0])).not.toContain(DETAILS)
    const refused = await setting.driver.press(stranger, DETAILS, { request_id: id })
    expect(expectAnswer(refused, MESSAGE)).toContain('does not know you here yet')
    await lapse(setting.service, id)
    const closed = expectAnswer(await setting.driver.press(found, REFRESH, { request_id: id }), CARD)
    expect(closed).toContain('Expired')
  })

  it('show nothing to the same id in another tenant (T37)', async () => {
    const id = await askFor()
    const tenantId = '99999999-8888-4777-8666-555555555555'
    const activity = {
      channelData: { tenant: { id: tenantId } },
      conversation: { id: 'a:1', conversationType: 'personal', tenantId },
    }
    const reply = await setting.driver.press(approver, DETAILS, { request_id: id }, { activity })
    expect(reply).toMatchObject({ status: 403, body: { error: 'chat_sender_refused' } })
    expect(reply.text).not.toContain(SECRET)
  })

  it('show no context where others read along, and nothing that the channel was not told', async () => {
    const id = await askFor()
    for (const where of [{ channel: setting.channel }, { group: setting.group }]) {
      const refused = expectAnswer(
        await setting.driver.press(approver, DETAILS, { request_id: id }, where),
        MESSAGE,
      )
      expect(refused).toBe('"Countersign did not show this request here."')
    }
  })

  it.each([
    ['no data', undefined],
    ['no id', {}],
    ['an id that is none', { request_id: 'nope' }],
    ['an id that is a query', { request_id: { $ne: null } }],
    ['data that is a list', [{ request_id: 'req_00000000000000000000000000' }]],
  ])('with %s are answered', async (_name, data) => {
    const refused = expectAnswer(await setting.driver.press(approver, REFRESH, data), MESSAGE)
    expect(refused).toBe('"There is no such request, or you are not an approver of it."')
  })

  it.each(['countersign.approve', 'approve', ''])(
    'are all there is: the verb “%s” is answered and does nothing',
    async (verb) => {
      const id = await askFor()
      const answer = expectAnswer(await setting.driver.press(approver, verb, { request_id: id }), MESSAGE)
      expect(answer).toContain('does not know this button')
      expect((await setting.service.composition.deps.requests.find(id))?.status).toBe('pending')
    },
  )

  it('without an action are told to be unknown', async () => {
    const activity = { type: 'invoke', name: 'adaptiveCard/action', value: { trigger: 'manual' } }
    expect(await setting.driver.message(approver, '', { activity })).toMatchObject({ status: 501, text: '' })
  })
})

describe('the fallback of older clients', () => {
  it('has the card itself edited again', async () => {
    const id = await askFor()
    await waitUntil(async () => expect(await statesOf(id)).toEqual(['idle', 'unreachable']))
    const shown = () => messageAbout(id)?.shown.length ?? 0
    const before = shown()
    expect(await setting.driver.submit(approver, { verb: REFRESH, request_id: id })).toMatchObject({
      status: 200,
      text: '',
    })
    await waitUntil(() => expect(shown()).toBe(before + 1))
  })

  it('has the way to the page follow, never a second card, once however often it is delivered', async () => {
    const id = await askFor()
    const before = setting.connector.in(approver.id).length
    const activity = { id: '1700000088888' }
    await Promise.all(
      [1, 2, 3].map(() => setting.driver.submit(approver, { verb: DETAILS, request_id: id }, { activity })),
    )
    await waitUntil(() => expect(setting.connector.in(approver.id).length).toBeGreaterThan(before))
    await setting.driver.message(approver, 'help')
    await waitUntil(() => expect(setting.connector.in(approver.id)).toHaveLength(before + 2))
    const followed = JSON.stringify(setting.connector.in(approver.id)[before])
    expect(followed).toContain(`/a/${id}`)
    expect(followed).not.toContain(SECRET)
    expect(followed).not.toContain('d=approve')
  })

  it('shows nothing to others', async () => {
    const id = await askFor()
    const before = setting.connector.in(colleague.id).length
    await setting.driver.submit(colleague, { verb: DETAILS, request_id: id })
    await waitUntil(() => expect(setting.connector.in(colleague.id)).toHaveLength(before + 1))
    const answer = JSON.stringify(setting.connector.in(colleague.id).at(-1))
    expect(answer).toContain('not an approver of it')
    expect(answer).not.toContain(SECRET)
  })
})

describe('a store that does not answer', () => {
  it('leaves nobody without an answer, and nobody with a stack', async () => {
    const id = await askFor()
    const { deps } = setting.service.composition
    const { find } = deps.requests
    deps.requests.find = async () => {
      throw new Error('the store is gone')
    }
    const reply = await setting.driver.press(approver, REFRESH, { request_id: id })
    let answers = (): void => undefined
    const held = new Promise<void>((resolve) => {
      answers = resolve
    })
    deps.requests.find = async (...asked) => {
      await held
      return find(...asked)
    }
    const stop = startStopwatch()
    const late = await setting.driver.press(approver, REFRESH, { request_id: id }, { hasty: true })
    const counted = stop()
    deps.requests.find = find
    // Cards are sent meanwhile, and would wait for ever, too.
    answers()
    expect(expectAnswer(reply, MESSAGE)).toContain('Something went wrong on our side')
    expect(expectAnswer(late, MESSAGE)).toContain('This takes longer than usual')
    // The press is given up before Teams gives up on it.
    expect(counted).toBeLessThan(3_000)
    expect(reply.text).not.toMatch(/the store is gone|at .*\.ts/)
  })

  it('leaves nobody with an older client without the same sentence', async () => {
    const id = await askFor()
    const before = setting.connector.in(approver.id).length
    const { deps } = setting.service.composition
    const { find } = deps.requests
    deps.requests.find = async () => {
      throw new Error('the store is gone')
    }
    onTestFinished(() => {
      deps.requests.find = find
    })
    await setting.driver.submit(approver, { verb: DETAILS, request_id: id })
    await waitUntil(() => expect(setting.connector.in(approver.id)).toHaveLength(before + 1))
    const answer = JSON.stringify(setting.connector.in(approver.id).at(-1))
    expect(answer).toContain('Something went wrong on our side; nothing was decided. Try again in a moment.')
    expect(answer).not.toContain('the store is gone')
  })
})
