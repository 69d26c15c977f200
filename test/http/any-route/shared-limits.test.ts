import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { connectStore } from '../../../src/store/mongo/connect.ts'
import { isUnavailable } from '../../../src/store/mongo/failures.ts'
import { createRateLimiter } from '../../../src/store/rate-limits.ts'
import { makeIndexes } from '../../../src/store/schema/indexes.ts'
import { callerWith, newCaller, send } from '../../support/caller.ts'
import { clockOf } from '../../support/clock.ts'
import { databaseUri, startService, useService } from '../../support/service.ts'

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
const clock = clockOf()

describe('T66: limits hold across services on one store', () => {
  it('four services together let 60 of 80 creations through, and 300 of 320 verifications', async () => {
    const first = await useService()
    const database = first.composition.connection.name
    const others = await Promise.all([1, 2, 3].map(() => startService({ database })))
    const services = [first, ...others]
    try {
      const { user, token, keyId } = await newCaller(first)
      const callers = services.map((service) => callerWith(service, user, token, keyId))
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => callers.map((caller) => caller.create({ action: 'x' }))).flat(),
      )
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(60)
      expect(answers.filter((answer) => answer.status === 429)).toHaveLength(20)
      const remaining = answers
        .filter((answer) => answer.status === 201)
        .map((answer) => Number(answer.headers.get('x-ratelimit-remaining')))
      expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index))
      const path = '/api/v1/approvals/req_00000000000000000000000000/verify'
      const statuses: number[] = []
      for (let batch = 0; batch < 10; batch += 1) {
        const some = await Promise.all(
          Array.from({ length: 8 }, () => services.map((one) => send(one, path))).flat(),
        )
        statuses.push(...some.map((answer) => answer.status))
      }
      expect(statuses.filter((status) => status === 404)).toHaveLength(300)
      expect(statuses.filter((status) => status === 429)).toHaveLength(20)
    } finally {
      await Promise.all(others.map((service) => service.close()))
    }
  })

  it('the first requests of a fresh store, all at once, are counted in one bucket', async () => {
    const connection = await connectStore(databaseUri(inject('storeUri'), `limits_${Date.now()}`))
    try {
      const limiters = [1, 2, 3, 4].map(() => createRateLimiter(connection, clock, silent, true))
      await makeIndexes(connection)
      // A store that inserts two at once would keep both, were the index not there before the first request.
      const indexes = await connection.collection('rate_limits').indexes()
      expect(indexes).toContainEqual(expect.objectContaining({ key: { key: 1 }, unique: true }))
      const taken = await Promise.all(
        Array.from({ length: 20 }, () => limiters.map((limiter) => limiter.take('create', 'key_x'))).flat(),
      )
      expect(taken.filter((state) => state.allowed)).toHaveLength(60)
      expect(await connection.collection('rate_limits').countDocuments({})).toBe(1)
    } finally {
      await connection.db?.dropDatabase()
      await connection.close()
    }
  })

  it('without the store no call goes on: each is told that the store is away', async () => {
    const connection = await connectStore(databaseUri(inject('storeUri'), `limits_${Date.now()}_gone`))
    const limiter = createRateLimiter(connection, clock, silent, true)
    await connection.db?.dropDatabase()
    await connection.close()
    for (const bucket of ['create', 'read', 'key', 'verify', 'person', 'auth'] as const)
      expect(await limiter.take(bucket, 'x').catch(isUnavailable)).toBe(true)
  })

  it('a counter that cannot be counted refuses attempts to sign in, and nothing else', async () => {
    const connection = await connectStore(databaseUri(inject('storeUri'), `limits_${Date.now()}_spoilt`))
    onTestFinished(async () => {
      await connection.db?.dropDatabase()
      await connection.close()
    })
    await makeIndexes(connection)
    const limiter = createRateLimiter(connection, clock, silent, true)
    const expire = new Date(Date.now() + 30_000)
    for (const bucket of ['create', 'read', 'key', 'verify', 'person', 'auth'] as const) {
      await connection.collection('rate_limits').insertOne({ key: `${bucket}:x`, points: 'many', expire })
      const state = await limiter.take(bucket, 'x')
      expect([bucket, state.allowed, state.remaining]).toEqual([bucket, bucket !== 'auth', 0])
    }
  })

  it.each([
    ['in the store', true],
    ['in memory', false],
  ])('a minute lasts no longer %s when the clock is set back by an hour', async (_where, shared) => {
    const connection = await connectStore(databaseUri(inject('storeUri'), `limits_${Date.now()}_back`))
    onTestFinished(async () => {
      await connection.db?.dropDatabase()
      await connection.close()
    })
    await makeIndexes(connection)
    let [passed, set] = [0, 0]
    const steady = () => 7_000 + passed
    const moved = { now: () => new Date(Date.UTC(2026, 5, 1) + passed + set), steady }
    const limiter = createRateLimiter(connection, moved, silent, shared)
    const take = () => limiter.take('export', 'usr_x')
    for (let left = 9; left >= 0; left -= 1) expect((await take()).remaining).toBe(left)
    expect(await take()).toMatchObject({ allowed: false, retryAfter: 60 })
    set = -3_600_000
    // What the store counted before by times that are still to come is over.
    expect(await take()).toMatchObject({ allowed: shared, retryAfter: 60 })
    passed = 60_000
    expect(await take()).toMatchObject({ allowed: true, remaining: 9, retryAfter: 60 })
  })

  it('one process on its own embedded store counts just as exactly in memory', async () => {
    const connection = await connectStore(databaseUri(inject('storeUri'), 'unused'))
    const limiter = createRateLimiter(connection, clock, silent, false)
    const taken = await Promise.all(Array.from({ length: 70 }, () => limiter.take('create', 'key_x')))
    expect(taken.filter((state) => state.allowed)).toHaveLength(60)
    expect(taken.at(-1)).toMatchObject({ allowed: false, limit: 60, remaining: 0 })
    await connection.close()
  })
})
