import { describe, expect, it } from 'vitest'
import { usePeopleStores } from '../support/people-stores.ts'

const now = new Date()
const stores = usePeopleStores(() => now)
const HASH = (n: number) => n.toString(16).padStart(64, '0')
const HOUR = 3_600_000
const inFuture = () => new Date(Date.now() + HOUR)
const inPast = () => new Date(Date.now() - 1_000)

describe('T33: a challenge', () => {
  it('is taken once by one of many', async () => {
    const { challenges } = stores()
    const challenge = { id: HASH(1), purpose: 'sign-in' as const, expires_at: inFuture() }
    await challenges.put(challenge)
    const taken = await Promise.all([1, 2, 3, 4, 5].map(() => challenges.take(HASH(1), 'sign-in')))
    expect(taken.filter((found) => found !== undefined)).toEqual([challenge])
  })

  it('T19: is not there for another purpose, and stays for its own', async () => {
    const { challenges } = stores()
    const profile = { email: 'a@b.c', name: 'A', user_handle: 'AAAA' }
    const challenge = {
      id: HASH(2),
      purpose: 'enroll' as const,
      subject: 'enr_x',
      profile,
      expires_at: inFuture(),
    }
    await challenges.put(challenge)
    for (const purpose of ['sign-in', 'decision', 'passkey.add', 'step-up'] as const)
      expect(await challenges.take(HASH(2), purpose)).toBeUndefined()
    expect(await challenges.take(HASH(2), 'enroll')).toEqual(challenge)
  })

  it('is gone after its time by the clock of the database', async () => {
    const { challenges } = stores()
    await challenges.put({ id: HASH(3), purpose: 'decision', expires_at: inPast() })
    expect(await challenges.take(HASH(3), 'decision')).toBeUndefined()
  })
})

describe('a link', () => {
  const link = (n: number, more: object = {}) => ({
    id: `enr_${n}`,
    kind: 'invite' as const,
    token_hash: HASH(n),
    user_id: `usr_${n}`,
    tries: 0,
    created_at: new Date(),
    expires_at: inFuture(),
    ...more,
  })

  it('is consumed by one of many, and then unknown', async () => {
    const { enrollments } = stores()
    await enrollments.insert(link(10))
    expect(await enrollments.find(HASH(10))).toMatchObject({
      id: 'enr_10',
      kind: 'invite',
      user_id: 'usr_10',
    })
    const used = await Promise.all([1, 2, 3, 4, 5].map(() => enrollments.consume('enr_10')))
    expect(used.filter(Boolean)).toHaveLength(1)
    expect(await enrollments.find(HASH(10))).toBeUndefined()
  })

  it('allows five tries, also when they come at once; the fifth may still succeed', async () => {
    const { enrollments } = stores()
    await enrollments.insert(link(11))
    const tries = await Promise.all(Array.from({ length: 20 }, () => enrollments.takeTry('enr_11')))
    expect(tries.filter(Boolean)).toHaveLength(5)
    expect(await enrollments.find(HASH(11))).toBeUndefined()
    expect(await enrollments.consume('enr_11')).toBe(true)
  })

  it('is dead after its time by the clock of the database', async () => {
    const { enrollments } = stores()
    await enrollments.insert(link(12, { expires_at: inPast() }))
    expect(await enrollments.find(HASH(12))).toBeUndefined()
    expect(await enrollments.takeTry('enr_12')).toBe(false)
    expect(await enrollments.consume('enr_12')).toBe(false)
  })

  it('is replaced with its kind and person only', async () => {
    const { enrollments } = stores()
    await enrollments.insert(link(13))
    await enrollments.insert(link(14))
    await enrollments.insert(link(15, { kind: 'setup' }))
    await enrollments.revokeOpen('invite', { user_id: 'usr_13' })
    expect(await enrollments.find(HASH(13))).toBeUndefined()
    expect(await enrollments.find(HASH(14))).toMatchObject({ id: 'enr_14', user_id: 'usr_14' })
    await enrollments.revokeOpen('setup')
    expect(await enrollments.find(HASH(15))).toBeUndefined()
    expect(await enrollments.find(HASH(14))).toMatchObject({ id: 'enr_14', user_id: 'usr_14' })
  })
})
