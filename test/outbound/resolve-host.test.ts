import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { resolveByDns, resolveBySystem } from '../../src/outbound/resolve-host.ts'

const [A, AAAA] = [1, 28]
const FORMAT = { ok: 0, serverFailure: 2, noSuchName: 3 }

interface Reply {
  code?: number
  /** Addresses as bytes. */
  records?: number[][]
}

/** A name server on 127.0.0.1 that answers what it is told for each type of record; undefined = never. */
async function nameServer(reply: (type: number) => Reply | undefined) {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    const end = question.indexOf(0, 12)
    const type = question.readUInt16BE(end + 1)
    asked.push(`${nameIn(question)} ${type}`)
    socket.emit('asked')
    const answer = reply(type)
    if (answer !== undefined)
      socket.send(encode(question.subarray(0, end + 5), type, answer), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  return { servers: [`127.0.0.1:${socket.address().port}`], asked, socket }
}

function nameIn(question: Buffer): string {
  const labels: string[] = []
  for (let at = 12; question[at] !== 0; at += 1 + (question[at] ?? 0))
    labels.push(question.toString('ascii', at + 1, at + 1 + (question[at] ?? 0)))
  return labels.join('.')
}

/** RFC 1035 §4.1: the question again, and one record for each address that points to its name. */
function encode(question: Buffer, type: number, { code = FORMAT.ok, records = [] }: Reply): Buffer {
  const head = Buffer.from(question)
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  const lines = records.map((bytes) =>
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]),
  )
  return Buffer.concat([head, ...lines])
}

const never = new AbortController().signal
const v6 = [0x20, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

describe('asking the name servers', () => {
  it('gives all addresses of both families, and asks for the name alone, once each', async () => {
    const server = await nameServer((type) => ({
      records:
        type === A
          ? [
              [8, 8, 8, 8],
              [10, 0, 0, 1],
            ]
          : [v6],
    }))
    expect(await resolveByDns(server.servers)('hooks.example.com', never)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '10.0.0.1', family: 4 },
      { address: '2003::1', family: 6 },
    ])
    expect(server.asked.sort()).toEqual([`hooks.example.com ${A}`, `hooks.example.com ${AAAA}`])
  })

  it.each([
    ['has none of the other kind', { records: [] }],
    ['fails for the other kind', { code: FORMAT.serverFailure }],
  ])('one family is enough when the server %s', async (_what, other) => {
    const server = await nameServer((type) => (type === A ? { records: [[8, 8, 8, 8]] } : other))
    expect(await resolveByDns(server.servers)('hooks.example.com', never)).toEqual([
      { address: '8.8.8.8', family: 4 },
    ])
  })

  it('fails for a name that does not exist, without trying others', async () => {
    const server = await nameServer(() => ({ code: FORMAT.noSuchName }))
    await expect(resolveByDns(server.servers)('gone.example.com', never)).rejects.toThrow('ENOTFOUND')
    expect(new Set(server.asked.map((line) => line.split(' ')[0]))).toEqual(new Set(['gone.example.com']))
  })

  it('T8: stops asking a silent server when it is told to', async () => {
    const server = await nameServer(() => undefined)
    const cut = new AbortController()
    const answer = resolveByDns(server.servers)('silent.example.com', cut.signal)
    const failed = expect(answer).rejects.toThrow('ECANCELLED')
    await once(server.socket, 'asked')
    cut.abort()
    await failed
  })
})

describe('asking the system', () => {
  it('knows localhost', async () => {
    const addresses = (await resolveBySystem('localhost', never)).map(({ address }) => address)
    expect(addresses).toContain('127.0.0.1')
  })
})
