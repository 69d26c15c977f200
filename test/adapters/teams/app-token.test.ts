import { createServer, type ServerResponse } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { createAppTokens } from '../../../adapters/teams/connector.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { clockOf } from '../../support/clock.ts'
import { closeServer, listenLocally, sendJson } from '../../support/local-server.ts'

const clock = clockOf()
const soon = () => AbortSignal.timeout(60_000)

/** A sign-in that answers when told to. */
async function useSignIn() {
  const asked: ServerResponse[] = []
  const server = createServer((_request, response) => void asked.push(response))
  const loginUrl = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  const settings = {
    appId: '11111111-2222-4333-8444-555555555555',
    appPassword: 'a client secret',
    tenantId: '99999999-8888-4777-8666-555555555555',
    openIdUrl: `${loginUrl}/openid`,
    loginUrl,
    serviceHosts: [],
    unauthenticated: false,
  }
  const answer = async (status: number, body: object) => {
    await waitUntil(() => expect(asked).toHaveLength(1))
    const [response] = asked.splice(0)
    if (response !== undefined) sendJson(response, status, body)
  }
  return { asked, tokens: createAppTokens(settings, { clock }), answer }
}

it('calls that need a token at the same time wait for one request, and keep its answer', async () => {
  const { asked, tokens, answer } = await useSignIn()
  const waiting = Promise.all(Array.from({ length: 5 }, () => tokens.get(soon())))
  await answer(200, { access_token: 'a token', expires_in: 3600 })
  expect(await waiting).toEqual(Array.from({ length: 5 }, () => 'a token'))
  expect(await tokens.get(soon())).toBe('a token')
  expect(asked).toEqual([])
})

it('a call that gives up leaves the request to those who still wait', async () => {
  const { tokens, answer, asked } = await useSignIn()
  const hasty = new AbortController()
  const first = tokens.get(hasty.signal)
  const second = tokens.get(soon())
  await waitUntil(() => expect(asked).toHaveLength(1))
  hasty.abort(new Error('no time left'))
  await expect(first).rejects.toThrow('no time left')
  await answer(200, { access_token: 'a token', expires_in: 3600 })
  expect(await second).toBe('a token')
})

it('a refusal is told to all who wait, and the next call asks anew', async () => {
  const { tokens, answer } = await useSignIn()
  const waiting = [tokens.get(soon()), tokens.get(soon())].map((asking) =>
    expect(asking).rejects.toMatchObject({ name: 'FetchFailure', status: 401, code: 'invalid_client' }),
  )
  await answer(401, { error: 'invalid_client' })
  await Promise.all(waiting)
  const again = tokens.get(soon())
  await answer(200, { access_token: 'another token', expires_in: 3600 })
  expect(await again).toBe('another token')
})
