import { createServer } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { createAppTokens, createSendOnce } from '../../../adapters/teams/connector.ts'
import { readTokenKeys } from '../../../adapters/teams/token-guard.ts'
import { clockOf } from '../../support/clock.ts'
import { closeServer, listenLocally } from '../../support/local-server.ts'

const clock = clockOf()
const signal = () => AbortSignal.timeout(60_000)

/** Sends everybody on to a second server, which counts who comes. */
async function useRedirect() {
  const came: string[] = []
  const target = createServer((request, response) => {
    came.push(`${request.method} ${request.url}`)
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
  })
  const elsewhere = await listenLocally(target)
  const server = createServer((_request, response) => {
    response.writeHead(307, { Location: `${elsewhere}/stolen` }).end()
  })
  const url = await listenLocally(server)
  onTestFinished(async () => {
    await closeServer(server)
    await closeServer(target)
  })
  return { url, host: new URL(url).host, came }
}

it('a message is not sent on to where the connector points', async () => {
  const { url, host, came } = await useRedirect()
  const tokens = { get: async () => 'a token', forget: () => undefined }
  const sendOnce = createSendOnce(tokens, { serviceHosts: [host] }, { clock })
  const sending = sendOnce({ method: 'POST', url: `${url}/teams/v3`, body: '{"card":1}', signal: signal() })
  await expect(sending).rejects.toMatchObject({ name: 'CallRefused', status: 307, code: 'http_error' })
  expect(came).toEqual([])
})

it('the client secret is not sent on to where the login server points', async () => {
  const { url, came } = await useRedirect()
  const settings = {
    appId: '11111111-2222-4333-8444-555555555555',
    appPassword: 'a client secret',
    tenantId: '99999999-8888-4777-8666-555555555555',
    openIdUrl: `${url}/openid`,
    loginUrl: url,
    serviceHosts: [],
    unauthenticated: false,
  }
  const asked = createAppTokens(settings, { clock }).get(signal())
  await expect(asked).rejects.toMatchObject({ name: 'FetchFailure', status: 0 })
  expect(came).toEqual([])
})

it('keys are not read from where the OpenID document’s server points', async () => {
  const { url, came } = await useRedirect()
  await expect(readTokenKeys(`${url}/openid`)).rejects.toMatchObject({ name: 'FetchFailure', status: 0 })
  expect(came).toEqual([])
})
