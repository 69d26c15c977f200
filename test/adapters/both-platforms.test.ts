import { expect, it, onTestFinished } from 'vitest'
import { approve, decideBatch } from '../support/batches.ts'
import { shownText } from '../support/block-parts.ts'
import { cardIn, inSlack, inTeams, startBothChats, untilCardsRest } from '../support/both-chats.ts'
import { cardText } from '../support/card-lines.ts'
import { waitUntil } from '../support/chat-platform.ts'
import { ask, askTogether, callWithKey, decideByPasskey, setUpOwner } from '../support/live.ts'
import { createSlackDriver } from '../support/slack-driver.ts'
import { type SlackMessage, useSlack } from '../support/slack-emulator.ts'
import { personNumber, startTeams } from '../support/teams-service.ts'

const SIGNING_SECRET = 'f00df00df00df00df00df00df00df00d'

it('shows a person with Slack and Teams a card in each; one decision changes both, and both verify it alike', async () => {
  const slack = await useSlack({ users: [{ name: 'ana', email: 'person-1@example.com' }] })
  const teams = await startTeams({
    work: true,
    people: 1,
    env: {
      SLACK_API_URL: slack.apiUrl,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
    },
  })
  onTestFinished(() => teams.close())
  const { service, driver, connector } = teams
  const ana = personNumber(teams, 1)
  const setting = await setUpOwner(service, 'person-1@example.com')
  await driver.installation(ana, 'add-upgrade')
  await waitUntil(() => expect(connector.installed.has(ana.id)).toBe(true))

  const context = { reason: 'Invoices may go', tool: 'invoices.delete', count: 3 }
  const id = await ask(setting, { context })
  const inSlack = async (of = id): Promise<SlackMessage[]> =>
    (await slack.dmOf(slack.user('ana'))).filter((message) => JSON.stringify(message).includes(of))
  const inTeams = (of = id) =>
    connector.in(ana.id).filter((message) => JSON.stringify(message.shown).includes(of))
  await waitUntil(async () => {
    const [card, ...others] = await inSlack()
    expect(others).toEqual([])
    expect(shownText(card?.blocks)).toContain('Invoices may go')
    expect(inTeams()).toHaveLength(1)
    expect(JSON.stringify(inTeams()[0]?.shown.at(-1))).toContain('Invoices may go')
    for (const text of [shownText(card?.blocks), JSON.stringify(inTeams())])
      expect(text).toMatch(/First time on record: .*this API key asks for this tool\./)
  })

  expect((await decideByPasskey(setting, id, 'approved')).status).toBe(200)
  await waitUntil(async () => {
    const [card] = await inSlack()
    expect(shownText(card?.blocks)).toContain('Approved')
    expect(JSON.stringify(card?.blocks)).not.toContain('d=approve')
    const shown = JSON.stringify(inTeams()[0]?.shown.at(-1))
    expect(shown).toContain('Approved')
    expect(shown).not.toContain('d=approve')
  })
  const cards = () => service.composition.deps.cards.ofRequest(id)
  expect((await cards()).map(({ platform }) => platform).sort()).toEqual(['slack', 'teams'])
  // In Teams the line below the card is a message of its own, which comes after the edit.
  await waitUntil(async () =>
    expect((await cards()).flatMap(({ replies }) => replies.map(({ state }) => state))).toEqual([
      'said',
      'said',
    ]),
  )

  const next = await ask(setting, { context: { ...context, count: 30, iban: 'DE1' } })
  await waitUntil(async () => {
    const [card] = await inSlack(next)
    const [teamsCard] = inTeams(next)
    for (const text of [shownText(card?.blocks), JSON.stringify(teamsCard?.shown.at(-1))]) {
      expect(text).toMatch(/Before:.*approved once, last approved/)
      expect(text).toMatch(/10 × the usual 3.*count/)
      expect(text).toMatch(/New field.*iban/)
    }
  })

  const read = Object(await (await callWithKey(service, setting.key, `/${id}`)).json())
  const slackDriver = createSlackDriver({
    url: service.url,
    signingSecret: SIGNING_SECRET,
    teamId: slack.teamId,
  })
  /** What Slack and Teams answer to the same words. */
  async function verdictsOn(text: string): Promise<string[]> {
    const typed = await slackDriver.command('/verify', text, { user: slack.user('ana') })
    const said = connector.in(ana.id).length
    await driver.message(ana, `verify ${text}`)
    await waitUntil(() => expect(connector.in(ana.id).length).toBe(said + 1))
    return [shownText(typed.body.blocks), JSON.stringify(connector.in(ana.id).at(-1)?.shown.at(-1))]
  }
  const { decision } = read
  for (const verdict of await verdictsOn(decision.id)) {
    expect(verdict).toContain('The receipt is valid: a person approved this.')
    expect(verdict).toContain(decision.id)
    expect(verdict).not.toContain('Not signed')
  }
  // A receipt that is pasted with fields of another's making beside it.
  for (const verdict of await verdictsOn(JSON.stringify({ ...read, audience: 'casino' }))) {
    expect(verdict).toContain('Not valid: do not act on it')
    expect(verdict).toContain('The field “audience” shown here is not what was signed.')
  }
  const { intent: _gone, ...bare } = decision
  const said = { ...bare, audience: 'casino', requested_by: 'Grace', '<!here>': 1 }
  for (const verdict of await verdictsOn(JSON.stringify(said))) {
    expect(verdict).toContain('The receipt is valid: a person approved this.')
    expect(verdict).toMatch(/Not signed: .*audience.*requested_by.*<!here>/)
    expect(verdict).not.toMatch(/casino|Grace/)
  }
})

it('requests of one call are one card in each conversation, and each press and answer follows it', async () => {
  const both = await startBothChats()
  onTestFinished(() => both.close())
  const { service, slack, slackDriver, slackChannel, teams, owners, others, owner, key } = both
  const { ids, batch } = await askTogether(both, [
    { action: 'Pay ACME' },
    { action: 'Pay Globex' },
    { action: 'Pay Initech' },
  ])
  await untilCardsRest(both, batch, 6)
  const shownNow = async () => [
    ...(await inSlack(both, 'owner', batch)).map(({ blocks }) => shownText(blocks)),
    ...(await inSlack(both, 'other', batch)).map(({ blocks }) => shownText(blocks)),
    ...(await slack.history(slackChannel))
      .map(({ blocks }) => shownText(blocks))
      .filter((text) => text.includes(batch)),
    ...[owners.id, others.id, teams.channel].flatMap((place) =>
      inTeams(both, place, batch).map((one) => cardText(cardIn(one))),
    ),
  ]
  const first = await shownNow()
  expect(first).toHaveLength(6)
  for (const text of first)
    for (const action of ['1. Pay ACME', '2. Pay Globex', '3. Pay Initech']) expect(text).toContain(action)
  for (const id of ids) {
    const log = Object(await (await callWithKey(service, key, `/${id}/deliveries`)).json())
    expect(
      log.cards
        .map(({ recipient, state }: { recipient: string; state: string }) => `${recipient} ${state}`)
        .sort(),
    ).toEqual([...Array(4).fill('approver shown'), ...Array(2).fill('channel shown')].sort())
  }

  expect((await decideByPasskey(both, ids[1] ?? '', 'rejected')).status).toBe(200)
  await waitUntil(async () => {
    for (const text of await shownNow()) expect(text).toContain('Rejected (1) by')
  })
  const refreshed = async (person = owners) =>
    JSON.stringify(
      (await teams.driver.press(person, 'countersign.refresh', { request_id: batch })).body.value,
    )
  expect(await refreshed()).toContain('Approve or reject 2 of these 3 requests?')
  // Whoever is not asked sees nothing, however they got the id.
  expect(await refreshed(personNumber(teams, 4))).not.toContain('Pay')

  const decided = await decideBatch(service, owner, approve(ids[0] ?? '', ids[2] ?? ''))
  expect(decided.status).toBe(200)
  const over = '3 requests: 2 approved, 1 rejected'
  await waitUntil(async () => {
    const cards = await service.composition.deps.cards.ofRequest(batch)
    expect(cards.map(({ state, replies }) => [state, replies.map((reply) => reply.state)])).toEqual(
      Array(6).fill(['idle', ['said']]),
    )
    const shown = await shownNow()
    expect(shown.filter((text) => text.includes(over)).length).toBeGreaterThanOrEqual(6)
    expect(JSON.stringify(shown)).not.toContain('d=approve')
  })
  for (const id of ids) {
    const read = Object(await (await callWithKey(service, key, `/${id}`)).json())
    expect(read.decision.id).toMatch(/^dec_/)
  }

  // A late edit has put the card back to what it was, and the person presses its button.
  const [card] = (await slack.dmOf(slack.user('owner'))).filter((one) => JSON.stringify(one).includes(batch))
  const cards = await service.composition.deps.cards.ofRequest(batch)
  const mine = cards.find(({ message }) => message?.message === card?.ts) ?? expect.unreachable()
  const link = {
    type: 'button',
    action_id: 'countersign_approve',
    url: `${service.url}/?batch=${batch}&d=approve`,
  }
  const blocks = [{ type: 'actions', elements: [link] }]
  const edits = () => slack.calls.filter(({ method }) => method === 'chat.update').length
  const before = edits()
  const pressed = { ts: card?.ts ?? '', channel: mine.message?.conversation ?? '', blocks }
  await slackDriver.click(pressed, 'countersign_approve', slack.user('owner'))
  await waitUntil(() => expect(edits()).toBe(before + 1))
})
