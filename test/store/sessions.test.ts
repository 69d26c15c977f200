import { describe, expect, it } from 'vitest'
import { createOutboxSource } from '../../src/store/mongo/outbox.ts'
import { entryNumber } from '../support/audit-entries.ts'
import { usePeopleStores } from '../support/people-stores.ts'

const stores = usePeopleStores()
const HASH = (n: number) => n.toString(16).padStart(64, '0')
const HOUR = 3_600_000

describe('a session', () => {
  const session = (n: number, seen: number) => ({
    id: `ses_${n}`,
    token_hash: HASH(n),
    user_id: 'usr_s',
    account_id: 'acc_s',
    created_at: new Date(seen),
    last_seen_at: new Date(seen),
    expires_at: new Date(seen + 100 * HOUR),
    user_agent: '',
  })
  const start = Date.now() + 1000 * HOUR
  const hoursIn = (hours: number) => new Date(start + hours * HOUR)
  const begun = (id: string) =>
    entryNumber(0, { eid: `evt_begun_${id}`, type: 'session.created', subject: id })
  const ended = (id: string, eid = `evt_ended_${id}`) =>
    entryNumber(1, { eid, type: 'session.ended', subject: id })
  const insert = (made: ReturnType<typeof session>) => stores().sessions.insert(made, begun(made.id))
  const outboxOf = async (id: string) => {
    const document = await stores().connection.collection<{ _id: string }>('sessions').findOne({ _id: id })
    const { audit, outbox_token } = Object(document)
    return { eids: audit?.map(({ eid }: { eid: string }) => eid), outbox_token }
  }

  it('lives while it is used, for 12 idle hours, and ends at its limit', async () => {
    const { sessions } = stores()
    await insert(session(20, start))
    expect(await sessions.findByToken(HASH(20), hoursIn(11.9))).toEqual(session(20, start))
    expect(await sessions.findLive('ses_20', hoursIn(12))).toBeUndefined()
    await sessions.touch({ id: 'ses_20', last_seen_at: new Date(start) }, hoursIn(11))
    expect(await sessions.findLive('ses_20', hoursIn(22.9))).toMatchObject({ last_seen_at: hoursIn(11) })
    await sessions.touch({ id: 'ses_20', last_seen_at: new Date(start) }, hoursIn(99))
    expect(await sessions.findLive('ses_20', hoursIn(99.9))).toMatchObject({ last_seen_at: hoursIn(99) })
    expect(await sessions.findLive('ses_20', hoursIn(100))).toBeUndefined()
  })

  it('ends seven days after it began, also when it was promised more before that was the limit', async () => {
    const { sessions } = stores()
    const long = {
      ...session(40, start),
      expires_at: hoursIn(720),
      last_seen_at: hoursIn(167),
      user_id: 'usr_40',
    }
    await insert(long)
    expect(await sessions.findLive('ses_40', hoursIn(167.9))).toMatchObject({ id: 'ses_40' })
    expect(await sessions.findLive('ses_40', hoursIn(168))).toBeUndefined()
    expect((await sessions.lapsed(hoursIn(168), 100)).map(({ id }) => id)).toContain('ses_40')
  })

  it('notes its use at most once a minute, and never backwards', async () => {
    const { sessions } = stores()
    await insert(session(21, start))
    for (const seconds of [59, 30, -600])
      await sessions.touch({ id: 'ses_21', last_seen_at: new Date(start) }, new Date(start + seconds * 1000))
    expect((await sessions.findLive('ses_21', hoursIn(1)))?.last_seen_at).toEqual(new Date(start))
  })

  it('ends alone or with all others of the person', async () => {
    const { sessions } = stores()
    for (const n of [22, 23, 24]) await insert(session(n, start))
    const end = () => sessions.end('ses_22', hoursIn(1), ended('ses_22'))
    expect([await end(), await end()]).toEqual([true, false])
    await insert({ ...session(25, start), user_id: 'usr_t' })
    await sessions.endAllOf('usr_s', hoursIn(1), ({ id }) => ended(id))
    expect(await sessions.findLive('ses_23', hoursIn(1))).toBeUndefined()
    expect(await sessions.findByToken(HASH(24), hoursIn(1))).toBeUndefined()
    expect(await sessions.findLive('ses_25', hoursIn(1))).toMatchObject({ id: 'ses_25', user_id: 'usr_t' })
    await sessions.touch({ id: 'ses_23', last_seen_at: new Date(start) }, hoursIn(2))
    expect(await sessions.findLive('ses_23', hoursIn(2))).toBeUndefined()
  })

  it('T86: records its beginning and its one end, each in the write itself', async () => {
    const { sessions } = stores()
    await insert(session(26, start))
    expect(await outboxOf('ses_26')).toEqual({ eids: ['evt_begun_ses_26'], outbox_token: 'evt_begun_ses_26' })
    const racing = ['a', 'b', 'c'].map((n) => sessions.end('ses_26', hoursIn(1), ended('ses_26', `evt_${n}`)))
    const won = (await Promise.all(racing)).indexOf(true)
    await sessions.endAllOf('usr_s', hoursIn(1), ({ id }) => ended(id))
    const eid = ['evt_a', 'evt_b', 'evt_c'][won]
    expect(await outboxOf('ses_26')).toEqual({ eids: ['evt_begun_ses_26', eid], outbox_token: eid })
  })

  it('that lapsed is found and ended once, and one that lives is not', async () => {
    const { sessions } = stores()
    const used = { ...session(30, start), user_id: 'usr_30', last_seen_at: hoursIn(11) }
    const idle = { ...session(31, start), user_id: 'usr_30' }
    const atLimit = { ...session(32, start), expires_at: hoursIn(12), last_seen_at: hoursIn(11) }
    for (const made of [used, idle, atLimit]) await insert(made)
    const now = hoursIn(12)
    const found = (await sessions.lapsed(now, 100)).map(({ id }) => id)
    expect(found).toEqual(expect.arrayContaining(['ses_31', 'ses_32']))
    expect(found).not.toContain('ses_30')
    expect(await sessions.lapsed(now, 1)).toHaveLength(1)
    const end = (id: string) => sessions.endLapsed(id, now, ended(id))
    expect(await Promise.all(['ses_30', 'ses_31', 'ses_31', 'ses_32'].map(end))).toEqual([
      false,
      expect.any(Boolean),
      expect.any(Boolean),
      true,
    ])
    expect((await outboxOf('ses_31')).eids).toEqual(['evt_begun_ses_31', 'evt_ended_ses_31'])
    expect((await sessions.lapsed(now, 100)).map(({ id }) => id)).not.toContain('ses_31')
  })

  it('T86: is deleted once its end is in the trail, and no moment earlier', async () => {
    const { sessions, connection } = stores()
    const source = createOutboxSource(connection, 'Session')
    for (const n of [33, 34, 35]) await insert(session(n, start))
    for (const n of [33, 34]) await sessions.end(`ses_${n}`, hoursIn(1), ended(`ses_${n}`))
    await sessions.deleteEnded()
    const left = async () =>
      (await Promise.all([33, 34, 35].map((n) => outboxOf(`ses_${n}`)))).map(
        ({ outbox_token }) => outbox_token,
      )
    expect(await left()).toEqual(['evt_ended_ses_33', 'evt_ended_ses_34', 'evt_begun_ses_35'])
    const read = await source.due(100)
    await source.settle(read.filter(({ id }) => id === 'ses_33' || id === 'ses_35'))
    expect(await sessions.deleteEnded()).toBe(1)
    expect(await left()).toEqual([undefined, 'evt_ended_ses_34', undefined])
    expect(await sessions.findLive('ses_35', hoursIn(1))).toMatchObject({ id: 'ses_35' })
  })
})
