import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { alter, newCaller } from '../support/caller.ts'
import { cli, useDataDir } from '../support/cli.ts'
import {
  assertWith,
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  linkToken,
} from '../support/enrolled.ts'
import { createHttpClient } from '../support/http-client.ts'
import { enrolByLink } from '../support/invited.ts'
import { ask, decideByPasskey, setUpOwner } from '../support/live.ts'
import { asMembers } from '../support/members.ts'
import { usePushService } from '../support/push-setting.ts'
import { startReceiver } from '../support/receiver.ts'
import { databaseUri, TEST_SECRETS, type TestService, useService } from '../support/service.ts'

const USER_ID = /^usr_[0-9a-z]{26}$/
const ACCOUNT_ID = /^acc_[0-9a-z]{26}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const LINK = /^http:\/\/localhost:3000\/enroll#[A-Za-z0-9_-]{43}$/

/** A running service, and the environment of a command on its store. */
async function useServiceOnStore(env: Record<string, string> = {}) {
  const database = `test_${randomBytes(6).toString('hex')}`
  const service = await useService({ database, env })
  const MONGODB_URI = databaseUri(inject('storeUri'), database)
  return { service, env: { MONGODB_URI, BASE_URL: service.url, ...TEST_SECRETS } }
}

/** What each command must be able to do with the files of a store. */
const CLOSED: [string[], use: string, may: string][] = [
  [['user', 'list'], 'read and write', 'write'],
  [['backup', '/dev/null/copy'], 'read', 'read'],
]

describe('countersign user', () => {
  it('invites somebody while no service runs, and keeps them', async () => {
    const { env } = await useDataDir()
    const names = ['--name', 'Alice', '--account-name', 'Acme']
    const invited = await cli(['user', 'invite', 'Alice@Example.com', ...names, '--json'], { env })
    expect(invited.stderr).toBe('')
    expect(invited.code).toBe(0)
    expect(invited.json()).toEqual({
      user_id: expect.stringMatching(USER_ID),
      account_id: expect.stringMatching(ACCOUNT_ID),
      enroll_url: expect.stringMatching(LINK),
      expires_at: expect.stringMatching(INSTANT),
      links_ended: 0,
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
    expect(renewed.json().links_ended).toBe(1)
    const inWords = await cli(['user', 'invite', 'bob@example.com', '--renew'], { env })
    expect(inWords.stdout).toMatch(/\nIt expires at \S+Z\. Their earlier links no longer work\.\n$/)
    const stranger = await cli(['user', 'invite', 'eve@example.com', '--renew', '--json'], { env })
    expect([stranger.code, stranger.error().error]).toEqual([1, 'user_not_found'])
  })

  it.each([
    [['user', 'list']],
    [['user', 'owner-link']],
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

  it.skipIf(process.getuid?.() === 0).each(CLOSED)(
    '%j says of a folder that it may not look into that it may not %s',
    async (command, use, may) => {
      const { env } = await useDataDir()
      const folder = String(env.DATA_DIR)
      await mkdir(folder, { mode: 0 })
      const run = await cli([...command, '--json'], { env })
      expect([run.code, run.error()]).toEqual([
        1,
        {
          error: 'config_invalid',
          message: `The configuration cannot be used:\n  - DATA_DIR: this user may not ${use} ${folder}; set DATA_DIR to a folder that this user may ${may}, or run this as the user of the service`,
        },
      ])
    },
  )

  it.skipIf(process.getuid?.() === 0).each(['store.db', 'store.db-wal', 'store.seal', 'store.guard'])(
    'says that it may not read %s',
    async (closed) => {
      const { env } = await useDataDir()
      const folder = String(env.DATA_DIR)
      await mkdir(folder)
      await writeFile(join(folder, 'store.db'), '')
      await writeFile(join(folder, closed), '')
      await chmod(join(folder, closed), 0)
      for (const [command, use] of CLOSED)
        expect((await cli([...command, '--json'], { env })).error()).toMatchObject({
          error: 'config_invalid',
          message: expect.stringContaining(`this user may not ${use} ${join(folder, closed)};`),
        })
    },
  )

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
    const confirmed = await cli(['user', 'confirm', 'Ada@example.com'], { env })
    expect(confirmed.stdout).toMatch(
      /^ada@example\.com \(usr_\w+\) is confirmed: the internal token and agents /,
    )
    const nobody = await cli(['user', 'confirm', 'zed@example.com', '--json'], { env })
    expect([nobody.code, nobody.error().error]).toEqual([1, 'user_not_found'])
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
      usable: true,
      enroll_url: expect.stringMatching(LINK),
      expires_at: expect.stringMatching(INSTANT),
      links_ended: 0,
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
      [{ id: account_id, role: 'auditor', state: 'invited' }],
    ])
    expect(data[2].account_id).toBeNull()
    // Until that person makes an account of their own, there is none to make a key for.
    const key = ['key', 'create', '--owner', 'new@example.com', '--name', 'x']
    for (const command of [key, ['user', 'quota', 'new@example.com', '5']]) {
      const run = await cli([...command, '--json'], { env })
      expect([run.code, run.error().error]).toEqual([1, 'no_own_account'])
    }
  })

  it('invites again whoever has enrolled no factor, by a new link that gives one and ends the lost one', async () => {
    const { service, env } = await useServiceOnStore()
    const { account_id } = (await cli(['user', 'invite', 'ada@example.com', '--json'], { env })).json()
    const invite = (role: string) =>
      cli(['user', 'invite', 'ann@example.com', '--account', account_id, '--role', role, '--json'], { env })
    const lost = (await invite('approver')).json()
    const again = (await invite('auditor')).json()
    expect([again.user_id, again.links_ended]).toEqual([lost.user_id, 1])
    await expect(enrolByLink(service, lost.enroll_url)).rejects.toThrow('enrollment_invalid')
    const ann = await enrolByLink(service, again.enroll_url)
    const { accounts } = (await ann.browser.get('/api/v1/session')).body
    expect(accounts).toMatchObject([{ id: account_id, role: 'auditor' }])
    const member = await invite('approver')
    expect([member.code, member.error()]).toEqual([
      1,
      {
        error: 'member_exists',
        message: `ann@example.com is already in account ${account_id}.`,
      },
    ])
  })

  it('invites again whoever has enrolled but not answered, also after a reset', async () => {
    const { service, env } = await useServiceOnStore()
    const { account_id } = (await cli(['user', 'invite', 'ada@example.com', '--json'], { env })).json()
    const bob = await enrolWithPasskey(service, 'bob&co@example.com')
    const invite = ['user', 'invite', 'bob&co@example.com', '--account', account_id, '--role', 'approver']
    expect((await cli(invite, { env })).stdout).toContain(
      '\nThey have signed up before: with this link they sign',
    )
    const reset = await cli(['user', 'reset', 'bob&co@example.com'], { env })
    expect(reset.stdout).toContain('1 session, 1 unused sign-in link.')
    expect((await cli([...invite, '--json'], { env })).json()).toMatchObject({
      usable: false,
      links_ended: 0,
    })
    expect((await cli([...invite, '--name', 'Bob'], { env })).stdout).toContain(
      "\nThey have no factor left. First make them a new sign-in link: countersign user invite 'bob&co@example.com' --renew; then",
    )
    const renewed = await cli(['user', 'invite', 'bob&co@example.com', '--renew', '--json'], { env })
    const back = await enrolByLink(service, renewed.json().enroll_url)
    expect(back.userId).toBe(bob.userId)
    const last = (await cli([...invite, '--json'], { env })).json()
    const account = await service.composition.deps.accounts.find(account_id)
    expect(account?.members, 'the name is the last one told').toMatchObject([{ name: 'Bob' }])
    const token = linkToken(last.enroll_url)
    const accept = `/api/v1/me/invitations/${account_id}/accept`
    expectStatus(await back.browser.post(accept, { token }), 200)
    const { accounts } = (await back.browser.get('/api/v1/session')).body
    expect(accounts).toMatchObject([{ role: 'owner' }, { id: account_id, role: 'approver' }])
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
      { error: 'usage', message: '--account and --role go together: the account, and the role in it.' },
    ])
    expect(await invite('--account', 'x', '--role', 'auditor')).toEqual([
      2,
      { error: 'usage', message: '"x" is not an account id (acc_…); see: countersign user list' },
    ])
    expect(await invite('--account', unknown, '--role', 'owner')).toEqual([
      2,
      { error: 'usage', message: '"owner" is not a role; choose among approver, auditor.' },
    ])
    expect(await invite('--account', unknown, '--role', 'auditor', '--account-name', 'Acme')).toEqual([
      2,
      {
        error: 'usage',
        message:
          '--account-name is for an account of their own; leave out --account and --role, or --account-name.',
      },
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
    // An owner who invites others chooses their addresses; the operator copies what is advised into a shell.
    const email = "o'ann;$(id)@example.com"
    const quoted = "'o'\\''ann;$(id)@example.com'"
    const setting = await setUpOwner(service, email)
    const { owner } = setting
    const id = await ask(setting)
    const renew = ['user', 'invite', email, '--renew']
    const kept = await cli(renew, { env })
    expect(kept.stdout).toContain(
      `These still sign in and decide: passkey "laptop". If one is lost, first remove all of them: countersign user reset ${quoted}\n`,
    )

    const reset = await cli(['user', 'reset', email], { env })
    expect([reset.code, reset.stderr]).toEqual([0, ''])
    expect(reset.stdout).toBe(
      [
        `Reset ${email} (${owner.userId}). Removed: passkey "laptop", 1 trusted browser, 1 session, 1 unused sign-in link.`,
        `To sign in and decide again, they need a new sign-in link: countersign user invite ${quoted} --renew`,
        `API keys of their account keep working: countersign key list --owner ${quoted}\n`,
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
    expect(await actorsOf(env, 'factor.passkey_removed', owner.userId)).toEqual([{ kind: 'cli' }])

    const again = await cli([...renew, '--json'], { env })
    expect(again.json().factors_kept).toEqual([])
    const back = await enrolByLink(service, again.json().enroll_url)
    expect((await decideByPasskey({ service, owner: back }, id, 'approved')).status).toBe(200)
    expect((await signIn(service, owner)).body.error).toBe('sign_in_failed')

    await cli(['user', 'invite', 'cas@example.com'], { env })
    const linked = await cli(['user', 'reset', 'cas@example.com', '--json'], { env })
    expect(linked.json().taken).toMatchObject({ passkeys: [], sessions: 0, links: 1 })
    expect(await actorsOf(env, 'user.reset', linked.json().user_id)).toEqual([{ kind: 'cli' }])

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

it('names what a thief may have added to the account, and switches its webhooks off when asked', async () => {
  const { service, env } = await useServiceOnStore({ CALLBACK_ALLOW_PRIVATE: '1' })
  const push = await usePushService()
  const { owner } = await setUpOwner(service, 'ann@example.com')
  const bob = await enrolWithPasskey(service, 'bob@example.com')
  const found = (await service.composition.deps.users.find(owner.userId)) ?? expect.unreachable()
  const channel = { platform: 'slack', tenant: 'T1', channel: 'C1', name: 'ops' }
  await alter(service, 'accounts', found.account_id, {
    channels: [channel],
    members: asMembers([bob.userId]),
  })
  const workspace = { platform: 'slack', tenant: 'T2', workspace_name: 'Acme' } as const
  const installed = { sealed: 'x', account_ids: [found.account_id], installed_at: new Date() }
  await service.composition.deps.installations.put({ ...workspace, ...installed })
  const { public_key } = (await owner.browser.get('/api/v1/me/push')).body
  const { subscription } = push.subscribe(public_key)
  expectStatus(await owner.browser.post('/api/v1/me/push', { subscription, name: 'phone' }), 201)
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const url = receiver.url('/theirs')
  const made = expectStatus(await owner.browser.post('/api/v1/account/webhooks', { url }), 201)
  const { id } = made.webhook

  const reset = ['user', 'reset', 'ann@example.com']
  const words = await cli(reset, { env })
  expect(words.stdout).toBe(
    [
      `Reset ann@example.com (${owner.userId}). Removed: passkey "laptop", 1 trusted browser, 1 browser with notifications, 1 session.`,
      'Their account keeps these; a thief may have added some:',
      `  webhook ${url} (${id})`,
      '  channel ops (slack)',
      '  workspace Acme (slack)',
      `  approver ${bob.userId}`,
      'To switch off all its webhooks, which its owner can undo: countersign user reset ann@example.com --disable-webhooks',
      'Its owner removes channels and workspaces under Integrations, and people under Members.',
      'To sign in and decide again, they need a new sign-in link: countersign user invite ann@example.com --renew',
      'API keys of their account keep working: countersign key list --owner ann@example.com\n',
    ].join('\n'),
  )
  const stays = {
    webhooks: [{ id, url }],
    api_keys: [{ id: expect.stringMatching(/^key_/), name: expect.any(String) }],
    channels: [channel],
    workspaces: [{ platform: 'slack', tenant: 'T2', name: 'Acme' }],
    members: [{ user_id: bob.userId, role: 'approver', state: 'active' }],
  }
  const plain = (await cli([...reset, '--json'], { env })).json()
  expect(plain).toMatchObject({ stays, webhooks_disabled: [], taken: { push_devices: 0 } })
  const off = (await cli([...reset, '--disable-webhooks', '--json'], { env })).json()
  expect(off).toMatchObject({ stays: { ...stays, webhooks: [] }, webhooks_disabled: [{ id, url }] })
  expect(await actorsOf(env, 'webhook.disabled', id)).toEqual([{ kind: 'cli' }])

  // The owner finds it switched off, and can switch it on.
  const { enroll_url } = (
    await cli(['user', 'invite', 'ann@example.com', '--renew', '--json'], { env })
  ).json()
  const { browser } = await enrolByLink(service, enroll_url)
  const path = `/api/v1/account/webhooks/${id}`
  expect((await browser.get(path)).body.state).toBe('disabled')
  expect((await browser.post(`${path}/enable`, {})).body.webhook).toMatchObject({ id, state: 'active' })
  const both = await cli([...reset, '--disable-webhooks'], { env })
  expect(both.stdout).toContain(`\nSwitched off: webhook ${url} (${id})\nTheir account keeps these`)
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

/** Who caused such entries about the person, by the trail. */
async function actorsOf(env: Record<string, string>, type: string, userId: string): Promise<unknown[]> {
  const about = ['--type', type, '--subject', userId]
  const { stdout } = await cli(['audit', 'list', ...about, '--json'], { env })
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line).actor)
}
