import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** A name server that answers every question for an IPv4 address with these, as Docker's own does. */
export interface NameServer {
  port: number
  /** May be changed while it runs. */
  addresses: string[]
}

/** Starts one on 127.0.0.1; it ends with the test. RFC 1035 section 4. */
export async function useNameServer(addresses: string[]): Promise<NameServer> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server: NameServer = { port: socket.address().port, addresses }
  socket.on('message', (query, { port, address }) => {
    socket.send(answer(query, server.addresses), port, address)
  })
  onTestFinished(() => void socket.close())
  return server
}

/** The query with its header turned into an answer's, and one A record per address that points back to its name. */
function answer(query: Buffer, addresses: string[]): Buffer {
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const records = addresses.map((address) =>
    Buffer.concat([
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 2, 88, 0, 4]),
      Buffer.from(address.split('.').map(Number)),
    ]),
  )
  return Buffer.concat([header, question, ...records])
}
