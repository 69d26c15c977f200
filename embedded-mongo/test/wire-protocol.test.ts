import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { serveStore } from '../src/store-server.ts'
import { flagBytes, frame, kind0, kind1, opMsg, RawClient } from './raw-client.ts'
import { openStore, type TestStore, temporaryDirectory } from './support.ts'

let store: TestStore
const clients: RawClient[] = []

beforeAll(async () => {
  store = await openStore()
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
afterAll(() => store.close())

async function raw(): Promise<RawClient> {
  const client = await RawClient.open(store.server.socketPath)
  clients.push(client)
  return client
}

async function expectAlive(): Promise<void> {
  const client = await raw()
  expect(await client.command({ ping: 1, $db: 'admin' })).toEqual({ ok: 1 })
}

const PING = { ping: 1, $db: 'admin' }

describe('the handshake', () => {
  it('answers the OP_QUERY of a first isMaster with an OP_REPLY', async () => {
    const client = await raw()
    const query = Buffer.concat([
      flagBytes(4),
      Buffer.from('admin.$cmd\0'),
      flagBytes(0),
      Buffer.from([255, 255, 255, 255]),
      kind0({ ismaster: 1, helloOk: true, client: { driver: { name: 'raw' } } }).subarray(1),
    ])
    client.send(frame(2004, query))
    expect(await client.reply()).toMatchObject({ ismaster: true, helloOk: true, maxWireVersion: 21, ok: 1 })
  })

  it('tells its limits and its clock, and offers neither a replica set nor compression', async () => {
    const before = Date.now()
    const reply = await (await raw()).command({ hello: 1, $db: 'admin' })
    expect(reply).toMatchObject({
      isWritablePrimary: true,
      maxBsonObjectSize: 16 * 1024 * 1024,
      maxMessageSizeBytes: 48_000_000,
      logicalSessionTimeoutMinutes: 30,
      minWireVersion: 0,
      readOnly: false,
    })
    expect(reply.localTime.getTime()).toBeGreaterThanOrEqual(before)
    expect(reply.localTime.getTime()).toBeLessThanOrEqual(Date.now())
    for (const absent of ['setName', 'topologyVersion', 'compression', 'msg'])
      expect(reply).not.toHaveProperty(absent)
  })

  it('refuses an OP_QUERY that is not a command with 352', async () => {
    const client = await raw()
    const query = Buffer.concat([
      flagBytes(0),
      Buffer.from('test.items\0'),
      flagBytes(0),
      flagBytes(0),
      kind0({}).subarray(1),
    ])
    client.send(frame(2004, query))
    expect(await client.reply()).toMatchObject({ ok: 0, code: 352, codeName: 'UnsupportedOpQueryCommand' })
    expect(await client.command(PING)).toEqual({ ok: 1 })
  })
})

describe('connections beyond the limit', () => {
  it('are told so, whatever they say first, and closed; the next one is served when one has left', async () => {
    const directory = temporaryDirectory()
    const small = await serveStore(directory, { maxConnections: 1 })
    try {
      const first = await RawClient.open(small.socketPath)
      expect(await first.command({ ping: 1, $db: 'test' })).toMatchObject({ ok: 1 })
      for (const message of [opMsg({ ping: 1, $db: 'test' }), frame(1, Buffer.alloc(4))]) {
        const beyond = await RawClient.open(small.socketPath)
        beyond.send(message)
        expect(await beyond.reply()).toMatchObject({
          ok: 0,
          code: 365,
          errmsg: 'the embedded store serves 1 connections at once, and as many are open',
        })
        await beyond.closed()
      }
      first.close()
      await expect.poll(() => pingOnce(small.socketPath)).toMatchObject({ ok: 1 })
    } finally {
      await small.close()
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

async function pingOnce(path: string): Promise<object> {
  const client = await RawClient.open(path)
  const reply = await client.command({ ping: 1, $db: 'test' })
  client.close()
  return reply
}

describe('OP_MSG', () => {
  it('takes documents from a kind-1 section', async () => {
    const client = await raw()
    client.send(
      opMsg({ insert: 'sections', $db: 'test' }, { rest: kind1('documents', [{ _id: 1 }, { _id: 2 }]) }),
    )
    expect(await client.reply()).toEqual({ n: 2, ok: 1 })
  })

  it('takes the document sequence before the body, too', async () => {
    const client = await raw()
    const payload = Buffer.concat([
      flagBytes(0),
      kind1('documents', [{ _id: 3 }]),
      kind0({ insert: 'sections', $db: 'test' }),
    ])
    client.send(frame(2013, payload))
    expect(await client.reply()).toEqual({ n: 1, ok: 1 })
  })

  it('does not answer a moreToCome write, and has done it before the next command', async () => {
    const client = await raw()
    client.send(
      opMsg({ insert: 'quiet', documents: [{ _id: 1 }], writeConcern: { w: 0 }, $db: 'test' }, { flags: 2 }),
    )
    expect(await client.command({ count: 'quiet', $db: 'test' })).toEqual({ n: 1, ok: 1 })
  })

  it('serves commands that arrive in pieces and several in one piece', async () => {
    const client = await raw()
    const bytes = Buffer.concat([opMsg(PING), opMsg({ hello: 1, $db: 'admin' }), opMsg(PING)])
    for (const byte of bytes.subarray(0, 40)) client.send(Buffer.from([byte]))
    client.send(bytes.subarray(40))
    expect(await client.reply()).toEqual({ ok: 1 })
    expect(await client.reply()).toMatchObject({ isWritablePrimary: true })
    expect(await client.reply()).toEqual({ ok: 1 })
  })

  it('answers a long pipeline in order', async () => {
    const client = await raw()
    const batch = Array.from({ length: 200 }, (_, i) =>
      opMsg({ insert: 'pipeline', documents: [{ _id: i }], $db: 'test' }),
    )
    client.send(Buffer.concat([...batch, opMsg({ count: 'pipeline', $db: 'test' })]))
    for (let i = 0; i < 200; i += 1) expect(await client.reply()).toEqual({ n: 1, ok: 1 })
    expect(await client.reply()).toEqual({ n: 200, ok: 1 })
  })
})

describe('broken messages', () => {
  it.each([
    [
      'an unknown required flag',
      Buffer.concat([flagBytes(4), kind0(PING)]),
      223,
      /^Message contains illegal flags value/,
    ],
    [
      'a checksum',
      Buffer.concat([flagBytes(1), kind0(PING), Buffer.alloc(4)]),
      223,
      /flags value: Ob0{31}1$/,
    ],
    [
      'two bodies',
      Buffer.concat([flagBytes(0), kind0(PING), kind0(PING)]),
      40430,
      'Multiple body sections in message',
    ],
    [
      'no body',
      Buffer.concat([flagBytes(0), kind1('documents', [])]),
      40587,
      'OP_MSG messages must have a body',
    ],
    [
      'an unknown section kind',
      Buffer.concat([flagBytes(0), Buffer.from([9]), kind0(PING)]),
      40432,
      'Unknown section kind 9',
    ],
    [
      'a sequence sent twice',
      Buffer.concat([
        flagBytes(0),
        kind0({ insert: 'x', $db: 'test' }),
        kind1('documents', []),
        kind1('documents', []),
      ]),
      40431,
      'Duplicate document sequence: documents',
    ],
    [
      'a sequence that is also in the body',
      Buffer.concat([
        flagBytes(0),
        kind0({ insert: 'x', documents: [], $db: 'test' }),
        kind1('documents', []),
      ]),
      40433,
      'Duplicate field between body and document sequence documents',
    ],
    ['no sections at all', flagBytes(0), 22, 'OP_MSG is too short'],
    ['nothing after the header', Buffer.alloc(0), 22, 'OP_MSG is too short'],
    [
      'a body cut short',
      Buffer.concat([flagBytes(0), kind0(PING).subarray(0, -6)]),
      22,
      /^document length \d+ is invalid$/,
    ],
    [
      'garbage for a body',
      Buffer.concat([flagBytes(0), Buffer.from([0]), Buffer.alloc(64, 0xaa)]),
      22,
      /^document length -\d+ is invalid$/,
    ],
    [
      'a sequence longer than the message',
      Buffer.concat([flagBytes(0), kind0(PING), Buffer.from([1, 255, 255, 255, 127, 97, 0])]),
      22,
      'document sequence length 2147483647 is invalid',
    ],
    [
      'a sequence of negative length',
      Buffer.concat([flagBytes(0), kind0(PING), Buffer.from([1, 255, 255, 255, 255, 97, 0])]),
      22,
      'document sequence length -1 is invalid',
    ],
  ])('answers %s with an error and goes on', async (_name, payload, code, message) => {
    const client = await raw()
    client.send(frame(2013, payload))
    const reply = await client.reply()
    expect(reply).toMatchObject({ ok: 0, code })
    expect(reply.errmsg).toMatch(message)
    expect(await client.command(PING)).toEqual({ ok: 1 })
  })

  it.each([
    ['15 bytes', 15],
    ['0 bytes', 0],
    ['a negative length', -1],
    ['more than 48 000 000 bytes', 48_000_001],
    ['2 GiB', 0x7fffffff],
  ])('hangs up on a header that claims %s, saying why', async (_name, length) => {
    const client = await raw()
    client.send(frame(2013, Buffer.concat([flagBytes(0), kind0(PING)]), length))
    expect(await client.reply()).toMatchObject({
      ok: 0,
      code: 17,
      codeName: 'ProtocolError',
      errmsg: `recv(): message len ${length} is invalid. Min 16 Max: 48000000`,
    })
    await client.closed()
    await expectAlive()
  })

  it.each([
    ['OP_COMPRESSED', 2012],
    ['OP_INSERT', 2002],
    ['an HTTP request', Buffer.from('HTTP').readInt32LE(0)],
  ])('hangs up on %s, saying why', async (_name, opCode) => {
    const client = await raw()
    client.send(frame(opCode, Buffer.alloc(20)))
    expect(await client.reply()).toMatchObject({ ok: 0, code: 17, errmsg: `Unsupported opcode ${opCode}` })
    await client.closed()
    await expectAlive()
  })

  it('survives clients that leave in the middle of a message', async () => {
    for (let cut = 0; cut < 60; cut += 7) {
      const client = await raw()
      client.send(opMsg({ insert: 'cut', documents: [{ a: 1 }], $db: 'test' }).subarray(0, cut))
      client.close()
    }
    await expectAlive()
  })

  it('survives random bytes on many connections', async () => {
    let seed = 12345
    const random = () => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return seed
    }
    for (let round = 0; round < 100; round += 1) {
      const client = await raw()
      const body = Buffer.from(Array.from({ length: random() % 200 }, () => random() & 255))
      client.send(round % 2 === 0 ? body : frame(2013, body))
      client.send(frame(1, Buffer.alloc(0)))
    }
    await expectAlive()
  })

  it('survives every one-byte damage to a sound insert', async () => {
    const sound = opMsg({ insert: 'damaged', documents: [{ _id: 'a', n: 1 }], $db: 'test' })
    const client = await raw()
    for (let at = 16; at < sound.length; at += 1) {
      const copy = Buffer.from(sound)
      copy.writeUInt8(copy.readUInt8(at) ^ 0x55, at)
      // Damage to the flags may ask for silence; what matters is that the next command is served.
      client.send(copy)
      client.send(opMsg({ hello: 1, $db: 'admin' }))
      let reply = await client.reply()
      while (reply.isWritablePrimary !== true) reply = await client.reply()
    }
  })
})
