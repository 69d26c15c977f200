import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { begin, codeChallenge, pollOnce, pollRested, setStored, stored } from '../../support/bootstraps.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { addPerson } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'
import { commandsOf, toldDatabase } from '../../support/store-commands.ts'

let service: TestService
let later = 0
beforeAll(async () => {
  const env = { TRUST_PROXY: '1', MONGODB_URI: toldDatabase() }
  service = await startService({ env, localTime: () => Date.now() + later })
})
afterAll(() => service.close())

function post(body: unknown, headers: Record<string, string> = {}) {
  return createHttpClient(service.url).post('/api/v1/bootstrap', body, { origin: null, headers })
}

const valid = { email: 'a@example.com', client_name: 'Release agent' }

describe('POST /api/v1/bootstrap', () => {
  it('answers 202 with a secret of 256 bits, the matching code in a sentence, and ten minutes', async () => {
    await addPerson(service, 'zoe@example.com')
    const { secret, code, answer } = await begin(service, ' Zoe@Example.com ')
    expect(secret).toMatch(/^boot_[A-Za-z0-9_-]{43}$/)
    expect(Object.keys(answer.body)).toEqual(['bootstrap_id', 'status', 'message', 'expires_at', 'interval'])
    expect(answer.body).toMatchObject({ status: 'pending', interval: 3 })
    expect(answer.body.message).toContain(`confirm the code ${code}: signed in at ${service.url}/ they find`)
    expect(answer.headers.get('Cache-Control')).toBe('no-store')
    const bootstrap = await stored(service, secret)
    expect(bootstrap.expires_at.getTime() - bootstrap.created_at.getTime()).toBe(600_000)
    expect(bootstrap).toMatchObject({
      client_name: 'Release agent',
      account_id: expect.stringMatching(/^acc_/),
    })
    expect(bootstrap.outbox.map(({ body }) => JSON.parse(body).data)).toEqual([
      {
        consent_id: bootstrap.id,
        unverified_client_name: 'Release agent',
        scopes: ['approval:create', 'approval:read'],
        requested_from: bootstrap.requester.address,
        created_at: bootstrap.created_at.toISOString(),
        expires_at: bootstrap.expires_at.toISOString(),
        review_url: `${service.url}/b/${bootstrap.id}`,
      },
    ])
    expect(JSON.stringify(bootstrap.outbox)).not.toContain(bootstrap.code)
  })

  it.each([
    [{ client_name: 'x' }, 'email required', 'email'],
    [{ email: 'a@example.com' }, 'client_name required', 'client_name'],
    [{ ...valid, email: 'nobody' }, 'invalid_field', 'email'],
    [{ ...valid, email: { $ne: '' } }, 'invalid_field', 'email'],
    [{ ...valid, client_name: '   ' }, 'invalid_field', 'client_name'],
    [{ ...valid, client_name: 'x'.repeat(61) }, 'invalid_field', 'client_name'],
    [{ ...valid, client_name: 'two\nlines' }, 'invalid_field', 'client_name'],
    [{ ...valid, client_name: 'right\u202eleft' }, 'invalid_field', 'client_name'],
    [{ ...valid, client_name: 'zero\u200bwidth' }, 'invalid_field', 'client_name'],
    [{ ...valid, client_name: null }, 'client_name required', 'client_name'],
    [{ ...valid, code_challange: 'E9Mel' }, 'invalid_field', 'code_challange'],
    [{ ...valid, codeChallenge: 'E9Mel' }, 'invalid_field', 'codeChallenge'],
    [{ ...valid, code_challenge: 'short' }, 'invalid_field', 'code_challenge'],
    [{ ...valid, code_challenge_method: 'plain' }, 'invalid_field', 'code_challenge_method'],
    [{ ...valid, code_challenge_method: 'S256' }, 'invalid_field', 'code_challenge_method'],
  ])('refuses %j', async (body, error, field) => {
    const { status, body: said } = await post(body)
    expect(status).toBe(400)
    expect(said).toMatchObject({ error, field, message: expect.any(String) })
  })

  it('takes names of 60 characters in any script', async () => {
    expect((await post({ ...valid, client_name: '🜁'.repeat(60) })).status).toBe(202)
    expect((await post({ ...valid, client_name: 'Агент выпуска' })).status).toBe(202)
  })

  it.each(['known', 'unknown'])(
    'allows 5 an hour for a %s e-mail address, however it is spelled',
    async (kind) => {
      const email = `${kind}-five@example.com`
      if (kind === 'known') await addPerson(service, email)
      for (let count = 0; count < 5; count += 1)
        await begin(service, count % 2 === 0 ? email : email.toUpperCase())
      const sixth = await post({ email, client_name: 'x' })
      expect(sixth.status).toBe(429)
      expect(sixth.body).toMatchObject({ error: 'rate limit exceeded' })
      expect(sixth.body.retry_after).toBeLessThanOrEqual(3_600)
      expect(sixth.body.retry_after).toBeGreaterThanOrEqual(3_500)
      expect(sixth.headers.get('Retry-After')).toBe(String(sixth.body.retry_after))
      // An hour of the clock is none: the sixth waits until the first is an hour old.
      later += 3_500_000
      expect((await post({ email, client_name: 'x' })).status).toBe(429)
      later += 100_000
      expect((await post({ email, client_name: 'x' })).status).toBe(202)
    },
  )

  it('tells in its headers the limit that will refuse: of the e-mail address, or of the network address', async () => {
    const limitsOf = ({ headers }: Awaited<ReturnType<typeof post>>) =>
      ['limit', 'remaining'].map((name) => Number(headers.get(`X-RateLimit-${name}`)))
    const told = []
    for (let count = 0; count < 6; count += 1) {
      const answer = await post({ email: 'told@example.com', client_name: 'x' })
      told.push(limitsOf(answer))
      if (answer.status !== 429) continue
      const resets = Number(answer.headers.get('X-RateLimit-Reset'))
      const now = service.composition.deps.clock.now().getTime() / 1000
      expect(Math.abs(resets - now - answer.body.retry_after)).toBeLessThan(3)
    }
    expect(told).toEqual([...[4, 3, 2, 1, 0].map((left) => [5, left]), [5, 0]])
    const headers = { 'X-Forwarded-For': '198.51.100.77' }
    const crowd = []
    for (let count = 0; count < 18; count += 1)
      crowd.push(limitsOf(await post({ email: `told${count}@example.com`, client_name: 'x' }, headers)))
    expect(crowd[0]).toEqual([5, 4])
    expect(crowd.slice(15)).toEqual([
      [5, 4],
      [20, 3],
      [20, 2],
    ])
  })

  it.each(['known', 'unknown'])(
    'ends no earlier one of a %s e-mail address: a stranger takes nothing away',
    async (kind) => {
      const email = `${kind}-none-ends@example.com`
      if (kind === 'known') await addPerson(service, email)
      const begun = []
      for (let count = 0; count < 5; count += 1) begun.push(await begin(service, email))
      expect((await post({ email, client_name: 'x' })).status).toBe(429)
      const statuses = await Promise.all(begun.map(({ secret }) => pollOnce(service, secret)))
      expect(statuses.map(({ body }) => body)).toEqual(Array(5).fill({ status: 'pending' }))
    },
  )

  it('never lets more than 5 begin, however many come at once', async () => {
    const email = 'crowd@example.com'
    await addPerson(service, email)
    const answers = await Promise.all(Array.from({ length: 12 }, () => post({ email, client_name: 'crowd' })))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
    const { connection } = service.composition
    const waiting = { client_name: 'crowd', status: 'pending' }
    expect(await connection.collection('bootstraps').countDocuments(waiting)).toBe(5)
  })

  it('allows 20 a minute from an address, whomever they name', async () => {
    const headers = { 'X-Forwarded-For': '198.51.100.200' }
    const statuses = []
    for (let count = 0; count < 21; count += 1)
      statuses.push((await post({ ...valid, email: `n${count}@example.com` }, headers)).status)
    expect(statuses).toEqual([...Array(20).fill(202), 429])
  })

  it('T51: an e-mail address that nobody has is answered alike all the way: fields, headers, statuses', async () => {
    await addPerson(service, 'real@example.com')
    const lives = []
    for (const email of ['real@example.com', 'nobody@example.com']) {
      const { code_challenge, verifier } = codeChallenge()
      const headers = { 'X-Forwarded-For': `192.0.2.${lives.length + 1}` }
      const begun = await begin(service, email, { code_challenge })
      const seen = [shapeOf(begun.answer)]
      const poll = async (proof?: string) => {
        seen.push(shapeOf(await pollRested(service, begun.secret, proof)))
      }
      await poll(verifier)
      await poll()
      await poll(verifier)
      seen.push(shapeOf(await pollOnce(service, begun.secret, verifier)))
      await setStored(service, begun.secret, { expires_at: new Date(Date.now() - 1_000) })
      await poll(verifier)
      seen.push(shapeOf(await post({ email: 7 }, headers)))
      lives.push(seen)
    }
    expect(lives[0]).toEqual(lives[1])
    expect(lives[0]?.map(({ status }) => status)).toEqual([202, 200, 403, 200, 429, 200, 400])
  })

  it('T51: an e-mail address that nobody has makes the service do the same work, command for command', async () => {
    const known = Array.from({ length: 4 }, (_, index) => `known${index}@example.com`)
    for (const email of known) await addPerson(service, email)
    for (const [index, email] of known.entries()) {
      const headers = { 'X-Forwarded-For': `192.0.2.${100 + index}` }
      const workFor = (email: string) => commandsOf(service, () => post({ ...valid, email }, headers))
      // The five of an hour, and the sixth, which is refused.
      for (let round = 0; round < 6; round += 1) {
        const work = await workFor(email)
        expect(work.length).toBeGreaterThan(1)
        expect(await workFor(`un${email}`)).toEqual(work)
      }
    }
  })

  it('T49: the bootstrap_id is in no line of the log, in whatever coding it comes', async () => {
    const { secret } = await begin(service, 'logged@example.com')
    const coded = `%62oot_${secret.slice('boot_'.length)}`
    await pollOnce(service, secret)
    await pollOnce(service, coded)
    await createHttpClient(service.url).get(`/api/v1/bootstrap/${secret}`)
    const lines = JSON.stringify(service.logged)
    expect(lines).toContain('/api/v1/bootstrap/[redacted]/status')
    expect(lines).not.toContain(secret.slice('boot_'.length))
  })
})

/** What can be told from an answer, without what is drawn at random or depends on the moment. */
function shapeOf({ status, headers, body }: Awaited<ReturnType<typeof post>>) {
  const fixed = [...headers].filter(([name]) => !/^(date|x-request-id|x-ratelimit-reset)$/.test(name))
  const { bootstrap_id, message, expires_at, retry_after, ...rest } = body
  const [words] = String(message).split(/[B-Z]{4}-[B-Z]{4}/)
  return {
    status,
    headers: fixed.map(([name, value]) => (name === 'retry-after' ? name : `${name}: ${value}`)),
    fields: Object.keys(body),
    words,
    length: JSON.stringify(body).length - String(retry_after ?? '').length,
    rest,
    has: [bootstrap_id, expires_at].map((value) => typeof value),
  }
}
