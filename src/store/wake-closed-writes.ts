import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

/** Ports of the stores in use; undefined stands for a Unix socket. */
const storePorts = new Set<number | undefined>()
let watching = false

/**
 * Lets commands fail that are written to a store connection in the very moment it closes. The driver (mongodb 7.8) then waits
 * for the socket to drain, which a destroyed socket never does. When a store dies all its sockets close at once, and whoever
 * hit that moment would hang for ever: the driver's own monitor too, after which nothing finds the store again.
 * Call it before connecting.
 * @returns a function to call with the ports of the store
 */
export function wakeClosedWrites(): (ports: readonly (number | undefined)[]) => void {
  if (!watching) subscribe('net.client.socket', watch)
  watching = true
  return (ports) => {
    for (const port of ports) storePorts.add(port)
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
