import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, expect, inject, it } from 'vitest'
import { alter, newCaller } from '../support/caller.ts'
import { cli, useDataDir } from '../support/cli.ts'
import { assertWith, type EnrolledPerson, enrolWithPasskey, expectStatus } from '../support/enrolled.ts'
import { createHttpClient } from '../support/http-client.ts'
import { enrolByLink } from '../support/invited.ts'
import { ask, decideByPasskey, setUpOwner } from '../support/live.ts'
import { asMembers } from '../support/members.ts'
import { databaseUri, TEST_SECRETS, type TestService, useService } from '../support/service.ts'

const USER_ID = /^usr_[0-9a-z]{26}$/
const ACCOUNT_ID = /^acc_[0-9a-z]{26}$/
const LINK = /^http:\/\/localhost:3000\/enroll#[A-Za-z0-9_-]{43}$/

/** A running service, and the environment of a command on its store. */
async function useServiceOnStore() {
  const database = `test_${randomBytes(6).toString('hex')}`
  const service = await useService({ database })
  const MONGODB_URI = databaseUri(inject('storeUri'), database)
  return { service, env: { MONGODB_URI, BASE_URL: service.url, ...TEST_SECRETS } }
}

describe('countersign user', () => {
  it('invites somebody while no service runs, and keeps them', async () => {
    const { env } = await useDataDir()
    const invited = await cli(['user', 'invite', 'Alice@Example.com', '--name', 'Alice', '--json'], { env })
    expect(invited.stderr).toBe('')
    expect(invited.code).toBe(0)
    expect(invited.json()).toEqual({
      user_id: expect.stringMatching(USER_ID),
      account_id: expect.stringMatching(ACCOUNT_ID),
      enroll_url: expect.stringMatching(LINK),
      new_store: env.DATA_DIR,
    })
    const listed = await cli(['user', 'list', '--json'], { env })
    expect(listed.json()).toEqual({
      data: [
        {
          id: invited.json().user_id,
          email: 'alice@example.com',
          name: 'Alice',
          account_id: invited.json().account_id,
          approver: expect.stringMatching(/^[0-9a-f]{16}$/),
          has_passkey: false,
          has_totp: false,
          confirmed: true,
          created_at: expect.stringMatching(/Z$/),
          enrolled_at: null,
          accounts: [{ id: invited.json().account_id, role: 'owner', state: 'active' }],
        },
      ],
      next_cursor: null,
    })
  })

  it('refuses somebody known and issues a new link only when asked', async () => {
    const { env } = await useDataDir()
    const first = await cli(['user', 'invite', 'bob@example.com', '--json'], { env })
    const again = await cli(['user', 'invite', 'bob@example.com', '--json'], { env })
    expect(again.code).toBe(1)
    expect(again.stdout).toBe('')
    expect(again.error()).toEqual({
      error: 'email_taken',
      message: 'bob@example.com exists already; for a new link add --renew.',
    })
    const renewed = await cli(['user', 'invite', 'bob@example.com', '--renew', '--json'], { env })
    expect(renewed.code).toBe(0)
    expect(renewed.json().user_id).toBe(first.json().user_id)
    expect(renewed.json().enroll_url).not.toBe(first.json().enroll_url)
    const stranger = await cli(['user', 'invite', 'eve@example.com', '--renew', '--json'], { env })
    expect([stranger.code, stranger.error().error]).toEqual([1, 'user_not_found'])
  })

  it.each([
    [['user', 'list']],
    [['user', 'invite', 'ada@example.com', '--renew']],
    [['user', 'confirm', 'ada@example.com']],
    [['user', 'reset', 'ada@example.com']],
    [['user', 'quota', 'ada@example.com', '5']],
    [['key', 'list']],
    [['audit', 'list']],
    [['audit', 'check']],
  ])('%j says where it looked for a store, and makes none', async (command) => {
    const { env } = await useDataDir()
    const run = await cli([...command, '--json'], { env })
    expect([run.code, run.stdout, run.error()]).toEqual([
      1,
      '',
      {
        error: 'no_store',
        message: `There is no store in ${env.DATA_DIR}. Set DATA_DIR to the directory of the service, or start the service here first: npm start`,
      },
    ])
    expect(existsSync(String(env.DATA_DIR))).toBe(false)
  })

  it('tells people in words what happened', async () => {
    const { env } = await useDataDir()
    const invited = await cli(['user', 'invite', 'ada@example.com'], { env })
    expect(invited.stdout).toContain(`There was no store in ${env.DATA_DIR}; a new one was made there.`)
    expect(invited.stdout).toMatch(/\nInvited ada@example\.com \(usr_/)
    const next = await cli(['user', 'invite', 'bob@example.com'], { env })
    expect(next.stdout).toMatch(/^Invited bob@example\.com/)
    expect(invited.stdout).toMatch(/\n {2}http:\/\/localhost:3000\/enroll#\S+\n/)
    const listed = await cli(['user', 'list'], { env })
    expect(listed.stdout).toMatch(
      /^E-MAIL .* CONFIRMED .*\nada@example\.com +ada +none yet +yes +usr_\S+ +acc_\S+ owner$/m,
    )
  })

  it('invites a member into an account, known or not, and shows who is what where', async () => {
    const { env } = await useDataDir()
    const owner = await cli(['user', 'invite', 'ada@example.com', '--json'], { env })
    const known = await cli(['user', 'invite', 'bob@example.com', '--json'], { env })
    const { account_id } = owner.json()
    const into = ['--account', account_id, '--role']
    const joined = await cli(['user', 'invite', 'bob@example.com', ...into, 'approver', '--json'], { env })
    expect(joined.stderr).toBe('')
    expect(joined.json()).toEqual({
      user_id: known.json().user_id,
      account_id,
      role: 'approver',
      enroll_url: expect.stringMatching(LINK),
    })
    const made = await cli(['user', 'invite', 'new@example.com', ...into, 'auditor'], { env })
    expect(made.stdout).toMatch(/^Invited new@example\.com \(usr_\S+\) into account acc_\S+ as auditor\.\n/)
    const listed = await cli(['user', 'list', '--json'], { env })
    const { data } = listed.json()
    expect(data.map((user: { accounts: unknown }) => user.accounts)).toEqual([
      [{ id: account_id, role: 'owner', state: 'active' }],
      [
        { id: known.json().account_id, role: 'owner', state: 'active' },
        { id: account_id, role: 'approver', state: 'invited' },
      ],
      [
        { id: data[2].account_id, role: 'owner', state: 'active' },
        { id: account_id, role: 'auditor', state: 'invited' },
      ],
    ])
  })

  it('invites again whoever has enrolled no factor, by a new link that gives one and ends the lost one', async () => {
    const { service, env } = await useServiceOnStore()
    const { account_id } = (await cli(['user', 'invite', 'ada@example.com', '--json'], { env })).json()
    const invite = (role: string) =>
      cli(['user', 'invite', 'ann@example.com', '--account', account_id, '--role', role, '--json'], { env })
    const lost = (await invite('approver')).json()
    const again = (await invite('auditor')).json()
    expect(again.user_id).toBe(lost.user_id)
    await expect(enrolByLink(service, lost.enroll_url)).rejects.toThrow('enrollment_invalid')
    const ann = await enrolByLink(service, again.enroll_url)
    const { accounts } = (await ann.browser.get('/api/v1/session')).body
    expect(accounts).toMatchObject([{ id: account_id, role: 'auditor' }, { role: 'owner' }])
    const member = await invite('approver')
    expect([member.code, member.error()]).toEqual([
      1,
      {
        error: 'member_exists',
        message: `ann@example.com is already in account ${account_id}, or is invited and has enrolled; a new link is made by its owner: Members, “New link”.`,
      },
    ])
  })

  it('says what is wrong with an invitation into an account', async () => {
    const { env } = await useDataDir()
    const invite = async (...more: string[]) => {
      const { code, error } = await cli(['user', 'invite', 'x@example.com', ...more, '--json'], { env })
      return [code, error()]
    }
    const unknown = `acc_${'0'.repeat(26)}`
    expect(await invite('--account', unknown)).toEqual([
      2,
      { error: 'usage', message: '--account and --role go together: into which account, and as what.' },
    ])
    expect(await invite('--account', 'x', '--role', 'auditor')).toEqual([
      2,
      { error: 'usage', message: '"x" is not an account id (acc_…); see: countersign user list' },
    ])
    expect(await invite('--account', unknown, '--role', 'owner')).toEqual([
      2,
      { error: 'usage', message: '"owner" is not a role; choose among approver, auditor.' },
    ])
    await cli(['user', 'invite', 'somebody@example.com'], { env })
    expect(await invite('--account', unknown, '--role', 'auditor')).toEqual([
      1,
      { error: 'account_not_found', message: `There is no account ${unknown}; see: countersign user list` },
    ])
  })
})

describe('countersign user quota', () => {
  it('says how many requests a month an account may make, from the next one on', async () => {
    const { service, env } = await useServiceOnStore()
    const { user, create } = await newCaller(service)
    const set = (requests: string) => cli(['user', 'quota', user.email, requests, '--json'], { env })
    expect((await create({ action: 'Deploy' })).status).toBe(201)
    expect((await set('1')).json()).toEqual({ account_id: user.account_id, monthly_quota: 1 })
    expect((await create({ action: 'Deploy' })).body.error).toBe('quota_exceeded')
    expect((await set('0')).code).toBe(0)
    expect((await create({ action: 'Deploy' })).status).toBe(201)
    const trail = (await cli(['audit', 'list', '--json'], { env })).stdout.trim().split('\n')
    const changes = trail.map((line) => JSON.parse(line)).filter(({ type }) => type === 'account.changed')
    expect(changes.reverse()).toMatchObject([
      { actor: { kind: 'cli' }, subject: user.account_id, detail: { monthly_quota: 1 } },
      { actor: { kind: 'cli' }, subject: user.account_id, detail: { monthly_quota: 0 } },
    ])
    expect((await set('-1')).error().error).toBe('usage')
    expect((await cli(['user', 'quota', 'eve@example.com', '5', '--json'], { env })).error().error).toBe(
      'user_not_found',
    )
  })
})

describe('countersign user reset', () => {
  it('T23: takes all factors and sessions of a person away, who decides again only after a new link', async () => {
    const { service, env } = await useServiceOnStore()
    const setting = await setUpOwner(service, 'ann@example.com')
    const { owner } = setting
    const id = await ask(setting)
    const renew = ['user', 'invite', 'ann@example.com', '--renew']
    const kept = await cli(renew, { env })
    expect(kept.stdout).toContain(
      'These still sign in and decide: passkey "laptop". If one is lost, first take all away: countersign user reset ann@example.com\n',
    )

    const reset = await cli(['user', 'reset', 'ann@example.com'], { env })
    expect([reset.code, reset.stderr]).toEqual([0, ''])
    expect(reset.stdout).toBe(
      [
        `Reset ann@example.com (${owner.userId}). Taken away: passkey "laptop", 1 known browser, 1 session.`,
        'They sign in and decide again only after a new link: countersign user invite ann@example.com --renew',
        'API keys of their account keep working: countersign key list --owner ann@example.com\n',
      ].join('\n'),
    )
    expect((await owner.browser.get('/api/v1/session')).status).toBe(401)
    const bearer = { headers: { Authorization: `Bearer ${owner.token}` } }
    expect((await createHttpClient(service.url).get('/api/v1/session', bearer)).status).toBe(401)
    const options = `/api/v1/approvals/${id}/decision/options`
    expect((await owner.browser.post(options, { decision: 'approved' })).status).toBe(401)
    expect((await signIn(service, owner)).body.error).toBe('sign_in_failed')
    const former = /#(\S+)/.exec(kept.stdout)?.[1]
    const lookup = await owner.browser.post('/api/v1/enrollment/lookup', { token: former })
    expect(lookup.body.error).toBe('enrollment_invalid')
    expect(await removalsOf(env, owner.userId)).toEqual([{ kind: 'cli' }])

    const again = await cli([...renew, '--json'], { env })
    expect(again.json().factors_kept).toEqual([])
    const back = await enrolByLink(service, again.json().enroll_url)
    expect((await decideByPasskey({ service, owner: back }, id, 'approved')).status).toBe(200)
    expect((await signIn(service, owner)).body.error).toBe('sign_in_failed')

    const empty = await cli(['user', 'reset', 'no@example.com', '--json'], { env })
    expect([empty.code, empty.error()]).toEqual([
      1,
      {
        error: 'user_not_found',
        message: 'No user has the address no@example.com; see: countersign user list',
      },
    ])
  })
})

it('names the open requests that a vote of the person counts in: a reset takes back no vote', async () => {
  const { service, env } = await useServiceOnStore()
  const setting = await setUpOwner(service, 'ann@example.com')
  const bob = await enrolWithPasskey(service, 'bob@example.com')
  const both = [setting.owner.userId, bob.userId]
  const policy = { approvers: both, quorum: 2, passkey_only: false, high_impact: false }
  const { account_id } = (await service.composition.deps.users.find(both[0] ?? '')) ?? expect.unreachable()
  await alter(service, 'accounts', account_id, { policy, members: asMembers([bob.userId]) })
  const decided = await ask(setting)
  // The soonest to end is named first.
  const [late, soon] = [await ask(setting, { ttl_seconds: 7_200 }), await ask(setting, { ttl_seconds: 600 })]
  const open = [soon, late]
  for (const id of [decided, ...open]) expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
  expectStatus(await decideByPasskey({ service, owner: bob }, decided, 'approved'), 200)
  const reset = ['user', 'reset', 'ann@example.com']
  expect((await cli(reset, { env })).stdout).toContain(
    `\nTheir votes still count in pending requests: ${open.join(', ')}. The owner of the account can withdraw these.\n`,
  )
  expect((await cli([...reset, '--json'], { env })).json()).toMatchObject({
    open_votes: open,
    more_open_votes: false,
  })
  expect((await cli(['user', 'reset', 'bob@example.com', '--json'], { env })).json().open_votes).toEqual([])
})

async function signIn(service: TestService, person: EnrolledPerson) {
  const browser = createHttpClient(service.url)
  const { options } = (await browser.post('/api/v1/session/passkey/options', {})).body
  return browser.post('/api/v1/session/passkey', { credential: assertWith(person, service, options) })
}

/** Who removed passkeys of the person, by the trail. */
async function removalsOf(env: Record<string, string>, userId: string): Promise<unknown[]> {
  const about = ['--type', 'factor.passkey_removed', '--subject', userId]
  const { stdout } = await cli(['audit', 'list', ...about, '--json'], { env })
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line).actor)
}

describe('countersign key', () => {
  it('creates, lists and revokes keys, and shows the raw key only once', async () => {
    const { env } = await useDataDir()
    await cli(['user', 'invite', 'carol@example.com'], { env })
    const owner = ['--owner', 'carol@example.com']
    const scopes = ['--scopes', 'approval:create,approval:read']
    const made = await cli(['key', 'create', ...owner, '--name', 'bot', ...scopes, '--json'], { env })
    expect(made.json()).toEqual({
      raw_key: expect.stringMatching(/^sa_live_[0-9A-Za-z]{49}$/),
      key: {
        id: expect.stringMatching(/^key_/),
        name: 'bot',
        key_prefix: made.json().raw_key.slice(0, 14),
        sandbox: false,
        scopes: ['approval:create', 'approval:read'],
        source_control: false,
        policy: null,
        created_at: expect.stringMatching(/Z$/),
        last_used_at: null,
        revoked_at: null,
      },
    })
    const dry = await cli(['key', 'create', ...owner, '--name', 'dry', '--sandbox', '--json'], { env })
    expect(dry.json().raw_key).toMatch(/^sa_test_/)
    expect(dry.json().key.scopes).toEqual(['approval:create', 'approval:read', 'approval:verify'])

    const { id } = made.json().key
    const revoked = await cli(['key', 'revoke', id, '--json'], { env })
    expect(revoked.json()).toMatchObject({ ok: true, key: { id, revoked_at: expect.stringMatching(/Z$/) } })
    const twice = await cli(['key', 'revoke', id, '--json'], { env })
    expect(twice.code).toBe(1)
    expect(twice.error()).toEqual({
      error: 'key_not_found',
      message: `There is no active key "${id}"; see: countersign key list`,
    })
    const listed = await cli(['key', 'list', ...owner, '--json'], { env })
    const { data } = listed.json()
    expect(data.map((key: { name: string; owner: string }) => [key.name, key.owner])).toEqual([
      ['bot', 'carol@example.com'],
      ['dry', 'carol@example.com'],
    ])
    expect(listed.stdout).not.toContain(made.json().raw_key)
    // "live" is said of a key that asks people, in whatever state.
    const words = (await cli(['key', 'list', ...owner], { env })).stdout
    expect(words.split('\n')[0]).toMatch(/^KEY +BEGINS WITH +NAME +OWNER +KIND +STATE +LAST USED$/)
    expect(words).toMatch(/\nkey_\S+ +sa_live_\S+ +bot +carol@example\.com +live +revoked \S+Z +never\n/)
    expect(words).toMatch(/\nkey_\S+ +sa_test_\S+ +dry +carol@example\.com +sandbox +active +never\n/)
  })

  it('marks a key of a source-control integration', async () => {
    const { env } = await useDataDir()
    await cli(['user', 'invite', 'dan@example.com'], { env })
    const owner = ['--owner', 'dan@example.com']
    const made = await cli(['key', 'create', ...owner, '--name', 'forge', '--source-control', '--json'], {
      env,
    })
    expect(made.json().key).toMatchObject({ name: 'forge', source_control: true, policy: null })
  })

  it('refuses an owner nobody knows', async () => {
    const { env } = await useDataDir()
    await cli(['user', 'invite', 'somebody@example.com'], { env })
    const made = await cli(['key', 'create', '--owner', 'x@example.com', '--name', 'n', '--json'], { env })
    expect(made.code).toBe(1)
    expect(made.error()).toEqual({
      error: 'user_not_found',
      message:
        'No user has the address x@example.com; make an account with: countersign user invite x@example.com',
    })
  })
})
