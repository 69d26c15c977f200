import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cli, useDataDir } from '../support/cli.ts'

const USER_ID = /^usr_[0-9a-z]{26}$/
const ACCOUNT_ID = /^acc_[0-9a-z]{26}$/
const LINK = /^http:\/\/localhost:3000\/enroll#[A-Za-z0-9_-]{43}$/

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
    expect(invited.stdout).toMatch(/^Invited ada@example\.com \(usr_/)
    expect(invited.stdout).toMatch(/\n {2}http:\/\/localhost:3000\/enroll#\S+\n/)
    const listed = await cli(['user', 'list'], { env })
    expect(listed.stdout).toMatch(/^E-MAIL .*\nada@example\.com +ada +none yet +usr_\S+ +acc_\S+ owner$/m)
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
    const twice = await cli(['user', 'invite', 'bob@example.com', ...into, 'auditor', '--json'], { env })
    expect(twice.code).toBe(1)
    expect(twice.error()).toEqual({
      error: 'member_exists',
      message: `bob@example.com is in account ${account_id}, or invited, already.`,
    })
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
      { error: 'usage', message: '"x" is no account id (acc_…).' },
    ])
    expect(await invite('--account', unknown, '--role', 'owner')).toEqual([
      2,
      { error: 'usage', message: '"owner" is no role; choose among approver, auditor.' },
    ])
    await cli(['user', 'invite', 'somebody@example.com'], { env })
    expect(await invite('--account', unknown, '--role', 'auditor')).toEqual([
      1,
      { error: 'account_not_found', message: `There is no account ${unknown}; see: countersign user list` },
    ])
  })
})

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
      message: `There is no live key "${id}"; see: countersign key list`,
    })
    const listed = await cli(['key', 'list', ...owner, '--json'], { env })
    const { data } = listed.json()
    expect(data.map((key: { name: string; owner: string }) => [key.name, key.owner])).toEqual([
      ['bot', 'carol@example.com'],
      ['dry', 'carol@example.com'],
    ])
    expect(listed.stdout).not.toContain(made.json().raw_key)
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
