import type { Request } from 'express'
import { z } from 'zod'
import { METHODS, refusesUnknown } from '../api/shared/operation.ts'
import { PATHS } from '../operations.ts'
import { refuseUnknownNames } from '../unknown-fields.ts'

/** The names of the query parameters of each operation that refuses others, by method and path. */
const NAMES: ReadonlyMap<string, string[]> = new Map(
  Object.entries(PATHS)
    .filter(([path]) => refusesUnknown(path))
    .flatMap(([path, item]) =>
      METHODS.map((method) => {
        const query = item[method]?.requestParams?.query
        return [`${method} ${path}`, query instanceof z.ZodObject ? Object.keys(query.shape) : []] as const
      }),
    ),
)

const matchedRoute = z.object({ path: z.string() })

/**
 * Refuses a query parameter that the operation does not have. Every route of the API begins with `authenticate`, `requireSession`
 * or `limitByAddress`, which call this: a stranger gets the 401 first. Other routes pass: pages, and the callbacks of chat
 * platforms, which add parameters of their own.
 * @throws Refusal `invalid_field`
 */
export function refuseUnknownParameters(request: Request): void {
  if (Object.keys(request.query).length === 0) return
  const route = matchedRoute.safeParse(request.route).data
  if (route === undefined) return
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
  const path = `${request.baseUrl.toLowerCase()}${route.path}`
    .replace(/\/$/, '')
    .replaceAll(/:(\w+)/g, '{$1}')
  const known = NAMES.get(`${method} ${path}`)
  if (known !== undefined) refuseUnknownNames(request.query, known)
}
