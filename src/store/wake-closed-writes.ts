import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import type { mongo } from 'mongoose'

/** Ports of the stores in use; undefined stands for a Unix socket. */
const storePorts = new Set<number | undefined>()
let watching = false

/** Of a client: its news about the servers that make up the store. */
export type TopologyNews = Pick<mongo.MongoClient, 'on'>

/**
 * Lets commands fail that are written to a store connection in the very moment it closes. The driver (mongodb 7.8) then waits
 * for the socket to drain, which a destroyed socket never does. When a store dies all its sockets close at once, and a caller
 * that hits that moment would hang for ever: the driver's own monitor too, after which nothing finds the store again.
 * Call it before connecting.
 * @returns a function to call with the client before it has met the store; all servers it ever finds are covered, not only
 * those that its address names
 */
export function wakeClosedWrites(): (client: TopologyNews | undefined) => void {
  if (!watching) subscribe('net.client.socket', watch)
  watching = true
  return (client) => {
    client?.on('topologyDescriptionChanged', ({ newDescription }) => {
      for (const { hostAddress } of newDescription.servers.values()) storePorts.add(hostAddress.port)
    })
  }
}

function watch(message: unknown): void {
  const { socket } = { socket: undefined, ...Object(message) }
  if (!(socket instanceof Socket)) return
  socket.once('connect', () => {
    const { remotePort } = socket
    // The driver marks the connection as failed in this same event, before the command that is woken looks at it.
    socket.once('close', () => {
      if (storePorts.has(remotePort)) socket.emit('drain')
    })
  })
}
