import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newCaller, stored, type TestCaller } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/approvals/request'

let service: TestService
let caller: TestCaller
beforeAll(async () => {
  service = await startService()
  caller = await newCaller(service)
})
afterAll(() => service.close())

it('413: refuses a body above 1.5 MiB, which attachments may need, and above 64 KiB elsewhere', async () => {
  const answer = await caller.create({ action: 'x', padding: 'x'.repeat(1536 * 1024) })
  expect(answer.status).toBe(413)
  const message = (kib: number) =>
    `The body is larger than this endpoint accepts, ${kib} KiB at most; send less.`
  expect(answer.body).toEqual({ error: 'payload_too_large', message: message(1536) })
  const path = '/api/v1/approvals/req_00000000000000000000000000/consume'
  const other = await caller.send(path, { method: 'POST', raw: ' '.repeat(64 * 1024 + 1) })
  expect([other.status, other.body]).toEqual([413, { error: 'payload_too_large', message: message(64) }])
})

it('400: refuses texts above 16 KiB anywhere but in attachments', async () => {
  for (const field of ['padding', 'context', 'attachments']) {
    const answer = await caller.create({ action: 'x', [field]: [{ name: 'x'.repeat(16 * 1024 + 1) }] })
    expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', field])
  }
})

it('413: refuses a chunked body without a length once it exceeds 1.5 MiB', async () => {
  const chunk = new TextEncoder().encode(' '.repeat(16 * 1024))
  let left = 97
  const raw = new ReadableStream({
    pull: (controller) => {
      left -= 1
      if (left < 0) controller.close()
      else controller.enqueue(chunk)
    },
  })
  const response = await fetch(`${service.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.token}`, 'content-type': 'application/json' },
    body: raw,
    ...{ duplex: 'half' },
  })
  expect(response.status).toBe(413)
})

it('T59: refuses 100 000 keys', async () => {
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 0]))
  const answer = await caller.create({ action: 'x', context: keys })
  expect([answer.status, answer.body.error, answer.body.field]).toEqual([400, 'invalid_field', 'context'])
})

it('T59: refuses 20 MB of zeros in 20 KB of gzip without inflating them all', async () => {
  const raw = new Uint8Array(gzipSync(Buffer.alloc(20_000_000)))
  expect(raw.length).toBeLessThan(64 * 1024)
  const before = process.memoryUsage().arrayBuffers
  const answer = await caller.send(PATH, { method: 'POST', raw, headers: { 'content-encoding': 'gzip' } })
  expect([answer.status, answer.body.error]).toEqual([413, 'payload_too_large'])
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
})

it('reads a body of just under 64 KiB', async () => {
  const raw = `{"action":"x"${' '.repeat(64 * 1024 - 14)}}`
  expect(raw.length).toBe(64 * 1024)
  expect((await caller.send(PATH, { method: 'POST', raw })).status).toBe(201)
})

it.each([
  ['text/plain', 'text/plain'],
  ['a form', 'application/x-www-form-urlencoded'],
  ['multipart', 'multipart/form-data; boundary=x'],
  ['XML', 'application/xml'],
  ['a look-alike', 'application/jsonp'],
  ['a JSON dialect', 'application/vnd.api+json'],
  ['nothing', ''],
  ['junk', ';;;'],
])('T64, 415: refuses a body declared as %s', async (_what, type) => {
  const raw = new TextEncoder().encode('{"action":"x"}')
  const answer = await caller.send(PATH, { method: 'POST', raw, headers: { 'content-type': type } })
  expect(answer.status).toBe(415)
  expect(answer.body).toEqual({ error: 'unsupported_media_type', message: expect.any(String) })
})

it('415: takes the rest of a large body in chunks off the line, and the next request on it', async () => {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  socket.setEncoding('latin1')
  let answered = ''
  socket.on('data', (text) => {
    answered += text
  })
  const send = (text: string): Promise<unknown> => new Promise((done) => socket.write(text, done))
  const authorization = `Authorization: Bearer ${caller.token}\r\nHost: localhost`
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  await send(`POST ${PATH} HTTP/1.1\r\n${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  // More than all buffers on the way hold: it is written only if the other side reads.
  for (let count = 0; count < 128; count += 1) await send(chunk)
  await send(`0\r\n\r\nGET /healthz HTTP/1.1\r\n${authorization}\r\n\r\n`)
  await expect.poll(() => answered.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415', 'HTTP/1.1 200'])
  socket.destroy()
})

it.each([
  'application/json; charset=utf-8',
  'APPLICATION/JSON;CHARSET="UTF-8"',
  'application/json; charset=utf8',
  'application/json;charset="utf8" ; odata=1',
  'Application/JSON; odata=1; Charset = UTF8',
  'application/json ; odata=1',
])('takes the type %s', async (type) => {
  const raw = new TextEncoder().encode('{"action":"x"}')
  const answer = await caller.send(PATH, { method: 'POST', raw, headers: { 'content-type': type } })
  expect(answer.status).toBe(201)
})

it('415: refuses other character sets and unknown content encodings', async () => {
  const raw = new TextEncoder().encode('{"action":"x +AGE-"}')
  const charsets = [
    'iso-8859-1',
    'utf-7',
    'utf-16',
    'UTF-16LE',
    '"utf-32le"',
    'utf-8x',
    'utf8x',
    'xutf8',
    'utf16',
  ]
  const headers = [
    ...charsets.map((name) => ({ 'content-type': `application/json; charset=${name}` })),
    { 'content-encoding': 'zstd-but-not-really' },
  ]
  for (const extra of headers) {
    const answer = await caller.send(PATH, { method: 'POST', raw, headers: { ...extra } })
    const detail = 'content-type' in extra ? 'Leave the charset out' : 'Leave `Content-Encoding` out'
    expect([answer.status, answer.body.error]).toEqual([415, 'unsupported_media_type'])
    expect(answer.body.detail).toMatch(detail)
    expect(answer.body.message).toContain(answer.body.detail)
  }
})

it('leaves nothing behind', async () => {
  const other = await newCaller(service)
  await other.create({ action: 'x', padding: 'x'.repeat(1536 * 1024) })
  expect(await stored(service, 'requests').countDocuments({ api_key_id: other.keyId })).toBe(0)
})
