import type { RequestHandler } from 'express'
import type { z } from 'zod'
import type { Answer } from './api/shared/fields.ts'
import type { HttpDeps } from './http-deps.ts'

/** A handler that can answer only what the schema lists: anything else does not compile. */
export type Handler<Schema extends z.ZodType, Params = Record<string, string>> = RequestHandler<
  Params,
  Answer<Schema>
>

/** Makes the last handler of a route. */
export type Endpoint<Schema extends z.ZodType = z.ZodType, Params = Record<string, string>> = (
  deps: HttpDeps,
) => Handler<Schema, Params>

/** The parameters of a path that contains an id. */
export type WithId = { id: string }
