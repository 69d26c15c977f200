export type SpanFacts = Readonly<Record<string, string | number>>

/** One span. It holds ids and codes only: no text of an action or a context, no name, no address (T61). */
export interface Span {
  name: 'decide' | 'consume' | 'deliver'
  attributes?: SpanFacts
  /** W3C trace context of the call that made the request: the parent. */
  traceparent?: string | undefined
  /** Without `traceparent` a root, since the loop that runs the work belongs to no HTTP request. */
  detached?: boolean
}

/** What an HTTP span says at its end. */
export interface AnsweredSpan {
  method: string
  /** The pattern of the route. */
  route: string
  status: number
  error?: string
  request_id: string
}

/** Spans of OpenTelemetry, where the operator has loaded its SDK into the process. */
export interface Tracing {
  /**
   * Runs the work in a span. A refusal is noted by its code, any other error by its class.
   * @param tell makes further attributes of the result
   */
  span<Result>(span: Span, work: () => Promise<Result>, tell?: (result: Result) => SpanFacts): Promise<Result>
  /** Handles an HTTP request in a span, with this parent. @returns a function that ends the span */
  request(traceparent: string | undefined, handle: () => void): (answered: AnsweredSpan) => void
}

/** Without an SDK there are no spans. */
export const NO_TRACING: Tracing = {
  span: (_span, work) => work(),
  request(_traceparent, handle) {
    handle()
    return () => undefined
  },
}
