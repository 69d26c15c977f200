import type { Express, Request, RequestHandler, Response } from 'express'
import type { User } from '../domain/user.ts'
import type { CallerDeps } from '../flow/authenticate-caller.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { RateLimiter } from '../flow/ports.ts'
import type { WaitSlots } from '../flow/wait-for-decision.ts'
import type { Owner } from '../flow/webhooks/manage-webhooks.ts'
import type { Answered } from './middleware/log-requests.ts'

/** Adds routes to the app. */
export type Mount = (app: Express, edge: Edge) => void

/** Where a page leads on to: a path of ours, and what the link says. */
export interface Link {
  href: string
  text: string
}

/** A small page: something happened, or did not. All of it is text. */
export interface Notice {
  title: string
  text: string
  link: Link
}

/** The person at a browser. */
interface Visitor {
  sessionId: string
  proven: boolean
  user: User
  owner: Owner
}

/** What mounted routes may ask of the HTTP edge. */
export interface Edge {
  /**
   * Whose session cookie comes along, counted against that person's limit, and whether they proved presence in it just now;
   * undefined when no one is signed in.
   * @throws Refusal `rate limit exceeded`
   */
  visitor(request: Request, response: Response): Promise<Visitor | undefined>
  /**
   * A route for people: shows what the handler answers, if it does not answer itself. A refusal is a page too, under
   * `about`, with its status; a client that does not ask for HTML gets it as the JSON of every refusal.
   */
  page(
    about: Pick<Notice, 'title' | 'link'>,
    handler: (request: Request, response: Response) => Promise<Notice | undefined>,
  ): RequestHandler
}

/** What the HTTP edge needs besides the verbs' own dependencies. */
export interface HttpDeps extends FlowDeps, CallerDeps {
  limiter: RateLimiter
  waitSlots: WaitSlots
  /** Of people who watch their inbox: apart from those of API keys, so that neither can use up the others'. */
  inboxSlots: WaitSlots
  /** Of people who take files. */
  exportSlots: WaitSlots
  /** Express `trust proxy`. */
  trustProxy: number | readonly string[]
  /** Folder of the built hosted pages. */
  pagesDir: string
  /** Folder of the built dashboard. */
  dashboardDir: string
  /** Folder of the built service worker. */
  workerDir: string
  /** Reads the OpenAPI document, which is large and seldom asked for. */
  openapi(): string
  /** Reads the page that the build made of it. */
  docs(): string
  /** Add routes of their own that read bodies themselves: they come before everything that parses one. */
  mounts: readonly Mount[]
  /** What a line for a request is logged as. */
  requestLevel: 'info' | 'debug'
  onAnswered: ((answered: Answered) => void) | undefined
  /** Throws when the store does not answer. */
  ping(): Promise<void>
}
