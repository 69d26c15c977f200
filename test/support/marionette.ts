import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Send } from './engines.ts'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * Firefox's own remote protocol, which geckodriver translates into; Debian has no geckodriver. Each message is JSON after its
 * length in bytes: `[0, number, command, parameters]` there, `[1, number, error, result]` back.
 */
export async function connectMarionette(port: number): Promise<Send> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const waiting = new Map<number, Waiting>()
  eachMessage(socket, (message) => {
    // The first one greets.
    if (!Array.isArray(message)) return
    const [, number, error, result] = message
    const one = waiting.get(number)
    waiting.delete(number)
    if (error) one?.reject(new Error(`${error.error}: ${error.message}`))
    else one?.resolve(Object(result).value)
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Firefox closed the connection'))
  })
  let last = 0
  return (command, parameters = {}) => {
    last += 1
    const number = last
    const text = JSON.stringify([0, number, command, parameters])
    socket.write(`${Buffer.byteLength(text)}:${text}`)
    return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }))
  }
}

function eachMessage(socket: Socket, take: (message: unknown) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (data) => {
    rest = Buffer.concat([rest, Buffer.from(data)])
    for (;;) {
      const colon = rest.indexOf(':')
      const end = colon + 1 + Number(rest.subarray(0, colon))
      if (colon < 0 || rest.length < end) return
      const message: unknown = JSON.parse(rest.subarray(colon + 1, end).toString())
      rest = rest.subarray(end)
      take(message)
    }
  })
}
