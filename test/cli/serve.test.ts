import { expect, it } from 'vitest'
import { startCli, useDataDir } from '../support/cli.ts'
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
