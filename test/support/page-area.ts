import { matchPath } from '../../dashboard/shell/addresses.ts'

/** A call of the page to the API, and who makes it. */
export interface PageCall {
  /** `METHOD /path` below `/api/v1`. */
  call: string
  query: URLSearchParams
  body: Record<string, unknown>
  origin: string
  signedIn: boolean
}

/** What the `:names` in the key of a route stand for. */
export type Params = Record<string, string>

/**
 * The answers of one part of the API, in a file of its own (`page-<area>-answers.ts`), given to `usePageSuite(…)`. Keys are
 * `METHOD /path/:name`. What a route returns is the JSON of the answer, or a `RawAnswer`; it throws a Refusal to refuse.
 */
export interface PageArea {
  /** Before each test: back to the first answers. */
  reset(): void
  routes(call: PageCall): Record<string, (params: Params) => unknown>
}

/** An answer that is no JSON, such as a download. */
export class RawAnswer {
  readonly body: string
  readonly headers: Record<string, string>

  constructor(body: string, headers: Record<string, string>) {
    this.body = body
    this.headers = headers
  }
}

/** The route of the first area that has one for the call. */
export function routeIn(areas: readonly PageArea[], call: PageCall): (() => unknown) | undefined {
  const [method = '', path = ''] = call.call.split(' ')
  for (const area of areas) {
    for (const [key, route] of Object.entries(area.routes(call))) {
      const [wanted = '', pattern = ''] = key.split(' ')
      const params = wanted === method ? matchPath(pattern, path) : undefined
      if (params !== undefined) return () => route(params)
    }
  }
  return undefined
}
