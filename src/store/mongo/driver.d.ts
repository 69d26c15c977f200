/** The class behind each connection of the driver (mongodb 7.8), which the driver does not export. */
declare module 'mongodb/lib/cmap/connection.js' {
  import type { Socket } from 'node:net'

  export class Connection {
    readonly socket: Socket
    /** Runs when the socket has closed. */
    onClose(): void
  }
}
