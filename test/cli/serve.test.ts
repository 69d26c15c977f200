import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { freePort } from '../support/service.ts'

it('says at the start that an internal token is too short to count, and starts all the same', async () => {
  const { env } = await useDataDir()
  const weak = 'hunter2hunter2'
  const service = startCli(['serve', '--json'], {
    env: { ...env, PORT: String(await freePort()), INTERNAL_SERVICE_TOKEN: weak },
  })
  const [line] = await service.line(/\{[^\n]*INTERNAL_SERVICE_TOKEN[^\n]*\}/)
  expect(JSON.parse(line)).toMatchObject({
    level: 'warn',
    msg: 'INTERNAL_SERVICE_TOKEN: has fewer than 32 characters, so the internal token is switched off',
  })
  expect(line).not.toContain(weak)
  await service.line(/\{"setup_url":/)
  expect(await service.stop()).toBe(0)
})

it('refuses to start with a misspelt NODE_ENV', async () => {
  const { env } = await useDataDir()
  const service = startCli(['serve', '--json'], { env: { ...env, NODE_ENV: 'prod' } })
  const [line] = await service.line(/\{.*config_invalid.*\}/)
  expect(JSON.parse(line)).toEqual({
    error: 'config_invalid',
    message: expect.stringContaining('NODE_ENV: must be production, development or test'),
  })
  await expect.poll(() => service.child.exitCode).toBe(1)
})

it('says in one sentence which port is taken, that DATA_DIR is a file, and that SEALING_KEY is another', async () => {
  const { env, folder } = await useDataDir()
  const refused = async (more: Record<string, string>) => {
    // Whatever has the port that is taken otherwise.
    const run = await cliProcess(['serve', '--json'], { env: { ...env, PORT: '0', ...more } })
    return [run.code, JSON.parse(run.stderr)]
  }
  const server = createServer()
  onTestFinished(() => void server.close())
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  expect(await refused({ PORT: String(port) })).toEqual([
    1,
    {
      error: 'not_permitted',
      message: `PORT: port ${port} of 127.0.0.1 is in use; stop the program that uses it, or set PORT to a free port.`,
    },
  ])
  expect(existsSync(join(folder, 'data')), 'a store made for nothing').toBe(false)
  const both = await freePort()
  expect(await refused({ PORT: String(both), METRICS_PORT: String(both) })).toEqual([
    1,
    {
      error: 'config_invalid',
      message: 'The configuration cannot be used:\n  - METRICS_PORT: must differ from PORT',
    },
  ])
  expect((await cli(['user', 'invite', 'ann@example.com'], { env })).code).toBe(0)
  expect(await refused({ SEALING_KEY: randomBytes(32).toString('base64') })).toEqual([
    1,
    {
      error: 'sealing_key_wrong',
      message: expect.stringMatching(
        /^The stored signing keys cannot be decrypted with this SEALING_KEY\. [^\n]+ \.env sets another\.$/,
      ),
    },
  ])
  const file = join(folder, 'file')
  await writeFile(file, '')
  const told = {
    error: 'config_invalid',
    message: `The configuration cannot be used:\n  - DATA_DIR: ${file} is a file; set DATA_DIR to a folder that this user may write, or run this as the user of the service`,
  }
  expect(await refused({ DATA_DIR: file })).toEqual([1, told])
  const invited = await cli(['user', 'invite', 'ann@example.com', '--json'], { env: { DATA_DIR: file } })
  expect([invited.code, invited.error()]).toEqual([1, told])
})
