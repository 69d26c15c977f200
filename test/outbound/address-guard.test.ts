import { once } from 'node:events'
import { createServer, Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { guarded, messageTo, receive, receiveRaw, useSender } from './receiver.ts'

const answers = (...addresses: string[]) =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

describe('T1: private addresses', () => {
  it.each([
    '127.0.0.1',
    '10.0.0.5',
    '169.254.169.254',
    '100.100.100.200',
    '::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
  ])('a public name with the address %s is blocked before anything is connected', async (address) => {
    const receiver = await receive((_request, response) => void response.end())
    const lookup = vi.fn(async () => answers(address))
    const sender = useSender({ allowPrivate: false, lookup })
    const outcome = await sender.send(messageTo(`https://hooks.example.com:${receiver.port}/`))
    expect(outcome).toEqual({ outcome: 'blocked', duration_ms: expect.any(Number) })
    expect(lookup).toHaveBeenCalledTimes(1)
    expect(receiver.connections()).toBe(0)
  })

  it('an IP literal is checked, though Node asks no lookup about it', async () => {
    const receiver = await receive((_request, response) => void response.end())
    const lookup = vi.fn(async () => answers('127.0.0.1'))
    for (const host of ['127.0.0.1', '127.1', '0x7f000001', '[::1]', '[::ffff:127.0.0.1]']) {
      const sender = useSender({ allowPrivate: false, lookup })
      expect(await sender.send(messageTo(`https://${host}:${receiver.port}/`))).toMatchObject({
        outcome: 'blocked',
      })
    }
    const strict = guarded({ lookup, isPublic: () => false })
    expect(await strict.send(messageTo(`https://8.8.8.8:${receiver.port}/`))).toMatchObject({
      outcome: 'blocked',
    })
    expect(lookup).not.toHaveBeenCalled()
    expect(receiver.connections()).toBe(0)
  })

  it('a URL that was stored under looser settings is refused by those of today', async () => {
    const receiver = await receive((_request, response) => void response.end())
    const lookup = vi.fn(async () => answers('127.0.0.1'))
    const sender = guarded({ production: true, lookup })
    for (const url of [`http://127.0.0.1:${receiver.port}/`, `https://hooks.example.com:${receiver.port}/`])
      expect(await sender.send(messageTo(url))).toMatchObject({ outcome: 'blocked' })
    expect(lookup).not.toHaveBeenCalled()
    expect(receiver.connections()).toBe(0)
  })
})

describe('T2: DNS rebinding', () => {
  it('one resolution an attempt, whose answer is the one that is used', async () => {
    // 127.0.0.2 plays the public address: nobody listens there. 127.0.0.1 is the private one, where somebody does.
    const inside = await receive((_request, response) => void response.end())
    let calls = 0
    const lookup = async () => {
      calls += 1
      return answers(calls % 2 === 1 ? '127.0.0.2' : '127.0.0.1')
    }
    const sender = useSender({ allowPrivate: false, lookup, isPublic: (address) => address === '127.0.0.2' })
    const outcomes: string[] = []
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      const { outcome } = await sender.send(messageTo(`https://rebind.example.com:${inside.port}/`))
      outcomes.push(outcome)
      expect(calls).toBe(attempt)
    }
    expect(outcomes).toEqual(Array.from({ length: 3 }, () => ['connect_failed', 'blocked']).flat())
    expect(inside.connections()).toBe(0)
  })

  it('the connected socket is looked at too, before the first byte of the request', async () => {
    const inside = await receiveRaw(() => undefined)
    let checks = 0
    const isPublic = () => {
      checks += 1
      return checks === 1
    }
    // The name passes once; by the time the connection stands, its address is no longer one that may be called.
    const overTls = guarded({ isPublic, lookup: async () => answers('127.0.0.1') })
    expect(await overTls.send(messageTo(`https://hooks.example.com:${inside.port}/`))).toMatchObject({
      outcome: 'blocked',
    })
    await inside.idle()
    expect([checks, inside.connections(), inside.received()]).toEqual([2, 1, 0])
  })
})

describe('T3: mixed answers', () => {
  it.each([
    ['private last', ['127.0.0.1', '10.0.0.1']],
    ['private first', ['10.0.0.1', '127.0.0.1']],
    ['private in the other family', ['127.0.0.1', 'fd00::1']],
    ['private among many', [...Array.from({ length: 20 }, () => '127.0.0.1'), '192.168.0.1']],
  ])('%s: blocked, nobody is connected to', async (_what, addresses) => {
    const receiver = await receive((_request, response) => void response.end())
    const sender = guarded({ lookup: async () => answers(...addresses) })
    expect(await sender.send(messageTo(`https://mixed.example.com:${receiver.port}/`))).toMatchObject({
      outcome: 'blocked',
    })
    expect(receiver.connections()).toBe(0)
  })

  it('T9: of a crowd of good addresses only a few are tried', async () => {
    const receiver = await receiveRaw((socket) => socket.destroy())
    const crowd = Array.from({ length: 200 }, (_, index) => `127.0.1.${index}`)
    const seen = new Set<string>()
    const sender = useSender({
      allowPrivate: false,
      lookup: async () => answers(...crowd, '127.0.0.1'),
      isPublic: (address) => seen.add(address).size > 0,
    })
    expect(await sender.send(messageTo(`https://crowd.example.com:${receiver.port}/`))).toMatchObject({
      outcome: 'connect_failed',
    })
    expect(seen.size).toBe(201)
    expect(receiver.connections()).toBe(0)
  })
})

describe('T4: redirects', () => {
  it.each([301, 302, 303, 307, 308])('status %i is a failure and is not followed', async (status) => {
    const inside = await receive((_request, response) => void response.end())
    const receiver = await receive(
      (_request, response) =>
        void response.writeHead(status, { Location: `http://127.0.0.1:${inside.port}/` }).end(),
    )
    expect(await useSender().send(messageTo(`http://127.0.0.1:${receiver.port}/`))).toMatchObject({
      outcome: `http_${status}`,
    })
    expect([receiver.requests.length, inside.connections()]).toEqual([1, 0])
  })
})

describe('T7: what the log can tell of ports', () => {
  it('two closed ports, and two that never answer, give records of one shape', async () => {
    const closed = await Promise.all([closedPort(), closedPort()])
    const silent = await Promise.all([receiveRaw(() => undefined), receiveRaw(() => undefined)])
    const lookup = async () => answers('127.0.0.1')
    // On a busy machine being refused may take longer than silence may last.
    const [patient, hasty] = [guarded({ lookup }), guarded({ lookup, timeoutMs: 150 })]
    const records = await Promise.all([
      ...closed.map((port) => patient.send(messageTo(`https://hooks.example.com:${port}/`))),
      ...silent.map(({ port }) => hasty.send(messageTo(`https://hooks.example.com:${port}/`))),
    ])
    for (const record of records) expect(Object.keys(record).sort()).toEqual(['duration_ms', 'outcome'])
    expect(records.map(({ outcome }) => outcome)).toEqual([
      'connect_failed',
      'connect_failed',
      'timeout',
      'timeout',
    ])
  })
})

/** A port where nobody listens, nor can: an open connection goes out from it. */
async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const outgoing = new Socket()
  onTestFinished(() => {
    outgoing.destroy()
    server.close()
  })
  outgoing.connect(address !== null && typeof address === 'object' ? address.port : 0, '127.0.0.1')
  await once(outgoing, 'connect')
  return outgoing.localPort ?? expect.unreachable('not connected')
}
