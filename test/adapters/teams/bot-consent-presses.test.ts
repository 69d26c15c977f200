import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { begin, consent, setStored, stored } from '../../support/bootstraps.ts'
import { type BothChats, cardIn, inTeams, startBothChats, untilCardsRest } from '../../support/both-chats.ts'
import { cardText } from '../../support/card-lines.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { expectStatus } from '../../support/enrolled.ts'
import type { TeamsReply } from '../../support/teams-driver.ts'
import { linkTo } from '../../support/teams-service.ts'

const REFRESH = 'countersign.refresh'
const DETAILS = 'countersign.details'
const CARD = 'application/vnd.microsoft.card.adaptive'
const MESSAGE = 'application/vnd.microsoft.activity.message'
const NOT_YOURS = 'There is no such request, or you are not an approver of it.'

let both: BothChats
let begun: Awaited<ReturnType<typeof begin>>
let id: string
beforeAll(async () => {
  both = await startBothChats()
  begun = await begin(both.service, both.owner.email)
  id = (await stored(both.service, begun.secret)).id
  await untilCardsRest(both, id, 2)
})
afterAll(() => both.close())

function expectAnswer({ status, body, ms }: TeamsReply, type: string) {
  expect([status, body.statusCode, body.type]).toEqual([200, 200, type])
  expect(ms).toBeLessThan(2_000)
  return body.value
}

const press = (...args: Parameters<BothChats['teams']['driver']['press']>) => both.teams.driver.press(...args)
const ownCard = () => inTeams(both, both.owners.id, id)[0]

describe('Refresh on the card of an agent that asks for a key', () => {
  it.each([REFRESH, DETAILS])(
    '%s shows the owner the card as it is now, and changes nothing',
    async (verb) => {
      const { bootstraps, cards } = both.service.composition.deps
      await waitUntil(async () => {
        expect((await cards.ofRequest(id)).flatMap(({ audit }) => audit)).toEqual([])
        expect(await bootstraps.find(id)).toMatchObject({ audit: [], outbox: [] })
      })
      const state = async () => [
        await bootstraps.find(id),
        await cards.ofRequest(id),
        both.teams.connector.calls.length,
      ]
      const before = await state()
      const replies = await Promise.all([1, 2].map(() => press(both.owners, verb, { request_id: id })))
      for (const reply of replies) {
        const card = expectAnswer(reply, CARD)
        expect(cardText(card)).toContain('Give this caller an API key?')
        // But for what has it drawn anew at every look, which the answer to it does not need.
        const { refresh, ...stands } = cardIn(ownCard()) ?? expect.unreachable()
        expect(refresh.action).toMatchObject({ verb: REFRESH, data: { request_id: id } })
        expect(card).toEqual(stands)
        for (const hidden of [begun.secret, begun.code, begun.code.replace('-', '')])
          expect(reply.text).not.toContain(hidden)
      }
      expect(await state()).toEqual(before)
    },
  )

  it('shows nothing to another linked approver, as for requests that there are not', async () => {
    const missing = { request_id: 'bst_00000000000000000000000000' }
    for (const verb of [REFRESH, DETAILS]) {
      expect(expectAnswer(await press(both.others, verb, { request_id: id }), MESSAGE)).toBe(NOT_YOURS)
      expect(expectAnswer(await press(both.others, verb, missing), MESSAGE)).toBe(NOT_YOURS)
    }
    expect(expectAnswer(await press(both.owners, REFRESH, missing), MESSAGE)).toBe(NOT_YOURS)
  })

  it('shows nothing where others read along, not even to the owner', async () => {
    const { channel, group } = both.teams
    for (const where of [{ channel }, { group }]) {
      const said = expectAnswer(await press(both.owners, REFRESH, { request_id: id }, where), MESSAGE)
      expect(said).toBe('Countersign did not show this request here.')
    }
  })

  it('shows nobody the decoy of an address that nobody has', async () => {
    const decoy = await begin(both.service, 'nobody@example.com')
    const { id: request_id } = await stored(both.service, decoy.secret)
    for (const person of [both.owners, both.others])
      expect(expectAnswer(await press(person, REFRESH, { request_id }), MESSAGE)).toBe(NOT_YOURS)
  })

  it('shows nothing to the owner until they are linked', async () => {
    const { users } = both.service.composition.deps
    const owner = (await users.find(both.owner.userId)) ?? expect.unreachable()
    await users.change(owner.id, owner.version, { chat: [] }, [])
    const said = expectAnswer(await press(both.owners, REFRESH, { request_id: id }), MESSAGE)
    expect(said).toContain('does not know you here yet')
    await linkTo(both.teams, owner, both.owners)
  })

  it('shows an owner who was found by e-mail what their card says, to its end, and how to say who they are', async () => {
    const { users, chats } = both.service.composition.deps
    const { driver, tenantId } = both.teams
    await driver.installation(both.owners, 'add')
    const port = chats.find(({ platform }) => platform === 'teams') ?? expect.unreachable()
    await waitUntil(async () =>
      expect(await port.lookup(tenantId, both.owner.email)).toMatchObject({
        value: { user: both.owners.id },
      }),
    )
    const owner = (await users.find(both.owner.userId)) ?? expect.unreachable()
    await users.change(owner.id, owner.version, { chat: [] }, [])
    const asks = await begin(both.service, both.owner.email)
    const { id: request_id } = await stored(both.service, asks.secret)
    await untilCardsRest(both, request_id, 2)
    const refreshed = async () =>
      cardText(expectAnswer(await press(both.owners, REFRESH, { request_id }), CARD))
    expect(await refreshed()).toMatch(/Give this caller an API key[\s\S]*found by your e-mail address/)
    expect(expectAnswer(await press(both.others, REFRESH, { request_id }), MESSAGE)).toBe(NOT_YOURS)
    const elsewhere = { request_id: id }
    expect(expectAnswer(await press(both.owners, REFRESH, elsewhere), MESSAGE)).toContain('does not know you')
    expectStatus(await consent(both.service, both.owner, asks), 200)
    await waitUntil(async () =>
      expect(await refreshed()).toContain('Approved: the agent can collect its key'),
    )
    await linkTo(both.teams, owner, both.owners)
  })

  it('tells of what is past its time, although nobody has written that down yet', async () => {
    const late = await begin(both.service, both.owner.email)
    const { id: request_id } = await stored(both.service, late.secret)
    await untilCardsRest(both, request_id, 2)
    await setStored(both.service, late.secret, { expires_at: new Date(Date.now() - 1_000) })
    const card = expectAnswer(await press(both.owners, REFRESH, { request_id }), CARD)
    expect(cardText(card)).toContain('Expired: no key was given out')
  })

  it('has a card edited again that a late edit has put back to an older state, on old clients too', async () => {
    const rounds = [
      () => press(both.owners, REFRESH, { request_id: id }),
      () => both.teams.driver.submit(both.owners, { verb: REFRESH, request_id: id }),
    ]
    expectStatus(await consent(both.service, both.owner, begun), 200)
    await waitUntil(() => expect(cardText(cardIn(ownCard()))).toContain('Approved'))
    for (const round of rounds) {
      await untilCardsRest(both, id, 2)
      const message = ownCard() ?? expect.unreachable()
      message.shown.push(message.shown[0])
      expect(cardText(cardIn(ownCard()))).not.toContain('Approved')
      expect((await round()).status).toBe(200)
      await waitUntil(() => expect(cardText(cardIn(ownCard()))).toContain('Approved'))
    }
    const { status } = await stored(both.service, begun.secret)
    expect(status).toBe('approved')
  })
})
