import { type AddressInfo, createServer, type Server } from 'node:net'

/** Where a server listens, and the setting or option that names the port. */
interface Place {
  setting: 'PORT' | 'METRICS_PORT' | '--port'
  host: string
  port: number
}

/** A port cannot be listened on; the message says why, and the cure. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  /** Node's code, such as `EADDRINUSE`. */
  readonly code: string | undefined

  constructor(place: Place, cause: NodeJS.ErrnoException) {
    super(reasonFor(place, cause.code), { cause })
    this.code = cause.code
  }
}

function reasonFor({ setting, host, port }: Place, code: string | undefined): string {
  const free = setting === 'METRICS_PORT' ? 'a free port other than PORT' : 'a free port'
  const address = setting === '--port' ? '--listen' : 'HOST'
  if (code === 'EADDRINUSE')
    return `${setting}: port ${port} of ${host} is in use; stop the program that uses it, or set ${setting} to ${free}.`
  if (code === 'EACCES')
    return `${setting}: this user may not listen on port ${port}; set ${setting} to a port above 1023.`
  if (code === 'EADDRNOTAVAIL')
    return `${address}: ${host} is not an address of this machine; set ${address} to one that is.`
  return `${setting}: listening on port ${port} of ${host} failed (${code}).`
}

/** Tries a port before anything else is set up. @throws ListenError when nothing can listen there now */
export async function checkPlace(place: Place): Promise<void> {
  const server = createServer()
  await listen(server, place)
  await new Promise((resolve) => server.close(resolve))
}

/** Starts to listen. @returns the port, which was chosen by the system if `place.port` is 0. @throws ListenError */
export function listen(server: Server, place: Place): Promise<number> {
  const { port, host } = place
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => reject(new ListenError(place, cause))
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      const address: AddressInfo | string | null = server.address()
      resolve(address !== null && typeof address === 'object' ? address.port : port)
    })
  })
}
