import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { SECRET_NAMES } from '../../src/config/config.ts'
import { cliProcess, useDataDir } from '../support/cli.ts'

const PROXY = 'http://127.0.0.1:9'

/** Complete for production, but for what is refused. */
const PRODUCTION: Record<string, string> = {
  ...Object.fromEntries(SECRET_NAMES.map((name) => [name, randomBytes(32).toString('base64')])),
  NODE_ENV: 'production',
  BASE_URL: 'https://approvals.example.com',
  TRUST_PROXY: '0',
  STORE: 'embedded',
  PORT: '0',
}

/** `test/config.test.ts` has each by itself. */
const REFUSED: Record<string, string> = {
  NODE_TLS_REJECT_UNAUTHORIZED: '0',
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  ALL_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  all_proxy: PROXY,
  NODE_USE_ENV_PROXY: '1',
  CALLBACK_ALLOW_PRIVATE: '1',
}

it('T10: the service does not start in production with what weakens its connections, and names each', async () => {
  const { env } = await useDataDir()
  const run = await cliProcess(['serve', '--json'], { env: { ...env, ...PRODUCTION, ...REFUSED } })
  expect(run.code).toBe(1)
  expect(run.error()).toEqual({ error: 'config_invalid', message: expect.any(String) })
  const named = [...run.error().message.matchAll(/^ {2}- (\w+): must /gm)].map(([, name]) => name)
  expect(named.sort()).toEqual(Object.keys(REFUSED).sort())
})
