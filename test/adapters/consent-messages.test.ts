import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownText } from '../support/block-parts.ts'
import {
  type Begun,
  begin,
  consent,
  consentPath,
  pollOnce,
  setStored,
  stored,
} from '../support/bootstraps.ts'
import {
  type BothChats,
  cardIn,
  inSlack,
  inTeams,
  startBothChats,
  untilCardsRest,
} from '../support/both-chats.ts'
import { cardText } from '../support/card-lines.ts'
import { waitUntil } from '../support/chat-platform.ts'
import { expectStatus } from '../support/enrolled.ts'
import { ask } from '../support/live.ts'

let both: BothChats
beforeAll(async () => {
  both = await startBothChats()
})
afterAll(() => both.close())

/** An agent asks over HTTP; both of the owner's cards are there. */
async function asked(): Promise<Begun & { id: string }> {
  const begun = await begin(both.service, both.owner.email)
  const { id } = await stored(both.service, begun.secret)
  await untilCardsRest(both, id, 2)
  return { ...begun, id }
}

/** The texts of the owner's one message on each platform. */
async function shown(id: string): Promise<[slack: string, teams: string]> {
  const [[inDm, ...more], [own, ...others]] = [
    await inSlack(both, 'owner', id),
    inTeams(both, both.owners.id, id),
  ]
  expect([more, others]).toEqual([[], []])
  return [shownText(inDm?.blocks), cardText(cardIn(own))]
}

async function untilShown(id: string, ...phrases: string[]): Promise<void> {
  await waitUntil(async () => {
    for (const text of await shown(id)) for (const phrase of phrases) expect(text).toContain(phrase)
  })
}

/** Everything that Slack and Teams were ever told. */
const everything = () =>
  JSON.stringify([both.slack.calls.map(({ args }) => args), both.teams.connector.calls])

function expectSecretsKept({ secret, code }: Begun): void {
  const told = everything()
  for (const hidden of [secret, secret.slice('boot_'.length), code, code.replace('-', '')])
    expect(told).not.toContain(hidden)
}

/** Nothing that can be pressed or opened but the consent page. */
async function expectOnlyPage(id: string): Promise<void> {
  const [message] = await inSlack(both, 'owner', id)
  const drawn = JSON.stringify([message?.blocks, cardIn(inTeams(both, both.owners.id, id)[0])])
  const urls = [...drawn.matchAll(/"url":"([^"]+)"/g)].map(([, url]) => url)
  expect(urls.length).toBeGreaterThanOrEqual(2)
  expect(new Set(urls)).toEqual(new Set([`${both.service.url}/b/${id}`]))
}

describe('an agent that asks for a key, in Slack and Teams', () => {
  it('is shown to the owner, then their consent, then who collected, in one message on each', async () => {
    const begun = await asked()
    const { id } = begun
    for (const text of await shown(id)) {
      expect(text).toContain('Give this caller an API key?')
      expect(text).toContain('Release agent')
      expect(text).toMatch(/Requested from: 10\./)
    }
    await expectOnlyPage(id)
    expectStatus(await consent(both.service, both.owner, begun), 200)
    await untilShown(id, 'Approved: the agent can collect its key', 'Method: Passkey')
    await expectOnlyPage(id)
    const { api_key } = expectStatus(await pollOnce(both.service, begun.secret), 200)
    await untilShown(id, 'The API key was collected', 'Collected from: 10.', 'revoke the key')
    await expectOnlyPage(id)
    expectSecretsKept(begun)
    expect(everything()).not.toContain(String(api_key).slice('sa_live_'.length))
  })

  it('is shown to nobody else: no other approver, no channel, who all see a request for approval', async () => {
    const request = await ask(both)
    const begun = await asked()
    const { id } = begun
    const elsewhere = async (about: string): Promise<number[]> => {
      const channel = await both.slack.history(both.slackChannel)
      return [
        (await inSlack(both, 'other', about)).length,
        channel.filter((message) => JSON.stringify(message).includes(about)).length,
        inTeams(both, both.others.id, about).length,
        inTeams(both, both.teams.channel, about).length,
      ]
    }
    await untilCardsRest(both, request, 6)
    expect(await elsewhere(request)).toEqual([1, 1, 1, 1])
    expect(await elsewhere(id)).toEqual([0, 0, 0, 0])
    expectStatus(await consent(both.service, both.owner, begun, 'rejected'), 200)
    await untilShown(id, 'Rejected', 'Method: Passkey')
    await expectOnlyPage(id)
    expect(await elsewhere(id)).toEqual([0, 0, 0, 0])
    const recipient = { kind: 'approver', user_id: both.owner.userId }
    const cards = await both.service.composition.deps.cards.ofRequest(id)
    expect(cards.map((card) => card.recipient)).toEqual([recipient, recipient])
    expect(cards.map(({ platform }) => platform).sort()).toEqual(['slack', 'teams'])
    expectSecretsKept(begun)
  })

  it('is shown as rejected by wrong codes after the third one, not before', async () => {
    const begun = await asked()
    const path = await consentPath(both.service, begun)
    const code = begun.code.startsWith('B') ? 'CCCC-CCCC' : 'BBBB-BBBB'
    const guess = () => both.owner.browser.post(`${path}/decision/options`, { decision: 'approved', code })
    for (const status of ['pending', 'pending']) {
      expect(await guess()).toMatchObject({ status: 403, body: { error: 'wrong_matching_code', status } })
    }
    for (const text of await shown(begun.id)) expect(text).toContain('Give this caller an API key?')
    expect((await guess()).body).toMatchObject({ error: 'wrong_matching_code', status: 'rejected' })
    await untilShown(begun.id, 'Rejected after three wrong codes')
    for (const text of await shown(begun.id)) expect(text).not.toContain('Method')
    await expectOnlyPage(begun.id)
    expectSecretsKept(begun)
    expect(everything()).not.toContain(code)
  })

  it('is shown as expired when nobody answered in time', async () => {
    const begun = await asked()
    await setStored(both.service, begun.secret, { expires_at: new Date(Date.now() - 1_000) })
    expect((await pollOnce(both.service, begun.secret)).body).toMatchObject({ status: 'expired' })
    await untilShown(begun.id, 'Expired: no key was given out')
    await expectOnlyPage(begun.id)
    expectSecretsKept(begun)
  })

  it('is posted nowhere for an address that nobody has', async () => {
    const begun = await begin(both.service, 'nobody@example.com')
    const { id } = await stored(both.service, begun.secret)
    await waitUntil(async () =>
      expect(await stored(both.service, begun.secret)).toMatchObject({ outbox: [], audit: [] }),
    )
    // One that came after it is there.
    await asked()
    expect(await both.service.composition.deps.cards.ofRequest(id)).toEqual([])
    expect(everything()).not.toContain(id)
  })
})
