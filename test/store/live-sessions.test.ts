import { describe, expect, it } from 'vitest'
import { entryNumber } from '../support/audit-entries.ts'
import { usePeopleStores } from '../support/people-stores.ts'

const stores = usePeopleStores()
const HOUR = 3_600_000
const start = Date.now()
const hoursIn = (hours: number) => new Date(start + hours * HOUR)

let made = 0

/** A session that was last used that many hours after the start. */
async function session(userId: string, usedAt = 0) {
  made += 1
  const id = `ses_live_${made}`
  await stores().sessions.insert(
    {
      id,
      token_hash: `hash ${made}`,
      user_id: userId,
      account_id: 'acc_1',
      created_at: hoursIn(0),
      last_seen_at: hoursIn(usedAt),
      expires_at: hoursIn(100),
      user_agent: '',
    },
    entryNumber(made, { type: 'session.created', subject: id }),
  )
  return id
}

describe('the live sessions of a person', () => {
  it('are neither signed out nor idle nor expired, and the latest used is first', async () => {
    const { sessions } = stores()
    const [idle, early, late] = [await session('ann'), await session('ann', 3), await session('ann', 5)]
    const ended = await session('ann', 9)
    await session('bob', 9)
    await sessions.end(ended, hoursIn(10), entryNumber(900, { type: 'session.ended', subject: ended }))
    const listed = async (hours: number, limit = 10) =>
      (await sessions.liveOf('ann', hoursIn(hours), limit)).map(({ id }) => id)
    expect(await listed(10)).toEqual([late, early, idle])
    expect(await listed(12)).toEqual([late, early])
    expect(await listed(12, 1)).toEqual([late])
    expect(await listed(101)).toEqual([])
  })

  it('are told apart from the others among any that are asked about', async () => {
    const { sessions } = stores()
    const [live, idle, ended] = [await session('cid', 5), await session('cid'), await session('cid', 5)]
    await sessions.end(ended, hoursIn(6), entryNumber(901, { type: 'session.ended', subject: ended }))
    const asked = [live, idle, ended, 'ses_unknown']
    expect(await sessions.liveAmong(asked, hoursIn(13))).toEqual([live])
    expect(await sessions.liveAmong([], hoursIn(13))).toEqual([])
    const many = await Promise.all(Array.from({ length: 150 }, () => session('dan', 5)))
    expect((await sessions.liveAmong(many, hoursIn(13))).sort()).toEqual([...many].sort())
  })
})
