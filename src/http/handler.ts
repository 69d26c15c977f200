import type { RequestHandler } from 'express'
import type { z } from 'zod'
import type { Answer } from './api/shared/fields.ts'
import type { HttpDeps } from './http-deps.ts'

/** A handler that can answer only what the schema lists: anything else does not compile. */
export type Handler<Schema extends z.ZodType, Params = Record<string, string>> = RequestHandler<
  Params,
  Answer<Schema>
>

/** The last handler of a route. It answers what the schema lists. */
export type Endpoint<Schema extends z.ZodType = z.ZodType, Params = Record<string, string>> = (
  deps: HttpDeps,
  ...rest: Parameters<Handler<Schema, Params>>
) => unknown

/** Binds endpoints to what they need; each keeps its name, which the document of the routes and tools show. */
export function bindTo(deps: HttpDeps) {
  return <Schema extends z.ZodType, Params>(endpoint: Endpoint<Schema, Params>): Handler<Schema, Params> => {
    const handler: Handler<Schema, Params> = (...call) => endpoint(deps, ...call)
    return Object.defineProperty(handler, 'name', { value: endpoint.name })
  }
}

/** The parameters of a path that contains an id. */
export type WithId = { id: string }
