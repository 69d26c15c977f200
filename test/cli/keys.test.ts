import { describe, expect, it } from 'vitest'
import { cli, useDataDir } from '../support/cli.ts'

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
    const made = await cli(['key', 'create', '--owner', '`x`@example.com', '--name', 'n', '--json'], { env })
    expect(made.code).toBe(1)
    expect(made.error()).toEqual({
      error: 'user_not_found',
      message:
        "No user has the address `x`@example.com; make an account with: countersign user invite '`x`@example.com'",
    })
  })
})
