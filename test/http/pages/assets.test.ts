import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUILT_DASHBOARD, BUILT_PAGE } from '../../support/page-server.ts'
import { type RawAnswer, rawRequest } from '../../support/raw-http.ts'
import { startService, type TestService } from '../../support/service.ts'

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

function decoded(coding: string | undefined, body: Buffer): Buffer {
  if (coding === undefined) return body
  return coding === 'br' ? brotliDecompressSync(body) : gunzipSync(body)
}

/** One asset of each ending, in its three forms. */
async function namesIn(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(join(folder, 'assets'))).toSorted()
  return Object.fromEntries(names.map((name) => [name.split('.').slice(1).join('.'), name]))
}

describe.each([
  ['the hosted pages', BUILT_PAGE],
  ['the dashboard', BUILT_DASHBOARD],
])('GET /assets/:name of %s', (_, folder) => {
  let names: Record<string, string>
  beforeAll(async () => {
    names = await namesIn(folder)
  })
  const onDisk = (ending: string): Promise<Buffer> => readFile(join(folder, 'assets', names[ending] ?? ''))
  const ask = (headers: Record<string, string> = {}, method = 'GET', ending = 'js'): Promise<RawAnswer> =>
    rawRequest(service.url, `/assets/${names[ending]}`, { method, headers })

  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0.4, gzip;q=0.8', 'gzip'],
    ['gzip', 'gzip'],
    ['GZip; Q=1.0', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip;q=0.9', 'gzip'],
    ['deflate, zstd', undefined],
    ['brotli, xgzip', undefined],
    ['gzip;q=high', undefined],
    ['gzip;q=7', undefined],
    ['*;q=0', undefined],
    [', ;;, q=1', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('Accept-Encoding %o is answered in %s', async (accepted, coding) => {
    const answer = await ask(accepted === undefined ? {} : { 'Accept-Encoding': accepted })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-encoding']).toBe(coding)
    expect(answer.headers.vary).toBe('Accept-Encoding')
    expect(decoded(coding, answer.body).equals(await onDisk('js'))).toBe(true)
  })

  it.each(['js', 'css', 'svg'] as const)(
    '.%s keeps its own type and lives for ever, compressed or not',
    async (ending) => {
      for (const accepted of ['br', 'gzip', 'identity']) {
        const { headers, body } = await ask({ 'Accept-Encoding': accepted }, 'GET', ending)
        expect(headers['content-type']).toBe(TYPES[ending])
        expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
        expect(headers['x-content-type-options']).toBe('nosniff')
        expect(headers['set-cookie']).toBeUndefined()
        expect(Number(headers['content-length'])).toBe(body.length)
      }
    },
  )

  it('HEAD has the headers of GET and no body', async () => {
    for (const accepted of ['br', 'gzip', 'identity']) {
      const [head, got] = [
        await ask({ 'Accept-Encoding': accepted }, 'HEAD'),
        await ask({ 'Accept-Encoding': accepted }),
      ]
      expect(head.body).toHaveLength(0)
      const { date: _, 'x-request-id': __, ...sent } = head.headers
      expect(got.headers).toMatchObject(sent)
      expect(head.headers['content-length']).toBe(String(got.body.length))
    }
  })

  it('each coding has a validator of its own, and 304 keeps it', async () => {
    const tags = new Set<string>()
    for (const accepted of ['br', 'gzip', 'identity']) {
      const tag = (await ask({ 'Accept-Encoding': accepted })).headers.etag ?? ''
      expect(tag).toMatch(/^"[\w.-]+"$/)
      tags.add(tag)
      const again = await ask({ 'Accept-Encoding': accepted, 'If-None-Match': tag })
      expect([again.status, again.headers.etag, again.headers.vary]).toEqual([304, tag, 'Accept-Encoding'])
      expect(again.body).toHaveLength(0)
    }
    expect(tags.size).toBe(3)
  })

  it('a range is cut from the bytes of the chosen coding', async () => {
    const whole = await onDisk('js.br')
    const part = await ask({ 'Accept-Encoding': 'br', Range: 'bytes=10-19' })
    expect([part.status, part.headers['content-encoding']]).toEqual([206, 'br'])
    expect(part.headers['content-range']).toBe(`bytes 10-19/${whole.length}`)
    expect(part.body.equals(whole.subarray(10, 20))).toBe(true)
    const plain = await ask({ Range: 'bytes=-5' })
    expect([plain.status, plain.headers['content-encoding']]).toEqual([206, undefined])
    expect(plain.body.equals((await onDisk('js')).subarray(-5))).toBe(true)
  })

  it('a range that continues another coding gets the whole file instead', async () => {
    const { headers } = await ask({ 'Accept-Encoding': 'gzip' })
    const part = await ask({ 'Accept-Encoding': 'br', Range: 'bytes=10-19', 'If-Range': headers.etag ?? '' })
    expect([part.status, part.body.length]).toEqual([200, (await onDisk('js.br')).length])
  })

  it('says plainly, uncached, that a range or a precondition cannot be met', async () => {
    const size = (await onDisk('js.br')).length
    const beyond = await ask({ 'Accept-Encoding': 'br', Range: `bytes=${size}-` })
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${size}`])
    const changed = await ask({ 'If-Match': '"another"' })
    expect(changed.status).toBe(412)
    for (const { headers, body } of [beyond, changed]) {
      expect(body).toHaveLength(0)
      expect([headers['cache-control'], headers['content-encoding'], headers.etag]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
    }
    expect(service.logged.filter(({ message }) => message === 'request failed')).toEqual([])
  })
})

describe('addresses of no asset', () => {
  let names: Record<string, string>
  beforeAll(async () => {
    names = await namesIn(BUILT_PAGE)
  })

  it.each([
    '/assets/..%2f..%2fpackage.json',
    '/assets/..%2findex.html',
    '/assets/%2e%2e/index.html',
    '/assets/../index.html',
    '/assets/..%5cindex.html',
    '/assets/%2e%2e%2fassets%2f:js',
    '/assets/:js%00',
    '/assets/./:js.map',
    '/assets/:js.br',
    '/assets/:js.gz',
    '/assets/unknown-00000000.js',
    `/assets/${'x'.repeat(300)}.js`,
    '/assets/.js',
    '/assets/',
    '/assets',
    '//assets/:js',
    '/index.html',
  ])('%s is unknown and not to be kept', async (path) => {
    const answer = await rawRequest(service.url, path.replace(':js', names.js ?? ''), {
      headers: { 'Accept-Encoding': 'br' },
    })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.body.toString('utf8'))).toEqual({
      error: 'not_found',
      message: 'There is no such resource, or it is not yours; check the address and its ids.',
    })
    expect(answer.headers['cache-control']).toBeUndefined()
    expect(answer.headers['content-encoding']).toBeUndefined()
    expect(answer.headers.etag).toBeUndefined()
  })

  it('nor can anything be sent to one', async () => {
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await rawRequest(service.url, `/assets/${names.js}`, { method })).status).toBe(404)
  })
})
