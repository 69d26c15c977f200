import { beforeAll, describe, expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import type { PeopleDeps } from '../../../src/flow/deps.ts'
import { verifyTotp } from '../../../src/flow/people/codes.ts'
import { createAttemptStore } from '../../../src/store/people/attempts.ts'
import { clockOf } from '../../support/clock.ts'
import { codeAt, enrolWithTotp, wrongCodeAt } from '../../support/enrolled.ts'
import { startService, type TestService } from '../../support/service.ts'

const MINUTE = 60_000
const REFUSED = {
  code: 'totp_refused',
  publicMessage:
    'The code is wrong or was already used; wait for the next one. If that one fails too, check the clock of your phone.',
}
const DISABLED = {
  code: 'totp_disabled',
  publicMessage:
    'Codes are switched off after too many failures; sign in with a passkey and set them up again.',
}

let service: TestService
let people = 0
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
  return () => service.close()
})

/**
 * The service's own dependencies under a clock the test moves. Tries of an address are counted as of now: they start over
 * with every quarter of an hour, which may begin in the middle of a test.
 */
function depsAt(later: { ms: number }): PeopleDeps {
  const { deps, connection } = service.composition
  const began = deps.clock.now()
  const attempts = createAttemptStore(
    connection,
    clockOf(() => began.getTime()),
  )
  return { ...deps, attempts, clock: clockOf(() => deps.clock.now().getTime() + later.ms) }
}

type Person = Awaited<ReturnType<typeof enrol>>

async function enrol() {
  people += 1
  const { userId, secret } = await enrolWithTotp(service, `person${people}@example.com`)
  const user = await load(userId)
  const later = { ms: MINUTE }
  return { user, secret, later, deps: depsAt(later) }
}

async function load(userId: string): Promise<User> {
  const user = await service.composition.deps.users.find(userId)
  if (user === undefined) throw new Error('the person is gone')
  return user
}

async function fail(person: Person, times: number): Promise<void> {
  const code = wrongCodeAt(person.secret, person.deps.clock.now())
  for (let attempt = 0; attempt < times; attempt += 1)
    await expect(verifyTotp(person.deps, { user: person.user, code })).rejects.toMatchObject(REFUSED)
}

describe('a code', () => {
  it('counts for the current step and the one before, never for a future or an older one', async () => {
    const { user, secret, later } = await enrol()
    // Stands still: a code of the next step is one of this step as soon as that begins.
    const began = service.composition.deps.clock.now().getTime()
    const deps = { ...depsAt(later), clock: clockOf(() => began + later.ms) }
    const at = (steps: number) => codeAt(secret, new Date(deps.clock.now().getTime() + steps * 30_000))
    await expect(verifyTotp(deps, { user, code: at(1) })).rejects.toMatchObject(REFUSED)
    await expect(verifyTotp(deps, { user, code: at(-2) })).rejects.toMatchObject(REFUSED)
    later.ms += 2 * MINUTE
    const { step } = await verifyTotp(deps, { user, code: at(-1) })
    await expect(verifyTotp(deps, { user, code: at(0) })).resolves.toEqual({ step: step + 1 })
  })

  it('T25: of an earlier step is refused after a later one was used', async () => {
    const { user, secret, deps } = await enrol()
    const before = codeAt(secret, new Date(deps.clock.now().getTime() - 30_000))
    await verifyTotp(deps, { user, code: codeAt(secret, deps.clock.now()) })
    await expect(verifyTotp(deps, { user, code: before })).rejects.toMatchObject(REFUSED)
  })

  it('T25: fifty at once, also over several processes, count once', async () => {
    const { user, secret, later, deps } = await enrol()
    const other = await startService({ database: databaseOf(service) })
    const otherDeps = { ...other.composition.deps, clock: depsAt(later).clock }
    const code = codeAt(secret, deps.clock.now())
    const tries = Array.from({ length: 50 }, (_, index) =>
      verifyTotp(index % 2 === 0 ? deps : otherDeps, { user, code }),
    )
    const results = await Promise.allSettled(tries)
    await other.close()
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
  })

  it('T28: seeds swapped between two people open for neither', async () => {
    const [ada, bob] = [await enrol(), await enrol()]
    const { users } = ada.deps
    if (ada.user.totp === undefined || bob.user.totp === undefined) throw new Error('no codes')
    const swapped = { totp: { ...ada.user.totp, sealed_seed: bob.user.totp.sealed_seed } }
    await users.change(ada.user.id, ada.user.version, swapped, [])
    for (const { secret } of [ada, bob]) {
      const code = codeAt(secret, ada.deps.clock.now())
      await expect(verifyTotp(ada.deps, { user: await load(ada.user.id), code })).rejects.toThrow(
        'sealed value does not open for this owner and key',
      )
    }
    expect(ada.user.totp.sealed_seed).not.toContain(Buffer.from(ada.secret).toString('base64url'))
  })
})

describe('T26: wrong codes', () => {
  it('101 in parallel over 4 processes: ten are told that they are wrong', async () => {
    const { user, secret, later } = await enrol()
    const others = await Promise.all([1, 2, 3].map(() => startService({ database: databaseOf(service) })))
    const processes = [service, ...others].map(
      ({ composition: { deps } }): PeopleDeps => ({
        ...deps,
        clock: depsAt(later).clock,
        vault: service.composition.deps.vault,
      }),
    )
    const code = wrongCodeAt(secret, depsAt(later).clock.now())
    const tries = Array.from({ length: 101 }, (_, index) => {
      const deps = processes[index % 4]
      if (deps === undefined) throw new Error('no process')
      return verifyTotp(deps, { user, code })
    })
    const answers = (await Promise.allSettled(tries)).map(codeOf)
    await Promise.all(others.map((other) => other.close()))
    expect(answers.filter((code) => code === 'totp_refused')).toHaveLength(10)
    expect(answers.filter((code) => code === 'totp_locked')).toHaveLength(91)
    expect((await load(user.id)).totp).toMatchObject({ failures: 10, locks: 1, disabled_at: null })
  })

  it('that come at once with a right one, before it: of hundred it is none of the first ten', async () => {
    const passed = []
    for (let round = 0; round < 3; round += 1) {
      const { user, secret, deps } = await enrol()
      const [right, wrong] = [codeAt, wrongCodeAt].map((pick) => pick(secret, deps.clock.now()))
      const tries = Array.from({ length: 100 }, (_, index) =>
        verifyTotp(deps, { user, code: (index === 60 ? right : wrong) ?? '' }),
      )
      const answers = (await Promise.allSettled(tries)).map(codeOf)
      if (answers[60] === 'right') passed.push(round)
      else expect(answers.filter((code) => code === 'totp_refused')).toHaveLength(10)
    }
    // Should the machine change their order, a right one has the luck of any other: once in ten rounds.
    expect(passed.length).toBeLessThan(3)
  })

  it.each([
    ['locked by wrong ones', async (person: Person) => fail(person, 10)],
    ['whose address used up its tries', async ({ deps }: Person) => used(deps, '192.0.2.50', 100)],
  ])('that come at once with a right one: after them it tells nothing of codes %s', async (_name, first) => {
    const person = await enrol()
    const { user, secret } = person
    let held = 0
    // The right code is compared before the wrong ones are counted, and its own write comes after theirs.
    const after = async <T>(write: () => Promise<T>): Promise<T> => {
      held += 1
      if (held === 1) await first(person)
      return write()
    }
    const { attempts } = person.deps
    const deps = {
      ...person.deps,
      attempts: {
        ...attempts,
        check: (...args: Parameters<typeof attempts.check>) => after(() => attempts.check(...args)),
      },
    }
    const code = codeAt(secret, deps.clock.now())
    const right = verifyTotp(deps, { user, code, address: '192.0.2.50' })
    await expect(right).rejects.toMatchObject({ code: 'totp_locked' })
    expect(held).toBe(1)
    expect((await load(user.id)).totp?.last_step).toBe(user.totp?.last_step)
  })

  it('lock for 15, 30, 60 and 120 minutes, and the fiftieth in a row disables for good', async () => {
    const person = await enrol()
    const { deps, user, secret, later } = person
    for (const minutes of [15, 30, 60, 120]) {
      await fail(person, 10)
      const code = codeAt(secret, deps.clock.now())
      const locked = await verifyTotp(deps, { user, code }).catch((error: unknown) => error)
      expect(locked).toMatchObject({ code: 'totp_locked' })
      expect(Reflect.get(Reflect.get(Object(locked), 'details'), 'retry_after')).toBeLessThanOrEqual(
        minutes * 60,
      )
      expect(Reflect.get(Reflect.get(Object(locked), 'details'), 'retry_after')).toBeGreaterThan(
        minutes * 60 - 30,
      )
      later.ms += minutes * MINUTE
    }
    await fail(person, 10)
    const code = codeAt(secret, deps.clock.now())
    await expect(verifyTotp(deps, { user, code })).rejects.toMatchObject(DISABLED)
    later.ms += 365 * 24 * 60 * MINUTE
    const muchLater = codeAt(secret, deps.clock.now())
    await expect(verifyTotp(deps, { user, code: muchLater })).rejects.toMatchObject(DISABLED)
    const { audit } = await load(user.id)
    expect(audit.filter((entry) => entry.type === 'factor.totp_locked')).toHaveLength(4)
    expect(audit.filter((entry) => entry.type === 'factor.totp_disabled')).toHaveLength(1)
  })

  it('are forgotten by a right one, also when it was the tenth try', async () => {
    const person = await enrol()
    await fail(person, 9)
    const { deps, user, secret, later } = person
    await verifyTotp(deps, { user, code: codeAt(secret, deps.clock.now()) })
    expect((await load(user.id)).totp).toMatchObject({ failures: 0, locks: 0, locked_until: null })
    later.ms += MINUTE
    await fail(person, 9)
    await verifyTotp(deps, { user, code: codeAt(secret, deps.clock.now()) })
    expect((await load(user.id)).audit.some((entry) => entry.type === 'factor.totp_locked')).toBe(false)
  })

  it('are counted by address too, over people: the hundred-and-first is refused', async () => {
    const person = await enrol()
    const { deps, user } = person
    await used(deps, '192.0.2.7', 100)
    const code = codeAt(person.secret, deps.clock.now())
    const refused = verifyTotp(deps, { user, code, address: '192.0.2.7' })
    await expect(refused).rejects.toMatchObject({ code: 'totp_locked' })
    await expect(verifyTotp(deps, { user, code, address: '192.0.2.8' })).resolves.toMatchObject({})
  })

  it('are counted by the /64 of an IPv6 address: its other addresses are no fresh start', async () => {
    const { deps, user, secret } = await enrol()
    await used(deps, '2001:db8:7:8::/64', 100)
    const code = codeAt(secret, deps.clock.now())
    const refused = verifyTotp(deps, { user, code, address: '2001:db8:7:8:ffff::9' })
    await expect(refused).rejects.toMatchObject({ code: 'totp_locked' })
    await expect(verifyTotp(deps, { user, code, address: '2001:db8:7:9::9' })).resolves.toMatchObject({})
  })

  it('alone count against an address: an office that signs in with right codes is not locked out', async () => {
    const office = await Promise.all([enrol(), enrol(), enrol()])
    const address = '192.0.2.20'
    const [{ deps }] = office
    await used(deps, address, 99)
    for (const { user, secret } of office) {
      const code = codeAt(secret, deps.clock.now())
      await expect(verifyTotp(deps, { user, code, address })).resolves.toMatchObject({})
    }
    const [{ user, secret, later }] = office
    later.ms += MINUTE
    const wrong = wrongCodeAt(secret, deps.clock.now())
    await expect(verifyTotp(deps, { user, code: wrong, address })).rejects.toMatchObject(REFUSED)
    const right = codeAt(secret, deps.clock.now())
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(verifyTotp(deps, { user, code: right, address })).rejects.toMatchObject({
        code: 'totp_locked',
        details: { retry_after: expect.any(Number) },
      })
    expect(await countOf(deps, address)).toBe(100)
  })

  it('T27: for locked codes are not compared and leave the address its tries: nobody locks out their office', async () => {
    const [ada, bob] = [await enrol(), await enrol()]
    const address = '192.0.2.40'
    await used(ada.deps, address, 98)
    await fail(ada, 10)
    const locked = { user: await load(ada.user.id), address }
    const blind = {
      ...ada.deps,
      vault: { ...ada.deps.vault, open: () => expect.fail('the code was compared') },
    }
    for (const pick of [wrongCodeAt, codeAt, wrongCodeAt]) {
      const code = pick(ada.secret, ada.deps.clock.now())
      const refused = verifyTotp(blind, { ...locked, code })
      await expect(refused).rejects.toMatchObject({ code: 'totp_locked' })
    }
    expect(await countOf(ada.deps, address)).toBe(98)
    const right = codeAt(bob.secret, bob.deps.clock.now())
    await expect(verifyTotp(bob.deps, { user: bob.user, code: right, address })).resolves.toMatchObject({})
  })

  it('from one address in parallel, over people: no more are told so than the address has tries left', async () => {
    const people = await Promise.all([enrol(), enrol(), enrol()])
    const address = '192.0.2.30'
    const [{ deps }] = people
    await used(deps, address, 95)
    const guesses = people.flatMap(({ user, secret }) => {
      const code = wrongCodeAt(secret, deps.clock.now())
      return Array.from({ length: 8 }, () => verifyTotp(deps, { user, code, address }))
    })
    const codes = (await Promise.allSettled(guesses)).map(codeOf)
    expect(codes.filter((code) => code === 'totp_refused')).toHaveLength(5)
    expect(codes.filter((code) => code === 'totp_locked')).toHaveLength(19)
    expect(await countOf(deps, address)).toBe(100)
  })
})

/** The code of a refusal. */
function codeOf(result: PromiseSettledResult<unknown>): unknown {
  return result.status === 'rejected' ? result.reason.code : 'right'
}

/** What one address may try. */
const ADDRESS = { most: 100, seconds: 15 * 60 }

/** Uses up tries of an address. */
async function used(deps: PeopleDeps, subject: string, times: number): Promise<void> {
  for (let attempt = 0; attempt < times; attempt += 1) await deps.attempts.take(`totp:${subject}`, ADDRESS)
}

/** How many tries of an address are used up. */
async function countOf(deps: PeopleDeps, subject: string): Promise<number> {
  const taken = await deps.attempts.take(`totp:${subject}`, ADDRESS)
  if (!taken.allowed) return ADDRESS.most
  await deps.attempts.giveBack(`totp:${subject}`, taken)
  return ADDRESS.most - taken.remaining - 1
}

function databaseOf({ composition }: TestService): string {
  const name = composition.connection.name
  if (name === '') throw new Error('no database')
  return name
}
