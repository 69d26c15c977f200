import type { Express, Request, RequestHandler, Response } from 'express'
import type { User } from '../domain/user.ts'
import type { FlowDeps } from '../flow/deps.ts'
import type { CallerDeps } from '../flow/keys/authenticate-caller.ts'
import type { Owner } from '../flow/people/accounts.ts'
import type { RateLimiter } from '../ports/ports.ts'
import type { Answered } from './middleware/log-requests.ts'
import type { Slots } from './slots.ts'

/** Adds routes to the app. */
export type Mount = (app: Express, edge: Edge) => void

/** A link on a page: a path of this service, and the text of the link. */
export interface Link {
  href: string
  text: string
}

/** A small page that says what happened, or why it did not. All fields are plain text, not markup. */
export interface Notice {
  title: string
  text: string
  link: Link
}

/** The person who is signed in at a browser. */
interface Visitor {
  sessionId: string
  /** When they proved presence in this session, by a factor that still counts. */
  proven: 'recently' | 'earlier' | false
  user: User
  owner: Owner
}

/** The services that the HTTP edge offers to mounted routes. */
export interface Edge {
  /**
   * Finds the person by the session cookie, counts the request against their limit, and tells whether they proved presence in
   * this session; undefined when no one is signed in.
   * @throws Refusal `rate limit exceeded`
   */
  visitor(request: Request, response: Response): Promise<Visitor | undefined>
  /**
   * Makes a route for people: shows the notice that the handler returns; undefined means that the handler has responded itself.
   * A refusal also becomes a page, with its status and the title and link of `about`; a client that does not ask for HTML
   * gets the usual JSON.
   */
  page(
    about: Pick<Notice, 'title' | 'link'>,
    handler: (request: Request, response: Response) => Promise<Notice | undefined>,
  ): RequestHandler
}

/** The dependencies of the HTTP edge, besides those of the flows it calls. */
export interface HttpDeps extends FlowDeps, CallerDeps {
  limiter: RateLimiter
  waitSlots: Slots
  /** Slots for people who watch their inbox, separate from those of API keys, so that neither can use up the other's. */
  inboxSlots: Slots
  /** Slots for people who download files. */
  exportSlots: Slots
  /** Express `trust proxy`. */
  trustProxy: number | readonly string[]
  /** The version of the service, and the commit it was built from. */
  build: { readonly version: string; readonly commit: string }
  /** Folder of the built hosted pages. */
  pagesDir: string
  /** Folder of the built dashboard. */
  dashboardDir: string
  /** Folder of the built service worker. */
  workerDir: string
  /** Reads the OpenAPI document; read on demand, since it is large and seldom requested. */
  openapi(): string
  /** Reads the HTML page that the build made from the OpenAPI document. */
  docs(): string
  /** Add routes that read request bodies themselves; mounted before everything that parses a body. */
  mounts: readonly Mount[]
  /** The log level of a request's line. */
  requestLevel: 'info' | 'debug'
  onAnswered: ((answered: Answered) => void) | undefined
  /** Throws when the store does not answer. */
  ping(): Promise<void>
}
