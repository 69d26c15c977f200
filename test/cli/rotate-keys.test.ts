import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { cli, useDataDir } from '../support/cli.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { databaseUri, startService, TEST_SECRETS, useService } from '../support/service.ts'

/** A service, its database, and the environment in which a command sees the same one. */
async function useSharedStore() {
  const database = `test_${randomBytes(6).toString('hex')}`
  const env = { MONGODB_URI: databaseUri(inject('storeUri'), database), ...TEST_SECRETS }
  const service = await startService({ database })
  onTestFinished(async () => {})
  return { database, env, service }
}

async function approve(setting: LiveSetting): Promise<{ id: string; kid: string; body: object }> {
  const id = await ask(setting)
  await decideByPasskey(setting, id, 'approved')
  const body = Object(await (await callWithKey(setting.service, setting.key, `/${id}`)).json())
  return { id, kid: body.decision.public_key_id, body }
}

async function published(url: string): Promise<{ kid: string; purpose: string; nbf: number }[]> {
  return Object(await (await fetch(`${url}/.well-known/jwks.json`)).json()).keys
}

describe('countersign signing-keys rotate', () => {
  it('T73: with --now old receipts still verify, new ones carry the new key, and both are published', async () => {
    const { database, env, service: first } = await useSharedStore()
    const setting = await setUpOwner(first)
    const old = await approve(setting)

    const rotated = await cli(['signing-keys', 'rotate', '--purpose', 'decision', '--now', '--json'], { env })
    expect([rotated.code, rotated.stderr]).toEqual([0, ''])
    const { keys } = rotated.json()
    expect(keys).toEqual([
      {
        kid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        purpose: 'decision',
        created_at: expect.stringMatching(/Z$/),
        signs_from: expect.stringMatching(/Z$/),
      },
    ])
    const { kid } = keys[0]
    expect(kid).not.toBe(old.kid)

    await first.composition.deps.keys.reload()
    const fresh = await approve(setting)
    expect(fresh.kid).toBe(kid)
    const decisionKeys = (await published(first.url)).filter(({ purpose }) => purpose === 'decision')
    expect(decisionKeys.map((key) => key.kid).sort()).toEqual([old.kid, kid].sort())

    const { folder } = await useDataDir()
    const jwks = join(folder, 'jwks.json')
    writeFileSync(jwks, JSON.stringify({ keys: await published(first.url) }))
    for (const { id, kid: signedBy, body } of [old, fresh]) {
      const verdict = await fetch(`${first.url}/api/v1/approvals/${id}/verify`)
      expect(await verdict.json()).toMatchObject({ valid: true, public_key_id: signedBy })
      const offline = await cli(['verify', '-', '--jwks', jwks, '--json'], { stdin: JSON.stringify(body) })
      expect(offline.json()).toMatchObject({ valid: true, kid: signedBy })
    }

    // A process that starts now signs with the new key from its first decision on.
    const second = await useService({ database })
    expect(second.composition.deps.keys.ring().active('decision', new Date())?.kid).toBe(kid)
  })

  it('publishes at once and signs a day later, for every purpose, unless told otherwise', async () => {
    const { env, service } = await useSharedStore()
    const before = await published(service.url)
    const rotated = await cli(['signing-keys', 'rotate', '--json'], { env })
    const { keys } = rotated.json()
    expect(keys.map((key: { purpose: string }) => key.purpose)).toEqual([
      'decision',
      'decision-sandbox',
      'session',
      'token',
    ])
    for (const { created_at, signs_from } of keys) {
      const delay = Date.parse(signs_from) - Date.parse(created_at)
      expect(Math.abs(delay - 86_400_000)).toBeLessThan(5_000)
    }
    await service.composition.deps.keys.reload()
    const after = await published(service.url)
    expect(after).toHaveLength(before.length + 3)
    const now = new Date()
    const active = service.composition.deps.keys.ring().active('decision', now)?.kid
    expect(active).toBe(before.find(({ purpose }) => purpose === 'decision')?.kid)
    const tomorrow = new Date(now.getTime() + 86_500_000)
    expect(service.composition.deps.keys.ring().active('decision', tomorrow)?.kid).toBe(keys[0].kid)
  })

  it('leaves an entry of the command line in the trail', async () => {
    const { env, service } = await useSharedStore()
    const run = await cli(['signing-keys', 'rotate', '--purpose', 'session', '--activate', '30m'], { env })
    expect(run.stdout).toContain(
      'Running services publish them in /.well-known/jwks.json within 10 seconds; verifiers that store the key set must fetch it again after that',
    )
    const { db } = service.composition.connection
    const rotated = await db?.collection('signing_keys').findOne({ generation: 2 })
    expect(rotated).toMatchObject({ purpose: 'session' })
    const told = () =>
      db
        ?.collection('audit_log')
        .findOne({ 'entry.type': 'signing_key.created', 'entry.subject': String(rotated?._id) })
    await expect.poll(told).toMatchObject({ entry: { actor: { kind: 'cli' } } })
  })
})

describe('countersign signing-keys revoke', () => {
  it('T73: what a stolen key signed from then on is valid no more, and it signs nothing', async () => {
    const { env, service } = await useSharedStore()
    const { db } = service.composition.connection
    const beginAt = (filter: object, not_before: Date) =>
      db?.collection('signing_keys').updateMany(filter, { $set: { not_before } })
    await beginAt({}, new Date(0))
    const setting = await setUpOwner(service)
    const before = await approve(setting)
    const since = new Date(Date.now() + 1_000)
    await expect.poll(() => Date.now(), { interval: 50 }).toBeGreaterThan(since.getTime())
    const after = await approve(setting)
    expect(after.kid).toBe(before.kid)

    const revoke = (kid: string, ...more: string[]) =>
      cli(['signing-keys', 'revoke', kid, ...more, '--json'], { env })
    const codes = async (...runs: ReturnType<typeof revoke>[]) =>
      (await Promise.all(runs)).map((run) => [run.code, run.error().error])
    expect(
      await codes(revoke(before.kid), revoke('unknown'), revoke(before.kid, '--since', '2999-01-01')),
    ).toEqual([
      [1, 'signing_key_in_use'],
      [1, 'signing_key_not_found'],
      [2, 'usage'],
    ])
    const rotated = await cli(['signing-keys', 'rotate', '--purpose', 'decision', '--now', '--json'], { env })
    expect(await codes(revoke(before.kid))).toEqual([[1, 'signing_key_in_use']])
    const [{ kid }] = rotated.json().keys
    await beginAt({ _id: kid }, new Date(1_000))

    const revoked = await revoke(before.kid, '--since', since.toISOString())
    expect([revoked.code, revoked.json()]).toEqual([
      0,
      { ok: true, kid: before.kid, purpose: 'decision', revoked_at: since.toISOString() },
    ])
    const listed = await cli(['signing-keys', 'list', '--json'], { env })
    const rows = listed.json().data.filter((key: { purpose: string }) => key.purpose === 'decision')
    expect(rows).toMatchObject([
      { kid, revoked_at: null },
      { kid: before.kid, revoked_at: since.toISOString() },
    ])
    const { stdout } = await cli(['signing-keys', 'list'], { env })
    expect(stdout).toMatch(/^PURPOSE +KEY +SIGNS FROM +REVOKED FROM\n/)
    expect(stdout).toContain(`${before.kid}  `)
    const no = ['60', '2026-02-30T00:00:00Z', '2025-02-29T12:00:00.000Z', '2026-01-01T24:00:00Z']
    expect(await codes(revoke(before.kid), ...no.map((text) => revoke(before.kid, '--since', text)))).toEqual(
      [[1, 'signing_key_revoked'], ...no.map(() => [2, 'usage'])],
    )
    await service.composition.deps.keys.reload()
    const { folder } = await useDataDir()
    const jwks = join(folder, 'jwks.json')
    const keys = await published(service.url)
    expect(keys.find((key) => key.kid === before.kid)).toMatchObject({
      revoked_at: Math.floor(since.getTime() / 1000),
    })
    writeFileSync(jwks, JSON.stringify({ keys }))
    const offline = ({ body }: { body: object }) =>
      cli(['verify', '-', '--jwks', jwks], { stdin: JSON.stringify(body) })
    const online = async ({ id }: { id: string }) =>
      Object(await (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json())
    expect((await offline(before)).stdout).toContain('CAUTION: The key was revoked later')
    expect((await online(before)).valid).toBe(true)
    expect((await offline(after)).stdout).toContain('NOT VALID (receipt_key_revoked')
    expect((await online(after)).valid).toBe(false)
    expect((await approve(setting)).kid).toBe(kid)
    const entry = { 'entry.type': 'signing_key.revoked', 'entry.subject': before.kid }
    await expect
      .poll(() => db?.collection('audit_log').findOne(entry))
      .toMatchObject({ entry: { actor: { kind: 'cli' }, detail: { since: since.toISOString() } } })
    // What the service recorded is no other for it, and a time that proves too late can be moved.
    const trail = await cli(['audit', 'check', '--json'], { env })
    expect([trail.code, trail.stderr]).toEqual([0, ''])
    const early = await cli(['signing-keys', 'revoke', before.kid, '--since', '2026-01-01T00:00:00Z'], {
      env,
    })
    expect([early.code, early.stdout]).toEqual([0, expect.stringContaining('before the key was made, at 20')])
    await service.composition.deps.keys.reload()
    expect((await online(before)).valid).toBe(false)
    const { deps } = service.composition
    expect(deps.keys.ring().active('decision', new Date(since.getTime() - 500))?.kid).not.toBe(before.kid)
  })
})
