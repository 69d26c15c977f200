import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toJwks } from '../../src/signing/jwks.ts'
import { cli } from '../support/cli.ts'
import { answerWith, live as signer, vote } from '../verify-page/receipts.ts'

/** Checks a receipt that holds against the key set at this address. */
const verify = (jwks: string, ...more: string[]) =>
  cli(['verify', '-', '--jwks', jwks, ...more], { env: {}, stdin: JSON.stringify(answerWith(vote({}))) })

describe('the address of the key set', () => {
  it('may be the service on this machine, as its help says', async () => {
    const help = (await cli(['verify', '--help'])).stdout.replace(/\s+/g, ' ')
    expect(help).toContain('pinned key set: a file, or an address, https: or http://localhost')
    const run = await verify(await serveOnce(200, {}, JSON.stringify(toJwks([signer]))))
    expect([run.code, run.stderr]).toEqual([0, ''])
  })

  it('shows by name what is hidden in a key set that it refuses', async () => {
    const { keys } = toJwks([signer])
    const address = await serveOnce(
      200,
      {},
      JSON.stringify({ keys: [{ ...keys[0], kid: 'x\u001b[2K\u202e' }] }),
    )
    const hostile = await verify(address)
    expect([hostile.code, hostile.stderr]).toEqual([
      2,
      expect.stringContaining('kid x[U+001B][2K[U+202E] is not'),
    ])
  })

  it('must be https elsewhere', async () => {
    const run = await verify('http://keys.example.com/x', '--json')
    expect(run.code).toBe(2)
    expect(run.error()).toEqual({
      error: 'usage',
      message:
        'http://keys.example.com must be https:, because keys sent in the clear could have been replaced on the way.',
    })
  })

  it.each(['http:', 'https:'])('has no password, which would be shown, over %s', async (scheme) => {
    const address = `${scheme}//ana:s3cret@127.0.0.1:1/x`
    const run = await verify(address, '--json')
    expect([run.code, run.error().message]).toEqual([
      2,
      `The address of ${scheme}//127.0.0.1:1 must not contain a user name or password: leave them out, or save the key set and name its file.`,
    ])
    expect(run.stderr).not.toMatch(/ana|s3cret/)
  })

  it.each([
    ['redirects', 302, { Location: '/elsewhere' }, '', 'cannot be fetched'],
    ['answers with an error', 404, {}, '{}', 'answered 404 instead of a key set'],
    ['never ends', 200, {}, ' '.repeat(1_100_000), 'is larger than 1 MiB'],
  ])('is refused when it %s', async (_what, status, headers, body, message) => {
    const url = await serveOnce(status, headers, body)
    const run = await verify(url, '--json')
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(run.error().message).toContain(message)
  })
})

async function serveOnce(status: number, headers: Record<string, string>, body: string): Promise<string> {
  const server: Server = createServer((_request, response) => {
    response.writeHead(status, headers).end(body)
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}/jwks.json`
}
