import type { Express } from 'express'
import type { CallerDeps } from '../flow/authenticate-caller.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { RateLimiter } from '../flow/ports.ts'
import type { WaitSlots } from '../flow/wait-for-decision.ts'

/** Adds routes to the app. */
export type Mount = (app: Express) => void

/** What the HTTP edge needs besides the verbs' own dependencies. */
export interface HttpDeps extends FlowDeps, CallerDeps {
  limiter: RateLimiter
  waitSlots: WaitSlots
  /** Express `trust proxy`. */
  trustProxy: number | readonly string[]
  /** Folder of the built pages. */
  pagesDir: string
  /** The OpenAPI document to serve. */
  openapi: object
  /** Add routes of their own that read bodies themselves: they come before everything that parses one. */
  mounts: readonly Mount[]
  /** Throws when the store does not answer. */
  ping(): Promise<void>
  /** Does the error mean that the store cannot be reached? Then 503 is the honest answer. */
  storeIsDown(error: unknown): boolean
}
