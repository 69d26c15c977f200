import { describe, expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { newCaller } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { setPolicy } from '../../support/deciders.ts'
import { patienceFor } from '../../support/patience.ts'
import { addTeamsUser, personNumber, type TeamsOptions, useTeams } from '../../support/teams-service.ts'

const PEOPLE = 3
const REQUESTS = 20

/** Twenty requests at once for three people; resolves when every card is posted. */
async function flood(options: TeamsOptions) {
  const setting = await useTeams({ work: true, people: PEOPLE, ...options })
  const { service, connector } = setting
  const users: User[] = []
  for (let n = 1; n <= PEOPLE; n += 1) users.push(await addTeamsUser(setting, n, true))
  const [owner] = users
  if (owner === undefined) throw new Error('nobody')
  await setPolicy(service, owner.account_id, { approvers: users.map(({ id }) => id), quorum: 1 })
  const caller = await newCaller(service, { user: owner })
  const started = performance.now()
  const ids = await Promise.all(Array.from({ length: REQUESTS }, () => caller.createdId()))
  const posted = () => users.map((_, index) => connector.in(personNumber(setting, index + 1).id))
  const allPosted = () => expect(posted().flat().length).toBeGreaterThanOrEqual(PEOPLE * REQUESTS)
  // At the pace of Teams, twice as long where it lets through only half.
  await waitUntil(allPosted, patienceFor(20_000))
  const ms = performance.now() - started
  const { cards } = service.composition.deps
  await waitUntil(async () => {
    const states = (await Promise.all(ids.map((id) => cards.ofRequest(id)))).flat().map(({ state }) => state)
    expect(states).toEqual(Array.from({ length: PEOPLE * REQUESTS }, () => 'idle'))
  })
  return { connector, ids, posted: posted(), ms }
}

function aboutEach(messages: { shown: unknown[] }[], ids: readonly string[]): number[] {
  const texts = messages.map(({ shown }) => JSON.stringify(shown[0]))
  return ids.map((id) => texts.filter((text) => text.includes(id)).length)
}

describe('twenty requests at once for three people', () => {
  it('reach each of them once, within the limits of Teams: nothing is refused for pace', async () => {
    const { connector, ids, posted, ms } = await flood({})
    for (const messages of posted) expect(aboutEach(messages, ids)).toEqual(ids.map(() => 1))
    expect(connector.refused).toEqual([])
    expect(connector.calls.filter(({ what }) => what === 'post')).toHaveLength(PEOPLE * REQUESTS)
    // Each conversation takes seven at once and eight in two seconds.
    expect(ms).toBeLessThan(60_000)
  })

  it('reach each of them once also where Teams lets through only half, and asks for patience', async () => {
    const { connector, ids, posted } = await flood({ connector: { strict: 2 } })
    for (const messages of posted) expect(aboutEach(messages, ids)).toEqual(ids.map(() => 1))
    expect(new Set(connector.refused)).toEqual(new Set([429]))
  })
})
