import { copyFile, mkdir, readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { patienceFor } from '../support/patience.ts'
import { freePort, TEST_SECRETS } from '../support/service.ts'

it('works beside a running service: the link enrols, the key asks, the revoked key does not', async () => {
  const { env: data } = await useDataDir()
  const port = await freePort()
  const url = `http://localhost:${port}`
  const env = { ...data, PORT: String(port) }
  const service = startCli(['serve', '--json'], { env })
  await service.line(/"msg":"Countersign is running"/)
  const [, setup] = await service.line(/\{"setup_url":"([^"]+)"\}/)
  expect(setup).toMatch(new RegExp(`^${url}/setup#[A-Za-z0-9_-]{43}$`))

  const invited = await cli(['user', 'invite', 'alice@example.com'], { env })
  expect(invited.stdout).toMatch(
    /\nAny link for the first owner, printed at the start or by “user owner-link”, no longer works\./,
  )
  const token = /\/enroll#(\S+)/.exec(invited.stdout)?.[1]
  const looked = await post(`${url}/api/v1/enrollment/lookup`, { token })
  expect(await looked.json()).toMatchObject({ kind: 'invite', email: 'alice@example.com' })

  // As the page of the printed link says.
  expect((await post(`${url}/api/v1/enrollment/lookup`, { token: setup?.split('#')[1] })).status).toBe(410)

  const owner = ['--owner', 'alice@example.com', '--name', 'bot']
  const made = await cli(['key', 'create', ...owner, '--json'], { env })
  const { raw_key, key } = made.json()
  const ask = () => post(`${url}/api/v1/approvals/request`, { action: 'Deploy' }, raw_key)
  const asked = await ask()
  expect(asked.status).toBe(201)
  expect(await asked.json()).toMatchObject({ status: 'pending', action: 'Deploy' })

  // Its use is noted beside the answer.
  await expect
    .poll(async () => (await cli(['key', 'list', '--json'], { env })).json().data)
    .toMatchObject([{ id: key.id, last_used_at: expect.stringMatching(/Z$/) }])

  const revoked = await cli(['key', 'revoke', key.id], { env })
  expect(revoked.stdout).toBe(
    `Revoked "bot" (${key.id}). Calls with it are refused from now on. Its requests stay pending: its owner can withdraw them on the page of requests, or they are rejected in the inbox.\n`,
  )
  const refused = await ask()
  expect(refused.status).toBe(401)
  expect(await refused.json()).toMatchObject({ error: 'invalid or missing API key' })

  const rotated = await cli(['signing-keys', 'rotate', '--purpose', 'decision', '--now', '--json'], { env })
  const [{ kid }] = rotated.json().keys
  const served = async () => (await fetch(`${url}/.well-known/jwks.json`)).json()
  const starting = cliProcess(['serve', '--json'], { env: { ...env, PORT: String(await freePort()) } })
  await expect.poll(served, { interval: 500, timeout: patienceFor(10_000) }).toMatchObject({
    keys: expect.arrayContaining([expect.objectContaining({ kid })]),
  })

  const second = await starting
  expect(second.code).toBe(1)
  expect(second.stdout).toMatch(/process \d+ is using [^"]*data; waiting for it, 5 s at most/)
  expect(second.error()).toEqual({
    error: 'data_dir_in_use',
    message: expect.stringMatching(/^Process \d+ already uses .*data\. Stop it/),
  })
  expect(await service.stop()).toBe(0)
  const after = await cli(['key', 'list', '--json'], { env })
  expect(after.json().data).toMatchObject([{ id: key.id, revoked_at: expect.stringMatching(/Z$/) }])
})

it('backs up a store that is written to: the copy opens, holds what was answered before, and agrees with its trail', async () => {
  const { env: data, folder: place } = await useDataDir()
  const port = await freePort()
  const env = { ...data, PORT: String(port) }
  const service = startCli(['serve', '--json'], { env })
  await service.line(/"msg":"Countersign is running"/)
  await cli(['user', 'invite', 'alice@example.com'], { env })
  const owner = ['--owner', 'alice@example.com', '--name', 'bot', '--sandbox']
  const { raw_key } = (await cli(['key', 'create', ...owner, '--json'], { env })).json()
  const asked: string[] = []
  let enough = false
  const asking = (async () => {
    for (let n = 0; !enough; n += 1) {
      const answer = await post(
        `http://localhost:${port}/api/v1/approvals/request`,
        { action: `${n}` },
        raw_key,
      )
      if (answer.status === 201) asked.push(Object(await answer.json()).request_id)
    }
  })()
  await expect.poll(() => asked.length).toBeGreaterThan(20)
  const before = [...asked]
  const folder = join(place, 'backup')
  const made = await cliProcess(['backup', folder, '--json'], { env })
  expect([made.code, made.stderr]).toEqual([0, ''])
  expect(made.json()).toEqual({
    folder,
    bytes: expect.any(Number),
    secrets: true,
    secrets_missing: [],
    secrets_open: true,
  })
  const archive = join(place, 'archive')
  // Of an export that was killed, by a version before and by this one, and of one in another container that goes on.
  for (const [name, minutes] of [
    ['export-1', 10],
    ['export-0123456789abcdef', 10],
    [`export-${process.pid}`, 0],
  ] as const) {
    const copy = join(data.DATA_DIR ?? '', name)
    await mkdir(copy)
    await utimes(copy, new Date(), new Date(Date.now() - minutes * 60_000))
  }
  const exported = await cliProcess(['export', archive, '--json'], { env })
  expect([exported.code, exported.stderr]).toEqual([0, ''])
  expect(exported.json().collections.requests).toBeGreaterThan(before.length)
  expect((await readdir(data.DATA_DIR ?? '')).filter((name) => name.startsWith('export-'))).toEqual([
    `export-${process.pid}`,
  ])
  enough = true
  await asking
  const moved = await cli(['import', archive, '--move', '--json'], {
    env: { DATA_DIR: join(place, 'moved') },
  })
  expect(moved.error()).toEqual({ error: 'not_stopped', message: expect.stringMatching(/^A service worked/) })
  const imported = await cli(['import', archive, '--json'], { env: { DATA_DIR: join(place, 'imported') } })
  expect([imported.code, imported.json().audit.ok]).toEqual([0, true])
  await copyFile(join(place, 'data', 'secrets.json'), join(place, 'imported', 'secrets.json'))
  const second = startCli(['serve'], {
    env: { ...env, DATA_DIR: join(place, 'imported'), PORT: String(await freePort()) },
  })
  await second.line(/Countersign is running/)
  expect(await second.stop()).toBe(0)
  const held = await cli(['restore', 'status', '--json'], { env: { DATA_DIR: join(place, 'imported') } })
  expect(held.json()).toMatchObject({ held: true, restore: { copied_by: 'export' } })
  const copied = { ...env, DATA_DIR: folder }
  const subjects = (
    await cli(['audit', 'list', '--type', 'approval.created', '--limit', '1000', '--json'], { env: copied })
  ).stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).subject)
  expect(subjects).toEqual(expect.arrayContaining(before))
  const checked = await cli(['audit', 'check'], { env: copied })
  expect([checked.code, checked.stderr]).toEqual([0, ''])

  const elsewhere = { ...env, MONGODB_URI: 'mongodb://localhost:1/countersign' }
  expect((await cli(['backup', `${folder}2`, '--json'], { env: elsewhere })).error()).toEqual({
    error: 'not_embedded',
    message: expect.stringContaining('mongodump'),
  })
  expect(await service.stop()).toBe(0)
})

it('keeps the link of the first owner out of the log of production; a command prints it, while nobody has signed up', async () => {
  const { env: data } = await useDataDir()
  const [port, BASE_URL] = [String(await freePort()), 'https://approvals.example.com']
  const production = { NODE_ENV: 'production', BASE_URL, TRUST_PROXY: '1', STORE: 'embedded', PORT: port }
  const env = { ...data, ...TEST_SECRETS, ...production }
  const service = startCli(['serve'], { env })
  await service.line(/"msg":"nobody has signed up yet; run: countersign user owner-link, /)

  const look = async (link: string) => {
    const looked = await post(`http://localhost:${port}/api/v1/enrollment/lookup`, {
      token: link.split('#')[1],
    })
    return [looked.status, Object(await looked.json()).kind]
  }
  const first = await cli(['user', 'owner-link', '--json'], { env })
  expect([first.code, first.stderr, first.json()]).toEqual([
    0,
    '',
    {
      setup_url: expect.stringMatching(/^https:\/\/approvals\.example\.com\/setup#[\w-]{43}$/),
      expires_at: expect.stringMatching(/Z$/),
      links_ended: 0,
    },
  ])
  expect(await look(first.json().setup_url)).toEqual([200, 'setup'])
  const second = await cli(['user', 'owner-link'], { env })
  expect(second.stdout).toMatch(/\. Earlier links for the first owner no longer work\.\n$/)
  expect(await look(first.json().setup_url)).toEqual([410, undefined])
  expect(await look(/\S+\/setup#\S+/.exec(second.stdout)?.[0] ?? '')).toEqual([200, 'setup'])

  expect((await cli(['user', 'invite', 'alice@example.com'], { env })).code).toBe(0)
  const late = await cli(['user', 'owner-link', '--json'], { env })
  expect([late.code, late.stdout, late.error()]).toEqual([
    1,
    '',
    {
      error: 'owner_exists',
      message: expect.stringMatching(/^Somebody has signed up or was invited; see: /),
    },
  ])
  expect(await service.stop()).toBe(0)
  const [log] = await service.line(/^[\s\S]+"msg":"stopped"\}\n$/)
  expect(
    log
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":')),
  ).toEqual([])
  expect(log).not.toContain('/setup#')
})

function post(url: string, body: object, key?: string): Promise<Response> {
  const headers = {
    'Content-Type': 'application/json',
    ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
  }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}
