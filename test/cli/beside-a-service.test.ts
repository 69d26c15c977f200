import { expect, it } from 'vitest'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { freePort } from '../support/service.ts'

it('works beside a running service: the link enrols, the key asks, the revoked key does not', async () => {
  const { env: data } = await useDataDir()
  const port = await freePort()
  const url = `http://localhost:${port}`
  const env = { ...data, PORT: String(port) }
  const service = startCli(['serve', '--json'], { env })
  await service.line(/"msg":"Countersign is running"/)
  const [, setup] = await service.line(/\{"setup_url":"([^"]+)"\}/)
  expect(setup).toMatch(new RegExp(`^${url}/setup#[A-Za-z0-9_-]{43}$`))

  const invited = await cli(['user', 'invite', 'alice@example.com', '--json'], { env })
  expect(invited.stderr).toBe('')
  const token = new URL(invited.json().enroll_url).hash.slice(1)
  const looked = await post(`${url}/api/v1/enrollment/lookup`, { token })
  expect(await looked.json()).toMatchObject({ kind: 'invite', email: 'alice@example.com' })

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
  expect(revoked.stdout).toBe(`Revoked "bot" (${key.id}). Requests that use it are refused from now on.\n`)
  const refused = await ask()
  expect(refused.status).toBe(401)
  expect(await refused.json()).toMatchObject({ error: 'invalid or missing API key' })

  const second = await cliProcess(['serve', '--json'], { env: { ...env, PORT: String(await freePort()) } })
  expect(second.code).toBe(1)
  expect(second.stdout).toMatch(/process \d+ holds [^"]*data; waiting for it, 5 s at most/)
  expect(second.error()).toEqual({
    error: 'data_dir_in_use',
    message: expect.stringMatching(/^Process \d+ already uses .*data\. Stop it/),
  })
  expect(await service.stop()).toBe(0)
  const after = await cli(['key', 'list', '--json'], { env })
  expect(after.json().data).toMatchObject([{ id: key.id, revoked_at: expect.stringMatching(/Z$/) }])
})

function post(url: string, body: object, key?: string): Promise<Response> {
  const headers = {
    'Content-Type': 'application/json',
    ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
  }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}
