import type { RequestHandler } from 'express'
import type { Log } from '../../flow/ports.ts'
import { clientAddress } from './client-address.ts'
import { requestIdOf } from './request-id.ts'

/** One line a request: the path without its query, never a header or a body. */
export function logRequests(log: Log): RequestHandler {
  return (request, response, next) => {
    const started = performance.now()
    const { method, path } = request
    response.on('finish', () => {
      const ms = Math.round(performance.now() - started)
      const fields = { method, path, status: response.statusCode, ms, address: clientAddress(request) }
      log.debug({ request_id: requestIdOf(response), ...fields }, 'request')
    })
    next()
  }
}
